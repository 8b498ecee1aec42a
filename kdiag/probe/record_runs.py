"""Records of fetched batches as columns: runs of records that have all but their content in common.

A consumer's objects, one for each record, cost more than all else that is done with it. Here the
batches of a partition that follow one another become one `RecordRun`, and whoever prints
or keeps records works on its columns:

    for run in record_runs(batches):
        if isinstance(run, Unreadable):
            ...
        else:
            run.origin.key, run.offsets(), run.values()

Many records are read with numpy, few without, which then is not loaded either.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from kdiag.client.fetch_position import FetchedBatch, PartitionKey
from kdiag.errors import DecodeError
from kdiag.wire.record import LOG_APPEND_TIME_BIT, Header, Record
from kdiag.wire.record_batch import MAGIC_2, RecordBatch
from kdiag.wire.record_body import read_headers
from kdiag.wire.record_values import read_values

if TYPE_CHECKING:
    from kdiag.wire.record_columns import Int64Array, RecordColumns

MAX_RUN_BYTES: Final = 1 << 19
"""How many bytes of batches, as fetched, become one run at most, unless one alone is larger."""

_ENOUGH: Final = 2048
"""How many records are enough for a run: what each call of numpy costs is shared by then."""

_FEW: Final = 128
"""Up to how many records Python is faster than numpy."""

_AT_HAND: Final = 4
"""How many batches are kept in which single records were looked for."""

AtHand = dict[int, tuple[RecordBatch, list[Record]]]
"""Batches and their records by the batch's identity, which lasts while it is kept here."""


class Origin(NamedTuple):
    """What the records of a run have in common.

    Attributes:
        key: the partition.
        leader_epoch: of their batches, -1 if there is none.
        timestamp_type: what their timestamps mean, in Kafka's words.
        is_aborted: whether their transactions were aborted.
        is_control: whether they are control records.
    """

    key: PartitionKey
    leader_epoch: int
    timestamp_type: str
    is_aborted: bool
    is_control: bool


class Cells(Protocol):
    """The columns of records; each is a list that holds one element for each record."""

    def __len__(self) -> int:
        """Return how many records there are."""
        ...

    def offsets(self) -> list[int]:
        """Return where in the partition each stands."""
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

    def only(self, rows: Sequence[int]) -> "Cells":
        """Return the records of some rows, counted from 0."""
        ...


class RecordRun(NamedTuple):
    """Records of one partition in a row.

    Attributes:
        origin: what they have in common.
        cells: their columns.
        next_offset: where reading goes on behind them.
    """

    origin: Origin
    cells: Cells
    next_offset: int


class Unreadable(NamedTuple):
    """A batch whose records are wrong.

    Attributes:
        origin: what is known of them.
        next_offset: where reading goes on behind it.
        why: what is wrong, in words that say where.
    """

    origin: Origin
    next_offset: int
    why: str


class RecordCells:
    """The columns of records that were made one by one."""

    def __init__(self, records: Sequence[Record]) -> None:
        """Take the records."""
        self._records = records

    def __len__(self) -> int:
        return len(self._records)

    def offsets(self) -> list[int]:
        """Return where in the partition each stands."""
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

    def only(self, rows: Sequence[int]) -> "RecordCells":
        """Return the records of some rows, counted from 0."""
        return RecordCells([self._records[row] for row in rows])


class ColumnCells:
    """The columns of records that were read with numpy."""

    def __init__(self, columns: "RecordColumns") -> None:
        """Take the columns."""
        self._columns = columns

    def __len__(self) -> int:
        return len(self._columns.offset)

    def offsets(self) -> list[int]:
        """Return where in the partition each stands."""
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

    def only(self, rows: Sequence[int]) -> "ColumnCells":
        """Return the records of some rows, counted from 0."""
        body, *columns = self._columns
        return ColumnCells(type(self._columns)(body, *(each[list(rows)] for each in columns)))

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


class ValueCells:
    """The columns of records of which somebody wants the values; the others cost more here."""

    def __init__(self, batches: Sequence[RecordBatch]) -> None:
        """Read the values.

        Raises:
            DecodeError: if a batch is wrong.
        """
        self._batches = batches
        self._all: Cells | None = None
        self._values: list[bytes | None] = []
        for each in batches:
            body, count, *_ = _checked(each).body_and_bases()
            self._values += read_values(body, count)

    def __len__(self) -> int:
        return len(self._values)

    def offsets(self) -> list[int]:
        """Return where in the partition each stands."""
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

    def only(self, rows: Sequence[int]) -> Cells:
        """Return the records of some rows, counted from 0."""
        return self._every().only(rows)

    def _every(self) -> Cells:
        """Return all columns."""
        if self._all is None:
            self._all = _read_columns(self._batches)
        return self._all


def record_runs(
    batches: Iterable[FetchedBatch], max_bytes: int = MAX_RUN_BYTES, *, only_values: bool = False
) -> Iterator[RecordRun | Unreadable]:
    """Return the wanted records of batches, in their order.

    Aborted and control records are among them; `Origin` says so. A batch that is wrong comes as
    `Unreadable` in its place.

    Args:
        batches: as a fetcher hands them out.
        max_bytes: about how large a run may be.
        only_values: whether of most runs only the values will be looked at.
    """
    at_hand: AtHand = {}
    for _, group in groupby(batches, _Grouping(max_bytes)):
        fetched = list(group)
        if _is_cut(fetched[0]):
            yield from (_read_some(each, at_hand) for each in fetched)
        else:
            yield from _read(fetched, only_values=only_values)


class _Grouping:
    """Tells for each batch the number of the run that it belongs to."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._last: tuple[Origin, bool] | None = None
        self._size = self._records = self._number = 0

    def __call__(self, fetched: FetchedBatch) -> int:
        trait, size = (_origin(fetched), _is_cut(fetched)), fetched.batch.size_in_bytes
        is_full = self._records >= _ENOUGH or self._size + size > self._max_bytes
        if trait != self._last or is_full:
            self._last = trait
            self._size = self._records = 0
            self._number += 1
        self._size += size
        self._records += 0 if trait[1] else fetched.batch.record_count
        return self._number


def _origin(fetched: FetchedBatch) -> Origin:
    batch = fetched.batch
    return Origin(
        fetched.key,
        batch.partition_leader_epoch,
        batch.timestamp_type.value,
        fetched.is_aborted,
        batch.is_control,
    )


def _is_cut(fetched: FetchedBatch) -> bool:
    """Return whether not all records of a batch are wanted, as far as its header tells."""
    batch = fetched.batch
    if batch.magic != MAGIC_2:
        return True
    return batch.base_offset < fetched.start or batch.last_offset >= fetched.stop


def _read(
    fetched: Sequence[FetchedBatch], *, only_values: bool
) -> Iterator[RecordRun | Unreadable]:
    """Return the records of whole batches of magic 2 as one run, or one by one if any is wrong."""
    batches = [each.batch for each in fetched]
    few = sum(each.record_count for each in batches) <= _FEW
    read = ValueCells if only_values else _read_records if few else _read_columns
    try:
        yield RecordRun(_origin(fetched[0]), read(batches), _next_offset(fetched[-1]))
    except DecodeError as error:
        if len(fetched) == 1:
            yield Unreadable(_origin(fetched[0]), _next_offset(fetched[0]), _why(batches[0], error))
            return
        for each in fetched:
            yield from _read([each], only_values=only_values)


def _read_records(batches: Sequence[RecordBatch]) -> Cells:
    """Return the cells of few records.

    Raises:
        DecodeError: if a batch is wrong.
    """
    return RecordCells([record for batch in batches for record in _checked(batch).records()])


def _read_columns(batches: Sequence[RecordBatch]) -> Cells:
    """Return the cells of many records; the errors are those of `_read_records`."""
    import numpy as np  # noqa: PLC0415 - only where there are many records

    from kdiag.wire.record_columns import (  # noqa: PLC0415 - as above
        PackedRecords,
        read_joined_columns,
    )

    packed = [PackedRecords(*_checked(each).body_and_bases()) for each in batches]
    columns = read_joined_columns(packed)
    if batches[0].attributes & LOG_APPEND_TIME_BIT:  # then all have it: see `Origin`
        appended = np.array([each.max_timestamp for each in batches], np.int64)
        columns = columns._replace(
            timestamp=np.repeat(appended, [each.record_count for each in packed])
        )
    return ColumnCells(columns)


def _read_some(fetched: FetchedBatch, at_hand: AtHand) -> RecordRun | Unreadable:
    """Return the wanted records of a batch of which not all are."""
    batch = fetched.batch
    try:
        if id(batch) not in at_hand:
            if len(at_hand) >= _AT_HAND:
                del at_hand[next(iter(at_hand))]
            at_hand[id(batch)] = batch, _checked(batch).records()
    except DecodeError as error:
        return Unreadable(_origin(fetched), _next_offset(fetched), _why(batch, error))
    _, records = at_hand[id(batch)]
    wanted = [each for each in records if fetched.start <= each.offset < fetched.stop]
    return RecordRun(_origin(fetched), RecordCells(wanted), _next_offset(fetched))


def _checked(batch: RecordBatch) -> RecordBatch:
    """Return a batch whose checksum is right.

    Raises:
        DecodeError: if it is not.
    """
    if not batch.crc_ok:
        raise DecodeError("", batch.start, "the checksum is wrong")
    return batch


def _next_offset(fetched: FetchedBatch) -> int:
    return min(fetched.batch.last_offset + 1, fetched.stop)


def _why(batch: RecordBatch, error: DecodeError) -> str:
    what = f"{error.path}: {error.why}" if error.path else error.why
    return f"the batch that ends with offset {batch.last_offset} cannot be read: {what}"
