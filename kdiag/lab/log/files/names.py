"""The names of the files and folders of a log: a base offset of twenty digits and a suffix.

    orders-3/00000000000000000000.log        the first segment of partition 3 of orders
    orders-3/00000000000000004711.index      the offset index of a later one
    orders-3/00000000000000004711.snapshot   the producers up to that offset

A file that is being made ends in `.cleaned`, one that is about to take the place of others in
`.swap`, and one that is no longer part of the log in `.deleted`.

Source: Kafka's `LogFileUtils` and `LocalLog.parseTopicPartitionName`.
"""

import re
from pathlib import Path
from typing import Final, NamedTuple

LOG: Final = ".log"
OFFSET_INDEX: Final = ".index"
TIME_INDEX: Final = ".timeindex"
TRANSACTION_INDEX: Final = ".txnindex"
SNAPSHOT: Final = ".snapshot"
CLEANED: Final = ".cleaned"
SWAP: Final = ".swap"
DELETED: Final = ".deleted"

SEGMENT_SUFFIXES: Final = (LOG, OFFSET_INDEX, TIME_INDEX, TRANSACTION_INDEX)
"""The files of a segment; the log first, for it is the segment."""

MAX_OFFSET: Final = (1 << 63) - 1
MAX_TOPIC_CHARACTERS: Final = 249

_NUMBERED: Final = re.compile(r"(\d{20})(\.[a-z]+)(\.[a-z]+)?")
_FOLDER: Final = re.compile(r"([a-zA-Z0-9._-]+)-(\d{1,10})")


class NumberedFile(NamedTuple):
    """The parts of a file name.

    Attributes:
        base_offset: the number.
        kind: the suffix that says what it holds, such as `.log`.
        state: `.cleaned`, `.swap`, `.deleted`, or empty.
    """

    base_offset: int
    kind: str
    state: str


def numbered_path(folder: Path, base_offset: int, suffix: str) -> Path:
    """Return the path of a file of a segment."""
    return folder / f"{base_offset:020d}{suffix}"


def parse_numbered(name: str) -> NumberedFile | None:
    """Return the parts of the name of a segment's file or a snapshot; None for any other."""
    found = _NUMBERED.fullmatch(name)
    if found is None or int(found[1]) > MAX_OFFSET:
        return None
    return NumberedFile(int(found[1]), found[2], found[3] or "")


def partition_folder(topic: str, partition: int) -> str:
    """Return the name of the folder of a partition."""
    return f"{topic}-{partition}"


def parse_partition_folder(name: str) -> tuple[str, int] | None:
    """Return topic and partition of a folder; None if it is not that of a partition."""
    found = _FOLDER.fullmatch(name)
    if found is None or len(found[1]) > MAX_TOPIC_CHARACTERS or int(found[2]) >= 1 << 31:
        return None
    return found[1], int(found[2])
