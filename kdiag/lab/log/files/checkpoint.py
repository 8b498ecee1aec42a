"""Checkpoints: small text files of numbers, replaced as a whole.

    0                       the version
    2                       the number of entries
    orders 0 4711           topic, partition, offset: replication-offset-checkpoint and the like
    orders 1 815

A leader epoch checkpoint has an epoch and its start offset in a line. The new file is written
beside the old one and takes its name, so that a process that is killed leaves one or the other.

Source: Kafka's `CheckpointFile`, `OffsetCheckpointFile`, `LeaderEpochCheckpointFile`.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final, NamedTuple

from kdiag.exchange.secrets.new_file import open_new
from kdiag.lab.log.refusal import LogFileError, disk_faults

VERSION: Final = 0
MAX_READ_BYTES: Final = 1 << 26
"""A million partitions take less."""

TopicPartition = tuple[str, int]
"""A topic's name and a partition's number."""


class EpochEntry(NamedTuple):
    """The beginning of a leader epoch.

    Attributes:
        epoch: its number.
        start_offset: the first offset written in it.
    """

    epoch: int
    start_offset: int


def write_whole(path: Path, data: bytes) -> None:
    """Replace a file at once.

    Raises:
        LogFileError: if the disk is full or broken; the old file is still there.
    """
    beside = path.with_name(f"{path.name}.tmp")
    with disk_faults(path):
        with open_new(beside, is_private=True) as file:
            file.write(data)
        beside.replace(path)


def read_text(path: Path) -> str | None:
    """Return what a file holds; None without one.

    Raises:
        LogFileError: if it cannot be read, is no text, or is far too long.
    """
    with disk_faults(path):
        if not path.exists():
            return None
        with path.open("rb") as file:
            data = file.read(MAX_READ_BYTES + 1)
    if len(data) > MAX_READ_BYTES:
        raise LogFileError(path, f"more than {MAX_READ_BYTES} bytes")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise LogFileError(path, "not a text in UTF-8", error.start) from None


def write_offsets(path: Path, offsets: Mapping[TopicPartition, int]) -> None:
    """Write the offset of each partition.

    Raises:
        LogFileError: if the disk is full or broken.
    """
    lines = (f"{topic} {partition} {at}" for (topic, partition), at in sorted(offsets.items()))
    write_whole(path, _document(lines))


def read_offsets(path: Path) -> dict[TopicPartition, int]:
    """Return the offset of each partition; none without a file, or in an empty one.

    Raises:
        LogFileError: if the file is something else.
    """
    offsets = {}
    for number, fields in _lines(path, 3):
        topic, partition, offset = fields
        offsets[topic, _number(path, number, partition)] = _number(path, number, offset)
    return offsets


def write_epochs(path: Path, epochs: Iterable[EpochEntry]) -> None:
    """Write leader epochs, in their order.

    Raises:
        LogFileError: if the disk is full or broken.
    """
    write_whole(path, _document(f"{entry.epoch} {entry.start_offset}" for entry in epochs))


def read_epochs(path: Path) -> list[EpochEntry]:
    """Return leader epochs, in the order of the file; none without one.

    Raises:
        LogFileError: if the file is something else.
    """
    return [
        EpochEntry(_number(path, number, epoch), _number(path, number, offset))
        for number, (epoch, offset) in _lines(path, 2)
    ]


def _document(lines: Iterable[str]) -> bytes:
    listed = list(lines)
    return "".join(f"{line}\n" for line in (VERSION, len(listed), *listed)).encode()


def _lines(path: Path, field_count: int) -> list[tuple[int, list[str]]]:
    """Return the number and the fields of each line after the first two."""
    text = read_text(path)
    if not text:  # Kafka makes the file before it has anything to write
        return []
    lines = text.splitlines()
    if len(lines) < 2 or lines[0] != str(VERSION):  # noqa: PLR2004 - version and count
        raise LogFileError(path, f"expected version {VERSION} and a count of entries")
    entries = [(number, line.split()) for number, line in enumerate(lines[2:], start=3)]
    if _number(path, 2, lines[1]) != len(entries):
        raise LogFileError(path, f"{lines[1]} entries are announced, there are {len(entries)}")
    for number, fields in entries:
        if len(fields) != field_count:
            raise LogFileError(path, f"line {number} has not {field_count} fields")
    return entries


def _number(path: Path, line: int, text: str) -> int:
    if not (text.isascii() and text.isdigit() and int(text[:20]) < 1 << 63):
        raise LogFileError(path, f"line {line}: expected a number up to 2^63, not {text[:40]!r}")
    return int(text[:20])
