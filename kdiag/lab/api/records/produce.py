"""Produce: append batches of records to partitions.

Behaviour: each partition is appended to or refused by itself. acks=1 answers when the leader has
the records, acks=all when every replica in sync has, acks=0 never: if something is wrong then, the
connection is closed, which is all that such a client can be told. A batch of an idempotent producer
that came before is answered with the offset it got then.

Version notes: 0 to 2, which a node as 3.9 or older speaks, bring message sets of magic 0 and 1;
3 is the first with batches of magic 2, one for each partition, and takes no others; 7 is the first
with zstd (KIP-110); 5 tells the log's start, 8 which records were refused (KIP-467), 10 who leads
now (KIP-951); 13 names topics by id (KIP-516).

Leaves out: quotas.
"""

from collections.abc import Mapping
from typing import Final

from kdiag.clock import NS_PER_MS
from kdiag.lab.api.call import ApiCall
from kdiag.lab.api.records.topic_partitions import (
    UNKNOWN_TOPIC_ID,
    RequestedTopic,
    requested_topic,
)
from kdiag.lab.api.transactions.txn_partitions import check_in_transaction
from kdiag.lab.controller.cluster_image import INTERNAL_TOPICS, NO_LEADER
from kdiag.lab.purgatory.operation_key import TopicPartitionOperationKey
from kdiag.lab.replication.replica_partition import ALL_ACKS
from kdiag.wire.api.produce import (
    LeaderIdAndEpoch,
    NodeEndpoint,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceResponse,
)
from kdiag.wire.error_code import CODE_BY_NAME
from kdiag.wire.records.batch import HEADER_BYTES, MAGIC_2
from kdiag.wire.records.compression import CODECS
from kdiag.wire.records.message_set import OVERHEAD_BYTES
from kdiag.wire.records.record import CODEC_MASK
from kdiag.wire.schema import Struct

_SIZE_START: Final = 8
_SIZE_BYTES: Final = 4
_MAGIC_START: Final = 16
_ATTRIBUTES_START: Final = 22
_FIRST_WITH_BATCHES: Final = 3
_FIRST_WITH_ZSTD: Final = 7
_NO_ACKS: Final = 0
_ACKS: Final = frozenset((ALL_ACKS, _NO_ACKS, 1))
_NOT_LEADER: Final = CODE_BY_NAME["NOT_LEADER_OR_FOLLOWER"]

Responses = dict[RequestedTopic, list[PartitionProduceResponse]]


def handle(request: ProduceRequest, call: ApiCall) -> Struct | None:
    """Append, and answer when as many replicas have the records as the producer asks for."""
    refused: Responses = {}
    records: dict[TopicPartitionOperationKey, bytes | memoryview] = {}
    topics: dict[str, RequestedTopic] = {}
    for asked in request.topic_data:
        topic = requested_topic(asked.name, asked.topic_id, call)
        error = _fault(request, topic)
        partitions = refused.setdefault(topic, [])
        for data in asked.partition_data:
            if error is not None:
                partitions.append(_refusal(data.index, error))
            elif fault := _fault_in_records(data.records, call.version):
                partitions.append(_refusal(data.index, fault))
            elif data.records is not None:
                topics[topic.name] = topic
                records[TopicPartitionOperationKey(topic.name, data.index)] = data.records

    def respond(appended: Mapping[TopicPartitionOperationKey, PartitionProduceResponse]) -> None:
        for key, response in appended.items():
            refused[topics[key.topic]].append(response)
        _respond(refused, request.acks, call)

    def append(codes: Mapping[TopicPartitionOperationKey, int]) -> None:
        for key, code in codes.items():
            refusal = PartitionProduceResponse(index=key.partition, error_code=code, base_offset=-1)
            refused[topics[key.topic]].append(refusal)
        allowed = {key: each for key, each in records.items() if key not in codes}
        timeout_ns = max(0, request.timeout_ms) * NS_PER_MS
        call.node.replicas.append_records(allowed, request.acks, timeout_ns, respond)

    check_in_transaction(request.transactional_id, records, call, append)
    return None


def _fault(request: ProduceRequest, topic: RequestedTopic) -> str | None:
    """Return the name of the error for all partitions of a topic, if there is one."""
    if request.acks not in _ACKS:
        return "INVALID_REQUIRED_ACKS"
    if topic.is_unknown_id:
        return UNKNOWN_TOPIC_ID
    if topic.name in INTERNAL_TOPICS:
        return "INVALID_TOPIC_EXCEPTION"
    return None


def _fault_in_records(records: bytes | memoryview | None, version: int) -> str | None:
    """Return the name of the error if records are not as the version has them."""
    if version < _FIRST_WITH_BATCHES:
        if records is None or len(records) <= _MAGIC_START:
            return "INVALID_RECORD"
        return None if records[_MAGIC_START] < MAGIC_2 else "INVALID_RECORD"
    if records is None or len(records) < HEADER_BYTES:
        return "INVALID_RECORD"
    if records[_MAGIC_START] != MAGIC_2:
        return "INVALID_RECORD"
    codec = records[_ATTRIBUTES_START] & CODEC_MASK
    if version < _FIRST_WITH_ZSTD and codec == CODECS.index("zstd"):
        return "UNSUPPORTED_COMPRESSION_TYPE"
    end = _end_of_batch(records, 0)
    is_one = end is not None and _end_of_batch(records, end) is None
    return None if is_one else "INVALID_RECORD"


def _end_of_batch(records: bytes | memoryview, start: int) -> int | None:
    """Return where the batch ends that begins there; None if none does that is whole."""
    size_start = start + _SIZE_START
    if len(records) < size_start + _SIZE_BYTES:
        return None
    size = int.from_bytes(records[size_start : size_start + _SIZE_BYTES])
    end = start + OVERHEAD_BYTES + size
    return end if end <= len(records) else None


def _refusal(index: int, error: str) -> PartitionProduceResponse:
    return PartitionProduceResponse(index=index, error_code=CODE_BY_NAME[error], base_offset=-1)


def _respond(responses: Responses, acks: int, call: ApiCall) -> None:
    has_error = any(each.error_code for listed in responses.values() for each in listed)
    if acks == _NO_ACKS:
        if has_error:
            call.hang_up()
        else:
            call.respond(None)
        return
    response = ProduceResponse(
        responses=[
            TopicProduceResponse(
                name=topic.name, topic_id=topic.topic_id, partition_responses=listed
            )
            for topic, listed in responses.items()
        ]
    )
    if has_error:
        _tell_leaders(response, responses, call)
    call.respond(response)


def _tell_leaders(response: ProduceResponse, responses: Responses, call: ApiCall) -> None:
    """Say who leads the partitions that this node does not lead (KIP-951)."""
    leaders = set()
    for topic, listed in responses.items():
        for each in listed:
            found = call.node.controller.image.partition_of(topic.name, each.index)
            if each.error_code == _NOT_LEADER and found and found.leader != NO_LEADER:
                each.current_leader = LeaderIdAndEpoch(
                    leader_id=found.leader, leader_epoch=found.leader_epoch
                )
                leaders.add(found.leader)
    response.node_endpoints = [
        NodeEndpoint(node_id=each.node_id, host=each.host, port=each.port, rack=each.rack)
        for each in call.node.brokers
        if each.node_id in leaders
    ]
    if call.version < _FIRST_WITH_LEADERS:
        _forget_leaders(response)


_FIRST_WITH_LEADERS: Final = 10


def _forget_leaders(response: ProduceResponse) -> None:
    """Leave out what older versions cannot say."""
    response.node_endpoints = []
    for topic in response.responses:
        for each in topic.partition_responses:
            each.current_leader = LeaderIdAndEpoch()
