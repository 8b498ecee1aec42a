from itertools import accumulate, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kdiag.pcap.kafka.frame_cutter import (
    HEAD_BYTES,
    MAX_WAIT_PACKETS,
    End,
    FrameCutter,
    FrameSink,
    Loss,
    Start,
    place,
)
from kdiag.pcap.tcp.segments import Segments
from kdiag.wire.frame import Frame
from recordings.segment_tape import START_NS, STEP_NS, Unmatched, contiguous_run, sized
from tiers.cases import for_each


class Collector:
    """A cutter and what it announced."""

    def __init__(self, max_frame_bytes: int = 1 << 20) -> None:
        self.starts: list[Start] = []
        self.ends: list[End] = []
        self.sink = FrameSink(self.starts, self.ends, Unmatched())
        self.cutter = FrameCutter(self.sink, max_frame_bytes)

    @property
    def frames(self) -> list[Frame]:
        """Return the announced frames in the order of the stream."""
        return [frame for _, _, frame in self.starts]

    def losses(self) -> list[Loss]:
        """Return where the cutter has stopped, if it has."""
        return [] if self.cutter.loss is None else [self.cutter.loss]

    def take(self, parts: list[bytes], first_packet: int = 1, known: int = 0) -> None:
        """Give the cutter byte strings as one segment each."""
        segments = contiguous_run(parts, first_packet=first_packet)
        self.cutter.add_segments(segments, 0, len(parts), known)


def cut_at(data: bytes, places: list[int]) -> list[bytes]:
    """Return data cut at the given places."""
    edges = sorted({0, len(data), *(place % (len(data) + 1) for place in places)})
    return [data[start:stop] for start, stop in pairwise(edges)]


@given(
    st.lists(st.binary(min_size=4, max_size=40), min_size=1, max_size=12),
    st.binary(max_size=3),
    st.lists(st.integers(0, 1000), max_size=20),
    st.lists(st.integers(0, 1000), max_size=6),
)
def test_any_cut_of_the_bytes_gives_the_same_frames(
    bodies: list[bytes], token: bytes, segment_cuts: list[int], call_cuts: list[int]
) -> None:
    """Neither where TCP splits nor where a block of packets ends changes a frame's story."""
    bodies.insert(len(bodies) // 2, token)
    stream = b"".join(map(sized, bodies))
    parts = cut_at(stream, segment_cuts)
    edges = list(accumulate(map(len, parts), initial=0))
    collector = Collector()
    calls = sorted({0, len(parts), *(cut % (len(parts) + 1) for cut in call_cuts)})

    for first, last in pairwise(calls):
        collector.take(parts[first:last], first_packet=first + 1)

    starts = list(accumulate((4 + len(body) for body in bodies), initial=0))
    spans = list(pairwise(starts))
    assert [frame.data for frame in collector.frames] == bodies
    for frame, (start, stop) in zip(collector.frames, spans, strict=True):
        carriers = [
            row for row, (low, high) in enumerate(pairwise(edges)) if low < stop and start < high
        ]
        row = carriers[0]
        others = sum(low < edges[row + 1] and edges[row] < high for low, high in spans) - 1
        assert frame.size == stop - start - 4
        assert (frame.first_packet, frame.last_packet) == (row + 1, carriers[-1] + 1)
        assert frame.first_byte_ns == START_NS + frame.first_packet * STEP_NS
        assert frame.last_byte_ns == START_NS + frame.last_packet * STEP_NS
        assert (frame.segments, frame.starts_in_segment_with) == (len(carriers), others)
        assert frame.gap_bytes == 0


def test_a_long_frame_is_announced_by_its_head_and_completed_later() -> None:
    """Others need not wait for its last byte: a frame on its way has no last packet yet."""
    collector = Collector()
    body = bytes(range(256)) * 10

    collector.take([sized(body)[:600]])
    (frame,) = collector.frames
    assert (frame.size, frame.last_packet, frame.data) == (2560, 0, body[:HEAD_BYTES])
    assert collector.cutter.unresolved_packet(0) is None

    collector.take([sized(body)[600:]], first_packet=2)
    assert collector.ends == [(collector.sink.handler, frame)]
    assert (frame.data, frame.last_packet, frame.segments) == (body, 2, 2)


def test_a_frame_whose_head_is_not_known_holds_up_what_starts_later() -> None:
    """The packet with its first byte is named until the head is there."""
    collector = Collector()
    collector.take([sized(b"x" * 100)[:50]], first_packet=7)

    assert collector.frames == []
    assert collector.cutter.unresolved_packet(0) == 7
    assert collector.cutter.unresolved_packet(8) is None


def test_a_frame_that_becomes_known_late_takes_its_place_there() -> None:
    """After enough other packets nobody has waited for it."""
    early, late = Collector(), Collector()
    early.take([b"\0\0"])
    early.take([b"\0\1a"], first_packet=1 + MAX_WAIT_PACKETS)
    late.take([b"\0\0"])
    late.take([b"\0\1a"], first_packet=2 + MAX_WAIT_PACKETS)

    assert [order for order, _, _ in early.starts] == [1]
    assert [order for order, _, _ in late.starts] == [2 + MAX_WAIT_PACKETS]


def test_bytes_that_are_released_late_say_since_when_they_are_known() -> None:
    """What a later packet made known takes its place there, even inside one segment."""
    collector = Collector()
    collector.take([sized(b"aaaa") + sized(b"bbbb")], known=2 + MAX_WAIT_PACKETS)

    assert [order for order, _, _ in collector.starts] == [2 + MAX_WAIT_PACKETS] * 2


@for_each("size", [-1, -(2**31), 101, 2**31 - 1])
def test_an_absurd_size_is_a_loss_and_allocates_nothing(size: int) -> None:
    """The frames before it count; nothing after it was cut."""
    collector = Collector(max_frame_bytes=100)
    collector.take([sized(b"ok") + size.to_bytes(4, signed=True) + b"junk"])

    assert [frame.data for frame in collector.frames] == [b"ok"]
    assert collector.frames[0].starts_in_segment_with == 0
    assert collector.cutter.loss is not None
    assert (collector.cutter.loss.position, collector.cutter.loss.size) == (10, size)
    assert collector.cutter.loss.opened.prefix == size.to_bytes(4, signed=True)
    assert str(size) in collector.cutter.loss.why


@pytest.mark.parametrize("sizes", [(0, 0), (3, 1), (0, 3)])
def test_frame_after_frame_without_a_head_is_a_loss(sizes: tuple[int, int]) -> None:
    """Zeros are no frames; a SASL token may be empty, but the next one is not."""
    collector = Collector()
    parts = [sized(b"head"), *(sized(bytes(size)) for size in sizes), bytes(100_000)]
    collector.take([b"".join(parts)])

    assert [frame.size for frame in collector.frames] == [4, sizes[0]]
    assert collector.cutter.loss is not None
    assert collector.cutter.loss.why == f"frame after frame states {sizes[1]} bytes"


def test_tls_records_in_place_of_frames_are_called_so() -> None:
    """A plaintext client on a TLS port is a common mistake."""
    collector = Collector()
    collector.take([bytes.fromhex("15030300020228")])

    assert collector.cutter.loss is not None
    assert "TLS" in collector.cutter.loss.why


def test_a_hole_inside_a_body_leaves_the_rest_of_the_stream_intact() -> None:
    """The frame ends where its length says, keeps what came before, and counts what is missing."""
    collector = Collector()
    collector.take([sized(b"0123456789")[:9]])
    collector.cutter.add_segments(Segments.hole(3, 5, 55), 0, 1)
    collector.take([b"89" + sized(b"next")], first_packet=6)

    broken, whole = collector.frames
    assert (broken.data, broken.size, broken.gap_bytes) == (b"01234", 10, 3)
    assert not broken.is_whole
    assert (broken.first_packet, broken.last_packet, broken.segments) == (1, 6, 2)
    assert (whole.data, whole.starts_in_segment_with) == (b"next", 1)


def test_a_hole_over_the_end_of_a_frame_is_a_loss() -> None:
    """The frame is complete as far as it goes, but nobody knows where the next one starts."""
    collector = Collector()
    collector.take([sized(b"0123456789")[:9]])
    collector.cutter.add_segments(Segments.hole(8, 5, 55), 0, 1)

    (frame,) = collector.frames
    assert (frame.data, frame.gap_bytes, frame.last_packet) == (b"01234", 5, 5)
    assert collector.cutter.loss is not None
    assert collector.cutter.loss.position == 5


def test_a_hole_that_ends_with_the_frame_is_no_loss() -> None:
    """The next byte is the next frame's first."""
    collector = Collector()
    collector.take([sized(b"0123456789")[:9]])
    collector.cutter.add_segments(Segments.hole(5, 5, 55), 0, 1)
    collector.take([sized(b"next")], first_packet=6)

    assert [frame.data for frame in collector.frames] == [b"01234", b"next"]


def test_at_the_end_an_open_frame_says_what_it_lacks() -> None:
    """A recording that stops inside a frame leaves a partial frame, not nothing.

    What never came is not missing, unless the other end has acknowledged more.
    """
    for is_tail_lost, missing, unsent in ((False, 0, 5), (True, 5, 0)):
        collector = Collector()
        collector.take([sized(b"0123456789")[:9]])
        collector.cutter.flush(is_tail_lost=is_tail_lost)

        (frame,) = collector.frames
        assert (frame.data, frame.last_packet) == (b"01234", 1)
        assert (frame.gap_bytes, frame.unsent_bytes) == (missing, unsent)


def test_of_a_frame_above_the_limit_the_first_bytes_are_kept_once_it_is_believed() -> None:
    """However it is divided; its length alone does not decide, and what is missing is counted."""
    frame = sized(b"0123456789ABCDEFGHIJ")
    collector = Collector(max_frame_bytes=8)
    collector.take([sized(b"ok") + frame[:4]])
    assert not collector.losses()
    collector.take([frame[4:9], sized(b"next")])
    assert [(loss.position, loss.size) for loss in collector.losses()] == [(0, 20)]

    collector.cutter.believe()
    run = contiguous_run([frame[4:9], frame[9:20], frame[20:] + sized(b"next")], first_packet=3)
    collector.cutter.add_segments(run, 0, 3)
    large, following = collector.frames[1:]
    assert (large.data, large.size, large.gap_bytes) == (b"01234567", 20, 0)
    assert (following.data, following.starts_in_segment_with) == (b"next", 1)


def test_at_the_end_a_length_that_is_cut_is_no_frame() -> None:
    """Two bytes of a length say nothing."""
    collector = Collector()
    collector.take([b"\0\0"])
    collector.cutter.flush()

    assert collector.frames == []


def test_many_small_parts_of_one_frame_are_kept_together() -> None:
    """A frame that comes a byte at a time does not cost an object a byte."""
    collector = Collector()
    body = bytes(3000)
    for number, byte in enumerate(sized(body), 1):
        collector.take([bytes([byte])], first_packet=number)
        opened = collector.cutter._open
        assert opened is None or len(opened.parts) <= 1

    assert collector.frames[0].data == body
    assert collector.frames[0].segments == 3004


def test_a_frame_has_its_place_where_it_starts_unless_it_becomes_known_much_later() -> None:
    """Nobody waits for more than `MAX_WAIT_PACKETS`."""
    assert place(5, 5) == 5
    assert place(5, 5 + MAX_WAIT_PACKETS) == 5
    assert place(5, 6 + MAX_WAIT_PACKETS) == 6 + MAX_WAIT_PACKETS


@pytest.mark.parametrize("rest_size", [1, 3, 4])
def test_a_length_that_proves_absurd_counts_where_it_starts_alike_in_any_calls(
    rest_size: int,
) -> None:
    """Read in one call or in two, the frame before tells the same about its segment."""
    absurd = b"\xff\xff\xff\xff"
    parts = [sized(b"frame") + absurd[:rest_size], absurd[rest_size:] + b"rest"]
    at_once, one_by_one = Collector(), Collector()
    at_once.take(parts)
    one_by_one.take(parts[:1])
    if one_by_one.cutter.loss is None:
        one_by_one.take(parts[1:], first_packet=2)

    assert at_once.cutter.loss is not None
    assert one_by_one.cutter.loss is not None
    assert at_once.frames == one_by_one.frames
