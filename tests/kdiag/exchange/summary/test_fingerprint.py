from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from kdiag.exchange.context.topic_names import TopicNames
from kdiag.exchange.dissection import Dissection
from kdiag.exchange.model import Exchange, Status
from kdiag.exchange.summary.counts import Summary, Totals
from kdiag.exchange.summary.fingerprint import FingerprintCache
from kdiag.wire.api.fetch import (
    FetchableTopicResponse,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    PartitionData,
)
from kdiag.wire.api.heartbeat import HeartbeatRequest, HeartbeatResponse
from kdiag.wire.api.metadata import (
    MetadataRequest,
    MetadataResponse,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from kdiag.wire.api.produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
    TopicProduceResponse,
)
from recordings.exchange_maker import cut_frame, make_batch, make_exchange, whole_frame
from tiers.cases import for_each

ID = bytes(range(16))
OFTEN = 20
"""More often than it takes to be remembered."""

BATCH = make_batch(b"first", b"second")
OLD_BATCH = make_batch(b"old", magic=1)


def produce() -> Exchange:
    """Return a Produce of two partitions, one with two batches."""
    data = [
        PartitionProduceData(index=0, records=BATCH + BATCH),
        PartitionProduceData(index=1, records=None),
    ]
    answers = [
        PartitionProduceResponse(index=0, base_offset=77, log_append_time_ms=-1),
        PartitionProduceResponse(index=1, error_code=3, error_message="no"),
    ]
    return make_exchange(
        ProduceRequest(topic_data=[TopicProduceData(topic_id=ID, partition_data=data)]),
        ProduceResponse(responses=[TopicProduceResponse(topic_id=ID, partition_responses=answers)]),
        version=13,
    )


def fetch(*records: bytes | None) -> Exchange:
    """Return a Fetch of as many partitions as there are `records` fields."""
    return make_exchange(
        FetchRequest(
            session_epoch=5,
            topics=[FetchTopic(topic="orders", partitions=[FetchPartition(fetch_offset=9)])],
        ),
        FetchResponse(
            responses=[
                FetchableTopicResponse(
                    topic="orders",
                    partitions=[
                        PartitionData(partition_index=index, records=data)
                        for index, data in enumerate(records)
                    ],
                )
            ]
        ),
        version=11,
    )


def metadata() -> Exchange:
    """Return a Metadata with numbers in arrays."""
    partition = MetadataResponsePartition(leader_id=1, replica_nodes=[1, 2, 3])
    topic = MetadataResponseTopic(name="orders", topic_id=ID, partitions=[partition])
    return make_exchange(MetadataRequest(), MetadataResponse(topics=[topic]), version=12)


def heartbeat(error_code: int = 0) -> Exchange:
    """Return a Heartbeat."""
    answer = HeartbeatResponse(error_code=error_code)
    return make_exchange(HeartbeatRequest(group_id="g", generation_id=3), answer, version=4)


EXCHANGES = {
    "produce": produce(),
    "fetch": fetch(BATCH, None, b"", BATCH + BATCH[:40], OLD_BATCH),
    "fetch nothing": fetch(b"", None),
    "metadata": metadata(),
    "heartbeat": heartbeat(),
    "failed heartbeat": heartbeat(27),
}


def counted(exchange: Exchange) -> dict[str, Any]:
    """Return what is counted of one exchange; the slowest are found by reading what is slow."""
    summary = Summary(TopicNames())
    summary.add(Dissection(exchange))
    document = summary.document(Totals())
    del document["slowest"]
    return document


def cache_of(*exchanges: Exchange) -> FingerprintCache[int]:
    """Return what remembers exchanges by their place."""
    cache: FingerprintCache[int] = FingerprintCache()
    for index, exchange in enumerate(exchanges):
        for _ in range(OFTEN):
            cache.keep(Dissection(exchange), index)
    return cache


def changed(exchange: Exchange) -> Iterator[Exchange]:
    """Yield the exchange with each byte of either frame changed in several ways."""
    for side in ("request", "response"):
        data = getattr(exchange, side).data
        start = 8 if side == "request" else 4  # the rest is in the exchange itself
        for place in range(start, len(data)):
            for value in {0, 1, 2, 127, 128, 255, data[place] ^ 1, data[place] + 1 & 255}:
                other = data[:place] + bytes([value]) + data[place + 1 :]
                frame = whole_frame(other, getattr(exchange, side).first_byte_ns)
                yield msgspec.structs.replace(exchange, **{side: frame})


@pytest.mark.thorough
@for_each("exchange", EXCHANGES.values(), ids=EXCHANGES)
def test_whatever_byte_differs_alike_exchanges_count_alike(exchange: Exchange) -> None:
    """Either it makes them unlike, or reading them would say the same."""
    cache = cache_of(exchange)
    expected = counted(exchange)
    alike = [each for each in changed(exchange) if cache.find(each) is not None]
    assert alike
    for each in alike:
        assert Dissection(each).status is Status.OK
        assert counted(each) == expected


def test_numbers_and_records_do_not_matter() -> None:
    """Correlation ids, offsets and the bytes of batches differ from exchange to exchange."""
    cache = cache_of(produce())
    exchange = produce()
    assert exchange.request is not None
    assert exchange.response is not None
    data = bytearray(exchange.request.data.replace(b"second", b"SECOND"))
    data[4:8] = b"\xff\xfe\xfd\xfc"
    exchange.request.data = bytes(data)
    offset = (77).to_bytes(8)
    exchange.response.data = exchange.response.data.replace(offset, b"\x01" * 8)
    assert cache.find(exchange) == 0


def test_exchanges_of_one_kind_are_told_apart() -> None:
    """Those that succeed and those that fail have the same sizes."""
    cache = cache_of(heartbeat(), heartbeat(27))
    assert cache.find(heartbeat()) == 0
    assert cache.find(heartbeat(27)) == 1
    assert cache.find(heartbeat(25)) is None


def test_what_is_rare_is_not_remembered() -> None:
    """To find out which bytes matter takes longer than to read an exchange."""
    cache: FingerprintCache[int] = FingerprintCache()
    cache.keep(Dissection(heartbeat()), 1)
    assert cache.find(heartbeat()) is None


def test_only_whole_pairs_are_alike() -> None:
    """A frame that is cut, an answer that is missing, another client: each is read itself."""
    exchange = heartbeat()
    cache = cache_of(exchange)
    assert exchange.response is not None
    long = exchange.response.data + b"\x00"
    others: list[dict[str, Any]] = [
        {"response": None, "pairing": Status.UNANSWERED},
        {"response": cut_frame(long, len(long) - 1)},
        {"pairing": Status.UNANSWERED},
        {"client_id": "other"},
        {"session_topics": [("orders", 0)]},
    ]
    for each in others:
        assert cache.find(msgspec.structs.replace(exchange, **each)) is None


def test_malformed_exchanges_are_not_remembered() -> None:
    """Each of them is looked at, however many there are."""
    exchange = make_exchange(HeartbeatRequest(), b"\0\0\0\7\0\0", version=4)
    assert cache_of(exchange).find(exchange) is None


@pytest.mark.thorough
def test_memory_is_bounded() -> None:
    """What was remembered is forgotten when there is too much of it."""
    cache = cache_of(heartbeat())
    for number in range(10_001):
        exchange = make_exchange(HeartbeatRequest(), HeartbeatResponse(), version=4)
        exchange.client_id = str(number)
        cache.keep(Dissection(exchange), 0)
    assert cache.find(heartbeat()) is None
