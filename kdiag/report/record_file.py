"""Records as one Parquet file, a row for each."""

import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

import pyarrow as pa
from pyarrow import parquet

from kdiag.errors import ReportError
from kdiag.exchange.secrets.new_file import open_new
from kdiag.wire.records.record import Header

_COMPRESSION: Final = "zstd"
_GROUP_ROWS: Final = 100_000
_GROUP_BYTES: Final = 32 << 20
_HEADER: Final = pa.struct([("key", pa.string()), ("value", pa.binary())])

SCHEMA: Final = pa.schema(
    [
        pa.field("topic", pa.string(), nullable=False),
        pa.field("partition", pa.int32(), nullable=False),
        pa.field("offset", pa.int64(), nullable=False),
        pa.field("timestamp", pa.timestamp("ms", tz="UTC")),
        pa.field("timestamp_type", pa.string(), nullable=False),
        pa.field("key", pa.binary()),
        pa.field("value", pa.binary()),
        pa.field("headers", pa.list_(_HEADER), nullable=False),
        pa.field("leader_epoch", pa.int32()),
        pa.field("aborted", pa.bool_(), nullable=False),
        pa.field("control", pa.string()),
    ]
)
"""The columns; a missing timestamp or leader epoch is null."""


class RecordRows(NamedTuple):
    """Records of one partition; the lists are of equal length.

    Attributes:
        topic, partition, timestamp_type, leader_epoch, is_aborted: of all of them; -1 is no epoch.
        offsets, timestamps, keys, values, headers: of each; -1 is no timestamp.
        controls: the kind of each control record; None for other records.
    """

    topic: str
    partition: int
    timestamp_type: str
    leader_epoch: int
    is_aborted: bool
    offsets: Sequence[int]
    timestamps: Sequence[int]
    keys: Sequence[bytes | None]
    values: Sequence[bytes | None]
    headers: Sequence[Sequence[Header]]
    controls: Sequence[str | None]


class RecordFile:
    """Writes records to a file that gets its name when it is complete.

    Rows are kept until they fill a row group of Parquet, so memory does not grow.
    """

    def __init__(self, file: Path) -> None:
        """Open the file under a hidden name beside its own.

        Raises:
            ReportError: if it cannot be written.
        """
        self._file = file
        self._hidden = file.with_name(f".{file.name}.part")
        self._waiting: list[pa.RecordBatch] = []
        self._waiting_rows = self._waiting_bytes = 0
        try:
            open_new(self._hidden, is_private=False).close()
            self._writer = parquet.ParquetWriter(self._hidden, SCHEMA, compression=_COMPRESSION)
        except OSError as error:
            raise self._failure(error) from error

    def write(self, rows: RecordRows) -> None:
        """Write records.

        Raises:
            ReportError: if the disk is full.
        """
        batch = _batch(rows)
        self._waiting.append(batch)
        self._waiting_rows += batch.num_rows
        self._waiting_bytes += batch.nbytes
        if self._waiting_rows >= _GROUP_ROWS or self._waiting_bytes >= _GROUP_BYTES:
            self._write_group()

    def close(self) -> None:
        """Write the last rows and give the file its name.

        Raises:
            ReportError: if that fails.
        """
        self._write_group()
        try:
            self._writer.close()
            self._hidden.replace(self._file)
        except OSError as error:
            raise self._failure(error) from error

    def discard(self) -> None:
        """Remove the file."""
        with suppress(OSError):
            self._writer.close()
        self._hidden.unlink(missing_ok=True)

    def _write_group(self) -> None:
        if not self._waiting:
            return
        table = pa.Table.from_batches(self._waiting, SCHEMA)
        self._waiting, self._waiting_rows, self._waiting_bytes = [], 0, 0
        try:
            self._writer.write_table(table)
        except OSError as error:
            raise self._failure(error) from error

    def _failure(self, error: OSError) -> ReportError:
        return ReportError(str(self._file), os.strerror(error.errno) if error.errno else str(error))


def _batch(rows: RecordRows) -> pa.RecordBatch:
    count = len(rows.offsets)
    epoch = None if rows.leader_epoch < 0 else rows.leader_epoch
    columns = [
        [rows.topic] * count,
        [rows.partition] * count,
        rows.offsets,
        [None if each < 0 else each for each in rows.timestamps],
        [rows.timestamp_type] * count,
        rows.keys,
        rows.values,
        [[_header(each) for each in headers] for headers in rows.headers],
        [epoch] * count,
        [rows.is_aborted] * count,
        rows.controls,
    ]
    arrays = [pa.array(column, field.type) for column, field in zip(columns, SCHEMA, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=SCHEMA)


def _header(header: Header) -> tuple[str, bytes | None]:
    key, value = header
    return key.decode(errors="replace"), value
