"""Which batches of a fetch belong to aborted transactions.

A broker that is asked with `read_committed` tells, with the records of a partition, the
transactions among them that were aborted: producer ids and first offsets. A producer's batches
from the first offset to its abort marker are not to be read.

    aborted: producer 7 from 3
    offset   0 1 2   3 4     5      6 7   8
    producer 7       7       7      7     7
             ok      aborted ABORT  ok    COMMIT

Source: Kafka's `CompletedFetch`; KIP-98.
"""

from collections.abc import Iterable
from heapq import heapify, heappop

from kdiag.errors import DecodeError
from kdiag.wire.api.fetch import AbortedTransaction
from kdiag.wire.records.batches import RecordBatch
from kdiag.wire.records.record import ControlType, read_control_type


class AbortedTransactions:
    """Tells batch by batch, in the order of offsets, what was aborted; for one fetch."""

    def __init__(self, told: Iterable[AbortedTransaction] | None) -> None:
        """Take what the broker told of a partition; None and nothing are the same."""
        self._waiting = [(each.first_offset, each.producer_id) for each in told or ()]
        heapify(self._waiting)
        self._aborting: set[int] = set()

    def has(self, batch: RecordBatch) -> bool:
        """Return whether a batch holds aborted records; to be asked of every batch in turn.

        A control batch is never aborted itself; an abort marker ends its producer's transaction.
        """
        if not self._waiting and not self._aborting:
            return False
        while self._waiting and self._waiting[0][0] <= batch.last_offset:
            self._aborting.add(heappop(self._waiting)[1])
        if not batch.is_transactional or batch.producer_id not in self._aborting:
            return False
        if not batch.is_control:
            return True
        if _is_abort(batch):
            self._aborting.discard(batch.producer_id)
        return False


def _is_abort(batch: RecordBatch) -> bool:
    """Return whether a control batch is an abort marker."""
    try:
        records = batch.records()
        return bool(records) and read_control_type(records[0].key) is ControlType.ABORT
    except DecodeError:
        return False
