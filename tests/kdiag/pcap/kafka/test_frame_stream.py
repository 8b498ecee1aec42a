import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kdiag.pcap.kafka.frame_cutter import End, FrameSink, Start
from kdiag.pcap.kafka.frame_heuristics import RequestHeuristics
from kdiag.pcap.kafka.frame_stream import FrameLimits, FrameStream, Skip
from kdiag.pcap.kafka.resync import NO_START
from kdiag.pcap.tcp.segments import Segments
from recordings.segment_tape import START_NS, STEP_NS, Unmatched, contiguous_run, request


class Rig:
    """A stream of requests and what comes of it."""

    def __init__(self) -> None:
        self.starts: list[Start] = []
        self.ends: list[End] = []
        self.skips: list[Skip] = []
        self.believed: set[int] = set()
        sink = FrameSink(self.starts, self.ends, Unmatched())
        limits = FrameLimits(max_frame_bytes=1 << 20, max_search_bytes=1 << 20)
        self.stream = FrameStream(sink, limits, self)
        self.counts: list[int] = []
        self._packet = 1
        self.size = 0

    def heuristics(self) -> RequestHeuristics:
        """Return how to recognise a request of the only client."""
        return RequestHeuristics(1 << 20, {b"client-1"})

    def believes(self, head: bytes, size: int) -> bool:
        """Return whether a size is one of those that are believed."""
        return bool(head) and size in self.believed

    def skip(self, skip: Skip) -> None:
        """Keep bytes of which no frame could be made."""
        self.skips.append(skip)

    def note_frames(self, first: int) -> None:
        """Keep how many frames were announced before."""
        self.counts.append(first)

    def take(self, *parts: bytes) -> None:
        """Give the stream byte strings as one segment each."""
        self.stream.add_segments(contiguous_run(parts, first_packet=self._packet), 0, len(parts))
        self._packet += len(parts)
        self.size += sum(map(len, parts))

    def lose(self, size: int) -> None:
        """Tell the stream that bytes are missing."""
        self.stream.add_segments(Segments.hole(size, self._packet, 0), 0, 1)

    def frames(self) -> list[bytes]:
        """Return the frames with their lengths put before them again."""
        return [frame.size.to_bytes(4) + frame.data for _, _, frame in self.starts]


def test_after_an_absurd_length_the_next_request_is_found() -> None:
    """What lies between is reported with its place and reason."""
    rig = Rig()
    rig.take(request(1) + b"\x7f\xff\xff\xffjunk", request(2), request(3))

    assert rig.frames() == [request(1), request(2), request(3)]
    (skip,) = rig.skips
    assert (skip.offset, skip.size) == (len(request(1)), 8)
    assert (skip.start.packet, skip.start.data[:8]) == (1, b"\x7f\xff\xff\xffjunk")
    assert skip.time_ns == START_NS + 2 * STEP_NS
    assert "2147483647" in skip.why
    assert not rig.stream.is_searching


def test_after_a_hole_over_a_length_the_next_request_is_found() -> None:
    """Where it follows directly, nothing but the hole was lost."""
    rig = Rig()
    rig.take(request(1))
    rig.lose(500)
    assert rig.stream.is_searching
    rig.take(request(3), request(4))

    assert rig.frames() == [request(1), request(3), request(4)]
    assert rig.skips == []


def test_the_place_is_kept_through_losses() -> None:
    """Offsets count what is missing, skipped and cut."""
    rig = Rig()
    rig.take(request(1))
    rig.lose(500)
    rig.take(b"rest", request(3))
    rig.take(b"\xff\xff\xff\xff??", request(4))

    first, second = rig.skips
    size = len(request(1))
    assert (first.offset, first.size) == (size, 4)
    assert (second.offset, second.size) == (2 * size + 504, 6)


def test_what_is_searched_to_the_end_is_reported() -> None:
    """A candidate that ends with the stream is still taken."""
    rig = Rig()
    rig.take(request(1))
    rig.lose(9)
    rig.take(b"rest" + request(2), b"")
    rig.stream.flush()
    assert rig.frames() == [request(1), request(2)]
    assert [skip.size for skip in rig.skips] == [4]

    rig = Rig()
    rig.take(request(1), b"\xff\xff\xff\xffrest")
    rig.stream.flush()
    assert [skip.size for skip in rig.skips] == [8]


def test_an_absurd_length_is_a_fault_where_every_frame_before_it_was_read() -> None:
    """After a search it may be kdiag that is wrong; a large one may be a frame."""
    for is_sure in (True, False):
        rig = Rig()
        rig.stream.is_sure = is_sure
        rig.take(request(1), b"\xff\xff\xff\xffrest")
        rig.stream.flush()
        assert [skip.is_fault for skip in rig.skips] == [is_sure]

    rig = Rig()
    rig.believed = {1 << 21}
    large = (1 << 21).to_bytes(4) + bytes(1 << 21)
    rig.take(request(1), large[:4], large[4:99], large[99:], request(2))
    assert [frame.size for _, _, frame in rig.starts][1:2] == [1 << 21]
    assert rig.frames()[2] == request(2)
    assert rig.skips == []


def test_an_open_frame_is_handed_over_at_the_end() -> None:
    """As far as it came."""
    rig = Rig()
    rig.take(request(1, b"body")[:-2])
    rig.stream.flush()

    assert rig.frames() == [request(1, b"body")[:-2]]


def test_a_stream_may_start_with_bytes_to_pass_over() -> None:
    """So starts what was found in the middle of a connection."""
    rig = Rig()
    rig.stream.skip(700, Skip(0, 600, 5, "why", NO_START))
    rig.stream.skip(0, Skip(700, 0, 5, "nothing", NO_START))
    rig.take(b"\xff\xff\xff\xffrest", request(1))

    assert [(skip.offset, skip.size) for skip in rig.skips] == [(0, 600), (700, 8)]


def test_whoever_wants_is_told_after_each_call() -> None:
    """With the number of frames announced before."""
    rig = Rig()
    rig.stream.listener = rig
    rig.take(request(1) + request(2))
    rig.take(request(3))

    assert rig.counts == [0, 2]


@pytest.mark.thorough
@settings(max_examples=20)
@given(st.integers(0, 2**32))
def test_losing_the_place_again_and_again_costs_little(seed: int) -> None:
    """Hostile bytes that look like a frame and then like none do not stop the rest."""
    dice = random.Random(seed)
    bad = b"".join(request(n) + request(n + 1) + b"\xff\xff\xff\xff" for n in range(300))
    rig = Rig()
    for at in range(0, len(bad), 1448):
        rig.take(bad[at : at + 1448])
    rig.take(dice.randbytes(100), request(7), request(8))

    assert rig.frames()[-2:] == [request(7), request(8)]
    assert len(rig.frames()) > 64
    assert sum(skip.size for skip in rig.skips) + sum(map(len, rig.frames())) <= rig.size
