from collections.abc import Callable

import pytest

from kdiag.lab.fault.answers.answer_edit import edit_answer, error_paths
from kdiag.lab.fault.fault_plan import FaultCall, FaultPlan, PlannedEffect
from kdiag.lab.fault.grammar import parse_fault
from kdiag.lab.fault.rule import FaultMatch
from kdiag.wire.api.api_versions import ApiVersion, ApiVersionsRequest, ApiVersionsResponse
from kdiag.wire.api.fetch import (
    FetchableTopicResponse,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    PartitionData,
)
from kdiag.wire.api.find_coordinator import (
    Coordinator,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)
from kdiag.wire.api.heartbeat import HeartbeatRequest, HeartbeatResponse
from kdiag.wire.api.list_offsets import (
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from kdiag.wire.api.metadata import (
    MetadataRequest,
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from kdiag.wire.api.offset_fetch import OffsetFetchRequest, OffsetFetchResponse
from kdiag.wire.schema import Struct

MakeCall = Callable[..., FaultCall]


def edited(call: FaultCall, text: str, response: Struct) -> list[FaultMatch]:
    """Edit an answer by one fault, and return what had no place."""
    rule = parse_fault(text)
    return edit_answer(FaultPlan(call, (PlannedEffect(rule.match, rule.effect),)), response)


def fetched(*partitions: int) -> FetchResponse:
    """Return the answer to a Fetch, with records."""
    parts = [PartitionData(partition_index=each, records=b"records") for each in partitions]
    return FetchResponse(responses=[FetchableTopicResponse(topic="orders", partitions=parts)])


def fetch(*partitions: int, epoch: int = -1) -> FetchRequest:
    """Return a Fetch."""
    parts = [FetchPartition(partition=each) for each in partitions]
    return FetchRequest(session_epoch=epoch, topics=[FetchTopic(topic="orders", partitions=parts)])


def test_an_error_goes_to_the_partitions_that_are_concerned(call_of: MakeCall) -> None:
    """They have no records then; others keep theirs."""
    response = fetched(0, 1)
    text = "partition=1 error=NOT_LEADER_OR_FOLLOWER"
    assert edited(call_of(fetch(0, 1), 12), text, response) == []
    first, second = response.responses[0].partitions
    assert (first.error_code, first.records) == (0, b"records")
    assert (second.error_code, second.records, second.high_watermark) == (6, b"", -1)


def test_an_error_goes_where_it_is_sent(call_of: MakeCall) -> None:
    """By Kafka's name of the field."""
    response = fetched(0)
    edited(call_of(fetch(0), 12), "error=FETCH_SESSION_ID_NOT_FOUND field=errorCode", response)
    assert response.error_code == 70
    assert response.responses[0].partitions[0].error_code == 0


def test_a_partition_that_a_session_leaves_out_is_added(call_of: MakeCall) -> None:
    """Else its error would not be told."""
    response = FetchResponse()
    edited(call_of(fetch(3, epoch=2), 12), "topic=orders error=KAFKA_STORAGE_ERROR", response)
    (topic,) = response.responses
    assert (topic.topic, topic.partitions[0].partition_index) == ("orders", 3)
    assert topic.partitions[0].error_code == 56


def test_an_error_without_a_place_is_passed_over(call_of: MakeCall) -> None:
    """And told."""
    (passed,) = edited(call_of(fetch(0), 12), "topic=x error=UNKNOWN_TOPIC_ID", fetched(0))
    assert passed.topic == "x"


def test_an_error_of_a_group_or_key_goes_there(call_of: MakeCall) -> None:
    """Not to others of the same answer."""
    keys = [Coordinator(key=each) for each in ("a", "b")]
    response = FindCoordinatorResponse(coordinators=keys)
    call = call_of(FindCoordinatorRequest(coordinator_keys=["a", "b"]))
    edited(call, "group=b error=COORDINATOR_NOT_AVAILABLE", response)
    assert [each.error_code for each in keys] == [0, 15]
    offsets = OffsetFetchResponse()
    edited(call_of(OffsetFetchRequest(), 5), "error=NOT_COORDINATOR", offsets)
    assert offsets.error_code == 16


def test_every_path_is_of_the_version() -> None:
    """An answer of an old one has its fields elsewhere."""
    assert error_paths(FindCoordinatorResponse, 3) == ("errorCode",)
    assert error_paths(FindCoordinatorResponse, 4) == ("coordinators.errorCode",)


def test_a_throttle_is_told(call_of: MakeCall) -> None:
    """As far as an int32 goes."""
    response = HeartbeatResponse()
    edited(call_of(HeartbeatRequest()), "throttle=2s", response)
    assert response.throttle_time_ms == 2000
    edited(call_of(HeartbeatRequest()), "throttle=50d", response)
    assert response.throttle_time_ms == (1 << 31) - 1


def metadata() -> MetadataResponse:
    """Return a cluster of two brokers."""
    partition = MetadataResponsePartition(leader_id=2, isr_nodes=[1, 2])
    return MetadataResponse(
        brokers=[MetadataResponseBroker(node_id=each, host="h", port=1) for each in (1, 2)],
        topics=[MetadataResponseTopic(name="orders", partitions=[partition])],
    )


def test_brokers_are_told_at_another_address(call_of: MakeCall) -> None:
    """All of them."""
    response = metadata()
    edited(call_of(MetadataRequest()), "advertise=[::1]:99", response)
    assert {(each.host, each.port) for each in response.brokers} == {("::1", 99)}


def test_the_leader_alone_is_in_sync(call_of: MakeCall) -> None:
    """For the topics that are concerned."""
    response = metadata()
    edited(call_of(MetadataRequest()), "topic=x shrink_isr=1s", response)
    assert response.topics[0].partitions[0].isr_nodes == [1, 2]
    edited(call_of(MetadataRequest()), "topic=orders shrink_isr=1s", response)
    assert response.topics[0].partitions[0].isr_nodes == [2]


def test_a_partition_of_metadata_with_an_error_has_no_leader(call_of: MakeCall) -> None:
    """The error of a topic is another field, and the default."""
    response = metadata()
    text = "error=LEADER_NOT_AVAILABLE field=topics.partitions.errorCode"
    edited(call_of(MetadataRequest()), text, response)
    assert response.topics[0].partitions[0].leader_id == -1
    assert response.topics[0].error_code == 0
    edited(call_of(MetadataRequest()), "error=UNKNOWN_TOPIC_OR_PARTITION", response)
    assert response.topics[0].error_code == 3


@pytest.mark.parametrize(("skew", "told"), [("1s", 6000), ("-1s", 4000), ("-1h", 0)])
def test_times_are_off(call_of: MakeCall, skew: str, told: int) -> None:
    """But not those that are not known."""
    parts = [ListOffsetsPartitionResponse(timestamp=each) for each in (5000, -1)]
    response = ListOffsetsResponse(topics=[ListOffsetsTopicResponse(partitions=parts)])
    edited(call_of(ListOffsetsRequest()), f"clock_skew={skew}", response)
    assert [each.timestamp for each in parts] == [told, -1]


def test_other_versions_are_told(call_of: MakeCall) -> None:
    """An open range ends with what the API has; none at all is left out."""
    told = [ApiVersion(api_key=each, min_version=0, max_version=3) for each in (0, 1, 3)]
    response = ApiVersionsResponse(api_keys=told)
    edited(call_of(ApiVersionsRequest()), "api_versions=Produce:none,Fetch:4+", response)
    assert [(each.api_key, each.min_version, each.max_version) for each in response.api_keys] == [
        (1, 4, 18),
        (3, 0, 3),
    ]
