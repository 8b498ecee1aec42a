"""The group coordinator of a node: takes requests to the shard of their group.

    coordinator.join(request, client, respond)      answers now, or when the others have joined
    coordinator.commit(committer, offsets, ...)     answers when the offsets are written
    coordinator.handle_image(image)                 begins and stops to coordinate
    coordinator.advance()                           sessions, rebalances, loading, expiry

A request for a group that another node coordinates is NOT_COORDINATOR; one for a group that is
still being read, COORDINATOR_LOAD_IN_PROGRESS, but for heartbeats, which are simply answered.

Source: Kafka's `GroupCoordinatorService`, `GroupCoordinator`.
"""

import logging
from collections.abc import Callable, Iterable
from typing import Final

from kdiag.clock import NS_PER_MS, Clock
from kdiag.lab.controller.cluster_image import ClusterImage
from kdiag.lab.controller.refusal import RequestRefusedError
from kdiag.lab.coordinator.group.classic.group_member import OnJoined, OnSynced
from kdiag.lab.coordinator.group.classic.joining import JoinAttempt, join_group
from kdiag.lab.coordinator.group.classic.membership import heartbeat, leave_group, sync_group
from kdiag.lab.coordinator.group.classic.rebalance import ClassicRebalance, GroupPurgatories
from kdiag.lab.coordinator.group.consumer.consumer_group import ConsumerGroup
from kdiag.lab.coordinator.group.consumer.heartbeats import (
    ConsumerHeartbeats,
    refused_heartbeat,
)
from kdiag.lab.coordinator.group.group_config import GroupClient, GroupCoordinatorConfig
from kdiag.lab.coordinator.group.group_shard import GroupShard
from kdiag.lab.coordinator.group.offsets.committed_offset import NO_EXPIRY
from kdiag.lab.coordinator.group.offsets.offset_requests import (
    Committer,
    ErrorCodes,
    OffsetToCommit,
    commit_offsets,
)
from kdiag.lab.coordinator.runtime.coordinator_record import CoordinatorRecord
from kdiag.lab.coordinator.runtime.coordinator_runtime import (
    NO_TRANSACTION,
    CoordinatorRuntime,
    ProducerOfRecords,
)
from kdiag.lab.coordinator.runtime.coordinator_topic import GROUP_TOPIC
from kdiag.lab.purgatory.delayed_operation import DelayedOperation
from kdiag.lab.purgatory.operation_purgatory import DelayedOperationPurgatory
from kdiag.lab.replication.replica_manager import ReplicaManager
from kdiag.wire.api.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)
from kdiag.wire.api.heartbeat import HeartbeatRequest
from kdiag.wire.api.join_group import JoinGroupRequest
from kdiag.wire.api.leave_group import MemberIdentity, MemberResponse
from kdiag.wire.api.sync_group import SyncGroupRequest, SyncGroupResponse
from kdiag.wire.error_code import CODE_BY_NAME, error_name

LOG: Final = logging.getLogger(__name__)

_UNKNOWN_MEMBER_ID: Final = CODE_BY_NAME["UNKNOWN_MEMBER_ID"]


class GroupCoordinator:
    """The groups of a node.

    Attributes:
        config: times and limits.
        purgatories: what waits for members.
        runtime: the partitions of groups that the node leads.
    """

    def __init__(
        self,
        replicas: ReplicaManager,
        clock: Clock,
        config: GroupCoordinatorConfig | None = None,
    ) -> None:
        """Coordinate nothing yet; `handle_image` tells which partitions there are."""
        self.config = config or GroupCoordinatorConfig()
        self.purgatories = GroupPurgatories.of(clock)
        self.runtime = CoordinatorRuntime(GROUP_TOPIC, replicas, clock, self._make_shard)
        self._consumers = ConsumerHeartbeats(self.config, self.purgatories, self.write)
        self._clock = clock
        self._image = ClusterImage(cluster_id="")
        self._check_ns = clock.monotonic_ns() + self._check_interval_ns

    def __repr__(self) -> str:
        return f"<GroupCoordinator of {sum(len(each.groups) for each in self.runtime.shards)}>"

    @property
    def waiting(self) -> tuple[DelayedOperationPurgatory[DelayedOperation], ...]:
        """Return what waits, by kind."""
        return tuple(self.purgatories)  # type: ignore[arg-type]  # nobody adds by these

    def handle_image(self, image: ClusterImage) -> None:
        """Begin and stop to coordinate; forget the offsets of partitions that are gone."""
        before, self._image = self._image, image
        self._consumers.image = image
        self.runtime.handle_image(image)
        if before.topics is image.topics:
            return
        deleted = {
            (name, number)
            for name, topic in before.topics.items()
            if name not in image.topics or image.topics[name].topic_id != topic.topic_id
            for number in range(len(topic.partitions))
        }
        if deleted:
            for shard in self.runtime.shards:
                self._write_quietly(shard, shard.tombstones_of_deleted(deleted))

    def advance(self) -> int | None:
        """Do what is due, and return when to be called next."""
        loading_ns = self.runtime.advance()
        for purgatory in self.waiting:
            purgatory.advance()
        if self._clock.monotonic_ns() >= self._check_ns:
            self._check_ns = self._clock.monotonic_ns() + self._check_interval_ns
            for shard in self.runtime.shards:
                self._write_quietly(shard, shard.expire())
        due = [loading_ns, *(purgatory.timer.next_ns for purgatory in self.waiting)]
        return min((each for each in due if each is not None), default=self._check_ns)

    def shard_of(self, group_id: str) -> GroupShard:
        """Return the shard of a group.

        Raises:
            RequestRefusedError: NOT_COORDINATOR, COORDINATOR_LOAD_IN_PROGRESS.
        """
        return self.runtime.shard_of(group_id)

    def named_shard_of(self, group_id: str) -> GroupShard:
        """Return the shard of a group that has to have a name.

        Raises:
            RequestRefusedError: INVALID_GROUP_ID, NOT_COORDINATOR, COORDINATOR_LOAD_IN_PROGRESS.
        """
        if not group_id:
            raise RequestRefusedError("INVALID_GROUP_ID", "a group has a name")
        return self.shard_of(group_id)

    def join(self, request: JoinGroupRequest, client: GroupClient, on_joined: OnJoined) -> None:
        """Answer a JoinGroup, now or later."""
        attempt = JoinAttempt(request, client, on_joined)
        try:
            shard = self.named_shard_of(request.group_id)
            self._check_session_timeout(request.session_timeout_ms)
        except RequestRefusedError as error:
            attempt.refuse(error.error)
            return
        known = shard.groups.get(request.group_id)
        if isinstance(known, ConsumerGroup):
            if not known.is_empty:
                attempt.refuse("INCONSISTENT_GROUP_PROTOCOL", "")
                return
            self._write_quietly(shard, shard.group_tombstones(request.group_id))
        if request.member_id and request.group_id not in shard.groups:
            attempt.refuse("UNKNOWN_MEMBER_ID")
            return
        join_group(shard.rebalance, shard.get_or_create(request.group_id), attempt)

    def sync(self, request: SyncGroupRequest, on_synced: OnSynced) -> None:
        """Answer a SyncGroup, now or later."""
        try:
            shard = self.named_shard_of(request.group_id)
        except RequestRefusedError as error:
            on_synced(SyncGroupResponse(error_code=error.code))
            return
        group = shard.classic_group(request.group_id)
        if group is None or group.is_empty:
            on_synced(SyncGroupResponse(error_code=_UNKNOWN_MEMBER_ID))
            return
        sync_group(shard.rebalance, group, request, on_synced)

    def heartbeat(self, request: HeartbeatRequest) -> int:
        """Record that a member is there; return the error code."""
        try:
            shard = self.named_shard_of(request.group_id)
            group = shard.classic_group(request.group_id)
            if group is None:
                return _UNKNOWN_MEMBER_ID
            heartbeat(shard.rebalance, group, request)
        except RequestRefusedError as error:
            is_loading = error.error == "COORDINATOR_LOAD_IN_PROGRESS"
            return 0 if is_loading else error.code
        return 0

    def leave(self, group_id: str, leaving: list[MemberIdentity]) -> list[MemberResponse]:
        """Remove members, and return what each is told.

        Raises:
            RequestRefusedError: with the error of the response.
        """
        shard = self.named_shard_of(group_id)
        group = shard.classic_group(group_id)
        if group is None:
            return [
                MemberResponse(
                    member_id=each.member_id,
                    group_instance_id=each.group_instance_id,
                    error_code=_UNKNOWN_MEMBER_ID,
                )
                for each in leaving
            ]
        return leave_group(shard.rebalance, group, leaving)

    def consumer_heartbeat(
        self,
        request: ConsumerGroupHeartbeatRequest,
        client: GroupClient,
        respond: Callable[[ConsumerGroupHeartbeatResponse], None],
    ) -> None:
        """Answer a ConsumerGroupHeartbeat, when what comes of it is written."""
        try:
            shard = self.shard_of(request.group_id)
        except RequestRefusedError as error:
            respond(refused_heartbeat(error.error, error.why))
            return
        self._consumers.heartbeat(shard, request, client, respond)

    def commit(
        self,
        committer: Committer,
        offsets: Iterable[OffsetToCommit],
        respond: Callable[[ErrorCodes], None],
        *,
        retention_ms: int = NO_EXPIRY,
        producer: ProducerOfRecords = NO_TRANSACTION,
    ) -> None:
        """Commit offsets, and answer when they are written.

        Args:
            committer: who commits.
            offsets: what is committed.
            respond: gets an error code for each partition, once, now or later.
            retention_ms: how long they are to be kept, if an old client says so.
            producer: of the transaction that they are part of; they count when it is committed.
        """
        asked = list(offsets)
        try:
            shard = self.shard_of(committer.group_id)
            records, codes = commit_offsets(shard, committer, asked, retention_ms)
        except RequestRefusedError as error:
            respond({each.partition: error.code for each in asked})
            return

        def handle_written(error_code: int) -> None:
            respond({partition: code or error_code for partition, code in codes.items()})

        self.write(shard, records, handle_written, producer)

    def write(
        self,
        shard: GroupShard,
        records: list[CoordinatorRecord],
        respond: Callable[[int], None],
        producer: ProducerOfRecords = NO_TRANSACTION,
    ) -> None:
        """Write records of a shard, apply them, and answer when all replicas in sync have them."""
        self.runtime.append_and_replay(shard.partition, records, respond, producer)

    def complete_transaction(
        self, partition: int, producer_id: int, producer_epoch: int, *, is_commit: bool
    ) -> None:
        """Apply the marker that ends a transaction, after it was written into a partition.

        Raises:
            RequestRefusedError: NOT_COORDINATOR, COORDINATOR_LOAD_IN_PROGRESS.
        """
        shard = self.runtime.shard_in(partition)
        shard.replay_end_transaction(producer_id, producer_epoch, is_commit=is_commit)

    @property
    def _check_interval_ns(self) -> int:
        return self.config.offsets_retention_check_interval_ms * NS_PER_MS

    def _check_session_timeout(self, timeout_ms: int) -> None:
        """Refuse a session timeout that is out of range.

        Raises:
            RequestRefusedError: INVALID_SESSION_TIMEOUT.
        """
        config = self.config
        least, most = config.group_min_session_timeout_ms, config.group_max_session_timeout_ms
        if not least <= timeout_ms <= most:
            why = f"{timeout_ms} ms: expected {least} to {most}"
            raise RequestRefusedError("INVALID_SESSION_TIMEOUT", why)

    def _make_shard(self, partition: int) -> GroupShard:
        def append(record: CoordinatorRecord, respond: Callable[[int], None]) -> None:
            self.runtime.append(partition, [record], respond)

        rebalance = ClassicRebalance(self.config, self.purgatories, append)
        return GroupShard(partition, self._clock, rebalance, self._consumers)

    def _write_quietly(self, shard: GroupShard, records: list[CoordinatorRecord]) -> None:
        """Write records that nobody waits for."""

        def warn(error_code: int) -> None:
            if error_code:
                LOG.warning("%r: not written: %s", shard, error_name(error_code))

        if records:
            self.write(shard, records, warn)
