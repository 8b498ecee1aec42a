"""Test intents of Kafka's OffsetCheckpointFileTest and LeaderEpochCheckpointFileTest."""

from pathlib import Path

import pytest

from kdiag.lab.log.files import checkpoint
from kdiag.lab.log.refusal import LogFileError
from tiers.cases import for_each


def test_offsets_are_written_as_kafka_writes_them(tmp_path: Path) -> None:
    """A version, a count, a line for each partition; the old file is replaced."""
    path = tmp_path / "recovery-point-offset-checkpoint"
    checkpoint.write_offsets(path, {("orders", 1): 815})
    offsets = {("orders", 1): 815, ("orders", 0): 4711}
    checkpoint.write_offsets(path, offsets)
    assert path.read_text() == "0\n2\norders 0 4711\norders 1 815\n"
    assert checkpoint.read_offsets(path) == offsets
    assert [each.name for each in tmp_path.iterdir()] == [path.name]


def test_epochs_keep_their_order(tmp_path: Path) -> None:
    """A file that is not there has none, and so have an empty one and one that says so."""
    path = tmp_path / "leader-epoch-checkpoint"
    assert checkpoint.read_epochs(path) == []
    path.touch()
    assert checkpoint.read_epochs(path) == []
    checkpoint.write_epochs(path, [])
    assert checkpoint.read_epochs(path) == []
    entries = [checkpoint.EpochEntry(0, 0), checkpoint.EpochEntry(3, 120)]
    checkpoint.write_epochs(path, entries)
    assert path.read_text() == "0\n2\n0 0\n3 120\n"
    assert checkpoint.read_epochs(path) == entries


@for_each(
    "text",
    [
        "0\n",
        "1\n0\n",
        "0\n2\norders 0 1\n",
        "0\n1\norders 0\n",
        "0\n1\norders zero 1\n",
        "0\n1\norders 0 -1\n",
        "0\n1\norders 0 99999999999999999999\n",
        "0\nmany\norders 0 1\n",
        "\x00\x00\x00",
        "0\n1\norders 0 1\u0663\n",
    ],
)
def test_something_else_is_refused(tmp_path: Path, text: str) -> None:
    """The error names the file."""
    path = tmp_path / "checkpoint"
    path.write_text(text)
    with pytest.raises(LogFileError, match="checkpoint"):
        checkpoint.read_offsets(path)


@pytest.mark.thorough
def test_what_is_no_text_or_endless_is_refused(tmp_path: Path) -> None:
    """No more is read than a million partitions take."""
    path = tmp_path / "checkpoint"
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(LogFileError, match="not a text"):
        checkpoint.read_text(path)
    with path.open("wb") as file:
        file.truncate(checkpoint.MAX_READ_BYTES + 1)
    with pytest.raises(LogFileError, match="more than"):
        checkpoint.read_text(path)


def test_a_folder_that_is_gone_is_said(tmp_path: Path) -> None:
    """The old file would still be there."""
    with pytest.raises(LogFileError, match="No such file"):
        checkpoint.write_whole(tmp_path / "gone" / "file", b"")
