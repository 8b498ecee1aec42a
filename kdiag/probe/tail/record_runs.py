"""Records of fetched batches as columns: runs of records that have all but their content in common.

A consumer's objects, one for each record, cost more than all else that is done with it. Here the
batches of a partition that follow one another become one `RecordRun`, and whoever prints or keeps
records works on its columns:

    for run in record_runs(batches):
        if isinstance(run, Unreadable):
            ...
        else:
            run.origin.key, run.cells.offsets(), run.cells.values()
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Final, NamedTuple

from kdiag.client.fetch.position import FetchedBatch, PartitionKey
from kdiag.errors import DecodeError
from kdiag.probe.tail.record_columns import Cells, RecordCells, checked, read_cells
from kdiag.wire.records.batch import MAGIC_2, RecordBatch
from kdiag.wire.records.record import Record

MAX_RUN_BYTES: Final = 1 << 19
"""How many bytes of batches, as fetched, become one run at most, unless one alone is larger."""

_ENOUGH: Final = 2048
"""How many records are enough for a run: what each call of numpy costs is shared by then."""

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
    try:
        cells = read_cells(batches, only_values=only_values)
    except DecodeError as error:
        if len(fetched) == 1:
            yield Unreadable(_origin(fetched[0]), _next_offset(fetched[0]), _why(batches[0], error))
            return
        for each in fetched:
            yield from _read([each], only_values=only_values)
    else:
        yield RecordRun(_origin(fetched[0]), cells, _next_offset(fetched[-1]))


def _read_some(fetched: FetchedBatch, at_hand: AtHand) -> RecordRun | Unreadable:
    """Return the wanted records of a batch of which not all are."""
    batch = fetched.batch
    try:
        if id(batch) not in at_hand:
            if len(at_hand) >= _AT_HAND:
                del at_hand[next(iter(at_hand))]
            at_hand[id(batch)] = batch, checked(batch).records()
    except DecodeError as error:
        return Unreadable(_origin(fetched), _next_offset(fetched), _why(batch, error))
    _, records = at_hand[id(batch)]
    wanted = [each for each in records if fetched.start <= each.offset < fetched.stop]
    return RecordRun(_origin(fetched), RecordCells(wanted), _next_offset(fetched))


def _next_offset(fetched: FetchedBatch) -> int:
    return min(fetched.batch.last_offset + 1, fetched.stop)


def _why(batch: RecordBatch, error: DecodeError) -> str:
    what = f"{error.path}: {error.why}" if error.path else error.why
    return f"the batch that ends with offset {batch.last_offset} cannot be read: {what}"
