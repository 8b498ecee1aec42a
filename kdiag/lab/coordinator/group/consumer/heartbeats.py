"""The consumer groups of a node: heartbeats in, records out, sessions and revocations watched.

    heartbeat(shard, request, client, respond)    answered when its records are written
    watch(shard, group, member)                   after a heartbeat, or when a partition is loaded

An empty classic group becomes a consumer group with the first heartbeat. One that has members does
not, nor does a consumer group take members by JoinGroup: GROUP_ID_NOT_FOUND, and
INCONSISTENT_GROUP_PROTOCOL. (Kafka changes a group over while it has members; a lab does not.)

Source: Kafka's `GroupMetadataManager`; KIP-848.
"""

import logging
from collections.abc import Callable
from typing import Final

from kdiag.clock import NS_PER_MS
from kdiag.lab.controller.cluster_image import ClusterImage
from kdiag.lab.controller.refusal import RequestRefusedError
from kdiag.lab.coordinator.group.classic.rebalance import GroupPurgatories
from kdiag.lab.coordinator.group.consumer.consumer_group import ConsumerGroup
from kdiag.lab.coordinator.group.consumer.consumer_member import (
    ConsumerGroupMember,
    ReconciliationState,
)
from kdiag.lab.coordinator.group.consumer.group_heartbeat import (
    HeartbeatResult,
    HeartbeatScene,
    check_request,
    fence_of,
    heartbeat_of,
    leave_of,
)
from kdiag.lab.coordinator.group.group_config import GroupClient, GroupCoordinatorConfig
from kdiag.lab.coordinator.group.group_shard import GroupShard
from kdiag.lab.coordinator.runtime.coordinator_record import CoordinatorRecord
from kdiag.lab.purgatory.delayed_heartbeat import DelayedHeartbeat
from kdiag.lab.purgatory.operation_key import MemberKey, MemberRevocationKey
from kdiag.wire.api.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)
from kdiag.wire.error_code import CODE_BY_NAME, error_name

LOG: Final = logging.getLogger(__name__)

Respond = Callable[[ConsumerGroupHeartbeatResponse], None]
WriteRecords = Callable[[GroupShard, list[CoordinatorRecord], Callable[[int], None]], None]
"""Writes records, applies them, and gives the error code when all replicas in sync have them."""


class ConsumerHeartbeats:
    """The heartbeats of consumer groups.

    Attributes:
        image: the cluster's state; assign another at any time.
    """

    def __init__(
        self, config: GroupCoordinatorConfig, purgatories: GroupPurgatories, write: WriteRecords
    ) -> None:
        """Watch nobody yet."""
        self.image = ClusterImage(cluster_id="")
        self._config = config
        self._purgatories = purgatories
        self._write = write

    def __repr__(self) -> str:
        return f"<ConsumerHeartbeats: {self._purgatories.heartbeats!r}>"

    def heartbeat(
        self,
        shard: GroupShard,
        request: ConsumerGroupHeartbeatRequest,
        client: GroupClient,
        respond: Respond,
    ) -> None:
        """Answer a heartbeat, when what comes of it is written."""
        try:
            check_request(request, client.version)
            group, records = self._group(shard, request)
            scene = HeartbeatScene(group, self.image, self._config, shard.now_ms)
            if request.member_epoch < 0:
                result = leave_of(scene, request)
            else:
                result = heartbeat_of(scene, request, client)
        except RequestRefusedError as error:
            respond(refused_heartbeat(error.error, error.why))
            return
        before = group.members.get(request.member_id)

        def handle_written(error_code: int) -> None:
            if error_code:
                respond(refused_heartbeat(error_name(error_code), None))
            else:
                respond(result.response)

        self._write(shard, [*records, *result.records], handle_written)
        group.image_version = self.image.version
        self._handle_result(shard, group, before, result)

    def watch(self, shard: GroupShard, group: ConsumerGroup, member: ConsumerGroupMember) -> None:
        """Expect a member to be heard of, and to give up what it is to."""
        self._watch_session(shard, group, member)
        if member.state is ReconciliationState.UNREVOKED_PARTITIONS:
            self._watch_revocation(shard, group, member)

    def forget(self, group: ConsumerGroup) -> None:
        """Expect nothing more of the members of a group: it is coordinated elsewhere."""
        for member_id in group.members:
            self._cancel(group.group_id, member_id)

    def _group(
        self, shard: GroupShard, request: ConsumerGroupHeartbeatRequest
    ) -> tuple[ConsumerGroup, list[CoordinatorRecord]]:
        """Return the group of a heartbeat, and what takes away the one that was in its place.

        Raises:
            RequestRefusedError: GROUP_ID_NOT_FOUND.
        """
        known = shard.groups.get(request.group_id)
        if request.member_epoch or isinstance(known, ConsumerGroup):
            return shard.consumer_group(request.group_id), []
        if known is None:
            return ConsumerGroup(request.group_id), []
        if not known.is_empty:
            why = f"Group {request.group_id} is not a consumer group."
            raise RequestRefusedError("GROUP_ID_NOT_FOUND", why)
        return ConsumerGroup(request.group_id), shard.group_tombstones(request.group_id)

    def _handle_result(
        self,
        shard: GroupShard,
        group: ConsumerGroup,
        before: ConsumerGroupMember | None,
        result: HeartbeatResult,
    ) -> None:
        """Watch a member that stays; the group that is there is the one that was replayed."""
        there = shard.groups.get(group.group_id)
        member = result.member
        if member is None or not isinstance(there, ConsumerGroup):
            if before is not None:
                self._cancel(group.group_id, before.member_id)
            return
        there.image_version = self.image.version
        self._watch_session(shard, there, member)
        if member.state is not ReconciliationState.UNREVOKED_PARTITIONS:
            key = MemberRevocationKey(group.group_id, member.member_id)
            self._purgatories.heartbeats.cancel_for_key(key)
        elif before is None or (before.state, before.epoch) != (member.state, member.epoch):
            self._watch_revocation(shard, there, member)

    def _watch_session(
        self, shard: GroupShard, group: ConsumerGroup, member: ConsumerGroupMember
    ) -> None:
        key = MemberKey(group.group_id, member.member_id)
        self._purgatories.heartbeats.cancel_for_key(key)
        session_ns = self._config.group_consumer_session_timeout_ms * NS_PER_MS
        operation = DelayedHeartbeat(
            session_ns,
            lambda: False,
            lambda: self._fence(shard, group, member.member_id, "its session ended"),
        )
        self._purgatories.heartbeats.try_complete_else_watch(operation, [key])

    def _watch_revocation(
        self, shard: GroupShard, group: ConsumerGroup, member: ConsumerGroupMember
    ) -> None:
        key = MemberRevocationKey(group.group_id, member.member_id)
        self._purgatories.heartbeats.cancel_for_key(key)

        def expire() -> None:
            now = group.members.get(member.member_id)
            if now is not None and now.epoch == member.epoch:
                why = f"it has not given partitions up in {member.rebalance_timeout_ms} ms"
                self._fence(shard, group, member.member_id, why)

        operation = DelayedHeartbeat(member.rebalance_timeout_ms * NS_PER_MS, lambda: False, expire)
        self._purgatories.heartbeats.try_complete_else_watch(operation, [key])

    def _fence(self, shard: GroupShard, group: ConsumerGroup, member_id: str, why: str) -> None:
        """Take a member away."""
        is_there = shard.groups.get(group.group_id) is group
        if not is_there or member_id not in group.members:
            return
        LOG.info("group %s: member %s is fenced: %s", group.group_id, member_id, why)
        scene = HeartbeatScene(group, self.image, self._config, shard.now_ms)

        def warn(error_code: int) -> None:
            if error_code:
                LOG.warning("%r: not written: %s", shard, error_name(error_code))

        self._write(shard, fence_of(scene, member_id), warn)
        self._cancel(group.group_id, member_id)

    def _cancel(self, group_id: str, member_id: str) -> None:
        for key in (MemberKey(group_id, member_id), MemberRevocationKey(group_id, member_id)):
            self._purgatories.heartbeats.cancel_for_key(key)


def refused_heartbeat(error: str, why: str | None) -> ConsumerGroupHeartbeatResponse:
    """Return the response to a heartbeat that is refused."""
    return ConsumerGroupHeartbeatResponse(error_code=CODE_BY_NAME[error], error_message=why)
