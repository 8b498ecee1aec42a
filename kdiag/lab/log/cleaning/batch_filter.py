"""What is left of a batch when its log is cleaned.

    all records stay             the same bytes
    some stay                    written anew: same offsets, same producer, last offset as it was
    none stays, but it matters   an empty batch: the last of its producer, or the end of the part
                                 that is cleaned
    none stays                   nothing

A batch whose first tombstone (or finished marker) is met gets the *delete horizon*: the time from
which on it may go, in the field that has the base of its timestamps otherwise (KIP-534). Messages
of magic 0 and 1 have no room for that: their tombstones go by the age of their file.

Source: Kafka's `MemoryRecords.filterTo`, `Cleaner.cleanInto`, `Cleaner.shouldRetainRecord`.
"""

from collections.abc import Mapping
from typing import NamedTuple

import msgspec

from kdiag.lab.log.cleaning.cleaned_transactions import CleanedTransactions
from kdiag.lab.log.cleaning.key_offsets import KeyOffsets
from kdiag.wire.records.batch import MAGIC_2, RecordBatch
from kdiag.wire.records.record import LOG_APPEND_TIME_BIT, Record
from kdiag.wire.records.writer import write_batch


class LastRecord(NamedTuple):
    """The last batch of a producer, which is kept for its sequence numbers.

    Attributes:
        last_data_offset: the last offset; -1 if the last one was a marker.
        epoch: of the producer.
    """

    last_data_offset: int
    epoch: int


class FilterTerms(NamedTuple):
    """What decides on a batch.

    Attributes:
        keys: the last offset of each key.
        producers: the last record of each producer id.
        end_offset: the first offset after the part that is cleaned.
        now_ms: the time.
        delete_retention_ms: for how long tombstones are kept.
        keeps_old_tombstones: whether those of magic 0 and 1 in this segment stay.
    """

    keys: KeyOffsets
    producers: Mapping[int, LastRecord]
    end_offset: int
    now_ms: int
    delete_retention_ms: int
    keeps_old_tombstones: bool


def filter_batch(
    batch: RecordBatch, transactions: CleanedTransactions, terms: FilterTerms
) -> bytes | None:
    """Return what is left of a batch; None for nothing.

    Raises:
        DecodeError: if its records are damaged.
        LogRefusedError: if a marker is unreadable.
    """
    can_go = transactions.is_discarded(batch)
    is_discarded = can_go and (not batch.is_control or _is_past_horizon(batch, terms))
    is_needed = _is_last_of_producer(batch, terms) or batch.last_offset + 1 == terms.end_offset
    if is_discarded and not is_needed:
        return None
    records = batch.records(stored_timestamps=True)
    retained = [
        record for record in records if not is_discarded and _is_retained(batch, record, terms)
    ]
    if not retained:
        return _empty(batch) if is_needed and batch.magic == MAGIC_2 else None
    has_tombstone = any(record.value is None for record in retained)
    gets_horizon = (
        batch.magic == MAGIC_2
        and (has_tombstone or (can_go and batch.is_control))
        and batch.delete_horizon_ms is None
    )
    if len(retained) == len(records) and not gets_horizon:
        return bytes(batch.data[batch.start : batch.start + batch.size_in_bytes])
    return _rewritten(batch, retained, terms if gets_horizon else None)


def _is_past_horizon(batch: RecordBatch, terms: FilterTerms) -> bool:
    horizon_ms = batch.delete_horizon_ms
    return horizon_ms is not None and horizon_ms <= terms.now_ms


def _is_last_of_producer(batch: RecordBatch, terms: FilterTerms) -> bool:
    last = terms.producers.get(batch.producer_id)
    if last is None:
        return False
    if last.last_data_offset >= 0:
        return batch.last_offset == last.last_data_offset
    return batch.is_control and batch.producer_epoch == last.epoch


def _is_retained(batch: RecordBatch, record: Record, terms: FilterTerms) -> bool:
    """Return whether a record is the last of its key, and no tombstone whose time is over."""
    if batch.is_control or record.offset > terms.keys.latest_offset:
        return True
    if record.key is None or record.offset < terms.keys.get(record.key):
        return False
    if record.value is not None:
        return True
    if batch.magic < MAGIC_2:
        return terms.keeps_old_tombstones
    return not _is_past_horizon(batch, terms)


def _empty(batch: RecordBatch) -> bytes:
    """Return a batch without records that has the offsets and the producer of another."""
    header = msgspec.structs.replace(
        batch.header(), compression="none", base_timestamp=-1, has_delete_horizon=False
    )
    return write_batch([], header)


def _rewritten(batch: RecordBatch, retained: list[Record], terms: FilterTerms | None) -> bytes:
    """Return a batch with some of its records; `terms` if it gets a delete horizon."""
    old = batch.header()
    newest = batch.max_timestamp if batch.attributes & LOG_APPEND_TIME_BIT else None
    if batch.magic < MAGIC_2:
        header = msgspec.structs.replace(
            old, base_offset=None, last_offset=None, max_timestamp=newest
        )
        return write_batch(retained, header)
    horizon_ms = batch.delete_horizon_ms
    if terms is not None:
        horizon_ms = terms.now_ms + terms.delete_retention_ms
    header = msgspec.structs.replace(
        old,
        base_timestamp=horizon_ms,
        max_timestamp=newest,
        has_delete_horizon=horizon_ms is not None,
    )
    return write_batch(retained, header)
