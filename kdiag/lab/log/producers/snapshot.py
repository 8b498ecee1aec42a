"""NNN.snapshot: the producers of a partition up to an offset, the one in the file's name.

A log that starts reads the last snapshot and then only the batches after it. It holds one batch of
each producer, the last: a duplicate of an earlier one is unknown after a start, as in Kafka.

    int16 version (1), uint32 CRC-32C of what follows, then an array of entries

Source: Kafka's `ProducerStateManager.readSnapshot`; `ProducerSnapshot.json`.
"""

from collections.abc import Iterable
from pathlib import Path
from struct import Struct
from typing import Final

from kdiag.errors import DecodeError
from kdiag.exchange.secrets.new_file import open_new
from kdiag.lab.log.producers.entry import BatchMetadata, ProducerStateEntry
from kdiag.lab.log.refusal import LogFileError, disk_faults
from kdiag.wire.codec.messages import decode, encode
from kdiag.wire.internal.producer_snapshot import ProducerEntry, ProducerSnapshot
from kdiag.wire.records.compression import crc32c

VERSION: Final = 1
MAX_READ_BYTES: Final = 1 << 28

_HEAD: Final = Struct(">hI")


def write_snapshot(path: Path, entries: Iterable[ProducerStateEntry]) -> None:
    """Write the state of producers.

    Raises:
        LogFileError: if the disk is full or broken.
    """
    message = ProducerSnapshot(
        producer_entries=[
            ProducerEntry(
                producer_id=entry.producer_id,
                epoch=entry.epoch,
                last_sequence=entry.last_sequence,
                last_offset=entry.last_data_offset,
                offset_delta=entry.last_offset_delta,
                timestamp=entry.last_timestamp,
                coordinator_epoch=entry.coordinator_epoch,
                current_txn_first_offset=-1
                if entry.transaction_first_offset is None
                else entry.transaction_first_offset,
            )
            for entry in entries
        ]
    )
    checked = encode(message, VERSION)[4:]
    with disk_faults(path), open_new(path, is_private=True) as file:
        file.write(_HEAD.pack(VERSION, crc32c(checked)) + checked)


def read_snapshot(path: Path) -> list[ProducerStateEntry]:
    """Return the state of producers.

    Raises:
        LogFileError: if the file is damaged, or cannot be read.
    """
    with disk_faults(path), path.open("rb") as file:
        data = file.read(MAX_READ_BYTES)
    if len(data) < _HEAD.size:
        raise LogFileError(path, f"{len(data)} bytes are no snapshot of producers")
    version, crc = _HEAD.unpack_from(data)
    if version != VERSION:
        raise LogFileError(path, f"version {version} of a snapshot of producers")
    if crc32c(memoryview(data)[_HEAD.size :]) != crc:
        raise LogFileError(path, "the checksum does not fit the producers")
    try:
        message = decode(ProducerSnapshot, VERSION, data, 2)
    except DecodeError as error:
        raise LogFileError(path, f"{error.path}: {error.why}", error.offset) from None
    return [_entry(each) for each in message.producer_entries]


def _entry(read: ProducerEntry) -> ProducerStateEntry:
    batches = []
    if read.last_offset >= 0:
        fields = read.last_sequence, read.last_offset, read.offset_delta, read.timestamp
        batches = [BatchMetadata(*fields)]
    first = read.current_txn_first_offset
    return ProducerStateEntry(
        read.producer_id,
        read.epoch,
        read.coordinator_epoch,
        read.timestamp,
        first if first >= 0 else None,
        batches,
    )
