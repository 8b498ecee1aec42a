"""The requests that load a broker: Produce requests, or Fetches, that are all alike.

Batches hold random bytes, which no compression on the way makes smaller.
"""

import secrets
from collections.abc import Mapping
from typing import Final, NamedTuple

from kdiag.client.network.request import RequestBuilder
from kdiag.errors import ProbeError
from kdiag.probe import topic_requests
from kdiag.wire.api.fetch import FetchPartition, FetchRequest, FetchResponse, FetchTopic
from kdiag.wire.api.produce import ProduceResponse
from kdiag.wire.error_code import error_name
from kdiag.wire.records.record import Record
from kdiag.wire.records.writer import write_batch
from kdiag.wire.schema import Struct

RECORD_BYTES: Final = 1_000
"""The size of each record's value."""

_ACKS_LEADER: Final = 1
_MAX_WAIT_MS: Final = 500


class Target(NamedTuple):
    """The partitions of a topic that one broker leads.

    Attributes:
        node_id: the broker.
        topic: its name.
        topic_id: sixteen bytes; zeros before Kafka 2.8.
        written_partition: the partition to produce to; None if nothing may be written.
        offsets: the offsets to fetch from, by partition; empty if there is nothing to fetch.
    """

    node_id: int
    topic: str
    topic_id: bytes
    written_partition: int | None
    offsets: Mapping[int, int]


def random_batch(size_bytes: int, timestamp_ms: int) -> bytes:
    """Return a record batch of about that size, at least one record."""
    count = max(1, size_bytes // (RECORD_BYTES + 10))
    records = [
        Record(offset, timestamp_ms, value=secrets.token_bytes(RECORD_BYTES))
        for offset in range(count)
    ]
    return write_batch(records)


def produce_request(target: Target, batch: bytes) -> RequestBuilder:
    """Return the request that appends a batch, acknowledged by the leader."""
    assert target.written_partition is not None
    return topic_requests.produce_request(target, target.written_partition, _ACKS_LEADER, batch)


def fetch_request(target: Target, size_bytes: int) -> RequestBuilder:
    """Return the request for about so many bytes of records, the same ones each time."""
    partitions = [
        FetchPartition(partition, fetch_offset=offset, partition_max_bytes=size_bytes)
        for partition, offset in target.offsets.items()
    ]
    topic = FetchTopic(target.topic, target.topic_id, partitions)
    request = FetchRequest(
        max_wait_ms=_MAX_WAIT_MS, min_bytes=1, max_bytes=size_bytes, topics=[topic]
    )
    return topic_requests.request_about(target, request)


def answered_bytes(answer: Struct | None, sent_bytes: int) -> tuple[int, int]:
    """Return the bytes of records that an answer acknowledges or carries, and its throttle time.

    Args:
        answer: of Produce or Fetch.
        sent_bytes: the records of the request.

    Raises:
        ProbeError: if the broker refuses.
    """
    if isinstance(answer, ProduceResponse):
        for topic in answer.responses:
            for each in topic.partition_responses:
                _check(each.error_code, "produce to")
        return sent_bytes, answer.throttle_time_ms
    assert isinstance(answer, FetchResponse)
    _check(answer.error_code, "fetch from")
    fetched_bytes = 0
    for fetched in answer.responses:
        for part in fetched.partitions:
            _check(part.error_code, "fetch from")
            fetched_bytes += len(part.records or b"")
    return fetched_bytes, answer.throttle_time_ms


def _check(error_code: int, action: str) -> None:
    if error_code:
        raise ProbeError("load", f"cannot {action} the partition: {error_name(error_code)}")
