from typing import Any

import pytest

from kdiag.exchange.context.topic_names import TopicNames
from kdiag.exchange.dissection import Dissection
from kdiag.exchange.documents.body import Bodies, BodyForm
from kdiag.exchange.model import Exchange
from kdiag.exchange.side import Why
from kdiag.wire.api.alter_user_scram_credentials import AlterUserScramCredentialsRequest
from kdiag.wire.api.create_partitions import CreatePartitionsRequest
from kdiag.wire.api.create_topics import CreatableTopic, CreateTopicsRequest, CreateTopicsResponse
from kdiag.wire.api.describe_groups import (
    DescribedGroup,
    DescribedGroupMember,
    DescribeGroupsRequest,
    DescribeGroupsResponse,
)
from kdiag.wire.api.envelope import EnvelopeRequest, EnvelopeResponse
from kdiag.wire.api.fetch import (
    FetchableTopicResponse,
    FetchRequest,
    FetchResponse,
    PartitionData,
)
from kdiag.wire.api.join_group import (
    JoinGroupRequest,
    JoinGroupRequestProtocol,
    JoinGroupResponse,
    JoinGroupResponseMember,
)
from kdiag.wire.api.metadata import MetadataRequest
from kdiag.wire.api.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from kdiag.wire.api.sasl_authenticate import SaslAuthenticateRequest
from kdiag.wire.api.sync_group import (
    SyncGroupRequest,
    SyncGroupRequestAssignment,
    SyncGroupResponse,
)
from kdiag.wire.codec.json_form import to_json
from kdiag.wire.codec.messages import encode
from kdiag.wire.internal.consumer_protocol_assignment import (
    ConsumerProtocolAssignment,
    TopicPartition,
)
from kdiag.wire.internal.consumer_protocol_subscription import ConsumerProtocolSubscription
from kdiag.wire.internal.default_principal_data import DefaultPrincipalData
from recordings.exchange_maker import (
    cut_frame,
    make_batch,
    make_exchange,
    request_bytes,
    response_bytes,
)

WANTS = b"\x00\x00" + encode(ConsumerProtocolSubscription(topics=["orders"]), 0)
GETS = b"\x00\x00" + encode(
    ConsumerProtocolAssignment(assigned_partitions=[TopicPartition("orders", [1])]), 0
)
WANTS_JSON = {"topics": ["orders"], "userData": None}
GETS_JSON = {
    "assignedPartitions": [{"topic": "orders", "partitions": [1]}],
    "userData": None,
}


def bodies_of(exchange: Exchange, **form: bool) -> tuple[Any, Any]:
    """Return the bodies of request and response."""
    made = Bodies(TopicNames(), BodyForm(**form))
    dissection = Dissection(exchange)
    sides = ((dissection.request, False), (dissection.response, True))
    request, response = (
        None if side is None else made.make(dissection, side, is_response=is_response)[0]
        for side, is_response in sides
    )
    return request, response


def produce(records: bytes | None) -> ProduceRequest:
    """Return a Produce request to one partition."""
    topic = TopicProduceData("t", partition_data=[PartitionProduceData(records=records)])
    return ProduceRequest(topic_data=[topic])


def test_a_body_without_additions_is_kafkas_own_json() -> None:
    """Nothing is added to what the converters of Kafka write."""
    asked = MetadataRequest()
    request, _ = bodies_of(make_exchange(asked, version=12))
    assert request == to_json(asked, 12)


def test_records_become_batches_and_appear_with_values_only() -> None:
    """Null stays null, nothing becomes an empty list."""
    exchange = make_exchange(produce(make_batch(b"one", b"two") + make_batch(b"three")), version=3)
    (batches,) = [
        partition["records"]
        for topic in bodies_of(exchange)[0]["topicData"]
        for partition in topic["partitionData"]
    ]
    assert [batch["recordCount"] for batch in batches] == [2, 1]
    assert "records" not in batches[0]
    shown = bodies_of(exchange, values=True)[0]["topicData"][0]["partitionData"][0]["records"]
    assert [record["value"] for record in shown[0]["records"]] == ["one", "two"]
    for records, expected in ((None, None), (b"", [])):
        body, _ = bodies_of(make_exchange(produce(records), version=3))
        assert body["topicData"][0]["partitionData"][0]["records"] == expected


def test_the_raw_form_keeps_bytes() -> None:
    """It is Kafka's exact JSON, from which the request could be written again."""
    asked = produce(make_batch(b"one"))
    assert bodies_of(make_exchange(asked, version=3), raw=True)[0] == to_json(asked, 3)
    large = produce(make_batch(bytes(100_000)))
    partition = bodies_of(make_exchange(large, version=3), raw=True)[0]["topicData"][0]
    assert type(partition["partitionData"][0]["records"]) is bytes
    joined = JoinGroupRequest(
        protocol_type="consumer", protocols=[JoinGroupRequestProtocol("range", WANTS)]
    )
    assert bodies_of(make_exchange(joined, version=5), raw=True)[0] == to_json(joined, 5)


def test_records_that_cannot_be_read_are_blamed_in_the_frame() -> None:
    """The other batches are shown, the broken one is empty."""
    bad = bytearray(make_batch(b"one") + make_batch(b"two"))
    bad[-1] = 0x7F  # a number of record headers below zero
    exchange = make_exchange(produce(bytes(bad)), version=3)
    dissection = Dissection(exchange)
    assert dissection.request is not None
    made = Bodies(TopicNames(), BodyForm(values=True))
    body, why = made.make(dissection, dissection.request, is_response=False)
    assert body is not None
    first, second = body["topicData"][0]["partitionData"][0]["records"]
    assert (len(first["records"]), second["records"]) == (1, [])
    assert isinstance(why, Why)
    assert why.path.startswith("topicData[0].partitionData[0].records[1].records[0]")
    data = dissection.request.frame.data
    assert data[why.offset :].startswith(make_batch(b"two")[:8])


def test_a_cut_body_has_the_fields_that_were_reached() -> None:
    """It is made from what the slow reader saw, with the same additions."""
    partition = PartitionData(partition_index=4, records=make_batch(b"one") * 2)
    answered = FetchResponse(responses=[FetchableTopicResponse("t", partitions=[partition])])
    exchange = make_exchange(FetchRequest(), answered, version=4)
    data = response_bytes(answered, 4)
    exchange.response = cut_frame(data, len(data) - 5)
    _, response = bodies_of(exchange)
    (shown,) = response["responses"][0]["partitions"]
    assert (shown["partitionIndex"], len(shown["records"])) == (4, 1)
    exchange.response = cut_frame(data, 20)
    _, response = bodies_of(exchange)
    assert response["responses"][0]["partitions"] == [{}]


@pytest.mark.parametrize("version", [5, 7])
def test_subscriptions_are_decoded_in_join_group(version: int) -> None:
    """Before version 7 the response does not tell the type; the request does."""
    asked = JoinGroupRequest(
        protocol_type="consumer", protocols=[JoinGroupRequestProtocol("range", WANTS)]
    )
    answered = JoinGroupResponse(
        protocol_type="consumer", members=[JoinGroupResponseMember("m", metadata=WANTS)]
    )
    request, response = bodies_of(make_exchange(asked, answered, version=version))
    assert request["protocols"][0]["metadata"] == WANTS_JSON
    assert response["members"][0]["metadata"] == WANTS_JSON
    other = JoinGroupRequest(
        protocol_type="connect", protocols=[JoinGroupRequestProtocol("default", WANTS)]
    )
    request, _ = bodies_of(make_exchange(other, version=version))
    assert request["protocols"][0]["metadata"] == WANTS


@pytest.mark.parametrize("version", [3, 5])
def test_assignments_are_decoded_in_sync_group(version: int) -> None:
    """Before version 5 the type is not told: what fits to the last byte is an assignment."""
    asked = SyncGroupRequest(
        protocol_type="consumer", assignments=[SyncGroupRequestAssignment("m", GETS)]
    )
    answered = SyncGroupResponse(protocol_type="consumer", assignment=GETS)
    request, response = bodies_of(make_exchange(asked, answered, version=version))
    assert request["assignments"][0]["assignment"] == GETS_JSON
    assert response["assignment"] == GETS_JSON
    foreign = SyncGroupResponse(protocol_type="connect", assignment=b"\x00\x01other")
    _, response = bodies_of(make_exchange(asked, foreign, version=version))
    assert response["assignment"] == b"\x00\x01other"


def test_both_are_decoded_in_describe_groups() -> None:
    """Members of a group of consumers only."""
    members = [DescribedGroupMember(member_metadata=WANTS, member_assignment=GETS)]
    groups = [
        DescribedGroup(protocol_type="consumer", members=members),
        DescribedGroup(protocol_type="connect", members=members),
    ]
    answered = DescribeGroupsResponse(groups=groups)
    _, response = bodies_of(make_exchange(DescribeGroupsRequest(), answered, version=5))
    ours, theirs = (group["members"][0] for group in response["groups"])
    assert (ours["memberMetadata"], ours["memberAssignment"]) == (WANTS_JSON, GETS_JSON)
    assert (theirs["memberMetadata"], theirs["memberAssignment"]) == (WANTS, GETS)


def test_secrets_are_redacted_in_every_form_unless_asked_for() -> None:
    """Raw or not, a token does not show."""
    exchange = make_exchange(SaslAuthenticateRequest(auth_bytes=b"\0u\0pass"), version=2)
    for form in ({}, {"raw": True}, {"values": True}):
        assert bodies_of(exchange, **form)[0] == {"authBytes": "<redacted>"}
    assert bodies_of(exchange, show_secrets=True)[0] == {"authBytes": b"\0u\0pass"}


def test_raw_records_of_the_metadata_log_are_kept_back() -> None:
    """They may hold SCRAM credentials; those of other topics are shown."""
    for topic, expected in (("__cluster_metadata", "<redacted>"), ("orders", make_batch(b"v"))):
        partition = PartitionData(records=make_batch(b"v"))
        answered = FetchResponse(responses=[FetchableTopicResponse(topic, partitions=[partition])])
        exchange = make_exchange(FetchRequest(), answered, version=12)
        _, response = bodies_of(exchange, raw=True)
        assert response["responses"][0]["partitions"][0]["records"] == expected


def test_an_envelope_shows_the_request_inside_it_without_its_secrets() -> None:
    """A forwarded request is decoded by the same rules; so is its response."""
    created = CreateTopicsRequest(topics=[CreatableTopic("orders")])
    principal = b"\x00\x00" + encode(DefaultPrincipalData(type="User", name="alice"), 0)
    asked = EnvelopeRequest(request_data=request_bytes(created, 7), request_principal=principal)
    answered = EnvelopeResponse(response_data=response_bytes(CreateTopicsResponse(), 7))
    exchange = make_exchange(asked, answered, version=0)
    request, response = bodies_of(exchange)
    assert request["requestData"]["api"] == "CreateTopics"
    assert request["requestData"]["body"]["topics"][0]["name"] == "orders"
    assert request["requestPrincipal"]["name"] == "alice"
    assert response["responseData"]["body"]["topics"] == []


def test_an_envelope_stays_closed_when_raw_if_no_secret_can_be_in_it() -> None:
    """Its bytes are then Kafka's own JSON."""
    inner = request_bytes(CreatePartitionsRequest(), 3)
    exchange = make_exchange(EnvelopeRequest(request_data=inner), version=0)
    assert bodies_of(exchange, raw=True)[0]["requestData"] == inner


def test_an_envelope_that_may_hold_a_secret_is_redacted_when_raw() -> None:
    """So is one that cannot be read: it cannot be judged."""
    secret = request_bytes(AlterUserScramCredentialsRequest(), 0)
    for data, is_raw in ((secret, True), (b"?", True), (b"?", False)):
        exchange = make_exchange(EnvelopeRequest(request_data=data), version=0)
        assert bodies_of(exchange, raw=is_raw)[0]["requestData"] == "<redacted>"
        shown, _ = bodies_of(exchange, raw=True, show_secrets=True)
        assert shown["requestData"] == data
