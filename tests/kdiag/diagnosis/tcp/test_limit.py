from typing import Any

import msgspec

from kdiag.diagnosis.tcp.limit import Limit, limits_of, mb_per_s
from kdiag.diagnosis.tcp.request_cycles import RequestCycles
from kdiag.exchange.tcp_facts import Spread
from made_values.limited_connection import MS, QUIET, SPAN_MS, direction, facts_of, turns_of
from tiers.cases import for_each

ALL_NS = SPAN_MS * MS
LARGE = turns_of(1_000_000)


@for_each(
    ("changes", "cycles", "limit"),
    [
        ({"window_full_ns": ALL_NS}, LARGE, Limit.RECEIVE_BUFFER),
        ({"window_closed_ns": ALL_NS}, LARGE, Limit.READER),
        ({"held_ns": ALL_NS}, LARGE, Limit.SEND_BUFFER),
        ({"idle_ns": ALL_NS}, LARGE, Limit.APPLICATION),
        ({"held_ns": ALL_NS}, turns_of(12_500, in_flight=5), Limit.APPLICATION),
        ({"held_ns": ALL_NS, "retransmits": 20}, LARGE, Limit.NETWORK),
        ({"recovery_ns": ALL_NS, "retransmits": 20}, LARGE, Limit.NETWORK),
        ({"held_ns": ALL_NS}, RequestCycles(), Limit.SENDER),
        ({"held_ns": ALL_NS, "window": None}, LARGE, Limit.SENDER),
        ({"held_ns": 90 * MS}, LARGE, Limit.SENDER),
        ({"window_full_ns": ALL_NS, "bytes": 60_000}, LARGE, Limit.QUIET),
    ],
)
def test_the_limit_is_what_took_the_time(
    changes: dict[str, Any], cycles: RequestCycles, limit: Limit
) -> None:
    """Each kind of wait has somebody to blame, and so has what is left."""
    limits = limits_of(facts_of(direction(**changes)), cycles)
    assert limits.requests.limit is limit
    assert limits.responses.limit is Limit.QUIET


def test_the_largest_part_counts() -> None:
    """Six tenths for the receiver, four for the sender."""
    facts = facts_of(direction(window_full_ns=600 * MS, held_ns=400 * MS))
    limited = limits_of(facts, LARGE).requests
    assert (limited.limit, limited.share) == (Limit.RECEIVE_BUFFER, 0.6)
    assert limited.waits_ms == {"receive_buffer": 600.0, "send_buffer": 400.0}


def test_round_trips_that_grow_are_a_queue_on_the_way() -> None:
    """From 20 to 60 ms: the link carries no more."""
    loaded = Spread(10 * MS, 50 * MS, 60 * MS, 70 * MS)
    facts = facts_of(direction(held_ns=ALL_NS, ack_rtt_ns=loaded))
    assert limits_of(facts, LARGE).requests.limit is Limit.NETWORK


def test_late_acknowledgements_of_the_near_end_are_no_queue() -> None:
    """A client beside the capture puts them off, or sends them along with what it sends next."""
    late = direction(**QUIET, ack_rtt_ns=Spread(MS // 100, 9 * MS, 13 * MS, 15 * MS))
    sent = direction(held_ns=ALL_NS, ack_rtt_ns=Spread(20 * MS, 21 * MS, 22 * MS, 30 * MS))
    facts = facts_of(sent, late)
    near = msgspec.structs.replace(facts, client_rtt_ns=MS // 100, broker_rtt_ns=20 * MS)
    assert limits_of(near, LARGE).requests.limit is Limit.SEND_BUFFER


def test_two_losses_are_none() -> None:
    """A stray retransmission does not slow a connection down."""
    facts = facts_of(direction(held_ns=ALL_NS, retransmits=2, segments=100))
    assert limits_of(facts, LARGE).requests.limit is Limit.SEND_BUFFER


def test_the_ceiling_is_what_goes_in_a_round_trip() -> None:
    """A window of 40 kB over 20 ms are 2 MB/s."""
    window = Spread(40_000, 40_000, 40_000, 40_000)
    facts = facts_of(direction(window_full_ns=ALL_NS, window=window))
    limited = limits_of(facts, LARGE).requests
    assert (limited.bound_bytes, limited.ceiling_mb_per_s, limited.mb_per_s) == (40_000, 2.0, 3.0)


def test_a_short_path_has_no_ceiling() -> None:
    """What a window allows there is more than any program can use."""
    facts = facts_of(direction(window_full_ns=ALL_NS))
    facts.client_rtt_ns = facts.broker_rtt_ns = 20_000
    assert limits_of(facts, LARGE).requests.ceiling_mb_per_s is None


def test_responses_are_judged_as_requests_are() -> None:
    """A consumer's data comes the other way."""
    responses = direction(held_ns=ALL_NS)
    limits = limits_of(facts_of(direction(**QUIET), responses), turns_of(1_000_000, api_key=1))
    assert (limits.requests.limit, limits.responses.limit) == (Limit.QUIET, Limit.SEND_BUFFER)


def test_no_time_has_no_rate() -> None:
    """One segment alone has no rate."""
    assert mb_per_s(1000, 0) == 0.0
