from typing import Any

from kdiag.diagnosis.tcp.findings import find
from kdiag.diagnosis.tcp.limit import limits_of
from kdiag.diagnosis.tcp.request_cycles import RequestCycles
from kdiag.exchange.tcp_facts import Spread, TcpFacts
from kdiag.findings.finding import Finding
from made_values.limited_connection import (
    MS,
    QUIET,
    SPAN_MS,
    connection_of,
    direction,
    facts_of,
    turns_of,
)
from tiers.cases import for_each

ALL_NS = SPAN_MS * MS
LARGE = turns_of(1_000_000)


def findings(
    facts: TcpFacts, cycles: RequestCycles = LARGE, bits_per_s: int = 10**9
) -> list[Finding]:
    """Return what is found about a connection."""
    return find(connection_of(facts), limits_of(facts, cycles), cycles, bits_per_s)


@for_each(
    ("changes", "cycles", "rule_id"),
    [
        ({"window_full_ns": ALL_NS}, LARGE, "KD6002"),
        ({"window_closed_ns": ALL_NS}, LARGE, "KD6003"),
        ({"held_ns": ALL_NS}, LARGE, "KD6004"),
        ({"held_ns": ALL_NS, "retransmits": 20}, LARGE, "KD6005"),
        (
            {"held_ns": ALL_NS, "ack_rtt_ns": Spread(10 * MS, 50 * MS, 60 * MS, 70 * MS)},
            LARGE,
            "KD6006",
        ),
        ({"held_ns": ALL_NS}, turns_of(12_500, in_flight=5), "KD6007"),
        ({"held_ns": ALL_NS}, RequestCycles(), "KD6009"),
    ],
)
def test_each_limit_has_a_finding_of_its_own(
    changes: dict[str, Any], cycles: RequestCycles, rule_id: str
) -> None:
    """It names the connection and what to change."""
    (finding,) = findings(facts_of(direction(**changes)), cycles)
    assert finding.id == rule_id
    assert finding.evidence["connection"] == 1
    assert "None" not in finding.title + finding.fix


def test_a_buffer_is_told_with_the_settings_of_both_ends() -> None:
    """Raising one end alone does nothing while the other caps the path."""
    window = Spread(40_000, 40_000, 40_000, 40_000)
    (finding,) = findings(facts_of(direction(window_full_ns=ALL_NS, window=window)))
    assert finding.title == (
        "the receive buffer of the broker holds Produce requests down to 3.0 MB/s: 40000 bytes per "
        "round trip of 20.0 ms"
    )
    assert "socket.receive.buffer.bytes of the broker to -1" in finding.fix
    assert "2500000 or more" in finding.fix, "a gigabit for 20 ms"
    assert "send.buffer.bytes of the client" in finding.fix


def test_a_fetch_is_told_with_the_settings_of_consumers() -> None:
    """Small responses, one per round trip."""
    responses = direction(held_ns=ALL_NS)
    cycles = turns_of(60_000, api_key=1)
    (finding,) = findings(facts_of(direction(**QUIET), responses), cycles)
    assert finding.id == "KD6008"
    assert "max.partition.fetch.bytes" in finding.fix


def test_a_follower_has_a_setting_of_its_own() -> None:
    """Fetchers of replicas do not take receive.buffer.bytes."""
    cycles = turns_of(1_000_000, api_key=1)
    cycles.client_id = "broker-2-fetcher-0"
    responses = direction(window_full_ns=ALL_NS)
    (finding,) = findings(facts_of(direction(**QUIET), responses), cycles)
    assert "replica.socket.receive.buffer.bytes" in finding.fix


def test_without_scaling_no_buffer_is_blamed() -> None:
    """Windows stay below 64 KiB whatever the buffers are, unless these are smaller still."""
    window = Spread(60_000, 65_535, 65_535, 65_535)
    facts = facts_of(direction(window_full_ns=ALL_NS, window_scale=None, window=window))
    (finding,) = findings(facts)
    assert finding.id == "KD6001"
    assert "only the client offers window scaling" in finding.title
    facts.requests.window = Spread(16_000, 16_000, 16_000, 16_000)
    assert [each.id for each in findings(facts)] == ["KD6001", "KD6002"]


def test_on_a_short_path_buffers_are_not_blamed() -> None:
    """Within a machine a small window does not matter; a slow reader does."""
    for changes in ({"window_full_ns": ALL_NS}, {"held_ns": ALL_NS}):
        facts = facts_of(direction(**changes))
        facts.client_rtt_ns = facts.broker_rtt_ns = 20_000
        assert findings(facts) == []
    facts = facts_of(direction(window_closed_ns=ALL_NS))
    facts.client_rtt_ns = facts.broker_rtt_ns = 20_000
    assert [each.id for each in findings(facts)] == ["KD6003"]


def test_a_broker_that_takes_its_time_is_not_the_path() -> None:
    """Answers that take longer than two round trips wait for the broker."""
    cycles = turns_of(12_500, in_flight=5)
    cycles.requests.latency_products *= 10
    assert findings(facts_of(direction(idle_ns=ALL_NS)), cycles) == []


def test_losses_are_told_though_there_was_little_to_send() -> None:
    """A tenth of the time went to making up for them."""
    changes = {"idle_ns": 800 * MS, "recovery_ns": 200 * MS, "retransmits": 90}
    found = findings(facts_of(direction(**changes)), bits_per_s=10**8)
    assert [each.id for each in found] == ["KD6005"]


def test_a_trickle_is_no_transfer() -> None:
    """Small messages now and then wait for each other, and nobody minds."""
    facts = facts_of(direction(held_ns=ALL_NS, bytes=90_000))
    assert findings(facts, turns_of(12_500, in_flight=5)) == []


def test_turns_that_fill_the_path_are_large_enough() -> None:
    """At 10 Mbit/s 20 ms hold 25 kB."""
    cycles = turns_of(12_500, in_flight=5)
    assert findings(facts_of(direction(held_ns=ALL_NS)), cycles, 10**7) == []


def test_a_missing_beginning_is_told() -> None:
    """Without the SYNs the scale of windows is not known."""
    (finding,) = findings(facts_of(direction(held_ns=ALL_NS, window=None)))
    assert "the beginning of the connection" in finding.title
