import pytest

from kdiag.diagnosis.latency.fetch_waits import FetchWait
from kdiag.probe.latency.messages import (
    MarkedRecords,
    commit_request,
    error_in,
    fetch_request,
    fetched,
    next_offset,
)
from kdiag.probe.latency.plan import LatencyTarget, RecordShape
from kdiag.probe.topic_requests import produce_request
from kdiag.wire.api.fetch import (
    FetchableTopicResponse,
    FetchRequest,
    FetchResponse,
    PartitionData,
)
from kdiag.wire.api.offset_commit import (
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)
from kdiag.wire.api.produce import (
    PartitionProduceResponse,
    ProduceResponse,
    TopicProduceResponse,
)
from kdiag.wire.codec.messages import encode
from kdiag.wire.error_code import CODE_BY_NAME
from kdiag.wire.records.batches import read_batches
from kdiag.wire.schema import Struct
from recordings.exchange_maker import make_batch

WITH_ID = LatencyTarget("orders", bytes(15) + b"\1", {0: 1, 1: 1})
WITHOUT_ID = WITH_ID._replace(topic_id=bytes(16))
DENIED = CODE_BY_NAME["TOPIC_AUTHORIZATION_FAILED"]


@pytest.mark.parametrize("target", [WITH_ID, WITHOUT_ID])
def test_requests_can_be_written_in_every_version_that_is_allowed(target: LatencyTarget) -> None:
    """Topics that have no id are named, which the newest versions cannot."""
    builders = [
        produce_request(target, 1, -1, b"batch"),
        fetch_request(target, {0: 5, 1: 6}, FetchWait(1, 500)),
        commit_request(target, "group", 1, 42),
    ]
    for builder in builders:
        newest = min(builder.versions.high, builder.api.versions.high)
        for version in range(builder.versions.low, newest + 1):
            assert encode(builder.build(version), version)
        assert (newest == builder.api.versions.high) == (target is WITH_ID)


def test_a_fetch_waits_for_as_much_and_as_long_as_is_asked() -> None:
    """It takes part in no session, for each is measured by itself."""
    request = fetch_request(WITH_ID, {1: 6}, FetchWait(1024, 250)).build(12)
    assert isinstance(request, FetchRequest)
    assert (request.min_bytes, request.max_wait_ms, request.session_epoch) == (1024, 250, -1)
    (partition,) = request.topics[0].partitions
    assert (partition.partition, partition.fetch_offset) == (1, 6)


def test_a_fetch_of_many_partitions_is_bounded() -> None:
    """However many there are."""
    request = fetch_request(WITH_ID, dict.fromkeys(range(5000), 0), FetchWait(1, 0)).build(12)
    assert isinstance(request, FetchRequest)
    assert request.max_bytes == 32 << 20


@pytest.mark.parametrize(
    "body",
    [
        ProduceResponse(
            [TopicProduceResponse(partition_responses=[PartitionProduceResponse(0, DENIED)])]
        ),
        OffsetCommitResponse(
            topics=[
                OffsetCommitResponseTopic(partitions=[OffsetCommitResponsePartition(0, DENIED)])
            ]
        ),
    ],
)
def test_an_error_has_its_name(body: Struct) -> None:
    """Wherever it stands in the answer."""
    assert error_in(body) == "TOPIC_AUTHORIZATION_FAILED"
    assert error_in(type(body)()) is None
    assert error_in(None) is None


def test_what_a_fetch_brought_is_there_by_partition() -> None:
    """Empty partitions are left out; an error may be the session's or a partition's."""
    partitions = [PartitionData(0, records=b"abc"), PartitionData(1, records=None)]
    brought = fetched(FetchResponse(responses=[FetchableTopicResponse(partitions=partitions)]))
    assert (brought.error, dict(brought.records), brought.size_bytes) == (None, {0: b"abc"}, 3)
    wrong = FetchResponse(responses=[FetchableTopicResponse(partitions=[PartitionData(0, DENIED)])])
    assert fetched(wrong).error == "TOPIC_AUTHORIZATION_FAILED"
    assert fetched(FetchResponse(error_code=DENIED)).error == "TOPIC_AUTHORIZATION_FAILED"


NOW_NS = 1_767_323_045_000_000_006


def test_a_batch_says_which_request_it_came_in() -> None:
    """Batches of others, markers and tombstones are passed over."""
    records = MarkedRecords(RecordShape())
    other = MarkedRecords(RecordShape())
    data = b"".join(
        [
            records.batch(7, NOW_NS),
            other.batch(8, NOW_NS),
            make_batch(b"short", b"x"),
            records.batch(9, NOW_NS),
        ]
    )
    batches = read_batches(data).batches
    assert list(records.numbers(batches)) == [7, 9]
    assert list(other.numbers(batches)) == [8]


def test_records_have_the_shape_that_was_asked_for() -> None:
    """Keys and headers too; a header may be null."""
    shape = RecordShape(40, 5, headers=2, header_key_bytes=3, header_value_bytes=-1)
    (batch,) = read_batches(MarkedRecords(shape).batch(1, NOW_NS)).batches
    (record,) = batch.records()
    assert (len(record.value or b""), len(record.key or b"")) == (40, 5)
    assert record.headers == ((b"kkk", None), (b"kkk", None))
    assert record.timestamp == NOW_NS // 1_000_000


def test_a_request_may_carry_many_records() -> None:
    """All of them in one batch, which counts once."""
    records = MarkedRecords(RecordShape(batch_records=5, headers=1, header_value_bytes=4))
    (batch,) = read_batches(records.batch(3, NOW_NS)).batches
    assert batch.record_count == 5
    assert list(records.numbers([batch])) == [3]


def test_the_next_offset_is_behind_the_last_batch() -> None:
    """Without any it stays."""
    batches = read_batches(make_batch(b"a", b"b", b"c")).batches
    assert next_offset(batches, 0) == 3
    assert next_offset(batches, 100) == 100
    assert next_offset([], 5) == 5
