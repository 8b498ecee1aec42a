"""The file that keeps the state of a cluster: one JSON document, replaced as a whole.

    data/cluster.json    {"schema": 1, "cluster_id": "...", "topics": {"orders": {...}}, ...}

Kafka keeps a log of changes (`__cluster_metadata`); a lab's state is small, and written whenever it
changes. Brokers are not in it: those that run say so themselves.
"""

import os
from pathlib import Path
from typing import Final

import msgspec

from kdiag.exchange.secrets.new_file import make_private_folder
from kdiag.lab.controller.cluster_image import ClusterImage, TopicImage
from kdiag.lab.log.files.checkpoint import read_text, write_whole
from kdiag.lab.log.refusal import LogFileError

FILE_NAME: Final = "cluster.json"
SCHEMA: Final = 1

_FIX: Final = "remove it together with the folders beside it, or use another folder"


class _Document(msgspec.Struct, kw_only=True):
    """The file's content."""

    schema: int
    cluster_id: str
    next_producer_id: int
    topics: dict[str, TopicImage]
    broker_configs: dict[str, dict[str, str]]


def write_state(folder: Path, image: ClusterImage) -> None:
    """Write the state down.

    Raises:
        LogFileError: if the disk is full or broken; the old file is still there.
    """
    document = _Document(
        schema=SCHEMA,
        cluster_id=image.cluster_id,
        next_producer_id=image.next_producer_id,
        topics=dict(image.topics),
        broker_configs={node: dict(configs) for node, configs in image.broker_configs.items()},
    )
    write_whole(folder / FILE_NAME, msgspec.json.format(msgspec.json.encode(document)) + b"\n")


def read_state(folder: Path) -> ClusterImage | None:
    """Return the state without brokers; None if there is no file.

    Raises:
        LogFileError: if the file is something else.
    """
    path = folder / FILE_NAME
    text = read_text(path)
    if text is None:
        return None
    try:
        document = msgspec.json.decode(text, type=_Document)
    except (msgspec.DecodeError, RecursionError) as error:
        raise LogFileError(path, f"not the state of a lab ({error}); {_FIX}") from None
    if document.schema != SCHEMA:
        why = f"written by another kdiag (schema {document.schema}, expected {SCHEMA}); {_FIX}"
        raise LogFileError(path, why)
    return ClusterImage(
        cluster_id=document.cluster_id,
        topics=document.topics,
        broker_configs=document.broker_configs,
        next_producer_id=document.next_producer_id,
    )


def make_folder(folder: Path) -> None:
    """Make the folder, for those who own it only.

    Raises:
        LogFileError: if that fails.
    """
    try:
        make_private_folder(folder)
        if not os.access(folder, os.W_OK):
            raise LogFileError(folder, "this user may not write there; use another folder")
    except OSError as error:
        raise LogFileError(folder, error.strerror or str(error)) from None
