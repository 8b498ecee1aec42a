"""Scripted brokers with logs and groups, each of which the first broker coordinates.

with GroupCluster(2) as cluster:
    cluster.add("orders", 0).append(b"a", b"b")
    cluster.add_group("billing", {("orders", 0): 1}, {"m-1": [0]})
"""

from collections.abc import Mapping, Sequence
from copy import deepcopy
from typing import Any, Final, Self

from kdiag.wire.api.consumer_group_describe import (
    Assignment,
    ConsumerGroupDescribeResponse,
    Member,
    TopicPartitions,
)
from kdiag.wire.api.consumer_group_describe import DescribedGroup as NewGroup
from kdiag.wire.api.describe_cluster import DescribeClusterResponse
from kdiag.wire.api.describe_groups import (
    DescribedGroup,
    DescribedGroupMember,
    DescribeGroupsResponse,
)
from kdiag.wire.api.find_coordinator import FindCoordinatorResponse
from kdiag.wire.api.list_groups import ListedGroup, ListGroupsResponse
from kdiag.wire.api.offset_fetch import (
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartitions,
    OffsetFetchResponseTopics,
)
from kdiag.wire.codec.messages import encode
from kdiag.wire.error_code import CODE_BY_NAME
from kdiag.wire.internal.consumer_protocol_assignment import (
    ConsumerProtocolAssignment,
    TopicPartition,
)
from kdiag.wire.internal.consumer_protocol_subscription import ConsumerProtocolSubscription
from scripted_kafka.log_cluster import LogCluster
from scripted_kafka.scripted_broker import Received

TOPIC = "orders"
_UNSTABLE: Final = CODE_BY_NAME["UNSTABLE_OFFSET_COMMIT"]


class GroupCluster(LogCluster):
    """A cluster with groups that read the topic `orders`.

    Attributes:
        listed, classic, new, commits: what brokers answer, by group.
        pending: group, topic and partition of offsets that are in an open transaction.
    """

    def __init__(self, count: int) -> None:
        super().__init__(count)
        self.listed: dict[str, ListedGroup] = {}
        self.classic: dict[str, DescribedGroup] = {}
        self.new: dict[str, NewGroup] = {}
        self.commits: dict[str, OffsetFetchResponseGroup] = {}
        self.pending: set[tuple[str, str, int]] = set()

    def __enter__(self) -> Self:
        """Start all brokers."""
        super().__enter__()
        self.on("ListGroups", ListGroupsResponse())
        self.on("DescribeCluster", DescribeClusterResponse())
        self.on("FindCoordinator", FindCoordinatorResponse())
        first = self.brokers[1]
        first.on(
            "ListGroups",
            lambda received: received.reply(ListGroupsResponse(groups=[*self.listed.values()])),
        )
        first.on("DescribeGroups", self._describe)
        first.on("ConsumerGroupDescribe", self._describe_new)
        first.on("OffsetFetch", self._fetch_offsets)
        return self

    def add_group(
        self,
        name: str,
        commits: Mapping[tuple[str, int], int],
        members: Mapping[str, Sequence[int]] = {},
        state: str = "",
        topic: str = TOPIC,
    ) -> DescribedGroup:
        """Add a classic group; members own partitions of a topic."""
        state = state or ("Stable" if members else "Empty")
        self.listed[name] = ListedGroup(name, "consumer", state, "Classic")
        described = DescribedGroup(
            group_id=name,
            group_state=state,
            protocol_type="consumer",
            protocol_data="range" if members else "",
            members=[
                DescribedGroupMember(
                    member_id=each,
                    client_id=each.upper(),
                    client_host="/10.0.0.1",
                    member_metadata=subscription(topic),
                    member_assignment=assignment(topic, owned),
                )
                for each, owned in members.items()
            ],
        )
        self.classic[name] = described
        self._commit(name, commits)
        return described

    def add_new_group(
        self,
        name: str,
        commits: Mapping[tuple[str, int], int],
        members: Mapping[str, tuple[Sequence[int], Sequence[int]]],
    ) -> NewGroup:
        """Add a group of the new protocol; members own partitions, and are to own others."""
        self.listed[name] = ListedGroup(name, "consumer", "Stable", "Consumer")
        self.new[name] = NewGroup(
            group_id=name,
            group_state="Stable",
            group_epoch=4,
            assignment_epoch=4,
            assignor_name="uniform",
            members=[
                Member(
                    member_id=each,
                    client_id=each.upper(),
                    client_host="/10.0.0.2",
                    member_epoch=4,
                    subscribed_topic_names=[TOPIC],
                    assignment=_assigned(owned),
                    target_assignment=_assigned(target),
                )
                for each, (owned, target) in members.items()
            ],
        )
        self._commit(name, commits)
        return self.new[name]

    def _commit(self, name: str, commits: Mapping[tuple[str, int], int]) -> None:
        topics: dict[str, OffsetFetchResponseTopics] = {}
        for (topic, partition), offset in commits.items():
            of_topic = topics.setdefault(
                topic, OffsetFetchResponseTopics(name=topic, partitions=[])
            )
            of_topic.partitions.append(OffsetFetchResponsePartitions(partition, offset))
        self.commits[name] = OffsetFetchResponseGroup(name, [*topics.values()])

    def _describe(self, received: Received) -> None:
        names = self._message(received).groups
        received.reply(DescribeGroupsResponse(groups=[self.classic[each] for each in names]))

    def _describe_new(self, received: Received) -> None:
        names = self._message(received).group_ids
        received.reply(ConsumerGroupDescribeResponse(groups=[self.new[each] for each in names]))

    def _fetch_offsets(self, received: Received) -> None:
        request = self._message(received)
        groups = [deepcopy(self.commits[each.group_id]) for each in request.groups]
        for group in groups if request.require_stable else ():
            for topic in group.topics:
                for each in topic.partitions:
                    if (group.group_id, topic.name, each.partition_index) in self.pending:
                        each.committed_offset, each.error_code = -1, _UNSTABLE
        received.reply(OffsetFetchResponse(groups=groups))

    def _message(self, received: Received) -> Any:
        return received.message()


def subscription(*topics: str) -> bytes:
    """Return the subscription of a consumer, as it writes it."""
    return b"\0\0" + encode(ConsumerProtocolSubscription(topics=list(topics)), 0)


def assignment(topic: str, partitions: Sequence[int]) -> bytes:
    """Return the assignment of a consumer, as its leader writes it."""
    owned = [TopicPartition(topic, list(partitions))] if partitions else []
    return b"\0\0" + encode(ConsumerProtocolAssignment(owned), 0)


def _assigned(partitions: Sequence[int]) -> Assignment:
    return Assignment([TopicPartitions(topic_name=TOPIC, partitions=list(partitions))])
