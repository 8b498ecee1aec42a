"""Records of fetched batches as columns: runs of records that have all but their content in common.

A consumer's objects, one for each record, cost more than all else. Here the consecutive batches of
a partition become one `RecordRun`, and whoever prints or keeps records works on its columns:

    for run in record_runs(batches):
        if isinstance(run, Unreadable):
            ...
        else:
            run.origin.key, run.columns.offsets(), run.columns.values()
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Final, NamedTuple

from kdiag.client.fetch.position import FetchedBatch, PartitionKey
from kdiag.errors import DecodeError
from kdiag.probe.tail.record_columns import ObjectColumns, RunColumns, read_columns
from kdiag.wire.records.batch import MAGIC_2, RecordBatch
from kdiag.wire.records.record import CONTROL_BIT, LOG_APPEND_TIME_BIT, Record

MAX_RUN_BYTES: Final = 1 << 19
"""The most bytes of batches, as fetched, in one run, unless one batch is larger."""

_ENOUGH: Final = 2048
"""From how many records on a run is full: they share the cost of each call of numpy."""

_AT_HAND: Final = 4
"""How many batches of which not all records are wanted are kept decoded."""

AtHand = dict[int, tuple[RecordBatch, list[Record]]]
"""Batches and their records by the identity of the batch."""


class Origin(NamedTuple):
    """The facts that all records of a run share.

    Attributes:
        key: the partition.
        leader_epoch: of their batches, -1 if there is none.
        timestamp_type: Kafka's name of the meaning of their timestamps.
        is_aborted: whether their transactions were aborted.
        is_control: whether they are control records.
    """

    key: PartitionKey
    leader_epoch: int
    timestamp_type: str
    is_aborted: bool
    is_control: bool


class RecordRun(NamedTuple):
    """Consecutive records of one partition.

    Attributes:
        origin: the facts that they share.
        columns: their columns.
        next_offset: where reading goes on after them.
    """

    origin: Origin
    columns: RunColumns
    next_offset: int


class Unreadable(NamedTuple):
    """A batch whose records are wrong, though its checksum is right: its writer made it so.

    Attributes:
        origin: the facts in its header.
        offset: the first of its offsets that is wanted.
        next_offset: where reading goes on after it.
        why: the error and its position.
    """

    origin: Origin
    offset: int
    next_offset: int
    why: str


def record_runs(
    batches: Iterable[FetchedBatch], max_bytes: int = MAX_RUN_BYTES, *, only_values: bool = False
) -> Iterator[RecordRun | Unreadable]:
    """Return the wanted records of batches, in their order.

    Aborted and control records are among them; `Origin` marks them. A batch whose records are
    wrong becomes `Unreadable` in its place; a fetcher has checked the checksums.

    Args:
        batches: as a fetcher returns them.
        max_bytes: about how large a run may be.
        only_values: whether mostly the values will be read.
    """
    at_hand: AtHand = {}
    for _, group in groupby(batches, _Grouping(max_bytes)):
        fetched = list(group)
        if _is_cut(fetched[0]):
            yield from (_read_some(each, at_hand) for each in fetched)
        else:
            yield from _read(fetched, only_values=only_values)


_Trait = tuple[PartitionKey, int, int, int, bool, bool]

_ORIGIN_BITS: Final = LOG_APPEND_TIME_BIT | CONTROL_BIT
"""The attributes of a batch on which its `Origin` depends, beside its magic."""


class _Grouping:
    """Returns for each batch the number of its run."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._last: _Trait | None = None
        self._size = self._records = self._number = 0

    def __call__(self, fetched: FetchedBatch) -> int:
        batch, is_cut = fetched.batch, _is_cut(fetched)
        trait = (
            fetched.key,
            batch.partition_leader_epoch,
            batch.magic,
            batch.attributes & _ORIGIN_BITS,
            fetched.is_aborted,
            is_cut,
        )
        self._size += batch.size_in_bytes
        is_full = self._records >= _ENOUGH or self._size > self._max_bytes
        if is_full or trait != self._last:
            self._last = trait
            self._size, self._records = batch.size_in_bytes, 0
            self._number += 1
        if not is_cut:
            self._records += batch.record_count
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
    """Return whether some records of a batch may be unwanted, judging by its header."""
    batch = fetched.batch
    if batch.magic != MAGIC_2:
        return True
    return batch.base_offset < fetched.start or batch.last_offset >= fetched.stop


def _read(
    fetched: Sequence[FetchedBatch], *, only_values: bool
) -> Iterator[RecordRun | Unreadable]:
    """Return the records of whole batches of magic 2 as one run; batch by batch if any is wrong."""
    batches = [each.batch for each in fetched]
    try:
        columns = read_columns(batches, only_values=only_values)
    except DecodeError as error:
        if len(fetched) == 1:
            yield _unreadable(fetched[0], error)
            return
        for each in fetched:
            yield from _read([each], only_values=only_values)
    else:
        yield RecordRun(_origin(fetched[0]), columns, _next_offset(fetched[-1]))


def _read_some(fetched: FetchedBatch, at_hand: AtHand) -> RecordRun | Unreadable:
    """Return the wanted records of a batch."""
    batch = fetched.batch
    try:
        if id(batch) not in at_hand:
            if len(at_hand) >= _AT_HAND:
                del at_hand[next(iter(at_hand))]
            at_hand[id(batch)] = batch, batch.records()
    except DecodeError as error:
        return _unreadable(fetched, error)
    _, records = at_hand[id(batch)]
    wanted = [each for each in records if fetched.start <= each.offset < fetched.stop]
    return RecordRun(_origin(fetched), ObjectColumns(wanted), _next_offset(fetched))


def _next_offset(fetched: FetchedBatch) -> int:
    return min(fetched.batch.last_offset + 1, fetched.stop)


def _unreadable(fetched: FetchedBatch, error: DecodeError) -> Unreadable:
    what = f"{error.path}: {error.why}" if error.path else error.why
    why = f"the batch that ends with offset {fetched.batch.last_offset} cannot be read: {what}"
    return Unreadable(
        _origin(fetched), max(fetched.start, fetched.batch.base_offset), _next_offset(fetched), why
    )
