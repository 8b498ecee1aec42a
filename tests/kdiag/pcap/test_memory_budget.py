import gc
from typing import NamedTuple

import pytest

from kdiag.exchange.model import Connection, Protocol
from kdiag.pcap.decoder import CaptureDecoder, Item
from kdiag.pcap.flow import Flow
from kdiag.pcap.memory_budget import CONNECTION_BYTES, Limits, MemoryBudget
from recordings.segment_tape import (
    BROKER,
    CLIENT,
    SYN,
    Numbered,
    Segment,
    Talk,
    batches,
    request,
    response,
)


class Shelf(NamedTuple):
    """Something that holds memory."""

    held_bytes: int
    last_ns: int


def test_nothing_is_measured_before_what_was_read_could_fill_the_budget() -> None:
    """Reading costs nothing until then."""
    budget = MemoryBudget(100_000)

    assert not budget.may_be_exceeded(packets=10, payload_bytes=1000, connections=1)
    assert budget.may_be_exceeded(packets=10, payload_bytes=40_000, connections=1)
    assert budget.overdue([Shelf(50_000, 1)]) == []
    assert not budget.may_be_exceeded(packets=1, payload_bytes=10, connections=1)


def test_the_oldest_are_given_up_until_a_quarter_is_free() -> None:
    """No more of them than that takes."""
    budget = MemoryBudget(100)
    young, old, middle = Shelf(40, 9), Shelf(40, 1), Shelf(40, 5)

    assert budget.overdue([young, old, middle]) == [old, middle]


def test_who_holds_little_is_spared() -> None:
    """Ending a quiet connection that holds nothing would not help."""
    budget = MemoryBudget(100)
    quiet, full = Shelf(1, 0), Shelf(150, 9)

    assert budget.overdue([quiet, full]) == [full]


def decode(segments: list[Segment], limits: Limits) -> tuple[CaptureDecoder, list[Item], int]:
    """Return the decoder, what segments decode to, and the most that flows held after a batch."""
    decoder = CaptureDecoder(Numbered(), limits=limits)
    items: list[Item] = []
    most = 0
    for batch in batches(segments, 50):
        items += decoder.feed(batch)
        most = max(most, sum(each.held_bytes for each in decoder.all_flows()))
    return decoder, items + decoder.finish(), most


@pytest.mark.thorough
def test_any_number_of_connections_fits_the_budget() -> None:
    """SYNs without an answer are ended early, each is listed, and it is counted."""
    limits = Limits(max_memory_bytes=100 * CONNECTION_BYTES)
    segments = [Segment(CLIENT + number, BROKER, 1000, 0, SYN) for number in range(2000)]
    decoder, items, most = decode(segments, limits)
    reasons = [each.close_reason for each in items if isinstance(each, Connection)]

    assert most <= limits.max_memory_bytes
    assert len(reasons) == decoder.counts.connections == 2000
    assert decoder.counts.given_up == reasons.count("memory") > 1600


@pytest.mark.thorough
def test_directions_that_nobody_identifies_fit_the_budget() -> None:
    """What is kept of many unknown streams is bounded in all, not only for each."""
    limits = Limits(max_memory_bytes=400_000)
    talks = [Talk(CLIENT + number, BROKER).ask(b"\xff" * 20_000, 1000) for number in range(40)]
    segments = [
        each for talk in zip(*(talk.segments for talk in talks), strict=True) for each in talk
    ]
    decoder, _, most = decode(segments, limits)

    assert most <= limits.max_memory_bytes
    assert decoder.counts.given_up > 0


def test_a_connection_that_was_given_up_goes_on_as_another() -> None:
    """Its exchanges before and after are read; nothing is lost but the thread."""
    limits = Limits(max_memory_bytes=60_000)
    talk = Talk(CLIENT, BROKER).open()
    talk.ask(request(1)).tell(response(1))
    noise = [Talk(CLIENT + 1, BROKER + 1).ask(b"\xff" * 90_000, 1000) for _ in range(1)]
    segments = [*talk.segments, *noise[0].segments]
    decoder, items, _ = decode(segments, limits)
    protocols = {each.protocol for each in items if isinstance(each, Connection)}

    assert decoder.counts.given_up >= 1
    assert decoder.counts.exchanges == 1
    assert Protocol.KAFKA in protocols


@pytest.mark.thorough
def test_a_connection_that_was_ended_is_free_at_once() -> None:
    """It holds nobody who holds it: no collector of cycles has to find it first."""
    gc.collect()
    gc.disable()
    try:
        decoder = CaptureDecoder(Numbered())
        (batch,) = batches([Segment(CLIENT, BROKER, 1000, 0, SYN)])
        decoder.feed(batch)
        (flow,) = map(id, decoder._flows.values())
        decoder.finish()

        assert flow not in {id(each) for each in gc.get_objects() if isinstance(each, Flow)}
    finally:
        gc.enable()
