"""All partitions of a node, and the requests that wait for them.

    append_records    to the logs that the node leads; acks=all waits in the produce purgatory
    fetch_records     from them; a fetch that finds too few bytes waits in the fetch purgatory
    handle_image      opens, updates and deletes partitions as the controller says

An append, or the fetch of a follower, moves the high watermark, and that completes who waits:
fetches that want records, produces that want replicas. Followers that fetch and are far enough are
in sync again, those that lag no longer: the controller is told. All of it runs in the node's
thread; housekeeping (retention, checkpoints) comes every few seconds, compaction step by step.

Source: Kafka's `ReplicaManager`, `LogManager`.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from operator import attrgetter
from typing import Final, NamedTuple

from kdiag.clock import NS_PER_S, Clock
from kdiag.lab.controller.cluster_image import ClusterImage, TopicImage
from kdiag.lab.controller.quorum_controller import IsrChange
from kdiag.lab.controller.refusal import RequestRefusedError
from kdiag.lab.controller.topic_configs import check_configs, min_insync_replicas
from kdiag.lab.log.cleaning.log_cleaner import LogCleaner
from kdiag.lab.log.log_directory import LogDirectory
from kdiag.lab.log.partition_log import FetchIsolation, LogAppendInfo
from kdiag.lab.log.producers.append_info import AppendOrigin
from kdiag.lab.log.refusal import LogFileError, LogRefusedError
from kdiag.lab.log.retention import delete_old_segments
from kdiag.lab.purgatory.delayed_fetch import (
    DelayedFetch,
    FetchBound,
    FetchParams,
    FetchPartitionStatus,
)
from kdiag.lab.purgatory.delayed_operation import DelayedOperation
from kdiag.lab.purgatory.delayed_produce import (
    DelayedProduce,
    ProducePartitionStatus,
    ReplicasReached,
)
from kdiag.lab.purgatory.operation_key import TopicPartitionOperationKey
from kdiag.lab.purgatory.operation_purgatory import DelayedOperationPurgatory
from kdiag.lab.replication.peer_requests import SendToNode, send_nowhere
from kdiag.lab.replication.record_fetch import (
    REFUSALS,
    FetchedRecords,
    PartitionFetch,
    ReadLimits,
    read_from_log,
)
from kdiag.lab.replication.replica_fetcher import ReplicaFetcher
from kdiag.lab.replication.replica_partition import ALL_ACKS, ReplicaPartition
from kdiag.lab.replication.replication_config import ReplicationConfig
from kdiag.lab.timer.system_timer import SystemTimer
from kdiag.wire.api.produce import BatchIndexAndErrorMessage, PartitionProduceResponse
from kdiag.wire.error_code import CODE_BY_NAME

LOG: Final = logging.getLogger(__name__)

HOUSEKEEPING_NS: Final = 5 * NS_PER_S

_BOUNDS: Final[Mapping[FetchIsolation, FetchBound]] = {
    FetchIsolation.LOG_END: attrgetter("log_end_offset"),
    FetchIsolation.HIGH_WATERMARK: attrgetter("high_watermark"),
    FetchIsolation.TXN_COMMITTED: attrgetter("last_stable_offset"),
}

_WITHOUT_START: Final = frozenset(
    ("CORRUPT_MESSAGE", "MESSAGE_TOO_LARGE", "RECORD_LIST_TOO_LARGE", "OFFSET_OUT_OF_RANGE")
)
"""Refusals of batches for which a response does not tell where the log starts."""

AlterPartitions = Callable[[int, Sequence[IsrChange]], None]
"""Tells the controller which replicas are in sync, as a leader says."""


def _alter_nothing(_leader: int, _changes: Sequence[IsrChange]) -> None:
    pass


class ClusterLinks(NamedTuple):
    """How a node reaches the others.

    Attributes:
        send: sends them requests.
        alter_partitions: tells the controller who is in sync.
        config: times and limits of replication.
    """

    send: SendToNode = send_nowhere
    alter_partitions: AlterPartitions = _alter_nothing
    config: ReplicationConfig = ReplicationConfig()


ALONE: Final = ClusterLinks()

Key = TopicPartitionOperationKey
FetchedByKey = dict[Key, FetchedRecords]


class WaitTerms(NamedTuple):
    """How long a fetch may wait, and for what.

    Attributes:
        max_wait_ns: how long.
        min_bytes: for how many bytes.
    """

    max_wait_ns: int
    min_bytes: int


class ReplicaManager:
    """The partitions of a node.

    Attributes:
        node_id: the node.
        logs: their logs.
        partitions: those that the node has, by topic and number.
        image: the cluster, as far as the node has applied its changes.
        produces: the produces that wait for replicas.
        fetches: the fetches that wait for bytes.
        fetcher: follows the leaders of other partitions.
        cleaner: compacts the logs.
    """

    def __init__(
        self, node_id: int, logs: LogDirectory, clock: Clock, links: ClusterLinks = ALONE
    ) -> None:
        """Take over a folder of logs; `handle_image` tells which partitions there are.

        Args:
            node_id: the node.
            logs: its logs.
            clock: the time.
            links: to other nodes and to the controller.
        """
        self.logs = logs
        self.partitions: dict[Key, ReplicaPartition] = {}
        self.produces: DelayedOperationPurgatory[DelayedProduce] = DelayedOperationPurgatory(
            "Produce", SystemTimer(clock)
        )
        self.fetches: DelayedOperationPurgatory[DelayedFetch] = DelayedOperationPurgatory(
            "Fetch", SystemTimer(clock)
        )
        self.node_id = node_id
        self.cleaner = LogCleaner(logs, clock)
        self.fetcher = ReplicaFetcher(node_id, self.partitions, clock, links.send, links.config)
        self._clock = clock
        self._links = links
        self._isr_check_ns = clock.monotonic_ns() + links.config.lag_time_max_ns // 2
        self.image = ClusterImage(cluster_id="")
        self._housekeeping_ns = clock.monotonic_ns() + HOUSEKEEPING_NS

    def __repr__(self) -> str:
        return f"<ReplicaManager of broker {self.node_id}: {len(self.partitions)} partitions>"

    @property
    def purgatories(self) -> tuple[DelayedOperationPurgatory[DelayedOperation], ...]:
        """Return what waits, by kind."""
        return self.produces, self.fetches  # type: ignore[return-value]  # nobody adds by these

    def handle_image(self, image: ClusterImage) -> None:
        """Open, update and delete partitions as the controller says."""
        before, self.image = self.image, image
        if before.topics is not image.topics:
            self._update_topics(before, image)
        if before.brokers.keys() != image.brokers.keys():
            self._look_again()
        self.fetcher.handle_image(image)

    def _update_topics(self, before: ClusterImage, image: ClusterImage) -> None:
        for name, topic in before.topics.items():
            now = image.topics.get(name)
            if now is None or now.topic_id != topic.topic_id:
                self._delete_topic(topic)
        for name, topic in image.topics.items():
            if before.topics.get(name) is not topic:
                self._update_topic(topic)

    def partition(self, key: Key) -> ReplicaPartition:
        """Return a partition.

        Raises:
            RequestRefusedError: UNKNOWN_TOPIC_OR_PARTITION, NOT_LEADER_OR_FOLLOWER.
            LogFileError: if its log could not be opened.
        """
        found = self.partitions.get(key)
        if found is not None:
            return found
        if self.image.partition_of(key.topic, key.partition) is None:
            why = f"there is no partition {key.topic}-{key.partition}"
            raise RequestRefusedError("UNKNOWN_TOPIC_OR_PARTITION", why)
        fault = self.logs.faults.get((key.topic, key.partition))
        if fault is not None:
            raise fault
        why = f"broker {self.node_id} does not have the partition"
        raise RequestRefusedError("NOT_LEADER_OR_FOLLOWER", why)

    def append_records(
        self,
        records: Mapping[Key, bytes | memoryview],
        acks: int,
        timeout_ns: int,
        respond: Callable[[Mapping[Key, PartitionProduceResponse]], None],
        origin: AppendOrigin = AppendOrigin.CLIENT,
    ) -> None:
        """Append batches, and answer when as many replicas have them as it asks for.

        Args:
            records: the batches of each partition.
            acks: 0 and 1 do not wait, -1 waits for all replicas in sync.
            timeout_ns: how long that may take.
            respond: gets the response of each partition; called once, now or later.
            origin: whose they are: a producer's, or of a coordinator of this node.
        """
        statuses = {key: self._append(key, data, acks, origin) for key, data in records.items()}
        responses = {key: status.response for key, status in statuses.items()}
        written = [key for key, status in statuses.items() if status.is_acks_pending]
        if acks == ALL_ACKS and written:
            operation = DelayedProduce(
                timeout_ns, statuses, self._check_replicas, lambda: respond(responses)
            )
            self.produces.try_complete_else_watch(operation, written)
        else:
            respond(responses)
        for key in written:
            self.handle_high_watermark(key)

    def fetch_records(
        self,
        asked: Mapping[Key, PartitionFetch],
        limits: ReadLimits,
        wait: WaitTerms,
        respond: Callable[[FetchedByKey], None],
    ) -> None:
        """Read from partitions, and answer when there are enough bytes or the time is up.

        Args:
            asked: what is asked of each partition.
            limits: what is asked of all of them.
            wait: how long it may wait for what.
            respond: gets what each gives; called once, now or later.
        """
        fetched = self._read(asked, limits)
        if limits.is_from_follower:
            self._handle_follower_fetch(asked, fetched, limits)
        is_final = any(each.error_code or each.diverging for each in fetched.values())
        size = sum(each.size for each in fetched.values())
        if is_final or not asked or wait.max_wait_ns <= 0 or size >= wait.min_bytes:
            respond(fetched)
            return
        statuses = {
            key: FetchPartitionStatus(
                fetched[key].start,
                fetch.max_bytes,
                fetch.current_leader_epoch,
                fetch.last_fetched_epoch,
            )
            for key, fetch in asked.items()
        }
        params = FetchParams(
            limits.replica_id,
            wait.max_wait_ns,
            wait.min_bytes,
            limits.max_bytes,
            _BOUNDS[limits.isolation],
        )
        operation = DelayedFetch(
            params, statuses, self.partitions.get, lambda: respond(self._read(asked, limits))
        )
        self.fetches.try_complete_else_watch(operation, asked)

    def handle_high_watermark(self, key: Key) -> None:
        """Complete what waits for a partition, of which more is replicated or written now."""
        self.produces.check_and_complete(key)
        self.fetches.check_and_complete(key)

    def advance(self) -> int | None:
        """Answer whose time is up, tidy up, and return when to be called next."""
        for purgatory in self.purgatories:
            purgatory.advance()
        if self._clock.monotonic_ns() >= self._housekeeping_ns:
            self._housekeeping_ns = self._clock.monotonic_ns() + HOUSEKEEPING_NS
            self._tidy_up()
        if self._clock.monotonic_ns() >= self._isr_check_ns:
            lag_ns = self._links.config.lag_time_max_ns
            self._isr_check_ns = self._clock.monotonic_ns() + lag_ns // 2
            self._shrink_isr()
        due = [
            self._housekeeping_ns,
            self._isr_check_ns,
            self.fetcher.advance(),
            self.cleaner.advance(),
            *(purgatory.timer.next_ns for purgatory in self.purgatories),
        ]
        return min(each for each in due if each is not None)

    def close(self) -> None:
        """Close the logs.

        Raises:
            LogFileError: if the disk is full or broken.
        """
        self.logs.close()

    def _handle_follower_fetch(
        self,
        asked: Mapping[Key, PartitionFetch],
        fetched: Mapping[Key, FetchedRecords],
        limits: ReadLimits,
    ) -> None:
        """Record how far a follower is, complete who waited for it, and have it in sync again."""
        moved, changes = [], []
        for key, given in fetched.items():
            partition = self.partitions.get(key)
            if partition is None or given.error_code or given.diverging:
                continue
            if partition.handle_follower_fetch(
                limits.replica_id, asked[key].offset, given.log_end_offset, limits.replica_epoch
            ):
                moved.append(key)
            isr = partition.isr_with(limits.replica_id)
            if isr is not None and limits.replica_id in self.image.brokers:
                changes.append(_change_of(partition, isr))
        for key in moved:
            self.handle_high_watermark(key)
        if changes:
            self._links.alter_partitions(self.node_id, changes)

    def _shrink_isr(self) -> None:
        """Have followers that lag not in sync."""
        changes = []
        for partition in self.partitions.values():
            isr = partition.isr_without_slow() if partition.is_leader else None
            if isr is not None:
                LOG.info("%r: in sync are %s, no longer others", partition, sorted(isr))
                changes.append(_change_of(partition, isr))
        if changes:
            self._links.alter_partitions(self.node_id, changes)

    def _look_again(self) -> None:
        """Move high watermarks that waited for a broker that does not run."""
        for key, partition in [*self.partitions.items()]:
            if partition.is_leader and partition.maybe_increment_high_watermark():
                self.handle_high_watermark(key)

    def _is_running(self, node_id: int) -> bool:
        return node_id in self.image.brokers

    def _append(
        self, key: Key, records: bytes | memoryview, acks: int, origin: AppendOrigin
    ) -> ProducePartitionStatus:
        response = PartitionProduceResponse(index=key.partition, base_offset=-1)
        try:
            partition = self.partition(key)
            info = partition.append_as_leader(records, acks, origin)
        except REFUSALS as error:
            response.error_code = CODE_BY_NAME[error.error]
            response.error_message = error.why
            if isinstance(error, LogRefusedError):
                if error.error not in _WITHOUT_START:
                    response.log_start_offset = self.partitions[key].log.log_start_offset
                response.record_errors = [
                    BatchIndexAndErrorMessage(batch_index=index, batch_index_error_message=why)
                    for index, why in error.record_errors
                ]
            return ProducePartitionStatus(0, response)
        partition.maybe_increment_high_watermark()
        _fill(response, info)
        return ProducePartitionStatus(info.last_offset + 1, response)

    def _check_replicas(self, key: Key, required_offset: int) -> ReplicasReached:
        try:
            partition = self.partition(key)
        except REFUSALS as error:
            return ReplicasReached(has_enough=False, error_code=CODE_BY_NAME[error.error])
        return partition.check_enough_replicas_reach_offset(required_offset)

    def _read(self, asked: Mapping[Key, PartitionFetch], limits: ReadLimits) -> FetchedByKey:
        return read_from_log(asked, limits, self.partition)

    def _update_topic(self, topic: TopicImage) -> None:
        """Open the partitions of a topic that the node is to have, and update those it has."""
        config = check_configs(topic.name, topic.configs)
        for number, registration in enumerate(topic.partitions):
            key = Key(topic.name, number)
            if self.node_id not in registration.replicas:
                self._delete(key)
                continue
            try:
                partition = self.partitions.get(key) or self._open(key, topic)
                partition.log.config = config
                is_new = partition.update(registration, min_insync_replicas(topic.configs))
            except LogFileError as error:
                LOG.warning("%s-%d is offline: %s", topic.name, number, error)
                self.logs.faults[topic.name, number] = error
                self.partitions.pop(key, None)
                continue
            if is_new:
                self.handle_high_watermark(key)

    def _open(self, key: Key, topic: TopicImage) -> ReplicaPartition:
        config = check_configs(topic.name, topic.configs)
        log = self.logs.create(key.topic, key.partition, config, topic.topic_id)
        partition = self.partitions[key] = ReplicaPartition(
            key, log, self.node_id, self._links.config, self._is_running
        )
        return partition

    def _delete_topic(self, topic: TopicImage) -> None:
        for number in range(len(topic.partitions)):
            self._delete(Key(topic.name, number))

    def _delete(self, key: Key) -> None:
        """Delete a partition, if it is here."""
        if self.partitions.pop(key, None) is None:
            return
        try:
            self.logs.delete(key.topic, key.partition)
        except LogFileError as error:
            LOG.warning("%s-%d is not wholly deleted: %s", key.topic, key.partition, error)
        self.handle_high_watermark(key)

    def _tidy_up(self) -> None:
        """Delete what need not be kept, and write checkpoints."""
        try:
            for partition in self.partitions.values():
                delete_old_segments(partition.log)
            self.logs.write_checkpoints()
        except LogFileError as error:
            LOG.warning("%s", error)


def _change_of(partition: ReplicaPartition, isr: Mapping[int, int]) -> IsrChange:
    registration = partition.registration
    return IsrChange(
        *partition.key[:2], registration.leader_epoch, registration.partition_epoch, isr
    )


def _fill(response: PartitionProduceResponse, info: LogAppendInfo) -> None:
    response.base_offset = info.first_offset
    response.log_append_time_ms = info.log_append_time
    response.log_start_offset = info.log_start_offset
