from collections.abc import Callable

import pytest

from kdiag.lab.fault.answers.refused_answer import refused_answer
from kdiag.lab.fault.fault_plan import FaultCall, FaultPlan, PlannedEffect
from kdiag.lab.fault.grammar import parse_fault
from kdiag.wire.api.create_topics import CreatableTopic, CreateTopicsRequest, CreateTopicsResponse
from kdiag.wire.api.fetch import FetchPartition, FetchRequest, FetchResponse, FetchTopic
from kdiag.wire.api.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from kdiag.wire.api.join_group import JoinGroupRequest, JoinGroupResponse
from kdiag.wire.api.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)
from kdiag.wire.api.metadata import MetadataRequest
from kdiag.wire.api.produce import (
    PartitionProduceData,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from kdiag.wire.codec.messages import encode
from kdiag.wire.schema import Struct

MakeCall = Callable[..., FaultCall]


def refused(call: FaultCall, text: str) -> Struct | None:
    """Return the answer of a broker that refuses a request."""
    rule = parse_fault(text)
    return refused_answer(FaultPlan(call, (PlannedEffect(rule.match, rule.effect),)))


def produce(*topics: str) -> ProduceRequest:
    """Return a Produce of two partitions of each topic."""
    data = [PartitionProduceData(index=each, records=b"") for each in (0, 1)]
    return ProduceRequest(
        topic_data=[TopicProduceData(name=each, partition_data=data) for each in topics]
    )


def test_every_partition_of_a_request_is_refused(call_of: MakeCall) -> None:
    """Nothing is appended, so there is no offset."""
    answer = refused(call_of(produce("a", "b"), 9), "Produce error=NOT_LEADER_OR_FOLLOWER")
    assert isinstance(answer, ProduceResponse)
    parts = [
        (topic.name, part.index, part.error_code, part.base_offset)
        for topic in answer.responses
        for part in topic.partition_responses
    ]
    assert parts == [(name, index, 6, -1) for name in "ab" for index in (0, 1)]
    encode(answer, 9)


@pytest.mark.parametrize(
    "text",
    [
        "topic=a error=NOT_LEADER_OR_FOLLOWER",
        "partition=1 error=NOT_LEADER_OR_FOLLOWER",
        "error=NOT_LEADER_OR_FOLLOWER handled",
        "delay=1s",
    ],
)
def test_what_is_concerned_in_part_or_not_refused_is_handled(call_of: MakeCall, text: str) -> None:
    """Its answer is edited then."""
    assert refused(call_of(produce("a", "b"), 9), text) is None


def test_what_changes_nothing_and_says_more_is_handled(call_of: MakeCall) -> None:
    """A client needs the brokers of Metadata."""
    text = "error=UNKNOWN_TOPIC_OR_PARTITION"
    assert refused(call_of(MetadataRequest()), text) is None


def test_a_fetch_is_refused_without_a_session(call_of: MakeCall) -> None:
    """With all that it asks for, by id or by name."""
    topic = FetchTopic(topic_id=b"i" * 16, partitions=[FetchPartition(partition=2)])
    answer = refused(call_of(FetchRequest(topics=[topic]), 13), "error=UNKNOWN_TOPIC_ID")
    assert isinstance(answer, FetchResponse)
    assert (answer.session_id, answer.responses[0].topic_id) == (0, b"i" * 16)
    assert answer.responses[0].partitions[0].error_code == 100


def test_other_apis_are_refused_as_they_are_made(call_of: MakeCall) -> None:
    """With partitions, with names alone, with keys, and with nothing."""
    parts = [ListOffsetsPartition(partition_index=1)]
    offsets = refused(
        call_of(ListOffsetsRequest(topics=[ListOffsetsTopic(name="a", partitions=parts)])),
        "error=LEADER_NOT_AVAILABLE",
    )
    assert isinstance(offsets, ListOffsetsResponse)
    assert offsets.topics[0].partitions[0].error_code == 5
    topics = refused(
        call_of(CreateTopicsRequest(topics=[CreatableTopic(name="a")])), "error=NOT_CONTROLLER"
    )
    assert isinstance(topics, CreateTopicsResponse)
    assert (topics.topics[0].name, topics.topics[0].error_code) == ("a", 41)
    found = refused(
        call_of(FindCoordinatorRequest(coordinator_keys=["g"])), "error=COORDINATOR_NOT_AVAILABLE"
    )
    assert isinstance(found, FindCoordinatorResponse)
    assert (found.coordinators[0].key, found.coordinators[0].node_id) == ("g", -1)
    joined = refused(call_of(JoinGroupRequest(member_id="m")), "error=NOT_COORDINATOR")
    assert isinstance(joined, JoinGroupResponse)
    assert (joined.error_code, joined.member_id) == (16, "m")
