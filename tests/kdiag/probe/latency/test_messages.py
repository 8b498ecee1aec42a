import pytest

from kdiag.diagnosis.latency.fetch_waits import FetchWait
from kdiag.probe.latency.messages import (
    commit_request,
    error_in,
    fetch_request,
    fetched,
)
from kdiag.probe.latency.plan import LatencyTarget
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
from kdiag.wire.schema import Struct

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
