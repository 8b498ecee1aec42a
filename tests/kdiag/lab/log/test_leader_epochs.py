"""Test intents of Kafka's LeaderEpochFileCacheTest."""

from pathlib import Path

import pytest

from kdiag.lab.log.files.checkpoint import EpochEntry
from kdiag.lab.log.leader_epochs import LeaderEpochs

END = 130


def epochs(folder: Path, *entries: tuple[int, int]) -> LeaderEpochs:
    """Return epochs with these entries assigned in their order."""
    made = LeaderEpochs(folder / "leader-epoch-checkpoint")
    for entry in entries:
        made.assign(*entry)
    return made


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        (3, (3, 125)),
        (2, (0, 120)),
        (0, (0, 120)),
        (4, (4, END)),
        (5, None),
        (-1, None),
    ],
)
def test_an_epoch_ends_where_the_next_begins(
    tmp_path: Path, asked: int, expected: tuple[int, int] | None
) -> None:
    """The example of the module: gaps are answered with the epoch before them."""
    cache = epochs(tmp_path, (0, 0), (3, 120), (4, 125))
    assert cache.end_offset_for(asked, END) == expected


def test_an_epoch_before_the_first_ends_where_the_first_begins(tmp_path: Path) -> None:
    """So a follower that is far behind truncates to the start of the log."""
    assert epochs(tmp_path, (5, 10), (7, 20)).end_offset_for(4, END) == (4, 10)


def test_without_epochs_nothing_is_known(tmp_path: Path) -> None:
    """No epoch ends anywhere, and no offset has one."""
    cache = epochs(tmp_path)
    assert cache.end_offset_for(0, END) is None
    assert cache.epoch_for(0) is None
    assert cache.latest is None
    assert cache.earliest is None


def test_the_current_epoch_begins_once(tmp_path: Path) -> None:
    """Every batch is announced; only the first of an epoch counts."""
    assert epochs(tmp_path, (2, 6), (2, 7), (2, 100)).entries == [(2, 6)]


@pytest.mark.parametrize(
    ("assigned", "left"),
    [
        ([(1, 5), (2, 6), (1, 7)], [(1, 7)]),
        ([(1, 5), (2, 10), (3, 7)], [(1, 5), (3, 7)]),
        ([(1, 5), (2, 10), (3, 10)], [(1, 5), (3, 10)]),
        ([(1, 6), (2, 6)], [(2, 6)]),
        ([(2, 6), (2, 4)], [(2, 4)]),
    ],
)
def test_epochs_and_offsets_both_ascend(
    tmp_path: Path, assigned: list[tuple[int, int]], left: list[tuple[int, int]]
) -> None:
    """The last one assigned is right; what contradicts it goes."""
    assert epochs(tmp_path, *assigned).entries == left


def test_epochs_survive_in_their_checkpoint(tmp_path: Path) -> None:
    """Another cache on the same file knows the same, and negative numbers are refused."""
    first = epochs(tmp_path, (0, 0), (3, 120))
    with pytest.raises(ValueError, match="epoch -1"):
        first.assign(-1, 5)
    assert epochs(tmp_path).entries == first.entries == [EpochEntry(0, 0), EpochEntry(3, 120)]


@pytest.mark.parametrize(
    ("end", "left"),
    [(11, [(2, 6), (3, 8), (4, 11)][:2]), (9, [(2, 6), (3, 8)]), (0, []), (12, 3)],
)
def test_truncating_the_end_removes_whole_epochs(
    tmp_path: Path, end: int, left: list[tuple[int, int]] | int
) -> None:
    """An epoch that begins at the new end or after it has written nothing."""
    cache = epochs(tmp_path, (2, 6), (3, 8), (4, 11))
    cache.truncate_from_end(end)
    kept = cache.entries if isinstance(left, list) else len(cache.entries)
    assert kept == left
    assert epochs(tmp_path).entries == cache.entries


@pytest.mark.parametrize(
    ("start", "left"),
    [
        (5, [(2, 6), (3, 8), (4, 11)]),
        (6, [(2, 6), (3, 8), (4, 11)]),
        (7, [(2, 7), (3, 8), (4, 11)]),
        (8, [(3, 8), (4, 11)]),
        (20, [(4, 20)]),
    ],
)
def test_truncating_the_start_keeps_the_epoch_that_was_current_there(
    tmp_path: Path, start: int, left: list[tuple[int, int]]
) -> None:
    """It begins at the new start, for the records before that are gone."""
    cache = epochs(tmp_path, (2, 6), (3, 8), (4, 11))
    cache.truncate_from_start(start)
    assert cache.entries == left
    assert epochs(tmp_path).entries == left


def test_an_offset_was_written_in_the_epoch_that_began_before_it(tmp_path: Path) -> None:
    """Before the first epoch nothing is known."""
    cache = epochs(tmp_path, (2, 6), (3, 8))
    assert [cache.epoch_for(offset) for offset in (5, 6, 7, 8, 100)] == [None, 2, 2, 3, 3]
    cache.clear()
    assert epochs(tmp_path).entries == []
