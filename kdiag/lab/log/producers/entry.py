"""What a log knows of one producer: its epoch, its last batches, its open transaction.

Five batches are kept because a producer has up to five requests in flight: each of them may be sent
again. After a new epoch sequence numbers begin at 0, and the old batches are forgotten.

Source: Kafka's `ProducerStateEntry`, `BatchMetadata`; KIP-98.
"""

from typing import Final

import msgspec

from kdiag.wire.records.batch import RecordBatch

RETAINED_BATCHES: Final = 5
NO_EPOCH: Final = -1
NO_SEQUENCE: Final = -1
NO_TIMESTAMP: Final = -1

_SEQUENCES: Final = 1 << 31


class BatchMetadata(msgspec.Struct, frozen=True):
    """A batch that a producer wrote.

    Attributes:
        last_sequence: of its last record.
        last_offset: likewise.
        offset_delta: from its first record to the last.
        timestamp: its largest.
    """

    last_sequence: int
    last_offset: int
    offset_delta: int
    timestamp: int

    @property
    def first_sequence(self) -> int:
        """Return the sequence number of its first record; they continue with 0 after 2^31 - 1."""
        return (self.last_sequence - self.offset_delta) % _SEQUENCES

    @property
    def first_offset(self) -> int:
        """Return the offset of its first record."""
        return self.last_offset - self.offset_delta


class ProducerStateEntry(msgspec.Struct):
    """The state of a producer.

    Attributes:
        producer_id: its id.
        epoch: the last that wrote; -1 before.
        coordinator_epoch: of the last transaction marker; -1 before.
        last_timestamp: of its last batch or marker.
        transaction_first_offset: of its open transaction, if it has one.
        batches: the last ones of its epoch, oldest first.
    """

    producer_id: int
    epoch: int = NO_EPOCH
    coordinator_epoch: int = -1
    last_timestamp: int = NO_TIMESTAMP
    transaction_first_offset: int | None = None
    batches: list[BatchMetadata] = msgspec.field(default_factory=list)

    @property
    def last_sequence(self) -> int:
        """Return its last sequence number; -1 before any."""
        return self.batches[-1].last_sequence if self.batches else NO_SEQUENCE

    @property
    def last_data_offset(self) -> int:
        """Return the offset of its last record; -1 before any."""
        return self.batches[-1].last_offset if self.batches else -1

    @property
    def last_offset_delta(self) -> int:
        """Return the offsets from the first to the last record of its last batch."""
        return self.batches[-1].offset_delta if self.batches else 0

    def find_duplicate(self, batch: RecordBatch) -> BatchMetadata | None:
        """Return the batch that was written with the same sequence numbers, if it is known."""
        if batch.producer_epoch != self.epoch:
            return None
        first, last = batch.base_sequence, batch.last_sequence
        for known in self.batches:
            if (known.first_sequence, known.last_sequence) == (first, last):
                return known
        return None

    def add_batch(self, epoch: int, batch: BatchMetadata) -> None:
        """Record a batch."""
        self.update_epoch(epoch)
        self.batches = [*self.batches[1 - RETAINED_BATCHES :], batch]
        self.last_timestamp = batch.timestamp

    def update_epoch(self, epoch: int) -> None:
        """Forget the batches of another epoch."""
        if epoch != self.epoch:
            self.batches = []
            self.epoch = epoch
