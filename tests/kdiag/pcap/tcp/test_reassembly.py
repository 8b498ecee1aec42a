import itertools
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kdiag.pcap.tcp.reassembly import Moment, Reassembly
from kdiag.pcap.tcp.segments import Segments
from recordings.segment_tape import contiguous_run

NOW = Moment(99, 990)


class Sink:
    """Takes what a direction passes on; `_` stands for a byte that is missing."""

    def __init__(self) -> None:
        self.data = b""
        self.known: list[int] = []

    def add_segments(self, segments: Segments, first: int, last: int, known: int = 0) -> None:
        """Join the bytes."""
        for row in range(first, last):
            piece = segments.piece(row)
            self.data += piece.data + b"_" * (piece.size - len(piece.data))
        self.known.append(known)


class Rig:
    """A direction, what comes out of it, and its gaps."""

    def __init__(self, first_sequence: int | None = 999, **limits: Any) -> None:
        self.sink = Sink()
        self.gaps: list[tuple[int, int, str]] = []
        self.reassembly = Reassembly(self.sink, self, **limits)
        if first_sequence is not None:
            self.reassembly.handle_syn(first_sequence)

    def note_gap(self, reassembly: Reassembly, size: int, moment: Moment, reason: str) -> None:
        """Keep a hole."""
        assert moment.packet
        self.gaps.append((reassembly.offset, size, reason))

    def add(self, sequence: int, data: bytes, packet: int = 1) -> None:
        """Give the direction one segment."""
        self.reassembly.add_segment(
            contiguous_run([data], first_packet=packet), 0, sequence % 2**32
        )


@st.composite
def _deliveries(draw: st.DrawFn) -> tuple[bytes, int, list[tuple[int, int]]]:
    """Return bytes, a first sequence number, and parts that cover them in any order."""
    data = bytes(draw(st.lists(st.integers(0, 255), min_size=1, max_size=80)))
    cuts = sorted({0, len(data), *draw(st.lists(st.integers(0, len(data)), max_size=10))})
    parts = list(itertools.pairwise(cuts))
    more = st.tuples(st.integers(0, len(data)), st.integers(0, len(data)))
    parts += [
        (min(pair), max(pair)) for pair in draw(st.lists(more, max_size=8)) if len(set(pair)) > 1
    ]
    first = draw(st.one_of(st.integers(0, 2**32 - 1), st.integers(2**32 - 90, 2**32 - 1)))
    return data, first, draw(st.permutations(parts))


@given(_deliveries())
def test_any_order_with_duplicates_and_overlaps_gives_the_same_bytes(
    delivery: tuple[bytes, int, list[tuple[int, int]]],
) -> None:
    """Nothing is lost, doubled or swapped, wherever the sequence numbers wrap around."""
    data, first, parts = delivery
    rig = Rig(first - 1)
    for packet, (start, stop) in enumerate(parts, 1):
        rig.add(first + start, data[start:stop], packet)

    assert rig.sink.data == data
    assert rig.gaps == []
    assert rig.reassembly.is_straight
    assert rig.reassembly.overlap_mismatches == 0


@given(_deliveries(), st.data())
def test_what_never_comes_is_a_gap_of_its_size_at_its_place(
    delivery: tuple[bytes, int, list[tuple[int, int]]], data: st.DataObject
) -> None:
    """At the end, every byte that was seen is at its offset and every other one is counted."""
    stream, first, parts = delivery
    lost = data.draw(st.integers(0, len(parts) - 1))
    rig = Rig(first - 1)
    seen = bytearray(b"_" * len(stream))
    for packet, (start, stop) in enumerate(parts, 1):
        if packet - 1 != lost:
            rig.add(first + start, stream[start:stop], packet)
            seen[start:stop] = stream[start:stop]
    rig.reassembly.handle_fin((first + len(stream)) % 2**32)
    rig.reassembly.flush(NOW, "over")

    covered = [False] * len(stream)
    for number, (start, stop) in enumerate(parts):
        if number != lost:
            covered[start:stop] = [True] * (stop - start)
    assert len(rig.sink.data) == len(stream)
    assert rig.sink.data == bytes(seen)
    assert sum(size for _, size, _ in rig.gaps) == covered.count(False)
    assert rig.reassembly.gap_bytes == covered.count(False)


def test_a_segment_that_fills_a_hole_says_since_when_the_rest_is_known() -> None:
    """What waited is passed on with the packet that released it."""
    rig = Rig()
    rig.add(1005, b"fghij", 1)
    assert rig.reassembly.unresolved_packet(0) == 1
    rig.add(1000, b"abcde", 2)

    assert rig.sink.data == b"abcdefghij"
    assert rig.sink.known == [2]


def test_the_first_copy_counts_and_a_different_one_is_counted() -> None:
    """A segment that contradicts what waits changes nothing."""
    rig = Rig()
    rig.add(1003, b"def")
    rig.add(1003, b"dXf")
    rig.add(1000, b"abcXe")

    assert rig.sink.data == b"abcdef"
    assert rig.reassembly.overlap_mismatches == 2
    assert rig.reassembly.duplicates == 1


def test_duplicates_are_counted_and_probes_are_not() -> None:
    """A keep-alive or zero-window probe repeats the last byte; it is no retransmission."""
    rig = Rig()
    rig.add(1000, b"abc")
    rig.add(1002, b"\0")
    assert rig.reassembly.duplicates == 0
    rig.add(1000, b"abc")
    rig.add(1001, b"bc")

    assert rig.reassembly.duplicates == 2
    assert rig.sink.data == b"abc"


def test_a_hole_is_a_gap_once_it_is_acknowledged_and_later_bytes_wait() -> None:
    """The other end has the bytes, so the network will not bring them again."""
    rig = Rig()
    rig.add(1005, b"fgh")
    rig.reassembly.handle_acknowledgment(1004, NOW)
    assert rig.gaps == []
    rig.reassembly.handle_acknowledgment(1005, NOW)

    assert rig.sink.data == b"_____fgh"
    assert rig.gaps == [(0, 5, "the other end acknowledged bytes that the capture lacks")]


def test_an_acknowledgment_that_came_before_the_later_bytes_counts() -> None:
    """The order of the two does not matter."""
    rig = Rig()
    rig.reassembly.handle_acknowledgment(1005, NOW)
    assert rig.sink.data == b""
    rig.add(1005, b"fgh")

    assert rig.sink.data == b"_____fgh"


def test_too_much_that_waits_ends_the_wait() -> None:
    """Memory is bounded: the oldest hole is given up."""
    rig = Rig(max_waiting_bytes=4000)
    for number in range(1, 5):
        rig.add(1000 + number * 2000, b"x" * 1000)

    assert [gap[:2] for gap in rig.gaps] == [(0, 2000)]
    assert "4000" in rig.gaps[0][2]
    assert rig.sink.data == b"_" * 2000 + b"x" * 1000


def test_a_segment_too_far_away_is_not_of_this_stream() -> None:
    """No window is larger than 2**30 bytes."""
    rig = Rig()
    rig.add(1000 + 2**30 + 1, b"far")
    rig.add(1000 - 2**30 - 1, b"far")
    rig.reassembly.handle_acknowledgment(1000 + 2**31, NOW)
    rig.add(1000, b"near")

    assert rig.reassembly.stray_segments == 2
    assert rig.sink.data == b"near"


def test_without_a_syn_the_first_segment_sets_the_start() -> None:
    """A capture may start in the middle of a connection."""
    rig = Rig(None)
    rig.reassembly.handle_acknowledgment(5, NOW)
    rig.add(7000, b"abc")
    rig.add(7003, b"def")

    assert rig.sink.data == b"abcdef"
    assert rig.reassembly.first_sequence is None


def test_a_second_syn_with_the_same_number_changes_nothing() -> None:
    """A SYN may be sent again."""
    rig = Rig(41)
    rig.reassembly.handle_syn(41)
    rig.add(42, b"a")
    rig.reassembly.handle_syn(41)
    rig.add(43, b"b")

    assert rig.sink.data == b"ab"


@pytest.mark.parametrize("sequence", [1000, 999])
def test_the_other_ends_acknowledgment_can_stand_for_a_lost_syn(sequence: int) -> None:
    """What is acknowledged at the start is where the first byte is."""
    rig = Rig(None)
    rig.reassembly.expect(sequence)
    rig.add(1000, b"abc")

    assert rig.reassembly.is_straight is (sequence == 1000)


def test_a_fin_ends_the_stream_when_all_before_it_has_come() -> None:
    """Out of order it must wait."""
    rig = Rig()
    rig.reassembly.handle_fin(1003)
    assert not rig.reassembly.is_finished
    rig.add(1000, b"abc")

    assert rig.reassembly.is_finished


def test_bytes_missing_before_a_fin_are_a_gap_at_the_end() -> None:
    """The FIN says how far the stream went."""
    rig = Rig()
    rig.add(1000, b"abc")
    rig.reassembly.handle_fin(1010)
    rig.reassembly.flush(NOW, "over")

    assert rig.gaps == [(3, 7, "over")]
    assert rig.sink.data == b"abc" + b"_" * 7


def test_numbers_within_a_window_of_what_was_seen_or_acknowledged_are_reached() -> None:
    """What waits counts as seen."""
    rig = Rig()
    rig.add(1000, b"x" * 100)

    for number, is_reached in ((1100, True), (2100, True), (2101, False), (100, True), (99, False)):
        assert rig.reassembly.reaches(number, 1000) is is_reached
    rig.reassembly.handle_acknowledgment(5000, NOW)
    assert rig.reassembly.reaches(6000, 1000)
    rig.add(9000, b"y" * 100)
    assert rig.reassembly.reaches(10_100, 1000)
    assert not rig.reassembly.reaches(10_101, 1000)
    assert Rig(None).reassembly.reaches(7, 1000)


def test_all_numbers_that_were_seen_are_reached() -> None:
    """However small the window: a mirror may be late by any amount."""
    rig = Rig()
    rig.add(1000, b"x" * 5000)

    assert rig.reassembly.reaches(1000, 10)
    assert not rig.reassembly.reaches(999, 10)
    assert rig.reassembly.is_behind(999)
    assert not rig.reassembly.is_behind(6000)


def test_later_bytes_are_those_up_to_a_gibibyte_ahead() -> None:
    """Nothing valid is further away."""
    rig = Rig()

    assert rig.reassembly.lacks(1001)
    assert rig.reassembly.lacks(1000 + 2**30)
    assert not rig.reassembly.lacks(1000 + 2**30 + 1)
    assert not rig.reassembly.lacks(999)
    assert not rig.reassembly.lacks(1002, 1)
    assert not Rig(None).reassembly.lacks(7)
