"""Somebody who asks a coordinator as a member of a consumer group does (KIP-848).

member = EpochMember(coordinator, "a", "orders")
member.join()
member.has                 {0, 1, 2}: its partitions of orders
"""

from kdiag.lab.coordinator.group.consumer.consumer_group import ConsumerGroup
from kdiag.lab.coordinator.group.consumer.consumer_records import partitions_of
from kdiag.lab.coordinator.group.group_config import GroupClient
from kdiag.lab.coordinator.group.offsets.offset_requests import Committer
from kdiag.wire.api.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    TopicPartitions,
)
from kdiag.wire.error_code import error_name
from lab_ends.one_coordinator import GROUP, OneCoordinator


def epoch_group(coordinator: OneCoordinator) -> ConsumerGroup:
    """Return the group, which is a consumer group."""
    return coordinator.groups.shard_of(GROUP).consumer_group(GROUP)


class EpochMember:
    """A member.

    Attributes:
        member_id: its id.
        topics: what it reads.
        instance_id: its name, if it is static.
        epoch: as it was told.
        response: the last one.
        owned: what it says that it has; it takes up what it is given, and gives the rest up.
    """

    def __init__(
        self,
        coordinator: OneCoordinator,
        member_id: str,
        *topics: str,
        instance_id: str | None = None,
    ) -> None:
        self.member_id = member_id
        self.topics = topics
        self.instance_id = instance_id
        self.epoch = 0
        self.response = ConsumerGroupHeartbeatResponse()
        self.owned: list[TopicPartitions] = []
        self._coordinator = coordinator

    @property
    def error(self) -> str:
        """Return the last error."""
        return error_name(self.response.error_code)

    @property
    def has(self) -> set[int]:
        """Return the numbers of the partitions that it has."""
        return {number for _, number in partitions_of(self.owned)}

    @property
    def committer(self) -> Committer:
        """Return who it is when it commits."""
        return Committer(GROUP, self.member_id, self.instance_id, self.epoch, 9)

    def join(self, **changes: object) -> None:
        """Join, with everything that it says of itself."""
        self.epoch, self.owned = 0, []
        first = {"rebalance_timeout_ms": 60_000, "topic_partitions": []}
        if self.topics:
            first["subscribed_topic_names"] = list(self.topics)
        self.ask(**{**first, **changes})

    def beat(self, **changes: object) -> None:
        """Say that it is there, and what it has."""
        self.ask(**{"topic_partitions": self.owned, **changes})

    def leave(self, epoch: int = -1) -> None:
        """Leave."""
        self.ask(member_epoch=epoch)

    def ask(self, **changes: object) -> None:
        """Send one heartbeat."""
        request = ConsumerGroupHeartbeatRequest(
            group_id=GROUP,
            member_id=self.member_id,
            member_epoch=self.epoch,
            instance_id=self.instance_id,
        )
        for name, value in changes.items():
            setattr(request, name, value)
        client = GroupClient("client", "/127.0.0.1", 1)
        self._coordinator.groups.consumer_heartbeat(request, client, self._handle)

    def _handle(self, response: ConsumerGroupHeartbeatResponse) -> None:
        self.response = response
        if not response.error_code:
            self.epoch = response.member_epoch
            if response.assignment is not None:
                self.owned = response.assignment.topic_partitions


def settle(*members: EpochMember) -> None:
    """Have members send heartbeats until nothing changes."""
    for _ in range(4):
        for member in members:
            member.beat()
