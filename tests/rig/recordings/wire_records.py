"""Reads out of decoded exchanges which records clients produced and consumed, and hashes them.

It uses message classes and record batches alone, so that it can judge what kdiag prints.
"""

import hashlib
from collections import defaultdict
from collections.abc import Iterable
from typing import NamedTuple

from kdiag.exchange.model import Exchange
from kdiag.wire.api.fetch import FetchRequest, FetchResponse, PartitionData
from kdiag.wire.api.produce import ProduceRequest, ProduceResponse
from kdiag.wire.api.share_fetch import ShareFetchResponse
from kdiag.wire.catalog import API_BY_KEY
from kdiag.wire.codec.messages import decode
from kdiag.wire.header import read_request_header, read_response_header
from kdiag.wire.records.batch import RecordBatch
from kdiag.wire.records.batches import read_batches
from kdiag.wire.records.record import ControlType, Record, read_control_type
from kdiag.wire.schema import Struct

PRODUCE, FETCH, SHARE_FETCH = 0, 1, 78
DUPLICATE_SEQUENCE_NUMBER = 46


class Told(NamedTuple):
    """A record on its way: who sent or got it, and the record as the captures' hashes have it."""

    client_id: str | None
    connection: int
    topic: str
    place: tuple[str | bytes, int, int]
    line: str


def request_of(exchange: Exchange) -> Struct:
    """Return the decoded request of an exchange that has a known API and a whole request."""
    assert exchange.api_key is not None
    assert exchange.version is not None
    assert exchange.request is not None
    data = exchange.request.data
    header = read_request_header(data)
    cls = API_BY_KEY[exchange.api_key].request_class()
    return decode(cls, exchange.version, data, header.body_offset)


def response_of(exchange: Exchange) -> Struct:
    """Return the decoded response of an exchange that has a known API and a whole response."""
    assert exchange.api_key is not None
    assert exchange.version is not None
    assert exchange.response is not None
    api = API_BY_KEY[exchange.api_key]
    data = exchange.response.data
    header = read_response_header(data, exchange.api_key, exchange.version)
    return decode(api.response_class(), exchange.version, data, header.body_offset)


def line_of(record: Record) -> str:
    """Return a record as the captures' ground truth writes it down."""
    key = "null" if record.key is None else record.key.hex()
    value = "null" if record.value is None else record.value.hex()
    return f"{key}:{value}"


def digest(lines: Iterable[str]) -> str:
    """Return the captures' hash of some records."""
    return hashlib.sha256("\n".join(sorted(lines)).encode()).hexdigest()


def produced(exchange: Exchange) -> list[Told]:
    """Return the records of a Produce request, without partitions that the broker refused."""
    request = request_of(exchange)
    assert isinstance(request, ProduceRequest)
    refused = set()
    if exchange.response is not None:
        response = response_of(exchange)
        assert isinstance(response, ProduceResponse)
        refused = {
            (topic.name or topic.topic_id, partition.index)
            for topic in response.responses
            for partition in topic.partition_responses
            if partition.error_code not in (0, DUPLICATE_SEQUENCE_NUMBER)
        }
    return [
        told(exchange, topic.name or topic.topic_id, partition.index, record, has_offset=False)
        for topic in request.topic_data
        for partition in topic.partition_data
        if (topic.name or topic.topic_id, partition.index) not in refused
        for batch in read_batches(partition.records or b"").batches
        for record in batch.records()
    ]


def consumed(exchange: Exchange) -> list[Told]:
    """Return the records that a consumer sees in a Fetch or ShareFetch response."""
    response = response_of(exchange)
    if isinstance(response, ShareFetchResponse):
        return [
            told(exchange, share_topic.topic_id, share.partition_index, record)
            for share_topic in response.responses
            for share in share_topic.partitions
            for batch in read_batches(share.records or b"").batches
            for record in batch.records()
        ]
    request = request_of(exchange)
    assert isinstance(request, FetchRequest)
    assert isinstance(response, FetchResponse)
    if request.replica_id >= 0 or request.replica_state.replica_id >= 0:
        return []
    return [
        told(exchange, topic.topic or topic.topic_id, partition.partition_index, record)
        for topic in response.responses
        for partition in topic.partitions
        for record in visible(partition)
    ]


def told(
    exchange: Exchange,
    topic: str | bytes,
    partition: int,
    record: Record,
    *,
    has_offset: bool = True,
) -> Told:
    """Return a record with where it belongs; one that is produced has no offset yet."""
    place = (topic, partition, record.offset if has_offset else -1)
    number = exchange.connection.number
    return Told(exchange.client_id, number, str(topic), place, line_of(record))


def visible(partition: PartitionData) -> list[Record]:
    """Return the records of a partition that are neither control records nor aborted."""
    open_from = sorted(
        (each.first_offset, each.producer_id) for each in partition.aborted_transactions or []
    )
    aborted: set[int] = set()
    records: list[Record] = []
    for batch in read_batches(partition.records or b"").batches:
        while open_from and open_from[0][0] <= batch.last_offset:
            aborted.add(open_from.pop(0)[1])
        if batch.is_control:
            if is_abort(batch):
                aborted.discard(batch.producer_id)
        elif not (batch.is_transactional and batch.producer_id in aborted):
            records += batch.records()
    return records


def is_abort(batch: RecordBatch) -> bool:
    """Return whether a control batch ends a transaction by abort."""
    return any(read_control_type(each.key) is ControlType.ABORT for each in batch.records())


def digests(told_records: Iterable[Told]) -> set[str]:
    """Return the hashes of all records, and of those of each client, connection and topic."""
    groups: dict[tuple[str, object], dict[object, str]] = defaultdict(dict)
    for index, record in enumerate(told_records):
        # What is consumed may be fetched more than once.
        place = record.place if record.place[2] >= 0 else index
        for group in (
            ("all", ""),
            ("client", record.client_id),
            ("connection", record.connection),
            ("topic", record.topic),
        ):
            groups[group][place] = record.line
    return {digest(lines.values()) for lines in groups.values()} | {digest([])}
