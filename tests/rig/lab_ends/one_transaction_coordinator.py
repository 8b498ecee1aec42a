"""A transaction coordinator without a network, under a clock that stands still.

coordinator = OneTransactionCoordinator(folder)
coordinator.init()                      # ProducerIdAndEpoch(0, 0, 0)
coordinator.add(ORDERS)                 # "NONE"
coordinator.end(is_commit=True)
coordinator.state                       # "CompleteCommit"
"""

from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Final

from kdiag.clock import NS_PER_MS
from kdiag.lab.controller.cluster_image import ClusterImage
from kdiag.lab.coordinator.transaction.ending import EndRequest
from kdiag.lab.coordinator.transaction.marker_writer import MarkerWriter
from kdiag.lab.coordinator.transaction.transaction_config import TransactionConfig
from kdiag.lab.coordinator.transaction.transaction_coordinator import (
    ProducerIdAndEpoch,
    TransactionCoordinator,
)
from kdiag.lab.coordinator.transaction.transaction_metadata import (
    TransactionMetadata,
    TxnPartition,
)
from kdiag.lab.purgatory.operation_key import TopicPartitionOperationKey
from kdiag.wire.error_code import error_name
from kdiag.wire.records.batches import read_batches
from kdiag.wire.records.internal import InternalRecord, read_internal_record
from kdiag.wire.records.record import read_control_type
from lab_ends.one_node import OneNode

if TYPE_CHECKING:
    from collections.abc import Iterator

NAME: Final = "payments"
TOPIC: Final = "__transaction_state"
OFFSETS: Final = TxnPartition("__consumer_offsets", 0)
ORDERS: Final = TxnPartition("orders", 0)
GOODS: Final = TxnPartition("goods", 0)
TIMEOUT_MS: Final = 60_000


class OneTransactionCoordinator:
    """A coordinator of one partition.

    Attributes:
        node: with its partitions.
        transactions: the coordinator.
        offset_ends: the markers that groups heard of.
        ids: the producer ids to come.
    """

    def __init__(self, folder: Path, config: TransactionConfig | None = None) -> None:
        self.node = OneNode(folder)
        self.config = config or TransactionConfig()
        self.offset_ends: list[tuple[int, int, int, bool]] = []
        self.ids: Iterator[int] = count()
        for topic in (TOPIC, "orders", "goods", OFFSETS.topic):
            self.node.create(topic, 1)
        self.restart()
        self.node.controller.subscribe(self._handle_image)

    def restart(self) -> None:
        """Forget everything, and read it again."""
        replicas, clock = self.node.replicas, self.node.clock
        markers = MarkerWriter(replicas, clock, self._note_offsets)
        self.transactions = TransactionCoordinator(
            replicas, clock, markers, lambda: next(self.ids), self.config
        )
        self.transactions.handle_image(self.node.controller.image)
        while self.transactions.runtime.is_loading:
            self.transactions.advance()

    def advance(self, ms: int) -> None:
        """Let time go by."""
        self.node.clock.advance(ms * NS_PER_MS)
        self.transactions.advance()

    @property
    def metadata(self) -> TransactionMetadata:
        """Return what is known of the id."""
        found = self.transactions.find(NAME)
        assert found is not None
        return found

    @property
    def state(self) -> str:
        """Return the state of the id."""
        return self.metadata.now.state.text

    @property
    def producer(self) -> tuple[int, int]:
        """Return the producer id and the epoch of the id."""
        return self.metadata.now.producer_id, self.metadata.now.producer_epoch

    def init(
        self,
        expected: tuple[int, int] | None = None,
        *,
        name: str = NAME,
        timeout_ms: int = TIMEOUT_MS,
    ) -> tuple[str, int, int]:
        """Initialize a producer, and return the error, the id and the epoch."""
        given: list[ProducerIdAndEpoch] = []
        had = None if expected is None else ProducerIdAndEpoch(0, *expected)
        self.transactions.init_producer_id(name, timeout_ms, had, given.append)
        (answer,) = given
        return error_name(answer.error_code), answer.producer_id, answer.producer_epoch

    def add(
        self, *partitions: TxnPartition, producer: tuple[int, int] | None = None, version: int = 0
    ) -> str:
        """Add partitions, and return the error."""
        codes: list[int] = []
        self.transactions.add_partitions(
            NAME, producer or self.producer, {*partitions}, codes.append, version
        )
        (code,) = codes
        return error_name(code)

    def end(
        self, *, is_commit: bool, producer: tuple[int, int] | None = None, version: int = 0
    ) -> tuple[str, int, int]:
        """End a transaction, and return the error, and the id and the epoch from then on."""
        given: list[ProducerIdAndEpoch] = []
        producer_id, epoch = producer or self.producer
        request = EndRequest(producer_id, epoch, is_commit, version)
        self.transactions.end(NAME, request, given.append)
        (answer,) = given
        return error_name(answer.error_code), answer.producer_id, answer.producer_epoch

    def markers(self, topic: str = "orders") -> list[tuple[str, int, int]]:
        """Return the markers in a topic: what they are, and of which producer and epoch."""
        log = self.node.replicas.partitions[TopicPartitionOperationKey(topic, 0)].log
        found = log.read(0, 1 << 20).slice
        return [
            (kind.name, batch.producer_id, batch.producer_epoch)
            for batch in (read_batches(found.read()).batches if found else [])
            if batch.is_control and (kind := read_control_type(batch.records()[0].key)) is not None
        ]

    def records(self) -> list[InternalRecord | None]:
        """Return the records of the id."""
        log = self.node.replicas.partitions[TopicPartitionOperationKey(TOPIC, 0)].log
        found = log.read(0, 1 << 20).slice
        return [
            read_internal_record(TOPIC, record)
            for batch in (read_batches(found.read()).batches if found else [])
            for record in batch.records()
        ]

    def _handle_image(self, image: ClusterImage) -> None:
        self.transactions.handle_image(image)

    def _note_offsets(
        self, partition: int, producer_id: int, producer_epoch: int, *, is_commit: bool
    ) -> None:
        self.offset_ends.append((partition, producer_id, producer_epoch, is_commit))
