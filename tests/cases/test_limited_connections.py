"""Who limits a connection, told from captures of real ones over a path of 20 ms, at either end."""

import re
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import pytest

from delays.delayed_path import Buffers, DelayedPath, Load
from kdiag.diagnosis.tcp.limit import DirectionLimit, Limit, limits_of, loaded_rtt_ns, mb_per_s
from kdiag.diagnosis.tcp.request_cycles import RequestCycles
from kdiag.exchange.model import Connection, Exchange
from kdiag.exchange.tcp_facts import TcpFacts, Vantage
from kdiag.pcap.decoder import CaptureDecoder
from kdiag.pcap.reader import CaptureReader
from programs.kdiag_program import kdiag

pytestmark = pytest.mark.soak

SMALL = 32 << 10
LARGE = 256 << 10
RTT_NS = 20_000_000
TRIES = 3


class Situation(NamedTuple):
    """What is done to a connection, and what is to be found.

    Attributes:
        direction: which way the batches go.
        load: what is sent.
        limit: what limits it.
        buffers: what is set of the sockets' buffers.
        link: options of the link.
        rule_id: the finding.
    """

    direction: str
    load: Load
    limit: Limit
    rule_id: str
    buffers: Buffers = Buffers()
    link: tuple[str, ...] = ()


PRODUCE = Load(LARGE, 12)
FETCH = Load(1 << 20, 4, in_flight=1)
SITUATIONS = {
    "small receive buffer of the broker": Situation(
        "requests", PRODUCE, Limit.RECEIVE_BUFFER, "KD6002", Buffers(broker_receive=SMALL)
    ),
    "small send buffer of the client": Situation(
        "requests", PRODUCE, Limit.SEND_BUFFER, "KD6004", Buffers(client_send=SMALL)
    ),
    "slow reader": Situation(
        "requests",
        PRODUCE._replace(pause_s=0.05),
        Limit.READER,
        "KD6003",
        Buffers(broker_receive=LARGE),
    ),
    "small batches": Situation("requests", Load(16 << 10, 100), Limit.APPLICATION, "KD6007"),
    "loss": Situation(
        "requests", Load(LARGE, 10), Limit.NETWORK, "KD6005", link=("--lose-every", "50")
    ),
    "window scaling stripped": Situation(
        "requests", PRODUCE, Limit.WINDOW_SCALING, "KD6001", link=("--strip-window-scale",)
    ),
    "small receive buffer of the client": Situation(
        "responses", FETCH, Limit.RECEIVE_BUFFER, "KD6002", Buffers(client_receive=SMALL)
    ),
    "small send buffer of the broker": Situation(
        "responses", FETCH, Limit.SEND_BUFFER, "KD6004", Buffers(broker_send=SMALL)
    ),
    "small fetches": Situation(
        "responses", Load(32 << 10, 40, in_flight=1), Limit.APPLICATION, "KD6008"
    ),
}


def record(make_path: Callable[..., DelayedPath], situation: Situation) -> dict[str, Path]:
    """Return the captures of a situation at both ends."""
    with make_path("--delay-ms", "10", *situation.link) as path:
        exchange = path.produce if situation.direction == "requests" else path.consume
        exchange(situation.load, situation.buffers)
    return path.captures


def look(capture: Path) -> tuple[TcpFacts, RequestCycles]:
    """Return what a capture tells of its only connection."""
    reader = CaptureReader([capture])
    decoder = CaptureDecoder(reader.addresses)
    decoder.follow_tcp()
    items = [item for batch in reader.read_segments() for item in decoder.feed(batch)]
    items += decoder.finish()
    turns = RequestCycles()
    for item in items:
        if isinstance(item, Exchange):
            turns.add(item)
    (connection,) = (item for item in items if isinstance(item, Connection))
    assert connection.tcp is not None
    return connection.tcp, turns


@pytest.mark.bench
@pytest.mark.parametrize("name", SITUATIONS)
def test_the_side_that_limits_is_named(
    name: str, make_delayed_path: Callable[..., DelayedPath]
) -> None:
    """At both ends of the path, with a ceiling near the rate that was reached."""
    situation = SITUATIONS[name]
    for _ in range(TRIES - 1):
        # Both ends are programs: on a busy machine they rest, and that is rightly named.
        with suppress(AssertionError):
            check(situation, record(make_delayed_path, situation))
            return
    check(situation, record(make_delayed_path, situation))


def check(situation: Situation, captures: dict[str, Path]) -> None:
    """Check what is told of the captures of both ends."""
    for end, capture in captures.items():
        facts, turns = look(capture)
        assert facts.vantage == Vantage(end)
        assert facts.rtt_ns is not None
        assert RTT_NS <= facts.rtt_ns < 1.5 * RTT_NS
        limited: DirectionLimit = getattr(limits_of(facts, turns), situation.direction)
        assert limited.limit is situation.limit, (end, limited, facts)
        assert_near(limited, facts)
        done = kdiag("tune-buffers", capture)
        assert situation.rule_id in done.err
        assert f"\t{situation.limit.replace('_', ' ')}\t" in done.out


def assert_near(limited: DirectionLimit, facts: TcpFacts) -> None:
    """Check that the buffer which was set is seen, and explains the rate."""
    usual_ns = loaded_rtt_ns(facts)
    if limited.limit in {Limit.RECEIVE_BUFFER, Limit.WINDOW_SCALING}:
        assert limited.bound_bytes is not None
        assert usual_ns is not None
        assert 0.7 < limited.mb_per_s / mb_per_s(limited.bound_bytes, usual_ns) < 1.3
    if limited.limit in {Limit.RECEIVE_BUFFER, Limit.SEND_BUFFER}:
        assert limited.bound_bytes is not None
        assert SMALL <= limited.bound_bytes <= 3 * SMALL, "the kernel doubles what is set"


@pytest.mark.parametrize(
    ("capture", "rule_id"),
    [("zero_window_confluent_stopped", "KD6003"), ("lossy_link_queue_drops_confluent", "KD6005")],
)
def test_recorded_connections_of_librdkafka_are_judged_rightly(
    reference: Path, capture: str, rule_id: str
) -> None:
    """A consumer that was stopped for four seconds, and a link with a short queue."""
    done = kdiag("tune-buffers", reference / "captures" / f"{capture}.pcap")
    assert re.findall(r"KD\d+", done.err) == [rule_id]
