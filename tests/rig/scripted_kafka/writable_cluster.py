"""Scripted brokers that take what is written: topics, records, groups and their offsets.

with WritableCluster(2) as cluster, cluster.client() as client:
    ...
    cluster.logs[PartitionKey("orders", 0)].end      # what was produced can be fetched
    cluster.refusals["Produce"] = "NOT_ENOUGH_REPLICAS"
"""

import struct
import time
from threading import Condition
from typing import Final, Self

from kdiag.client.fetch.position import PartitionKey
from kdiag.wire.api.create_topics import (
    CreatableTopicResult,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from kdiag.wire.api.delete_groups import (
    DeletableGroupResult,
    DeleteGroupsRequest,
    DeleteGroupsResponse,
)
from kdiag.wire.api.delete_topics import (
    DeletableTopicResult,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
)
from kdiag.wire.api.fetch import FetchRequest
from kdiag.wire.api.find_coordinator import (
    Coordinator,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)
from kdiag.wire.api.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)
from kdiag.wire.api.produce import (
    LeaderIdAndEpoch,
    NodeEndpoint,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceResponse,
)
from kdiag.wire.error_code import CODE_BY_NAME
from kdiag.wire.records.batches import read_batches
from scripted_kafka.log_cluster import Log, LogCluster
from scripted_kafka.scripted_broker import Received

_BASE_OFFSET: Final = struct.Struct(">q")


class WritableCluster(LogCluster):
    """A cluster that can be written to; its last broker coordinates every group.

    Attributes:
        refusals: the error with which an API is answered, by its name.
        acks: those of each Produce.
        committed: the offset of each commit, in order.
        made: the names of the topics that were made.
        deleted_groups: the names of the groups that were deleted.
    """

    def __init__(self, count: int) -> None:
        super().__init__(count)
        self.refusals: dict[str, str] = {}
        self.acks: list[int] = []
        self.committed: list[int] = []
        self.made: list[str] = []
        self.deleted_groups: list[str] = []
        self._changed = Condition()
        self._is_ending = False

    def __enter__(self) -> Self:
        """Start all brokers."""
        super().__enter__()
        answers = {
            "CreateTopics": self._create,
            "DeleteTopics": self._delete,
            "FindCoordinator": self._find,
            "OffsetCommit": self._commit,
            "DeleteGroups": self._delete_groups,
        }
        for name, answer in answers.items():
            self.on(name, answer)
        for number, broker in self.brokers.items():
            broker.on("Produce", self._for(number, self._produce))
        return self

    def __exit__(self, *_: object) -> None:
        """Stop them, whoever waits."""
        with self._changed:
            self._is_ending = True
            self._changed.notify_all()
        super().__exit__()

    def _code(self, api: str) -> int:
        return CODE_BY_NAME[self.refusals.get(api, "NONE")]

    def _create(self, received: Received) -> None:
        request = received.message()
        assert isinstance(request, CreateTopicsRequest)
        topic, code = request.topics[0], self._code("CreateTopics")
        if not code:
            self.made.append(topic.name)
            for each in topic.assignments:
                self.add(topic.name, each.partition_index, each.broker_ids[0])
        received.reply(
            CreateTopicsResponse(topics=[CreatableTopicResult(topic.name, error_code=code)])
        )

    def _delete(self, received: Received) -> None:
        request = received.message()
        assert isinstance(request, DeleteTopicsRequest)
        name = request.topics[0].name or ""
        self.logs = {key: log for key, log in self.logs.items() if key.topic != name}
        received.reply(DeleteTopicsResponse(responses=[DeletableTopicResult(name)]))

    def _log(self, topic: str, topic_id: bytes, partition: int) -> Log | None:
        """Return a partition of a topic, by its name or by its id; None if it was removed."""
        names = {log.topic_id: key.topic for key, log in self.logs.items()}
        return self.logs.get(PartitionKey(topic or names.get(topic_id, ""), partition))

    def _produce(self, number: int, received: Received) -> None:
        request = received.message()
        assert isinstance(request, ProduceRequest)
        self.acks.append(request.acks)
        topic, code = request.topic_data[0], self._code("Produce")
        data = topic.partition_data[0]
        log = self._log(topic.name, topic.topic_id, data.index)
        answer = PartitionProduceResponse(data.index, code)
        endpoints = []
        if self.names_leaders and log is not None and log.leader != number:
            answer.error_code = CODE_BY_NAME["NOT_LEADER_OR_FOLLOWER"]
            answer.current_leader = LeaderIdAndEpoch(log.leader, log.epoch)
            port = self.brokers[log.leader].port
            endpoints = [NodeEndpoint(node_id=log.leader, host="127.0.0.1", port=port)]
        elif not code and log is not None:
            self._append(log, bytes(data.records or b""))
        if request.acks:
            written = TopicProduceResponse(topic.name, topic.topic_id, [answer])
            received.reply(ProduceResponse(responses=[written], node_endpoints=endpoints))

    def _append(self, log: Log, data: bytes) -> None:
        """Append a batch, whose offsets are given now, and tell whoever waits for it."""
        count = read_batches(data).batches[0].record_count
        with self._changed:
            batch = _BASE_OFFSET.pack(log.end) + data[_BASE_OFFSET.size :]
            log.batches.append((log.end, log.end + count, batch))
            log.end += count
            self._changed.notify_all()

    def answer_fetch(self, number: int, received: Received) -> None:
        """Answer once there is enough, or the wait is over."""
        request = received.message()
        assert isinstance(request, FetchRequest)
        until_s = time.monotonic() + request.max_wait_ms / 1000

        def size() -> int:
            asked = [(topic, each) for topic in request.topics for each in topic.partitions]
            logs = [self._log(topic.topic, topic.topic_id, each.partition) for topic, each in asked]
            return sum(
                len(log.read(each.fetch_offset))
                for log, (_, each) in zip(logs, asked, strict=True)
                if log is not None
            )

        with self._changed:
            while size() < request.min_bytes and not self._is_ending:
                if not self._changed.wait(max(0.0, until_s - time.monotonic())):
                    break
        super().answer_fetch(number, received)

    def _find(self, received: Received) -> None:
        request = received.message()
        assert isinstance(request, FindCoordinatorRequest)
        number = max(self.brokers)
        port = self.brokers[number].port
        code = self._code("FindCoordinator")
        named = [
            Coordinator(key, -1 if code else number, "127.0.0.1", port, code)
            for key in request.coordinator_keys
        ]
        received.reply(FindCoordinatorResponse(coordinators=named))

    def _commit(self, received: Received) -> None:
        request = received.message()
        assert isinstance(request, OffsetCommitRequest)
        topic, code = request.topics[0], self._code("OffsetCommit")
        (partition,) = topic.partitions
        self.committed.append(partition.committed_offset)
        answer = OffsetCommitResponseTopic(
            topic.name,
            topic.topic_id,
            [OffsetCommitResponsePartition(partition.partition_index, code)],
        )
        received.reply(OffsetCommitResponse(topics=[answer]))

    def _delete_groups(self, received: Received) -> None:
        request = received.message()
        assert isinstance(request, DeleteGroupsRequest)
        (name,) = request.groups_names
        code = self._code("DeleteGroups")
        if not code:
            self.deleted_groups.append(name)
        received.reply(DeleteGroupsResponse(results=[DeletableGroupResult(name, code)]))
