"""Scripted brokers with logs: they answer Fetch, ListOffsets and OffsetForLeaderEpoch.

with LogCluster(2) as cluster:
    log = cluster.add("orders", 0, leader=1)
    log.append(b"a", b"b")
    log.leader = 2
"""

from collections.abc import Callable
from threading import Event
from typing import Final, Self

import msgspec

from kdiag.client.fetch.position import PartitionKey
from kdiag.wire.api.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    DescribeConfigsResult,
)
from kdiag.wire.api.describe_transactions import DescribeTransactionsResponse, TransactionState
from kdiag.wire.api.fetch import (
    AbortedTransaction,
    EpochEndOffset,
    FetchableTopicResponse,
    FetchRequest,
    FetchResponse,
    LeaderIdAndEpoch,
    NodeEndpoint,
    PartitionData,
)
from kdiag.wire.api.list_offsets import (
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from kdiag.wire.api.list_transactions import ListTransactionsResponse
from kdiag.wire.api.list_transactions import TransactionState as ListedTransaction
from kdiag.wire.api.metadata import MetadataResponsePartition, MetadataResponseTopic
from kdiag.wire.api.offset_for_leader_epoch import EpochEndOffset as EndOfEpoch
from kdiag.wire.api.offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderTopicResult,
)
from kdiag.wire.error_code import CODE_BY_NAME
from kdiag.wire.records.batches import read_batches
from kdiag.wire.records.record import BatchHeader, ControlType, Record, write_control_key
from kdiag.wire.records.writer import write_batch
from scripted_kafka.scripted_broker import Received
from scripted_kafka.scripted_cluster import ScriptedCluster

_PATIENCE_S: Final = 0.005
"""How long a Fetch waits that finds nothing: a reader would ask again at once, and again."""

LATEST: Final = -1
EARLIEST: Final = -2
EARLIEST_LOCAL: Final = -4


class Log(msgspec.Struct, kw_only=True):
    """The log of one partition; every field may be changed at any time.

    Attributes:
        batches: first offset, next offset and bytes of each.
        fetch_error, list_error: errors of Fetch and of ListOffsets alone.
        metadata_error: the error of Metadata, with which it has no leader.
        in_sync: the brokers that have the log; any of them serves readers.
        preferred: the follower that the leader sends readers to.
        empty_answers: how many answers are still to have no records, whatever the log holds.
        damages: what becomes of the records of the next answers on their way, one for each.
        local_start: what is before it is in remote storage alone.
        ends: where epochs end that are not the newest.
        is_epoch_undefined: whether the ends of epochs come without the epoch that they are of.
        diverging: where the history of readers with an older epoch parts from this one.
    """

    topic_id: bytes
    leader: int
    epoch: int = 0
    batches: list[tuple[int, int, bytes]] = []
    start: int = 0
    end: int = 0
    stable: int | None = None
    aborted: list[AbortedTransaction] = []
    error: str = "NONE"
    fetch_error: str = "NONE"
    list_error: str = "NONE"
    metadata_error: str = "NONE"
    in_sync: list[int] = []
    preferred: int = -1
    empty_answers: int = 0
    damages: list[Callable[[bytes], bytes]] = []
    ends: dict[int, int] = {}
    local_start: int = 0
    is_epoch_undefined: bool = False
    diverging: int | None = None

    def append(self, *values: bytes, timestamp: int = 1000, **header: object) -> None:
        """Append a batch of records, a millisecond between two."""
        records = [
            Record(self.end + n, timestamp + n, None, value) for n, value in enumerate(values)
        ]
        self._add(records, **header)

    def append_pairs(self, *pairs: tuple[bytes, bytes | None], timestamp: int = 1000) -> None:
        """Append a batch of records with keys."""
        records = [
            Record(self.end + at, timestamp, key, value) for at, (key, value) in enumerate(pairs)
        ]
        self._add(records)

    def mark(self, producer_id: int, kind: ControlType) -> None:
        """Append the marker that ends a transaction."""
        record = Record(self.end, 1000, write_control_key(kind), b"\0\0\0\0\0\0")
        self._add([record], producer_id=producer_id, is_transactional=True, is_control=True)

    def _add(self, records: list[Record], **header: object) -> None:
        given = BatchHeader(partition_leader_epoch=self.epoch, **header)  # type: ignore[arg-type]
        after = records[-1].offset + 1
        self.batches.append((self.end, after, write_batch(records, given)))
        self.end = after

    def read(self, offset: int, max_batches: int | None = None) -> bytes:
        """Return the batches from the one that holds an offset, up to the last stable offset."""
        found = [
            data
            for _, after, data in self.batches
            if offset < after and (self.stable is None or after <= self.stable)
        ]
        return b"".join(found[:max_batches])

    def offset_at(self, timestamp: int, *, is_committed_only: bool) -> int:
        """Return what ListOffsets answers."""
        if timestamp == LATEST:
            return self.end if self.stable is None or not is_committed_only else self.stable
        if timestamp == EARLIEST:
            return self.start
        if timestamp == EARLIEST_LOCAL:
            return max(self.start, self.local_start)
        for _, _, data in self.batches:
            for record in read_batches(data).batches[0].records():
                if record.timestamp >= timestamp:
                    return record.offset
        return -1


def flip(byte: int, mask: int) -> Callable[[bytes], bytes]:
    """Return what turns bits of one byte of an answer's records; the first byte is 0."""

    def damage(data: bytes) -> bytes:
        return data[:byte] + bytes([data[byte] ^ mask]) + data[byte + 1 :]

    return damage


class LogCluster(ScriptedCluster):
    """A cluster with logs.

    Attributes:
        logs: by partition.
        denied: topics that a client may not even see.
        max_batches: how many of a partition one answer holds at the most; None for all.
        compacted: topics whose cleanup.policy is compact.
        names_leaders: whether brokers that do not lead a partition name its leader (KIP-951).
        tiered: topics of which older segments are in a remote store.
    """

    def __init__(self, count: int) -> None:
        super().__init__(count)
        self.logs: dict[PartitionKey, Log] = {}
        self.denied: set[str] = set()
        self.max_batches: int | None = None
        self.compacted: set[str] = set()
        self.tiered: set[str] = set()
        self.names_leaders = False
        self._topic_count = 0

    def __enter__(self) -> Self:
        """Start all brokers."""
        super().__enter__()
        for number, broker in self.brokers.items():
            broker.on("Fetch", self._for(number, self.answer_fetch))
            broker.on("ListOffsets", self._for(number, self._list_offsets))
            broker.on("DescribeConfigs", self._describe_configs)
            broker.on("OffsetForLeaderEpoch", self._for(number, self._end_of_epoch))
        return self

    def add(self, topic: str, partition: int, leader: int = 1) -> Log:
        """Add a partition."""
        same = [log for key, log in self.logs.items() if key.topic == topic]
        topic_id = same[0].topic_id if same else self.new_id()
        log = Log(topic_id=topic_id, leader=leader, batches=[], aborted=[], damages=[])
        self.logs[PartitionKey(topic, partition)] = log
        return log

    def new_id(self) -> bytes:
        """Return a topic id that no topic has had."""
        self._topic_count += 1
        return bytes(15) + bytes([self._topic_count])

    def _for(
        self, number: int, answer: Callable[[int, Received], None]
    ) -> Callable[[Received], None]:
        return lambda received: answer(number, received)

    def tell(self, received: Received) -> None:
        """Answer Metadata from the logs."""
        topics: dict[str, MetadataResponseTopic] = {}
        for key, log in self.logs.items():
            topic = topics.setdefault(
                key.topic,
                MetadataResponseTopic(name=key.topic, topic_id=log.topic_id, partitions=[]),
            )
            topic.partitions.append(
                MetadataResponsePartition(
                    error_code=CODE_BY_NAME[log.metadata_error],
                    partition_index=key.partition,
                    leader_id=log.leader if log.metadata_error == "NONE" else -1,
                    leader_epoch=log.epoch,
                    isr_nodes=log.in_sync,
                )
            )
        self.topics = [each for name, each in topics.items() if name not in self.denied]
        super().tell(received)

    def _topic(self, name: str) -> MetadataResponseTopic:
        if name in self.denied:
            denied = CODE_BY_NAME["TOPIC_AUTHORIZATION_FAILED"]
            return MetadataResponseTopic(error_code=denied, name=name)
        return super()._topic(name)

    def _describe_configs(self, received: Received) -> None:
        """Answer what becomes of old records of topics."""
        request = received.message()
        assert isinstance(request, DescribeConfigsRequest)
        results = [
            DescribeConfigsResult(
                resource_type=each.resource_type,
                resource_name=each.resource_name,
                configs=self._configs(each.resource_name),
            )
            for each in request.resources
        ]
        received.reply(DescribeConfigsResponse(results=results))

    def _configs(self, topic: str) -> list[DescribeConfigsResourceResult]:
        policy = "compact" if topic in self.compacted else "delete"
        tiered = "true" if topic in self.tiered else "false"
        return [
            DescribeConfigsResourceResult(name="cleanup.policy", value=policy),
            DescribeConfigsResourceResult(name="remote.storage.enable", value=tiered),
        ]

    def hold_offsets(self, *holders: TransactionState) -> None:
        """Have transactions open, which the first broker coordinates."""
        listed = [
            ListedTransaction(each.transactional_id, each.producer_id, each.transaction_state)
            for each in holders
        ]
        self.on("ListTransactions", ListTransactionsResponse())
        first = self.brokers[1]
        first.on("ListTransactions", ListTransactionsResponse(transaction_states=listed))
        described = DescribeTransactionsResponse(transaction_states=list(holders))
        self.on("DescribeTransactions", described)

    def _refusal(self, number: int, log: Log | None) -> str:
        if log is None:
            return "UNKNOWN_TOPIC_OR_PARTITION"
        if log.error != "NONE":
            return log.error
        return (
            "NONE"
            if number in {log.leader, log.preferred, *log.in_sync}
            else "NOT_LEADER_OR_FOLLOWER"
        )

    def answer_fetch(self, number: int, received: Received) -> None:
        """Answer a Fetch as a broker with the logs that it leads."""
        request = received.message()
        assert isinstance(request, FetchRequest)
        names = {log.topic_id: key.topic for key, log in self.logs.items()}
        topics = []
        for topic in request.topics:
            answered = FetchableTopicResponse(topic.topic, topic.topic_id, [])
            for each in topic.partitions:
                key = PartitionKey(topic.topic or names.get(topic.topic_id, ""), each.partition)
                answered.partitions.append(
                    self._data(number, key, each.fetch_offset, each.last_fetched_epoch)
                )
            topics.append(answered)
        parts = [each for topic in topics for each in topic.partitions]
        if not any(each.records or each.error_code for each in parts):
            Event().wait(min(_PATIENCE_S, request.max_wait_ms / 1000))
        named = {each.current_leader.leader_id for each in parts}
        endpoints = [
            NodeEndpoint(node_id, "127.0.0.1", broker.port)
            for node_id, broker in self.brokers.items()
            if node_id in named
        ]
        received.reply(FetchResponse(responses=topics, node_endpoints=endpoints))

    def _data(self, number: int, key: PartitionKey, offset: int, epoch: int) -> PartitionData:
        log = self.logs.get(key)
        error = self._refusal(number, log)
        if log is not None and error == "NONE":
            error = log.fetch_error
        data = PartitionData(key.partition, CODE_BY_NAME[error])
        if log is not None and error == "NOT_LEADER_OR_FOLLOWER" and self.names_leaders:
            data.current_leader = LeaderIdAndEpoch(log.leader, log.epoch)
        if log is None or error != "NONE":
            return data
        if not log.start <= offset <= log.end:
            data.error_code = CODE_BY_NAME["OFFSET_OUT_OF_RANGE"]
            return data
        if log.diverging is not None and -1 < epoch < log.epoch:
            data.diverging_epoch = EpochEndOffset(epoch, log.diverging)
            return data
        data.high_watermark = log.end
        data.last_stable_offset = log.end if log.stable is None else log.stable
        data.log_start_offset = log.start
        data.aborted_transactions = log.aborted
        if log.preferred not in {-1, number}:
            data.preferred_read_replica = log.preferred
            return data
        if log.empty_answers:
            log.empty_answers -= 1
            return data
        data.records = log.read(offset, self.max_batches) or None
        if data.records and log.damages:
            data.records = log.damages.pop(0)(data.records)
        return data

    def _list_offsets(self, number: int, received: Received) -> None:
        request = received.message()
        assert isinstance(request, ListOffsetsRequest)
        topics = []
        for topic in request.topics:
            answered = ListOffsetsTopicResponse(topic.name, [])
            for each in topic.partitions:
                log = self.logs.get(PartitionKey(topic.name, each.partition_index))
                error = self._refusal(number, log)
                if log is not None and error == "NONE":
                    error = log.list_error
                found = -1
                if log is not None and error == "NONE":
                    is_committed_only = bool(request.isolation_level)
                    found = log.offset_at(each.timestamp, is_committed_only=is_committed_only)
                is_old = received.header.version == 0
                offsets = {"old_style_offsets": [found]} if is_old else {"offset": found}
                answered.partitions.append(
                    ListOffsetsPartitionResponse(
                        each.partition_index, CODE_BY_NAME[error], **offsets
                    )
                )
            topics.append(answered)
        received.reply(ListOffsetsResponse(topics=topics))

    def _end_of_epoch(self, number: int, received: Received) -> None:
        request = received.message()
        assert isinstance(request, OffsetForLeaderEpochRequest)
        topics = []
        for topic in request.topics:
            ends = []
            for asked in topic.partitions:
                log = self.logs[PartitionKey(topic.topic, asked.partition)]
                error = CODE_BY_NAME[self._refusal(number, log)]
                known = log.ends.get(asked.leader_epoch)
                end = known if known is not None else log.end
                end = end if log.diverging is None else log.diverging
                epoch = -1 if log.is_epoch_undefined else asked.leader_epoch
                ends.append(EndOfEpoch(error, asked.partition, epoch, end))
            topics.append(OffsetForLeaderTopicResult(topic.topic, ends))
        received.reply(OffsetForLeaderEpochResponse(topics=topics))
