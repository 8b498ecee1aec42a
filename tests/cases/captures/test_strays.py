"""Packets that do not belong to a connection, and connections that go on somewhere else."""

import random
from collections.abc import Callable, Sequence

import pytest

from kdiag.exchange.model import Connection, Exchange, Gap, Status
from kdiag.pcap.decoder import CaptureDecoder, Item
from kdiag.pcap.packets.index import SegmentBatch
from recordings.segment_tape import (
    ACK,
    BROKER,
    CLIENT,
    FIN,
    PSH,
    RST,
    START_NS,
    Numbered,
    Segment,
    Talk,
    batches,
    request,
    request_about,
    response,
)
from tiers.cases import for_each

FAR = 400_000_000
BLOCK_ROWS = [1, 3, 1000]

Story = tuple[list[Segment], int, list[int]]
"""Segments, how many connections they are, and the sizes of the gaps."""


def exchanges(talk: Talk, first: int, last: int) -> Talk:
    """Write exchanges with the given correlation ids, and long requests among them."""
    for number in range(first, last):
        talk.ask(request_about(number, *[b"t" * 900] * 4)).tell(response(number))
        talk.ask(request(number + 100)).tell(response(number + 100))
    return talk


def with_stray(stray: Segment, *, swaps: bool = False) -> Story:
    """Return a connection with a stray packet in it, and reordered packets behind that."""
    talk = exchanges(Talk().open(), 0, 8).close()
    segments = talk.segments
    segments.insert(20, stray)
    if swaps:
        rows = [row for row in range(21, len(segments) - 4) if segments[row].payload]
        for row in random.Random(1).sample(rows, 8):
            ends = segments[row].source, segments[row + 1].source
            if ends[0] == ends[1] and segments[row + 1].payload:
                segments[row : row + 2] = segments[row + 1], segments[row]
    return segments, 1, []


def stray(flags: int, offset: int, payload: bytes = b"", *, acknowledges: int = 0) -> Segment:
    """Return a packet of the client whose numbers are far from those of the connection."""
    return Segment(CLIENT, BROKER, 30_000 + offset, 6000 + acknowledges, flags, payload)


def going_on(starts: tuple[int, int]) -> Story:
    """Return a connection that goes on elsewhere: two recordings of it, or another one."""
    first = exchanges(Talk().open(), 0, 3).segments
    return first + exchanges(Talk(starts=starts), 3, 9).segments, 2, []


def reset_in_vain() -> Story:
    """Return a connection that goes on after a reset that somebody else has sent."""
    talk = exchanges(Talk().open(), 0, 3)
    last = talk.segments[-1]
    talk.segments.append(Segment(BROKER, CLIENT, last.sequence + len(last.payload), 0, RST))
    exchanges(talk, 3, 9).close()
    return talk.segments, 1, []


def with_hole() -> Story:
    """Return a connection of which the recorder has lost 400 MB of responses."""
    talk = exchanges(Talk().open(), 0, 3)
    talk._next[1] += FAR
    exchanges(talk, 3, 9).close()
    return talk.segments, 1, [FAR]


def interleaved() -> Story:
    """Return two connections between the same ends at once: a proxy that keeps addresses."""
    talks = [exchanges(Talk(starts=each), 0, 9).segments for each in ((1000, 5000), (FAR, 2 * FAR))]
    mixed: list[Segment] = []
    for start in range(0, len(talks[0]), 7):
        mixed += talks[0][start : start + 7] + talks[1][start : start + 7]
    return mixed, 2, []


def of_the_connection_before() -> Story:
    """Return a connection in which late packets of the one before it come."""
    talk = exchanges(Talk().open(), 0, 8).close()
    late = Talk(starts=(FAR, 2 * FAR)).ask(request(7)).ask(request(8)).segments
    talk.segments[20:20] = late
    return talk.segments, 2, []


def late_mirror() -> Story:
    """Return a connection, and all of its packets once more, more than a window later."""
    talk = exchanges(Talk(), 0, 4)
    talk.ask(request_about(4, *[b"t" * 9000] * 200), 9000).tell(response(4))
    talk.ask(request(104)).tell(response(104))
    exchanges(talk, 5, 9)
    return talk.segments * 2, 1, []


def late_acknowledgments() -> Story:
    """Return a connection of which a recorder has one direction 400 MB behind the other."""
    segments = exchanges(Talk(), 0, 9).segments
    for row, each in enumerate(segments):
        if each.source == CLIENT:
            segments[row] = each._replace(acknowledgment=each.acknowledgment - FAR)
    return segments, 1, []


STORIES: dict[str, Callable[[], Story]] = {
    "RST": lambda: with_stray(stray(RST, FAR)),
    "RST behind": lambda: with_stray(stray(RST, -FAR)),
    "FIN": lambda: with_stray(stray(FIN | ACK, FAR), swaps=True),
    "ACK": lambda: with_stray(stray(ACK, 0, acknowledges=FAR), swaps=True),
    "data": lambda: with_stray(stray(PSH | ACK, FAR, b"stray"), swaps=True),
    "all numbers": lambda: with_stray(stray(PSH | ACK, FAR, b"x", acknowledges=FAR), swaps=True),
    "far ahead": lambda: going_on((3_000_000_000, 2_000_000_000)),
    "not so far": lambda: going_on((FAR, 2 * FAR)),
    "back": lambda: going_on((4_000_000_000, 4_100_000_000)),
    "reset in vain": reset_in_vain,
    "hole": with_hole,
    "interleaved": interleaved,
    "connection before": of_the_connection_before,
    "late mirror": late_mirror,
    "late acknowledgments": late_acknowledgments,
}
SIZES = {
    **dict.fromkeys(("far ahead", "not so far", "back", "reset in vain", "hole"), 18),
    **dict.fromkeys(("late mirror", "late acknowledgments"), 18),
    "interleaved": 36,
}
"""How many exchanges there are, where it is not 16."""


def decoded(segments: Sequence[Segment], rows: int) -> tuple[list[Exchange], list[Gap], int]:
    """Return exchanges, gaps and the number of connections."""
    items, _ = items_of(segments, rows)
    found = [item for item in items if isinstance(item, Exchange)]
    gaps = [item for item in items if isinstance(item, Gap)]
    count = sum(isinstance(item, Connection) for item in items)
    return sorted(found, key=lambda each: each.number), gaps, count


def items_of(segments: Sequence[Segment], rows: int) -> tuple[list[Item], int]:
    """Return what a decoder makes of segments, and how many strays it counts."""
    decoder = CaptureDecoder(Numbered())
    decoder.follow_tcp()
    items = [item for batch in batches(segments, rows) for item in decoder.feed(_slowed(batch))]
    return items + decoder.finish(), decoder.counts.strays


def _slowed(batch: SegmentBatch) -> SegmentBatch:
    """Return packets a tenth of a second apart: a connection that was closed is soon over."""
    return batch._replace(time_ns=START_NS + (batch.time_ns - START_NS) * 100)


@pytest.mark.thorough
@for_each("name", STORIES)
def test_no_exchange_is_lost_and_no_byte_is_missed_that_was_never_sent(name: str) -> None:
    """Strays change nothing; where numbers jump for good another connection begins.

    Blocks of any size give the same exchanges, frames and numbers.
    """
    segments, connections, gaps = STORIES[name]()
    results = [decoded(segments, rows) for rows in BLOCK_ROWS]
    for rows, (found, missed, count) in zip(BLOCK_ROWS, results, strict=True):
        answered = [each for each in found if each.pairing is Status.OK]
        assert len(answered) == SIZES.get(name, 16), rows
        assert count == connections, rows
        assert [each.size for each in missed] == gaps, rows
    exchanges = [
        [(each.number, each.correlation_id, each.request, each.response) for each in found]
        for found, _, _ in results
    ]

    assert exchanges[0] == exchanges[1] == exchanges[2]


@pytest.mark.thorough
@for_each("rows", BLOCK_ROWS)
@for_each("name", ["RST", "FIN", "ACK", "data", "all numbers"])
def test_a_stray_is_counted_and_is_no_fact_of_the_connection(name: str, rows: int) -> None:
    """Neither of its bytes nor of its round trips."""
    segments, _, _ = STORIES[name]()
    facts = []
    for each, strays in (segments, 1), (segments[:20] + segments[21:], 0):
        items, count = items_of(each, rows)
        (connection,) = (item for item in items if isinstance(item, Connection))
        assert count == strays
        assert connection.tcp is not None
        sides = connection.tcp.requests, connection.tcp.responses
        facts.append([(side.bytes, side.segments, side.retransmits) for side in sides])

    assert facts[0] == facts[1]


def test_the_facts_of_a_connection_begin_with_the_packets_that_were_put_aside() -> None:
    """Nothing of it is missed, though the first packet was taken for a stray."""
    segments, _, _ = STORIES["far ahead"]()
    items, strays = items_of(segments, 1000)
    _, second = (item for item in items if isinstance(item, Connection))

    assert strays == 0
    assert second.tcp is not None
    assert second.tcp.requests.bytes == second.request_bytes
    assert second.tcp.responses.bytes == second.response_bytes
