"""The writer of markers: control batches that end a transaction in each of its partitions.

    writer.write(EndMarker(17, 3, is_commit=True, coordinator_epoch=0), partitions, respond)
    respond({TxnPartition("orders", 0): 0, TxnPartition("gone", 4): 3})

Only partitions that this node leads are written; for others the code is NOT_LEADER_OR_FOLLOWER.
The coordinator of the transaction (by `marker_channels`) and WriteTxnMarkers both end here. A
marker in a partition of `__consumer_offsets` also makes the offsets of the transaction count, or
go.

Source: Kafka's `KafkaApis.handleWriteTxnMarkersRequest`, `TransactionMarkerChannelManager`.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from kdiag.clock import NS_PER_MS, NS_PER_S, Clock
from kdiag.lab.controller.cluster_image import GROUP_METADATA_TOPIC
from kdiag.lab.controller.refusal import RequestRefusedError
from kdiag.lab.coordinator.transaction.transaction_metadata import TxnPartition
from kdiag.lab.log.producers.append_info import AppendOrigin
from kdiag.lab.log.producers.marker import TransactionMarker, write_marker
from kdiag.lab.purgatory.operation_key import TopicPartitionOperationKey
from kdiag.lab.replication.replica_manager import ReplicaManager
from kdiag.lab.replication.replica_partition import ALL_ACKS
from kdiag.wire.records.record import ControlType

if TYPE_CHECKING:
    from kdiag.wire.api.produce import PartitionProduceResponse

MARKER_TIMEOUT_NS: Final = 30 * NS_PER_S
"""`request.timeout.ms` of a broker."""

MarkerCodes = Mapping[TxnPartition, int]
"""The error code of each partition."""


class EndMarker(NamedTuple):
    """What markers say.

    Attributes:
        producer_id: of the producer.
        producer_epoch: likewise; it fences older ones in the partition.
        is_commit: whether the transaction is committed.
        coordinator_epoch: of the coordinator.
    """

    producer_id: int
    producer_epoch: int
    is_commit: bool
    coordinator_epoch: int


class CompleteOffsets(Protocol):
    """Makes the offsets of a transaction count, or go; see `GroupCoordinator`."""

    def __call__(
        self, partition: int, producer_id: int, producer_epoch: int, *, is_commit: bool
    ) -> None:
        """Apply a marker that was written into a partition of `__consumer_offsets`."""
        ...


class WritesMarkers(Protocol):
    """Writes markers, itself or by others."""

    def write(
        self,
        marker: EndMarker,
        partitions: Iterable[TxnPartition],
        respond: Callable[[MarkerCodes], None],
    ) -> None:
        """Write markers, and answer when that is done."""
        ...


class MarkerWriter:
    """Writes markers into the partitions that a node leads."""

    def __init__(
        self, replicas: ReplicaManager, clock: Clock, complete_offsets: CompleteOffsets
    ) -> None:
        """Write nothing yet.

        Args:
            replicas: the node's partitions.
            clock: stamps markers.
            complete_offsets: hears of markers in partitions of groups.
        """
        self._replicas = replicas
        self._clock = clock
        self._complete_offsets = complete_offsets

    def __repr__(self) -> str:
        return f"<MarkerWriter of {self._replicas!r}>"

    def write(
        self,
        marker: EndMarker,
        partitions: Iterable[TxnPartition],
        respond: Callable[[MarkerCodes], None],
    ) -> None:
        """Write markers, and answer when all replicas in sync have them.

        Args:
            marker: what they say.
            partitions: where they are written.
            respond: gets the error codes, once, now or later.
        """
        control = ControlType.COMMIT if marker.is_commit else ControlType.ABORT
        now_ms = self._clock.epoch_ns() // NS_PER_MS
        said = TransactionMarker(control, marker.coordinator_epoch, now_ms)
        batch = write_marker(said, marker.producer_id, marker.producer_epoch)
        records = {TopicPartitionOperationKey(*each): batch for each in partitions}

        def handle(
            responses: "Mapping[TopicPartitionOperationKey, PartitionProduceResponse]",
        ) -> None:
            codes = {
                TxnPartition(key.topic, key.partition): each.error_code
                for key, each in responses.items()
            }
            for partition, code in codes.items():
                if not code and partition.topic == GROUP_METADATA_TOPIC:
                    codes[partition] = self._complete(marker, partition.partition)
            respond(codes)

        self._replicas.append_records(
            records, ALL_ACKS, MARKER_TIMEOUT_NS, handle, AppendOrigin.COORDINATOR
        )

    def _complete(self, marker: EndMarker, partition: int) -> int:
        """Have the offsets of the transaction count, or go; return the error code."""
        try:
            self._complete_offsets(
                partition,
                marker.producer_id,
                marker.producer_epoch,
                is_commit=marker.is_commit,
            )
        except RequestRefusedError as error:
            return error.code
        return 0
