import zlib

import pytest

from kdiag.errors import ProbeError
from kdiag.probe.buffers.load import (
    Target,
    answered_bytes,
    fetch_request,
    produce_request,
    random_batch,
)
from kdiag.wire.api.fetch import (
    FetchableTopicResponse,
    FetchRequest,
    FetchResponse,
    PartitionData,
)
from kdiag.wire.api.produce import (
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceResponse,
)
from kdiag.wire.records.batches import read_batches
from kdiag.wire.schema import ZERO_UUID

TARGET = Target(1, "load", bytes(range(16)), 0, {1: 7, 3: 9})
REFUSED = 29


def test_a_batch_is_whole_and_cannot_be_made_smaller() -> None:
    """It has about the size that was asked for; its records are random."""
    batch = random_batch(100_000, 1_700_000_000_000)
    (read,) = read_batches(batch).batches

    assert 98_000 < len(batch) < 101_000
    assert len(read.records()) == 99
    assert {each.timestamp for each in read.records()} == {1_700_000_000_000}
    assert len(zlib.compress(batch)) > 0.99 * len(batch)
    assert len(read_batches(random_batch(1, 0)).batches[0].records()) == 1


def test_records_are_produced_to_one_partition() -> None:
    """Its leader acknowledges them."""
    builder = produce_request(TARGET, b"batch")
    request = builder.build(builder.versions.high)

    assert isinstance(request, ProduceRequest)
    assert request.acks == 1
    (topic,) = request.topic_data
    assert (topic.name, topic.topic_id) == ("load", TARGET.topic_id)
    assert [(each.index, each.records) for each in topic.partition_data] == [(0, b"batch")]


def test_records_are_fetched_from_all_partitions_outside_a_session() -> None:
    """The same ones each time."""
    builder = fetch_request(TARGET, 4096)
    request = builder.build(builder.versions.high)

    assert isinstance(request, FetchRequest)
    assert (request.max_bytes, request.session_id, request.session_epoch) == (4096, 0, -1)
    (topic,) = request.topics
    parts = [(e.partition, e.fetch_offset, e.partition_max_bytes) for e in topic.partitions]
    assert parts == [(1, 7, 4096), (3, 9, 4096)]


def test_topics_without_an_id_are_asked_for_by_name() -> None:
    """Version 13 of both APIs knows ids only."""
    nameless = TARGET._replace(topic_id=ZERO_UUID)
    by_id = (produce_request(TARGET, b""), fetch_request(TARGET, 1))
    by_name = (produce_request(nameless, b""), fetch_request(nameless, 1))

    assert all(each.versions.high > 12 for each in by_id)
    assert [each.versions.high for each in by_name] == [12, 12]


def test_answers_stand_for_bytes() -> None:
    """Of the request, or of the records that came."""
    parts = [PartitionData(0, records=b"12345"), PartitionData(1, records=None)]
    fetched = FetchResponse(
        responses=[FetchableTopicResponse("load", partitions=parts)], throttle_time_ms=3
    )
    assert answered_bytes(ProduceResponse(throttle_time_ms=4), 1000) == (1000, 4)
    assert answered_bytes(fetched, 0) == (5, 3)


def test_refusals_are_errors() -> None:
    """Of a partition or of the whole request; they have Kafka's name."""
    produced = PartitionProduceResponse(0, error_code=REFUSED)
    fetched = PartitionData(0, error_code=REFUSED)
    refused = [
        ProduceResponse(responses=[TopicProduceResponse("load", partition_responses=[produced])]),
        FetchResponse(responses=[FetchableTopicResponse("load", partitions=[fetched])]),
        FetchResponse(error_code=REFUSED),
    ]
    for answer in refused:
        with pytest.raises(ProbeError, match="TOPIC_AUTHORIZATION_FAILED"):
            answered_bytes(answer, 1)
