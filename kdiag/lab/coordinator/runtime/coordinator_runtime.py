"""The runtime of a coordinator: the shards of the partitions that the node leads.

    handle_image         a partition is led: LOADING; no longer: the shard is given up
    advance              loads a piece of each partition that is LOADING; then it is ACTIVE
    shard_of(key)        NOT_COORDINATOR: another node is it, or none
                         COORDINATOR_LOAD_IN_PROGRESS: ask again soon
    append(...)          writes records, and answers when all replicas in sync have them
    append_and_replay    likewise, and applies them to the shard as soon as the log has them

A partition that cannot be read stays at COORDINATOR_LOAD_IN_PROGRESS, with one line in the log. All
of it runs in the node's thread.

Source: Kafka's `CoordinatorRuntime`, `CoordinatorPartitionWriter`,
`CoordinatorOperationExceptionHelper`.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Final, Generic, NamedTuple, TypeVar

from kdiag.clock import NS_PER_MS, NS_PER_S, Clock
from kdiag.errors import DecodeError
from kdiag.lab.controller.cluster_image import ClusterImage
from kdiag.lab.controller.refusal import RequestRefusedError
from kdiag.lab.coordinator.runtime.coordinator_record import (
    NO_PRODUCER_EPOCH,
    NO_PRODUCER_ID,
    CoordinatorRecord,
    RecordOrigin,
    write_records,
)
from kdiag.lab.coordinator.runtime.coordinator_topic import CoordinatorTopic
from kdiag.lab.coordinator.runtime.partition_loader import CoordinatorShard, PartitionLoader
from kdiag.lab.log.producers.append_info import AppendOrigin
from kdiag.lab.log.refusal import LogFileError, LogRefusedError
from kdiag.lab.purgatory.operation_key import TopicPartitionOperationKey
from kdiag.lab.replication.replica_manager import ReplicaManager
from kdiag.lab.replication.replica_partition import ALL_ACKS
from kdiag.wire.error_code import CODE_BY_NAME, error_name

if TYPE_CHECKING:
    from kdiag.wire.api.produce import PartitionProduceResponse

LOG: Final = logging.getLogger(__name__)

APPEND_TIMEOUT_NS: Final = 5 * NS_PER_S
"""`offsets.commit.timeout.ms`."""

_TOLD: Final[Mapping[str, str]] = {
    "UNKNOWN_TOPIC_OR_PARTITION": "COORDINATOR_NOT_AVAILABLE",
    "NOT_ENOUGH_REPLICAS": "COORDINATOR_NOT_AVAILABLE",
    "NOT_ENOUGH_REPLICAS_AFTER_APPEND": "COORDINATOR_NOT_AVAILABLE",
    "REQUEST_TIMED_OUT": "COORDINATOR_NOT_AVAILABLE",
    "NOT_LEADER_OR_FOLLOWER": "NOT_COORDINATOR",
    "KAFKA_STORAGE_ERROR": "NOT_COORDINATOR",
    "MESSAGE_TOO_LARGE": "UNKNOWN_SERVER_ERROR",
    "RECORD_LIST_TOO_LARGE": "UNKNOWN_SERVER_ERROR",
}
"""What clients of a coordinator are told when its records cannot be written."""

S = TypeVar("S", bound=CoordinatorShard)

OnAppended = Callable[[int], None]
"""Gets an error code; 0 when all replicas in sync have the records."""


class ProducerOfRecords(NamedTuple):
    """The transaction that records are part of.

    Attributes:
        producer_id: of its producer.
        producer_epoch: likewise.
    """

    producer_id: int = NO_PRODUCER_ID
    producer_epoch: int = NO_PRODUCER_EPOCH


NO_TRANSACTION: Final = ProducerOfRecords()


class _CoordinatorContext(Generic[S]):
    """A partition that the node leads.

    Attributes:
        topic_id: of the topic.
        leader_epoch: in which the node leads it: in another one somebody else may have written.
        shard: its state.
        loader: reads it; None as soon as it is ACTIVE, or has failed.
        has_failed: whether it could not be read.
    """

    def __init__(self, topic_id: bytes, leader_epoch: int, shard: S) -> None:
        self.topic_id = topic_id
        self.leader_epoch = leader_epoch
        self.shard = shard
        self.loader: PartitionLoader | None = None
        self.has_failed = False

    @property
    def is_active(self) -> bool:
        """Return whether it coordinates."""
        return self.loader is None and not self.has_failed


class CoordinatorRuntime(Generic[S]):
    """The shards of a coordinator on one node.

    Attributes:
        topic: keeps their records.
    """

    def __init__(
        self,
        topic: CoordinatorTopic,
        replicas: ReplicaManager,
        clock: Clock,
        make_shard: Callable[[int], S],
    ) -> None:
        """Coordinate nothing yet.

        Args:
            topic: keeps the records.
            replicas: the node's partitions.
            clock: stamps records.
            make_shard: makes the empty shard of a partition.
        """
        self.topic = topic
        self._replicas = replicas
        self._clock = clock
        self._make_shard = make_shard
        self._image = ClusterImage(cluster_id="")
        self._contexts: dict[int, _CoordinatorContext[S]] = {}

    def __repr__(self) -> str:
        return f"<CoordinatorRuntime of {self.topic.name}: {len(self._contexts)} partitions>"

    @property
    def shards(self) -> list[S]:
        """Return the shards that coordinate, by partition."""
        contexts = sorted(self._contexts.items())
        return [context.shard for _, context in contexts if context.is_active]

    @property
    def is_loading(self) -> bool:
        """Return whether a partition is being read."""
        return any(context.loader for context in self._contexts.values())

    def handle_image(self, image: ClusterImage) -> None:
        """Begin and stop to coordinate, after the node's partitions know of the change."""
        self._image = image
        topic = image.topics.get(self.topic.name)
        led = set()
        for number, registration in enumerate(topic.partitions if topic else ()):
            if topic is not None and registration.leader == self._replicas.node_id:
                led.add(number)
                context = self._contexts.get(number)
                known = topic.topic_id, registration.leader_epoch
                if context is not None and (context.topic_id, context.leader_epoch) != known:
                    self._resign(number)
                if number not in self._contexts:
                    self._elect(number, *known)
        for number in self._contexts.keys() - led:
            self._resign(number)

    def partition_of(self, key: str) -> int:
        """Return the partition that keeps a key."""
        return self.topic.partition_of(key, self._image)

    def shard_of(self, key: str) -> S:
        """Return the shard that keeps a key.

        Raises:
            RequestRefusedError: NOT_COORDINATOR, COORDINATOR_LOAD_IN_PROGRESS.
        """
        return self.shard_in(self.partition_of(key))

    def shard_in(self, partition: int) -> S:
        """Return the shard of a partition.

        Raises:
            RequestRefusedError: NOT_COORDINATOR, COORDINATOR_LOAD_IN_PROGRESS.
        """
        context = self._contexts.get(partition)
        if context is None:
            why = f"this broker does not lead {self.topic.name}-{partition}"
            raise RequestRefusedError("NOT_COORDINATOR", why)
        if not context.is_active:
            why = f"{self.topic.name}-{partition} is being read"
            raise RequestRefusedError("COORDINATOR_LOAD_IN_PROGRESS", why)
        return context.shard

    def append(
        self,
        partition: int,
        records: Sequence[CoordinatorRecord],
        respond: OnAppended,
        producer: ProducerOfRecords = NO_TRANSACTION,
    ) -> None:
        """Write records, and answer when all replicas in sync have them; nothing is replayed.

        Args:
            partition: keeps them.
            records: in one batch; none is answered at once.
            respond: gets the error code, once, now or later.
            producer: of the transaction that they are part of.
        """
        self._append(partition, records, producer, lambda response: respond(_told(response)))

    def append_and_replay(
        self,
        partition: int,
        records: Sequence[CoordinatorRecord],
        respond: OnAppended,
        producer: ProducerOfRecords = NO_TRANSACTION,
    ) -> None:
        """Write records, apply them as soon as the log has them, and answer as `append`."""
        context = self._contexts.get(partition)
        if context is None:  # something that was due has come late
            respond(CODE_BY_NAME["NOT_COORDINATOR"])
            return
        shard = context.shard
        is_replayed = False

        def replay(base_offset: int) -> None:
            nonlocal is_replayed
            if not is_replayed:
                is_replayed = True
                for index, record in enumerate(records):
                    shard.replay(record.as_internal(), RecordOrigin(base_offset + index, *producer))

        def handle(response: "PartitionProduceResponse | None") -> None:
            if response is not None and response.base_offset >= 0:
                replay(response.base_offset)
            respond(_told(response))

        waits_from = self._append(partition, records, producer, handle)
        if waits_from is not None:
            replay(waits_from)

    def advance(self) -> int | None:
        """Load a piece of what is being read; return when to be called next."""
        for number, context in self._contexts.items():
            if context.loader is not None:
                self._load_some(number, context)
        return self._clock.monotonic_ns() if self.is_loading else None

    def _append(
        self,
        partition: int,
        records: Sequence[CoordinatorRecord],
        producer: ProducerOfRecords,
        handle: "Callable[[PartitionProduceResponse | None], None]",
    ) -> int | None:
        """Write records; return their first offset if they wait for replicas now."""
        if not records:
            handle(None)
            return None
        key = TopicPartitionOperationKey(self.topic.name, partition)
        data = write_records(records, self._clock.epoch_ns() // NS_PER_MS, *producer)
        is_answered = False

        def respond(
            responses: "Mapping[TopicPartitionOperationKey, PartitionProduceResponse]",
        ) -> None:
            nonlocal is_answered
            is_answered = True
            handle(responses[key])

        self._replicas.append_records(
            {key: data}, ALL_ACKS, APPEND_TIMEOUT_NS, respond, AppendOrigin.COORDINATOR
        )
        if is_answered:
            return None
        return self._replicas.partitions[key].log.log_end_offset - len(records)

    def _elect(self, number: int, topic_id: bytes, leader_epoch: int) -> None:
        """Begin to coordinate a partition; an empty one at once."""
        shard = self._make_shard(number)
        context = self._contexts[number] = _CoordinatorContext(topic_id, leader_epoch, shard)
        partition = self._replicas.partitions.get(
            TopicPartitionOperationKey(self.topic.name, number)
        )
        if partition is None:  # its log could not be opened, and the node has said so
            context.has_failed = True
            return
        context.loader = PartitionLoader(self.topic.name, partition.log, context.shard)
        if partition.log.log_start_offset == partition.log.log_end_offset:
            self._load_some(number, context)

    def _load_some(self, number: int, context: _CoordinatorContext[S]) -> None:
        assert context.loader is not None
        try:
            is_done = context.loader.load_some()
        except (LogFileError, LogRefusedError, DecodeError, ValueError) as error:
            LOG.warning("%s-%d cannot be read: %s", self.topic.name, number, error)
            context.loader, context.has_failed = None, True
            return
        if is_done:
            context.loader = None
            context.shard.handle_loaded()

    def _resign(self, number: int) -> None:
        """Stop to coordinate a partition."""
        self._contexts.pop(number).shard.handle_unloaded()


def _told(response: "PartitionProduceResponse | None") -> int:
    """Return what the client is told of an append."""
    if response is None or not response.error_code:
        return 0
    name = error_name(response.error_code)
    return CODE_BY_NAME[_TOLD.get(name, name)]
