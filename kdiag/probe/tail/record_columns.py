"""The columns of records, read from batches of magic 2 in the way that is fastest for their number.

| records | read by | become |
|---|---|---|
| few | `read_records`, an object for each | `ObjectColumns` |
| many | numpy, all batches at once | `ArrayColumns` |
| of which only values are wanted | `read_values` | `ValueColumns` |
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, Protocol

from kdiag.wire.records.batch import RecordBatch
from kdiag.wire.records.body import read_headers
from kdiag.wire.records.record import LOG_APPEND_TIME_BIT, Header, Record
from kdiag.wire.records.values import read_values

if TYPE_CHECKING:
    from kdiag.wire.records.columns import Int64Array, RecordColumns

_FEW: Final = 128
"""Up to how many records Python is faster than numpy."""


class RunColumns(Protocol):
    """The columns of records; each is a list that holds one element for each record."""

    def __len__(self) -> int:
        """Return how many records there are."""
        ...

    def offsets(self) -> list[int]:
        """Return the offset of each."""
        ...

    def timestamps(self) -> list[int]:
        """Return milliseconds since 1970, or -1."""
        ...

    def keys(self) -> list[bytes | None]:
        """Return the keys."""
        ...

    def values(self) -> list[bytes | None]:
        """Return the values."""
        ...

    def headers(self) -> list[tuple[Header, ...]]:
        """Return the headers."""
        ...

    def only(self, rows: Sequence[int]) -> "RunColumns":
        """Return the records of some rows, counted from 0."""
        ...


class ObjectColumns:
    """The columns of records that are objects."""

    def __init__(self, records: Sequence[Record]) -> None:
        self._records = records

    def __len__(self) -> int:
        return len(self._records)

    def offsets(self) -> list[int]:
        """Return the offset of each."""
        return [each.offset for each in self._records]

    def timestamps(self) -> list[int]:
        """Return milliseconds since 1970, or -1."""
        return [each.timestamp for each in self._records]

    def keys(self) -> list[bytes | None]:
        """Return the keys."""
        return [each.key for each in self._records]

    def values(self) -> list[bytes | None]:
        """Return the values."""
        return [each.value for each in self._records]

    def headers(self) -> list[tuple[Header, ...]]:
        """Return the headers."""
        return [each.headers for each in self._records]

    def only(self, rows: Sequence[int]) -> "ObjectColumns":
        """Return the records of some rows, counted from 0."""
        return ObjectColumns([self._records[row] for row in rows])


class ArrayColumns:
    """The columns of records that were read with numpy."""

    def __init__(self, columns: "RecordColumns") -> None:
        self._columns = columns

    def __len__(self) -> int:
        return len(self._columns.offset)

    def offsets(self) -> list[int]:
        """Return the offset of each."""
        offsets: list[int] = self._columns.offset.tolist()
        return offsets

    def timestamps(self) -> list[int]:
        """Return milliseconds since 1970, or -1."""
        timestamps: list[int] = self._columns.timestamp.tolist()
        return timestamps

    def keys(self) -> list[bytes | None]:
        """Return the keys."""
        return self._cut(self._columns.key_start, self._columns.key_bytes)

    def values(self) -> list[bytes | None]:
        """Return the values."""
        return self._cut(self._columns.value_start, self._columns.value_bytes)

    def headers(self) -> list[tuple[Header, ...]]:
        """Return the headers."""
        body, counts = self._columns.body, self._columns.header_count
        headers: list[tuple[Header, ...]] = [()] * len(counts)
        rows = counts.nonzero()[0]
        ends = self._columns.value_start + self._columns.value_bytes.clip(min=0)
        for row, end in zip(rows.tolist(), ends[rows].tolist(), strict=True):
            headers[row], _ = read_headers(body, end, len(body))
        return headers

    def only(self, rows: Sequence[int]) -> "ArrayColumns":
        """Return the records of some rows, counted from 0."""
        body, *columns = self._columns
        return ArrayColumns(type(self._columns)(body, *(each[list(rows)] for each in columns)))

    def _cut(self, start: "Int64Array", size: "Int64Array") -> list[bytes | None]:
        """Return pieces of the body; None where the size is negative."""
        if not (size >= 0).any():
            return [None] * len(size)
        body = self._columns.body
        ends = (start + size).tolist()
        pieces: list[bytes | None] = [
            body[first:end] for first, end in zip(start.tolist(), ends, strict=True)
        ]
        for row in (size < 0).nonzero()[0].tolist():
            pieces[row] = None
        return pieces


class ValueColumns:
    """The columns of records of which mostly the values are wanted; the others cost more here."""

    def __init__(self, batches: Sequence[RecordBatch]) -> None:
        """Read the values.

        Raises:
            DecodeError: if a batch is wrong.
        """
        self._batches = batches
        self._all: RunColumns | None = None
        self._values: list[bytes | None] = []
        for each in batches:
            body, count, *_ = each.body_and_bases()
            self._values += read_values(body, count)

    def __len__(self) -> int:
        return len(self._values)

    def offsets(self) -> list[int]:
        """Return the offset of each."""
        return self._every().offsets()

    def timestamps(self) -> list[int]:
        """Return milliseconds since 1970, or -1."""
        return self._every().timestamps()

    def keys(self) -> list[bytes | None]:
        """Return the keys."""
        return self._every().keys()

    def values(self) -> list[bytes | None]:
        """Return the values."""
        return self._values

    def headers(self) -> list[tuple[Header, ...]]:
        """Return the headers."""
        return self._every().headers()

    def only(self, rows: Sequence[int]) -> RunColumns:
        """Return the records of some rows, counted from 0."""
        return self._every().only(rows)

    def _every(self) -> RunColumns:
        """Return all columns."""
        if self._all is None:
            self._all = _read_arrays(self._batches)
        return self._all


def read_columns(batches: Sequence[RecordBatch], *, only_values: bool) -> RunColumns:
    """Return the records of batches that agree on what their timestamps mean.

    Raises:
        DecodeError: if a batch is wrong.
    """
    if only_values:
        return ValueColumns(batches)
    if sum(each.record_count for each in batches) <= _FEW:
        return ObjectColumns([record for batch in batches for record in batch.records()])
    return _read_arrays(batches)


def _read_arrays(batches: Sequence[RecordBatch]) -> RunColumns:
    """Return the columns of many records; the errors are those of `read_columns`."""
    import numpy as np  # noqa: PLC0415 - 60 ms that a tail of few records does without

    from kdiag.wire.records.columns import (  # noqa: PLC0415 - as above, it imports numpy
        PackedRecords,
        read_joined_columns,
    )

    packed = [PackedRecords(*each.body_and_bases()) for each in batches]
    columns = read_joined_columns(packed)
    if batches[0].attributes & LOG_APPEND_TIME_BIT:  # then all have it: see `Origin`
        appended = np.array([each.max_timestamp for each in batches], np.int64)
        columns = columns._replace(
            timestamp=np.repeat(appended, [each.record_count for each in packed])
        )
    return ArrayColumns(columns)
