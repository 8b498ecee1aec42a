"""Test intents of Kafka's TransactionIndexTest."""

from pathlib import Path

import pytest

from kdiag.lab.log.files.transaction_index import AbortedTransaction, TransactionIndex
from kdiag.lab.log.refusal import LogFileError

ABORTED = [
    AbortedTransaction(0, 0, 10, 2),
    AbortedTransaction(1, 5, 15, 16),
    AbortedTransaction(2, 18, 35, 25),
    AbortedTransaction(3, 32, 50, 40),
]


def index_of(folder: Path, *aborted: AbortedTransaction, start: int = 0) -> TransactionIndex:
    """Return an index with these entries."""
    index = TransactionIndex(folder / "0.txnindex", start)
    for each in aborted:
        index.append(each)
    return index


def test_the_file_appears_with_the_first_entry(tmp_path: Path) -> None:
    """34 bytes an entry, in the order of the markers."""
    index = index_of(tmp_path)
    assert index.entries() == []
    index.flush()
    index.reset()
    assert not index.path.exists()
    index.append(ABORTED[0])
    index.flush()
    assert index.path.read_bytes().hex() == "0000" + "".join(f"{each:016x}" for each in ABORTED[0])
    assert index_of(tmp_path).entries() == ABORTED[:1]


@pytest.mark.parametrize(
    ("start", "end", "expected", "is_complete"),
    [
        (0, 100, [0, 1, 2, 3], False),
        (0, 32, [0, 1, 2], True),
        (0, 35, [0, 1, 2, 3], True),
        (10, 35, [0, 1, 2, 3], True),
        (11, 35, [1, 2, 3], True),
        (20, 41, [2, 3], False),
        (36, 41, [3], False),
        (51, 60, [], False),
    ],
)
def test_a_fetch_gets_those_that_overlap_it(
    tmp_path: Path,
    start: int,
    end: int,
    expected: list[int],
    is_complete: bool,  # noqa: FBT001 - a row of the table
) -> None:
    """The last stable offset of an entry tells whether later ones can."""
    index = index_of(tmp_path, *ABORTED)
    assert index.collect(start, end) == ([ABORTED[at] for at in expected], is_complete)


def test_markers_ascend(tmp_path: Path) -> None:
    """An entry whose marker is not after the last is refused."""
    index = index_of(tmp_path, ABORTED[1])
    with pytest.raises(LogFileError, match="marker 15 after 15"):
        index.append(ABORTED[1])


def test_truncation_goes_by_the_markers(tmp_path: Path) -> None:
    """A transaction whose marker is cut off is open again, and not in the index."""
    index = index_of(tmp_path, *ABORTED)
    index.truncate_to(51)
    assert index.entries() == ABORTED
    index.truncate_to(50)
    assert index_of(tmp_path).entries() == ABORTED[:3]
    index.rename(tmp_path / "1.txnindex")
    index.reset()
    assert index.path.stat().st_size == 0


def test_an_entry_of_another_segment_or_version_is_damage(tmp_path: Path) -> None:
    """A cut entry at the end is none yet."""
    index = index_of(tmp_path, ABORTED[0])
    with pytest.raises(LogFileError, match="not of a segment from 11"):
        index_of(tmp_path, start=11).entries()
    with index.path.open("ab") as file:
        file.write(bytes(20))
    assert index_of(tmp_path).entries() == ABORTED[:1]
    index.path.write_bytes(b"\x00\x01" + bytes(32))
    with pytest.raises(LogFileError, match="version 1"):
        index_of(tmp_path).entries()
