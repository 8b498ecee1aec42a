"""A group coordinator without a network, under a clock that stands still, and members that ask it.

coordinator = OneCoordinator(folder)
member = coordinator.member()
member.join()
coordinator.advance(3 * NS_PER_S)      # the initial rebalance delay
member.joined.generation_id
"""

from pathlib import Path
from typing import Final

from kdiag.clock import NS_PER_S
from kdiag.lab.controller.cluster_image import ClusterImage
from kdiag.lab.coordinator.group.classic.group_metadata import GroupMetadata
from kdiag.lab.coordinator.group.group_config import GroupClient, GroupCoordinatorConfig
from kdiag.lab.coordinator.group.group_coordinator import GroupCoordinator
from kdiag.lab.coordinator.group.offsets.offset_requests import Committer, OffsetToCommit
from kdiag.lab.coordinator.group.offsets.offset_store import PartitionOfTopic
from kdiag.lab.coordinator.runtime.coordinator_runtime import NO_TRANSACTION, ProducerOfRecords
from kdiag.wire.api.heartbeat import HeartbeatRequest
from kdiag.wire.api.join_group import (
    JoinGroupRequest,
    JoinGroupRequestProtocol,
    JoinGroupResponse,
)
from kdiag.wire.api.leave_group import MemberIdentity
from kdiag.wire.api.sync_group import (
    SyncGroupRequest,
    SyncGroupRequestAssignment,
    SyncGroupResponse,
)
from kdiag.wire.codec.messages import encode
from kdiag.wire.error_code import error_name
from kdiag.wire.internal.consumer_protocol_subscription import ConsumerProtocolSubscription
from kdiag.wire.records.batches import read_batches
from kdiag.wire.records.internal import InternalRecord, read_internal_record
from lab_ends.one_node import OneNode

GROUP: Final = "billing"
TOPIC: Final = "__consumer_offsets"
ORDERS: Final = PartitionOfTopic("orders", 0)
DELAY_NS: Final = 3 * NS_PER_S
SESSION_MS: Final = 10_000
REBALANCE_MS: Final = 60_000


def subscription(*topics: str) -> bytes:
    """Return what a consumer says: which topics it reads."""
    said = ConsumerProtocolSubscription(topics=list(topics), user_data=None)
    return (0).to_bytes(2) + encode(said, 0)


class OneCoordinator:
    """A coordinator of one partition.

    Attributes:
        node: with its partitions.
        groups: the coordinator.
        config: of it.
    """

    def __init__(self, folder: Path, config: GroupCoordinatorConfig | None = None) -> None:
        self.node = OneNode(folder)
        self.config = config or GroupCoordinatorConfig()
        self.node.create(TOPIC, 1)
        self.node.create("orders", 1)
        self.restart()
        self.node.controller.subscribe(self._handle_image)

    def _handle_image(self, image: ClusterImage) -> None:
        self.groups.handle_image(image)

    def restart(self) -> None:
        """Forget everything, and read it again."""
        self.groups = GroupCoordinator(self.node.replicas, self.node.clock, self.config)
        self.groups.handle_image(self.node.controller.image)
        self.groups.advance()

    @property
    def group(self) -> GroupMetadata:
        """Return the group."""
        group = self.groups.shard_of(GROUP).groups[GROUP]
        assert isinstance(group, GroupMetadata)
        return group

    @property
    def records(self) -> list[InternalRecord]:
        """Return what was written."""
        log = next(
            each.log for key, each in self.node.replicas.partitions.items() if key.topic == TOPIC
        )
        read = log.read(0, 1 << 30)
        batches = read_batches(read.slice.read()).batches if read.slice else []
        found = [read_internal_record(TOPIC, each) for batch in batches for each in batch.records()]
        return [each for each in found if each is not None]

    def advance(self, ns: int) -> None:
        """Let time pass, a tenth of a second at a time, as timers chain."""
        for _ in range(max(1, ns // (NS_PER_S // 10))):
            self.node.clock.advance(NS_PER_S // 10)
            self.node.replicas.advance()
            self.groups.advance()

    def member(
        self, protocols: tuple[str, ...] = ("range",), instance_id: str | None = None
    ) -> "AskingMember":
        """Return somebody who may become a member."""
        return AskingMember(self, protocols, instance_id)

    def stable(self, count: int = 2, **facts: str) -> list["AskingMember"]:
        """Return the members of a group that is Stable; the first leads."""
        members = [self.member(instance_id=facts.get(f"member_{at}")) for at in range(count)]
        for member in members:
            member.join()
        self.advance(DELAY_NS * 3)
        for member in reversed(members):
            member.sync(*members)
        return members

    def commit(
        self,
        offset: int,
        committer: Committer | None = None,
        metadata: str = "",
        producer: ProducerOfRecords = NO_TRANSACTION,
    ) -> str:
        """Commit an offset of orders-0; return the error."""
        codes: list[int] = []
        self.groups.commit(
            committer or Committer(GROUP, "", None, -1, 8),
            [OffsetToCommit(ORDERS, offset, -1, metadata)],
            lambda each: codes.append(each[ORDERS]),
            producer=producer,
        )
        (code,) = codes
        return error_name(code)


class AskingMember:
    """Somebody who asks a coordinator as a member does.

    Attributes:
        member_id: as it was given.
        topics: what it reads.
        version: of its JoinGroup.
        joins, syncs: what it was answered.
    """

    def __init__(
        self, coordinator: OneCoordinator, protocols: tuple[str, ...], instance_id: str | None
    ) -> None:
        self.member_id = ""
        self.topics = ("orders",)
        self.version = 9
        self.protocols = protocols
        self.instance_id = instance_id
        self.joins: list[JoinGroupResponse] = []
        self.syncs: list[SyncGroupResponse] = []
        self._coordinator = coordinator

    @property
    def joined(self) -> JoinGroupResponse:
        """Return the last response to a JoinGroup."""
        return self.joins[-1]

    @property
    def synced(self) -> SyncGroupResponse:
        """Return the last response to a SyncGroup."""
        return self.syncs[-1]

    @property
    def join_error(self) -> str:
        """Return the error of the last JoinGroup."""
        return error_name(self.joined.error_code)

    @property
    def sync_error(self) -> str:
        """Return the error of the last SyncGroup."""
        return error_name(self.synced.error_code)

    @property
    def committer(self) -> Committer:
        """Return who it is when it commits."""
        generation_id = self.joined.generation_id
        return Committer(GROUP, self.member_id, self.instance_id, generation_id, 8)

    def join(self, **changes: object) -> None:
        """Join; with the id that it is given, if it needs one."""
        self.ask_to_join(**changes)
        if self.joins and self.join_error == "MEMBER_ID_REQUIRED":
            self.joins.pop()
            self.ask_to_join(**changes)

    def ask_to_join(self, **changes: object) -> None:
        """Send one JoinGroup."""
        request = JoinGroupRequest(
            group_id=GROUP,
            member_id=self.member_id,
            group_instance_id=self.instance_id,
            protocol_type="consumer",
            protocols=[
                JoinGroupRequestProtocol(name=each, metadata=subscription(*self.topics))
                for each in self.protocols
            ],
            session_timeout_ms=SESSION_MS,
            rebalance_timeout_ms=REBALANCE_MS,
        )
        for name, value in changes.items():
            setattr(request, name, value)
        client = GroupClient("client", "/127.0.0.1", self.version)
        self._coordinator.groups.join(request, client, self._handle_joined)

    def sync(self, *members: "AskingMember", **changes: object) -> None:
        """Ask for its assignment; the leader brings those of members."""
        is_leader = self.joined.leader == self.member_id
        request = SyncGroupRequest(
            group_id=GROUP,
            member_id=self.member_id,
            group_instance_id=self.instance_id,
            generation_id=self.joined.generation_id,
            protocol_type="consumer",
            protocol_name=self.joined.protocol_name,
            assignments=[
                SyncGroupRequestAssignment(
                    member_id=each.member_id, assignment=f"for {each.member_id}".encode()
                )
                for each in members
                if is_leader
            ],
        )
        for name, value in changes.items():
            setattr(request, name, value)
        self._coordinator.groups.sync(request, self.syncs.append)

    def heartbeat(self, generation_id: int | None = None) -> str:
        """Say that it is there; return the error."""
        request = HeartbeatRequest(
            group_id=GROUP,
            member_id=self.member_id,
            group_instance_id=self.instance_id,
            generation_id=self.joined.generation_id if generation_id is None else generation_id,
        )
        return error_name(self._coordinator.groups.heartbeat(request))

    def leave(self) -> str:
        """Leave; return the error."""
        identity = MemberIdentity(member_id=self.member_id, group_instance_id=self.instance_id)
        (response,) = self._coordinator.groups.leave(GROUP, [identity])
        return error_name(response.error_code)

    def _handle_joined(self, response: JoinGroupResponse) -> None:
        self.joins.append(response)
        if response.member_id:
            self.member_id = response.member_id
