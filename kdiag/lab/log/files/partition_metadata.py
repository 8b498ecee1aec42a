"""The id of a topic, in a file `partition.metadata` beside its segments.

    version: 0
    topic_id: fEkQVKkBTLO5nAs1sF4PZg

A broker that starts compares it with what the controller says: a folder of a topic that was deleted
and made again with the same name has another id, and is not its log (KIP-516).

Source: Kafka's `PartitionMetadataFile`.
"""

from pathlib import Path
from typing import Final

from kdiag.lab.log.files.checkpoint import read_text, write_whole
from kdiag.lab.log.refusal import LogFileError
from kdiag.wire.primitives import uuid_bytes, uuid_text

FILE_NAME: Final = "partition.metadata"
VERSION: Final = 0

_NO_ID: Final = bytes(16)


def write_topic_id(folder: Path, topic_id: bytes) -> None:
    """Write the id of the topic of a partition.

    Raises:
        LogFileError: if the disk is full or broken.
    """
    text = f"version: {VERSION}\ntopic_id: {uuid_text(topic_id)}\n"
    write_whole(folder / FILE_NAME, text.encode())


def read_topic_id(folder: Path) -> bytes | None:
    """Return the id of the topic of a partition; None without a file.

    Raises:
        LogFileError: if the file is something else.
    """
    path = folder / FILE_NAME
    text = read_text(path)
    if text is None:
        return None
    fields = dict(line.split(": ", 1) for line in text.splitlines() if ": " in line)
    if fields.get("version") != str(VERSION):
        raise LogFileError(path, f"expected version {VERSION}, not {fields.get('version')!r}")
    try:
        topic_id = uuid_bytes(fields["topic_id"])
    except (KeyError, ValueError):
        raise LogFileError(path, f"no topic id: {fields.get('topic_id')!r}") from None
    if topic_id == _NO_ID:
        raise LogFileError(path, "the topic id is all zeros")
    return topic_id
