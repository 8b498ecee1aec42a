"""Fetch: read record batches of partitions, from offsets on.

Behaviour: answers when there are `min_bytes`, or after `max_wait_ms`, with whatever there is. The
first partition that has records gives a whole batch, however large. Records are parts of the log's
files and leave without being read (`sendfile`), unless there is TLS. What is beyond the high
watermark, or the last stable offset for `read_committed`, is not given.

Version notes: 4 has the isolation level and aborted transactions (KIP-98), 5 the log's start, 7
sessions (KIP-227), 9 leader epochs (KIP-320), 12 diverging epochs (KIP-595), 13 topic ids
(KIP-516), 16 tells who leads now (KIP-951); 18 says what followers know (KIP-1166).

In versions 0 to 3, which a node as 3.9 or older speaks, records are converted (`down_conversion`).

Leaves out: followers near the reader (KIP-392): a lab has no racks; quotas.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple, cast

from kdiag.clock import NS_PER_MS
from kdiag.lab.api.call import ApiCall
from kdiag.lab.api.records.down_conversion import down_converted, magic_of_reader
from kdiag.lab.api.records.fetch_session import AskedPartition, FetchContext
from kdiag.lab.api.records.topic_partitions import UNKNOWN_TOPIC_ID, requested_topic
from kdiag.lab.controller.cluster_image import NO_LEADER
from kdiag.lab.log.partition_log import FetchIsolation
from kdiag.lab.log.refusal import LogRefusedError
from kdiag.lab.purgatory.delayed_fetch import NO_EPOCH
from kdiag.lab.purgatory.operation_key import TopicPartitionOperationKey
from kdiag.lab.replication.record_fetch import FetchedRecords, PartitionFetch, ReadLimits
from kdiag.lab.replication.replica_manager import WaitTerms
from kdiag.net.server.file_send import FileRegion
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
from kdiag.wire.error_code import CODE_BY_NAME
from kdiag.wire.schema import Struct

FETCH_MAX_BYTES: Final = 55 * 1024 * 1024
"""`fetch.max.bytes` of a broker."""

_FIRST_UNCONVERTED: Final = 4
_FIRST_WITH_REPLICA_STATE: Final = 15
_FIRST_WITH_LEADERS: Final = 12
_FIRST_WITH_ENDPOINTS: Final = 16
_UNKNOWN_PARTITION: Final = CODE_BY_NAME["UNKNOWN_TOPIC_OR_PARTITION"]
_MOVED: Final = frozenset(
    (CODE_BY_NAME["NOT_LEADER_OR_FOLLOWER"], CODE_BY_NAME["FENCED_LEADER_EPOCH"])
)


class _Asked(NamedTuple):
    """What can be read, and what cannot because no topic has the id."""

    reads: dict[TopicPartitionOperationKey, PartitionFetch]
    names: dict[TopicPartitionOperationKey, AskedPartition]
    refused: dict[AskedPartition, PartitionData]


def handle(request: FetchRequest, call: ApiCall) -> Struct | None:
    """Read, and answer when there is enough or the time is up."""
    context = call.node.fetch_sessions.context(request, call.version)
    if context.error_code:
        return FetchResponse(error_code=context.error_code)
    asked = _asked(context, call)

    def respond(fetched: Mapping[TopicPartitionOperationKey, FetchedRecords]) -> None:
        given = asked.refused | {
            asked.names[key]: _data(key, each, call, is_committed=is_committed)
            for key, each in fetched.items()
        }
        if call.version < _FIRST_UNCONVERTED:
            for key in fetched:
                _convert(given[asked.names[key]], asked.reads[key].offset, call.version)
        ordered = {key: given[key] for key in context.partitions}
        call.respond(_response(context, ordered, call))

    limits = _limits(request, call.version)
    is_committed = limits.isolation is FetchIsolation.TXN_COMMITTED
    # What is wrong is told at once.
    wait_ms = 0 if asked.refused else request.max_wait_ms
    wait = WaitTerms(max(0, wait_ms) * NS_PER_MS, min(request.min_bytes, limits.max_bytes))
    call.node.replicas.fetch_records(asked.reads, limits, wait, respond)
    return None


def _asked(context: FetchContext, call: ApiCall) -> _Asked:
    asked = _Asked({}, {}, {})
    for name, partition in context.partitions.items():
        topic = requested_topic(name.topic, name.topic_id, call)
        if topic.is_unknown_id:
            asked.refused[name] = PartitionData(
                partition_index=name.partition,
                error_code=CODE_BY_NAME[UNKNOWN_TOPIC_ID],
                high_watermark=-1,
                records=b"",
            )
            continue
        key = TopicPartitionOperationKey(topic.name, name.partition)
        asked.names[key] = name
        asked.reads[key] = PartitionFetch(
            partition.fetch_offset,
            partition.partition_max_bytes,
            partition.current_leader_epoch,
            partition.last_fetched_epoch,
        )
    return asked


def _limits(request: FetchRequest, version: int) -> ReadLimits:
    has_state = version >= _FIRST_WITH_REPLICA_STATE
    replica_id = request.replica_state.replica_id if has_state else request.replica_id
    replica_epoch = request.replica_state.replica_epoch if has_state else NO_EPOCH
    if replica_id >= 0:
        isolation = FetchIsolation.LOG_END
    elif request.isolation_level:
        isolation = FetchIsolation.TXN_COMMITTED
    else:
        isolation = FetchIsolation.HIGH_WATERMARK
    max_bytes = min(request.max_bytes, FETCH_MAX_BYTES)
    return ReadLimits(replica_id, max_bytes, isolation, replica_epoch)


def _data(
    key: TopicPartitionOperationKey, given: FetchedRecords, call: ApiCall, *, is_committed: bool
) -> PartitionData:
    """Return what a response says of a partition."""
    data = PartitionData(
        partition_index=key.partition,
        error_code=given.error_code,
        high_watermark=given.high_watermark,
        last_stable_offset=given.last_stable_offset,
        log_start_offset=given.log_start_offset,
        aborted_transactions=_aborted(given, is_committed=is_committed),
        records=b"",
    )
    if given.records is not None:
        part = given.records
        region = FileRegion(part.file, part.file.fd, part.position, part.size)
        data.records = cast("bytes", region)  # the encoder only asks for its length
    if given.diverging is not None:
        data.diverging_epoch = EpochEndOffset(
            epoch=given.diverging.epoch, end_offset=given.diverging.end_offset
        )
    if given.error_code in _MOVED and call.version >= _FIRST_WITH_LEADERS:
        found = call.node.controller.image.partition_of(key.topic, key.partition)
        if found is not None and found.leader != NO_LEADER:
            data.current_leader = LeaderIdAndEpoch(
                leader_id=found.leader, leader_epoch=found.leader_epoch
            )
    return data


def _convert(data: PartitionData, offset: int, version: int) -> None:
    """Put records into a response in the magic of its reader."""
    if not data.records:
        return
    region = cast("FileRegion", data.records)
    try:
        data.records = down_converted(region.read(), magic_of_reader(version), offset)
    except LogRefusedError as error:
        data.records, data.error_code = b"", CODE_BY_NAME[error.error]
    except OSError:
        data.records, data.error_code = b"", CODE_BY_NAME["KAFKA_STORAGE_ERROR"]


def _aborted(given: FetchedRecords, *, is_committed: bool) -> list[AbortedTransaction] | None:
    """Return the aborted transactions; null, as Kafka, where none could be."""
    if given.error_code == _UNKNOWN_PARTITION:
        return []
    if given.error_code or not is_committed:
        return None
    return [
        AbortedTransaction(producer_id=each.producer_id, first_offset=each.first_offset)
        for each in given.aborted
    ]


def _response(
    context: FetchContext, given: Mapping[AskedPartition, PartitionData], call: ApiCall
) -> FetchResponse:
    session_id, told = call.node.fetch_sessions.finish(context, given)
    topics: dict[tuple[str, bytes], FetchableTopicResponse] = {}
    for key, data in told.items():
        topic = topics.setdefault(
            (key.topic, key.topic_id),
            FetchableTopicResponse(topic=key.topic, topic_id=key.topic_id),
        )
        topic.partitions.append(data)
    response = FetchResponse(session_id=session_id, responses=list(topics.values()))
    leaders = {data.current_leader.leader_id for data in told.values()}
    if call.version >= _FIRST_WITH_ENDPOINTS and leaders != {NO_LEADER}:
        response.node_endpoints = [
            NodeEndpoint(node_id=each.node_id, host=each.host, port=each.port, rack=each.rack)
            for each in call.node.brokers
            if each.node_id in leaders
        ]
    return response
