import gc
from typing import NamedTuple

import pytest

from kdiag.exchange.model import Connection, Protocol
from kdiag.pcap.content import Content
from kdiag.pcap.decoder import CaptureDecoder, Item
from kdiag.pcap.flow import Flow
from kdiag.pcap.kafka.conversation import Conversation
from kdiag.pcap.kafka.frame_stream import FrameStream
from kdiag.pcap.kafka.matching import Matcher
from kdiag.pcap.memory_budget import CONNECTION_BYTES, Limits, MemoryBudget
from kdiag.pcap.tcp.attempt import Attempt
from kdiag.pcap.tcp.silence import (
    ECHO_BYTES,
    SILENCED_BYTES,
    LateEchoes,
    SilencedConnection,
    SilenceWatch,
)
from kdiag.pcap.tls.stream import TlsStream
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


_KAFKA = Talk(CLIENT, BROKER).open().ask(request(1)).tell(response(1)).segments
_TLS = Talk(CLIENT, BROKER).open().ask(b"\x16\x03\x01\0\5\1\0\0\1\0").segments


@pytest.mark.thorough
@pytest.mark.parametrize(
    "segments", [[Segment(CLIENT, BROKER, 1000, 0, SYN)], _KAFKA, _TLS], ids=["SYN", "Kafka", "TLS"]
)
def test_a_connection_that_was_ended_is_free_at_once(segments: list[Segment]) -> None:
    """It holds nobody who holds it: no collector of cycles has to find it first."""
    kinds = (Flow, Attempt, Content, Conversation, FrameStream, Matcher, TlsStream)

    def held() -> set[int]:
        return {id(each) for each in gc.get_objects() if isinstance(each, kinds)}

    gc.collect()
    gc.disable()
    try:
        of_others = held()  # of tests whose fixtures live on in this worker
        decoder = CaptureDecoder(Numbered())
        (batch,) = batches(segments)
        decoder.feed(batch)
        assert held() - of_others
        decoder.finish()

        assert not held() - of_others
    finally:
        gc.enable()


def test_what_ended_connections_leave_is_part_of_the_budget() -> None:
    """Echoes and silenced connections take no more than their share; the youngest stay."""
    budget = MemoryBudget(1000)
    assert budget.overdue([Shelf(900, 1)], 200) == [Shelf(900, 1)]
    assert budget.overdue([Shelf(700, 1)], 200) == []
    echoes, watch = LateEchoes(), SilenceWatch(1)
    for number in range(10):
        echoes.expect(number, number, number)
        watch.remember(number, SilencedConnection("tcp-1", None))
    echoes.forget_oldest(3 * ECHO_BYTES)
    watch.forget_oldest(2 * SILENCED_BYTES)

    assert [number for number in range(10) if echoes.has(number, 0)] == [7, 8, 9]
    assert echoes.held_bytes == 3 * ECHO_BYTES
    assert watch.held_bytes == 2 * SILENCED_BYTES


def test_a_connection_that_is_read_or_followed_counts_with_what_that_takes() -> None:
    """A conversation takes as much again as its connection, a tracker of TCP twice that."""
    held = []
    for follows_tcp in (False, True):
        decoder = CaptureDecoder(Numbered())
        if follows_tcp:
            decoder.follow_tcp()
        (batch,) = batches(_KAFKA)
        decoder.feed(batch)
        (flow,) = decoder.all_flows()
        held.append(flow.held_bytes)

    assert held[0] > CONNECTION_BYTES + 2_000
    assert held[1] > held[0] + 6_000


def test_a_flood_in_one_batch_is_fed_in_parts_that_fit_the_budget() -> None:
    """A batch with few SYNs stays whole; the parts are all of a batch, in order."""
    decoder = CaptureDecoder(Numbered(), limits=Limits(max_memory_bytes=1 << 20))
    flood = [Segment(CLIENT + number, BROKER, 1000, 0, SYN) for number in range(1200)]
    (batch,) = batches(flood, 5000)
    parts = list(decoder.parts(batch))

    assert [len(part.packet) for part in parts] == [512, 512, 176]
    assert [int(each) for part in parts for each in part.packet] == batch.packet.tolist()
    (batch,) = batches(_KAFKA * 300, 5000)
    assert len(list(CaptureDecoder(Numbered()).parts(batch))) == 1


def test_new_connections_count_with_what_they_may_take() -> None:
    """A flood of connections whose TCP is followed is measured before it has filled the memory."""
    budget = MemoryBudget(1_000_000)

    assert not budget.may_be_exceeded(0, 0, 200)
    budget.connection_bytes = 12_000
    assert budget.may_be_exceeded(0, 0, 200)
