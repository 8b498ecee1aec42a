"""Scripted brokers with logs and one group that can be joined; a test is its leader.

with JoinableCluster() as cluster:
    cluster.add("orders", 0).append(b"a", b"b")
    cluster.give([0])                  # whoever joins gets this; a member is told to join again
    cluster.committed                  # what was committed: offsets by partition

Members may speak either protocol. One is the only one that is seen: the others, and the assignors,
are the test's to imagine.
"""

from collections.abc import Sequence
from threading import Condition
from typing import Any, Final, Self

from kdiag.wire.api.consumer_group_heartbeat import (
    Assignment,
    ConsumerGroupHeartbeatResponse,
    TopicPartitions,
)
from kdiag.wire.api.find_coordinator import Coordinator, FindCoordinatorResponse
from kdiag.wire.api.heartbeat import HeartbeatResponse
from kdiag.wire.api.join_group import JoinGroupResponse
from kdiag.wire.api.leave_group import LeaveGroupResponse
from kdiag.wire.api.offset_commit import (
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)
from kdiag.wire.api.offset_fetch import (
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartitions,
    OffsetFetchResponseTopics,
)
from kdiag.wire.api.sync_group import SyncGroupResponse
from kdiag.wire.error_code import CODE_BY_NAME
from scripted_kafka.group_cluster import TOPIC, GroupCluster, assignment
from scripted_kafka.scripted_broker import Received

JOINED: Final = "billing"
_PATIENCE_S: Final = 30
_UNSTABLE: Final = CODE_BY_NAME["UNSTABLE_OFFSET_COMMIT"]
_INTERVAL_MS: Final = 20


class JoinableCluster(GroupCluster):
    """One broker; its group `billing` reads `orders`.

    Attributes:
        committed: offsets by partition.
        epochs: the leader epochs that were committed with them, of those that have one.
        unstable: the partitions whose offsets are in a transaction that is open.
        generation: of the group.
        refusal: the error of each commit.
        joins: the requests to join, by the classic protocol.
        beats: the heartbeats of the consumer protocol.
        left_count: how many members have left.
    """

    def __init__(self) -> None:
        super().__init__(1)
        self.committed: dict[int, int] = {}
        self.epochs: dict[int, int] = {}
        self.unstable: set[int] = set()
        self.generation = 0
        self.refusal = "NONE"
        self.joins: list[Any] = []
        self.beats: list[Any] = []
        self.left_count = 0
        self._given: Sequence[int] = ()
        self._joined = 0
        self._changed = Condition()

    def __enter__(self) -> Self:
        """Start the broker."""
        super().__enter__()
        found = Coordinator(JOINED, 1, "127.0.0.1", self.brokers[1].port)
        self.on("FindCoordinator", FindCoordinatorResponse(coordinators=[found]))
        self.on("JoinGroup", self._join)
        self.on("SyncGroup", self._sync)
        self.on("Heartbeat", self._beat)
        self.on("LeaveGroup", self._leave)
        self.on("ConsumerGroupHeartbeat", self._assign)
        self.on("OffsetFetch", self._tell_commits)
        self.on("OffsetCommit", self._take_commits)
        return self

    def give(self, partitions: Sequence[int]) -> None:
        """Begin a generation in which a member has some partitions of `orders`."""
        self._given = partitions
        self.generation += 1

    def await_commit(self, partition: int, offset: int) -> None:
        """Wait until an offset is committed."""
        with self._changed:
            assert self._changed.wait_for(
                lambda: self.committed.get(partition) == offset, _PATIENCE_S
            ), self.committed

    def _join(self, received: Received) -> None:
        request: Any = received.message()
        self.joins.append(request)
        self._joined = self.generation
        received.reply(
            JoinGroupResponse(
                generation_id=self.generation,
                protocol_type="consumer",
                protocol_name=request.protocols[0].name,
                leader="another",
                member_id="m-1",
            )
        )

    def _sync(self, received: Received) -> None:
        received.reply(SyncGroupResponse(assignment=assignment(TOPIC, self._given)))

    def _beat(self, received: Received) -> None:
        error = "NONE" if self._joined == self.generation else "REBALANCE_IN_PROGRESS"
        received.reply(HeartbeatResponse(error_code=CODE_BY_NAME[error]))

    def _leave(self, received: Received) -> None:
        self._count_left()
        received.reply(LeaveGroupResponse())

    def _assign(self, received: Received) -> None:
        request: Any = received.message()
        self.beats.append(request)
        assigned: Assignment | None = None
        if request.member_epoch < 0:
            self._count_left()
        elif request.member_epoch != self.generation:
            (topic_id,) = {log.topic_id for key, log in self.logs.items() if key.topic == TOPIC}
            assigned = Assignment([TopicPartitions(topic_id, list(self._given))])
        epoch = min(request.member_epoch, 0) or self.generation
        received.reply(
            ConsumerGroupHeartbeatResponse(
                member_id=request.member_id,
                member_epoch=epoch,
                heartbeat_interval_ms=_INTERVAL_MS,
                assignment=assigned,
            )
        )

    def _count_left(self) -> None:
        with self._changed:
            self.left_count += 1
            self._changed.notify_all()

    def _tell_commits(self, received: Received) -> None:
        request: Any = received.message()
        topics = [
            OffsetFetchResponseTopics(
                each.name,
                each.topic_id,
                [
                    OffsetFetchResponsePartitions(number, error_code=_UNSTABLE)
                    if number in self.unstable and request.require_stable
                    else OffsetFetchResponsePartitions(
                        number, self.committed.get(number, -1), self.epochs.get(number, -1)
                    )
                    for number in each.partition_indexes
                ],
            )
            for each in request.groups[0].topics or ()
        ]
        received.reply(OffsetFetchResponse(groups=[OffsetFetchResponseGroup(JOINED, topics)]))

    def _take_commits(self, received: Received) -> None:
        request: Any = received.message()
        code = CODE_BY_NAME[self.refusal]
        topics = []
        with self._changed:
            for topic in request.topics:
                parts = []
                for each in topic.partitions:
                    if not code:
                        self.committed[each.partition_index] = each.committed_offset
                    parts.append(OffsetCommitResponsePartition(each.partition_index, code))
                topics.append(OffsetCommitResponseTopic(topic.name, topic.topic_id, parts))
            self._changed.notify_all()
        received.reply(OffsetCommitResponse(topics=topics))
