"""Test intents of Kafka's OffsetIndexTest."""

from bisect import bisect_right
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kdiag.lab.log.files.offset_index import OffsetIndex, OffsetPosition
from kdiag.lab.log.refusal import LogFileError
from tiers.cases import for_each


def index_of(folder: Path, *entries: tuple[int, int], base_offset: int = 45) -> OffsetIndex:
    """Return an index with these entries."""
    index = OffsetIndex(folder / f"{base_offset:020d}.index", base_offset, 30 * 8)
    for entry in entries:
        index.append(*entry)
    return index


@given(st.lists(st.integers(1, 1000), unique=True, max_size=30), st.integers(0, 1100))
def test_lookup_finds_the_last_entry_not_beyond(offsets: list[int], target: int) -> None:
    """The start of the segment stands before the first."""
    index = OffsetIndex(Path("never written.index"), 0, 1000)
    offsets.sort()
    packed = b"".join(index.ENTRY.pack(offset, offset * 10) for offset in offsets)
    index._entries = bytearray(packed)
    found = bisect_right(offsets, target)
    expected = (offsets[found - 1], offsets[found - 1] * 10) if found else (0, 0)
    assert index.lookup(target) == expected


def test_an_empty_index_points_at_the_start(tmp_path: Path) -> None:
    """Its last offset is the segment's own."""
    index = index_of(tmp_path)
    assert index.lookup(100) == OffsetPosition(45, 0)
    assert index.last_offset == 45
    assert index.upper_bound(0) is None


@pytest.mark.parametrize("offset", [50, 49, 44, 45 + (1 << 31)])
def test_only_larger_offsets_within_31_bits_are_appended(tmp_path: Path, offset: int) -> None:
    """Others would spoil every search."""
    index = index_of(tmp_path, (50, 10))
    with pytest.raises(LogFileError, match=f"offset {offset}"):
        index.append(offset, 20)
    assert index.fits(45 + (1 << 31) - 1)


def test_the_upper_bound_is_the_first_entry_from_a_position_on(tmp_path: Path) -> None:
    """What lies before that position has smaller offsets than its batch's last."""
    index = index_of(tmp_path, (48, 300), (50, 400), (51, 500))
    bounds = [index.upper_bound(position) for position in (0, 300, 301, 400, 500, 501)]
    assert bounds == [48, 48, 50, 50, 51, None]


def test_truncation_keeps_what_is_before_an_offset(tmp_path: Path) -> None:
    """Also in the file, and after an offset that has no entry."""
    index = index_of(tmp_path, *[(45 + at, at * 10) for at in range(1, 10)])
    index.truncate_to(100)
    assert len(index) == 9
    index.truncate_to(50)
    assert index.last_offset == 49
    index.append(50, 1000)
    index.truncate_to(45)
    assert len(index_of(tmp_path)) == 0


@for_each(
    "entries", [[(5, 10), (5, 20)], [(5, 10), (6, 10)], [(5, 10), (4, 20)], [(5, 100)], [(-1, 5)]]
)
def test_entries_that_do_not_ascend_within_the_log_are_damage(
    tmp_path: Path, entries: list[tuple[int, int]]
) -> None:
    """A log of a hundred bytes has no batch at byte 100."""
    path = tmp_path / "0.index"
    path.write_bytes(b"".join(OffsetIndex.ENTRY.pack(*entry) for entry in entries))
    with pytest.raises(LogFileError, match="delete it to rebuild it"):
        OffsetIndex(path, 0, 1000).check(log_bytes=100)


def test_right_entries_pass_the_check(tmp_path: Path) -> None:
    """None at all are right, too."""
    index_of(tmp_path).check(log_bytes=0)
    index_of(tmp_path, (46, 10), (48, 99)).check(log_bytes=100)
