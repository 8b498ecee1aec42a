from pathlib import Path

import pytest

from kdiag.lab.log.files.offset_index import OffsetIndex
from kdiag.lab.log.refusal import LogFileError


def test_what_is_appended_is_in_the_file_at_once(tmp_path: Path) -> None:
    """A process that is killed has lost no entry."""
    index = OffsetIndex(tmp_path / "0.index", 0, 1000)
    index.append(10, 100)
    index.append(20, 200)
    assert (tmp_path / "0.index").read_bytes().hex() == "0000000a000000640000001400 0000c8".replace(
        " ", ""
    )
    assert len(OffsetIndex(tmp_path / "0.index", 0, 1000)) == 2
    index.flush()


def test_a_sealed_index_is_read_again_when_it_is_needed(tmp_path: Path) -> None:
    """It exists even if it is empty, and may be appended to once more."""
    index = OffsetIndex(tmp_path / "0.index", 0, 1000)
    index.seal()
    assert (tmp_path / "0.index").exists()
    index.append(10, 100)
    index.seal()
    assert index.entry(0) == (10, 100)
    index.append(20, 200)
    assert index.last_offset == 20


def test_it_is_full_when_another_entry_would_not_fit(tmp_path: Path) -> None:
    """The segment is rolled then."""
    index = OffsetIndex(tmp_path / "0.index", 0, 16)
    seen = []
    for at in range(1, 3):
        seen.append(index.is_full)
        index.append(at, at)
    assert [*seen, index.is_full] == [False, False, True]


def test_a_file_that_ends_inside_an_entry_is_damaged(tmp_path: Path) -> None:
    """The error says what to do about it."""
    path = tmp_path / "0.index"
    path.write_bytes(bytes(9))
    with pytest.raises(LogFileError, match="entries have 8; delete it"):
        len(OffsetIndex(path, 0, 1000))


def test_an_index_is_renamed_with_its_file(tmp_path: Path) -> None:
    """An index without a file has only its name changed."""
    index = OffsetIndex(tmp_path / "0.index", 0, 1000)
    index.rename(tmp_path / "1.index")
    index.append(10, 100)
    index.rename(tmp_path / "2.index")
    assert [path.name for path in tmp_path.iterdir()] == ["2.index"]
    assert index.last_offset == 10
    index.reset()
    assert len(index) == 0
    assert (tmp_path / "2.index").stat().st_size == 0


def test_an_index_that_cannot_be_written_says_so(tmp_path: Path) -> None:
    """Its folder is gone, for example."""
    index = OffsetIndex(tmp_path / "gone" / "0.index", 0, 1000)
    with pytest.raises(LogFileError, match="No such file"):
        index.append(1, 1)
