from pathlib import Path

from kdiag.lab.log.config import LogConfig
from kdiag.lab.log.segment import LogSegment
from kdiag.lab.log.segments import LogSegments
from made_values.log_maker import clock_at


def made(folder: Path, *base_offsets: int) -> LogSegments:
    """Return segments with these base offsets, added in this order."""
    segments = LogSegments()
    for base_offset in base_offsets:
        segments.add(LogSegment(folder, base_offset, LogConfig(), clock_at()))
    return segments


def test_segments_are_in_the_order_of_their_base_offsets(tmp_path: Path) -> None:
    """Whatever the order in which they came."""
    segments = made(tmp_path, 20, 0, 10)
    assert segments.base_offsets == [0, 10, 20]
    assert [segment.base_offset for segment in segments] == [0, 10, 20]
    assert (segments.first.base_offset, segments.active.base_offset) == (0, 20)
    assert segments.size_in_bytes == 0


def test_an_offset_is_in_the_last_segment_that_does_not_begin_after_it(tmp_path: Path) -> None:
    """Before the first there is none."""
    segments = made(tmp_path, 10, 20)
    found = [segments.floor(offset) for offset in (9, 10, 19, 20, 99)]
    assert [each and each.base_offset for each in found] == [None, 10, 10, 20, 20]
    assert [each.base_offset for each in segments.from_offset(0)] == [10, 20]
    assert [each.base_offset for each in segments.from_offset(25)] == [20]


def test_a_segment_can_be_replaced_and_removed(tmp_path: Path) -> None:
    """One base offset, one segment."""
    segments = made(tmp_path, 0, 10, 10)
    assert len(segments) == 2
    assert segments.after(segments.first) is segments.active
    assert segments.after(segments.active) is None
    segments.remove(segments.active)
    assert segments.base_offsets == [0]
