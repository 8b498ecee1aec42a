"""Test intents of Kafka's TimeIndexTest."""

from pathlib import Path

import pytest

from kdiag.lab.log.files.time_index import TimeIndex, TimestampOffset
from kdiag.lab.log.refusal import LogFileError

BASE = 45


def index_of(folder: Path, *entries: tuple[int, int]) -> TimeIndex:
    """Return an index with these entries."""
    index = TimeIndex(folder / "45.timeindex", BASE, 12 * 10)
    for entry in entries:
        index.maybe_append(*entry)
    return index


def test_the_example_of_the_module(tmp_path: Path) -> None:
    """A timestamp that is no new maximum leaves no entry."""
    index = index_of(tmp_path, (1000, 105), (990, 107), (1010, 109))
    assert len(index) == 2
    assert index.lookup(1005) == TimestampOffset(1000, 105)


def test_lookup_finds_the_last_entry_not_beyond(tmp_path: Path) -> None:
    """Before the first there is the base offset, without a timestamp."""
    index = index_of(tmp_path, (10, 55), (20, 65))
    found = [index.lookup(timestamp) for timestamp in (9, 10, 19, 20, 100)]
    assert found == [(-1, BASE), (10, 55), (10, 55), (20, 65), (20, 65)]
    assert index.entry(1) == (20, 65)
    assert index.last_entry == (20, 65)
    assert index_of(tmp_path / "..").last_entry == (-1, BASE)


def test_offsets_may_not_go_back(tmp_path: Path) -> None:
    """The same offset may have a later timestamp."""
    index = index_of(tmp_path, (10, 55), (11, 55))
    with pytest.raises(LogFileError, match="offset 54 after 55"):
        index.maybe_append(12, 54)


def test_truncation_keeps_what_is_before_an_offset(tmp_path: Path) -> None:
    """An entry at the offset goes."""
    index = index_of(tmp_path, (10, 55), (20, 65), (30, 75))
    index.truncate_to(65)
    assert index.last_entry == (10, 55)
    index.truncate_to(0)
    assert len(index_of(tmp_path)) == 0


def test_there_is_always_room_for_the_entry_that_seals_it(tmp_path: Path) -> None:
    """It is full one entry early."""
    index = TimeIndex(tmp_path / "0.timeindex", 0, 24)
    before = index.is_full
    index.maybe_append(1, 1)
    assert (before, index.is_full) == (False, True)
    index.maybe_append(2, 2)
    assert len(index) == 2


@pytest.mark.parametrize("entries", [[(5, 1), (5, 2)], [(5, 3), (6, 2)], [(-5, 1)]])
def test_entries_that_do_not_ascend_are_damage(
    tmp_path: Path, entries: list[tuple[int, int]]
) -> None:
    """Timestamps ascend, offsets never go back."""
    path = tmp_path / "0.timeindex"
    path.write_bytes(b"".join(TimeIndex.ENTRY.pack(*entry) for entry in entries))
    with pytest.raises(LogFileError, match="delete it to rebuild it"):
        TimeIndex(path, 0, 1000).check()


def test_right_entries_pass_the_check(tmp_path: Path) -> None:
    """Two timestamps may have one offset."""
    index_of(tmp_path, (10, 55), (11, 55)).check()
