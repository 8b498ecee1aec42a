"""The requests of a latency measurement, and the reading of their answers.

fetch_request, fetched        Fetch from given offsets, and the batches that it brought
commit_request, error_in      OffsetCommit of one partition, and the first error
leader_in                     who leads the partition, in answers that refuse it
MarkedRecords                 batches to write, recognised again when they are read
"""

import secrets
import struct
from collections.abc import Iterable, Iterator, Mapping
from typing import Final, NamedTuple

from kdiag.client.network.metadata import LeaderNews, leader_news
from kdiag.client.network.request import RequestBuilder
from kdiag.clock import NS_PER_MS
from kdiag.diagnosis.latency.fetch_waits import FetchWait
from kdiag.probe.latency.plan import LatencyTarget, RecordShape
from kdiag.probe.topic_requests import request_about
from kdiag.wire.api.fetch import FetchPartition, FetchRequest, FetchResponse, FetchTopic
from kdiag.wire.api.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
)
from kdiag.wire.api.produce import ProduceResponse
from kdiag.wire.error_code import error_name
from kdiag.wire.records.batch import RecordBatch
from kdiag.wire.records.record import Record
from kdiag.wire.records.writer import write_batch
from kdiag.wire.schema import Struct

MAX_FETCH_BYTES: Final = 1 << 20
"""The most bytes that a fetch brings of each partition, unless one batch is larger."""

_MAX_RESPONSE_BYTES: Final = 32 << 20
_MARK: Final = struct.Struct(">8sq")
"""The beginning of a value: which run has written it, and in which request."""
_NO_SESSION: Final = -1


class Fetched(NamedTuple):
    """The records of a fetch.

    Attributes:
        error: the name of the first error; None if there is none.
        records: batches by partition, without empty partitions.
    """

    error: str | None
    records: Mapping[int, bytes | memoryview]

    @property
    def size_bytes(self) -> int:
        """Return the size of all batches."""
        return sum(map(len, self.records.values()))


def fetch_request(
    target: LatencyTarget, offsets: Mapping[int, int], wait: FetchWait
) -> RequestBuilder:
    """Return the request that fetches partitions, each from an offset on."""
    partitions = [
        FetchPartition(
            partition=partition, fetch_offset=offset, partition_max_bytes=MAX_FETCH_BYTES
        )
        for partition, offset in offsets.items()
    ]
    request = FetchRequest(
        max_wait_ms=wait.max_wait_ms,
        min_bytes=wait.min_bytes,
        max_bytes=min(_MAX_RESPONSE_BYTES, MAX_FETCH_BYTES * len(partitions)),
        session_epoch=_NO_SESSION,
        topics=[FetchTopic(target.topic, target.topic_id, partitions)],
    )
    return request_about(target, request)


def commit_request(
    target: LatencyTarget, group: str, partition: int, offset: int
) -> RequestBuilder:
    """Return the request that commits an offset for a group without members."""
    data = OffsetCommitRequestPartition(partition, offset)
    topic = OffsetCommitRequestTopic(target.topic, target.topic_id, [data])
    return request_about(target, OffsetCommitRequest(group, topics=[topic]))


def error_in(body: Struct | None) -> str | None:
    """Return the name of the first error in an answer to Produce or OffsetCommit."""
    codes: list[int] = []
    if isinstance(body, ProduceResponse):
        codes = [each.error_code for topic in body.responses for each in topic.partition_responses]
    elif isinstance(body, OffsetCommitResponse):
        codes = [each.error_code for topic in body.topics for each in topic.partitions]
    return next((error_name(code) for code in codes if code), None)


def leader_in(body: Struct | None) -> LeaderNews | None:
    """Return who leads the partition by an answer to Produce or Fetch; None if it does not say."""
    if isinstance(body, ProduceResponse):
        written = (each for topic in body.responses for each in topic.partition_responses)
        return next((leader_news(each, body) for each in written), None)
    if isinstance(body, FetchResponse):
        read = (each for topic in body.responses for each in topic.partitions)
        return next((leader_news(each, body) for each in read), None)
    return None


def fetched(body: Struct | None) -> Fetched:
    """Return the records in an answer to Fetch."""
    assert isinstance(body, FetchResponse)
    partitions = [each for topic in body.responses for each in topic.partitions]
    codes = [body.error_code, *(each.error_code for each in partitions)]
    error = next((error_name(code) for code in codes if code), None)
    return Fetched(
        error, {each.partition_index: each.records for each in partitions if each.records}
    )


class MarkedRecords:
    """Makes batches of records of one shape, and finds its own among fetched ones."""

    def __init__(self, shape: RecordShape) -> None:
        self._writer = secrets.token_bytes(8)
        self._count = shape.batch_records
        self._noise = secrets.token_bytes(shape.value_bytes - _MARK.size)
        self._key = secrets.token_bytes(shape.key_bytes) if shape.key_bytes else None
        value = (
            None if shape.header_value_bytes < 0 else secrets.token_bytes(shape.header_value_bytes)
        )
        self._headers = ((b"k" * shape.header_key_bytes, value),) * shape.headers

    def batch(self, number: int, now_ns: int) -> bytes:
        """Return the batch of a request; its records have the time `now_ns`, since 1970."""
        value = _MARK.pack(self._writer, number) + self._noise
        time_ms = now_ns // NS_PER_MS
        return write_batch(
            [
                Record(offset, time_ms, self._key, value, self._headers)
                for offset in range(self._count)
            ]
        )

    def numbers(self, batches: Iterable[RecordBatch]) -> Iterator[int]:
        """Yield the numbers of the requests that have written fetched batches.

        Raises:
            DecodeError: if their records cannot be read.
        """
        for batch in batches:
            if batch.is_control:
                continue
            value = next(iter(batch.records()), Record(0)).value
            if value is not None and len(value) >= _MARK.size:
                writer, number = _MARK.unpack_from(value)
                if writer == self._writer:
                    yield number


def next_offset(batches: Iterable[RecordBatch], offset: int) -> int:
    """Return the offset after fetched batches; `offset` if there are none."""
    return max([offset, *(each.last_offset + 1 for each in batches)])
