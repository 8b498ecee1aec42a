"""Transactions while a log is cleaned: which batches were aborted, and which markers are done.

Records of aborted transactions go at once: nobody may read them. Their marker stays, and so does
their entry in the transaction index, until a cleaning has met no batch of the transaction any more;
then the marker gets a delete horizon like a tombstone. A commit marker likewise.

Source: Kafka's `CleanedTransactionMetadata`.
"""

from collections.abc import Iterable
from heapq import heappop, heappush

from kdiag.lab.log.files.transaction_index import AbortedTransaction
from kdiag.lab.log.producers.marker import read_marker
from kdiag.wire.records.batch import RecordBatch
from kdiag.wire.records.record import ControlType


class CleanedTransactions:
    """The transactions of the part of a log that was read so far.

    Attributes:
        kept: the aborted transactions that the index of the cleaned segment still needs; whoever
            writes them takes them out.
    """

    def __init__(self) -> None:
        self.kept: list[AbortedTransaction] = []
        self._to_come: list[tuple[int, AbortedTransaction]] = []
        self._aborted: dict[int, tuple[AbortedTransaction, bool]] = {}  # with: has it a batch
        self._committed: set[int] = set()

    def add_aborted(self, aborted: Iterable[AbortedTransaction]) -> None:
        """Announce aborted transactions that begin or end in what is read next."""
        for each in aborted:
            heappush(self._to_come, (each.first_offset, each))

    def is_discarded(self, batch: RecordBatch) -> bool:
        """Return whether a batch was aborted, or is a marker whose transaction is gone.

        Call it with each batch, in order.

        Raises:
            LogRefusedError: if a marker is unreadable.
        """
        while self._to_come and self._to_come[0][0] <= batch.last_offset:
            _, each = heappop(self._to_come)
            self._aborted.setdefault(each.producer_id, (each, False))
        if batch.is_control:
            return self._is_done(batch)
        if not batch.is_transactional:
            return False
        found = self._aborted.get(batch.producer_id)
        if found is None:
            self._committed.add(batch.producer_id)
            return False
        self._aborted[batch.producer_id] = found[0], True
        return True

    def _is_done(self, batch: RecordBatch) -> bool:
        """Return whether a control batch is a marker of a transaction without batches."""
        if not batch.record_count:
            return True
        marker = read_marker(batch)
        if marker is None:
            return False
        if marker.control_type is ControlType.COMMIT:
            is_done = batch.producer_id not in self._committed
            self._committed.discard(batch.producer_id)
            return is_done
        aborted, has_batch = self._aborted.pop(batch.producer_id, (None, False))
        if aborted is None or not has_batch:
            return True
        self.kept.append(aborted)
        return False
