from kdiag.diagnosis.rebalance.capture.exchange_events import (
    BrokersSeen,
    PartitionCount,
    SoftwareSeen,
    host_of,
    is_of_group,
    sightings_of,
    tells,
)
from kdiag.diagnosis.rebalance.events import CoordinatorFound, JoinAnswered, JoinAsked
from kdiag.exchange.dissection import Dissection
from kdiag.wire.api.api_versions import ApiVersionsRequest, ApiVersionsResponse
from kdiag.wire.api.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from kdiag.wire.api.heartbeat import HeartbeatRequest, HeartbeatResponse
from kdiag.wire.api.join_group import JoinGroupRequest, JoinGroupResponse
from kdiag.wire.api.metadata import (
    MetadataRequest,
    MetadataResponse,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from recordings.exchange_maker import make_exchange

JOIN = make_exchange(JoinGroupRequest(group_id="orders"), JoinGroupResponse(), version=9)


def test_an_exchange_tells_what_was_asked_and_what_was_answered() -> None:
    """Each at its moment, with its packet: the answer knows its request."""
    found = sightings_of(Dissection(JOIN))
    assert found is not None
    asked, answered = (each.fact for each in found)

    assert isinstance(asked, JoinAsked)
    assert isinstance(answered, JoinAnswered)
    assert answered.asked == asked
    assert asked.group == answered.group == "orders"
    assert [each.order for each in found] == sorted(each.order for each in found)


def test_software_and_partitions_are_facts_of_one_exchange() -> None:
    """What they mean for others is found when all are there."""
    told = ApiVersionsRequest(client_software_name="kgo", client_software_version="1.17")
    topic = MetadataResponseTopic(name="orders", partitions=[MetadataResponsePartition()] * 3)
    broken = MetadataResponseTopic(name="lost", error_code=3)
    facts = [
        sighting.fact
        for exchange in (
            make_exchange(told, ApiVersionsResponse(), version=3),
            make_exchange(MetadataRequest(), MetadataResponse(topics=[topic, broken]), version=8),
        )
        for sighting in sightings_of(Dissection(exchange)) or ()
    ]

    assert [type(each) for each in facts] == [SoftwareSeen, PartitionCount]
    assert isinstance(facts[0], SoftwareSeen)
    assert isinstance(facts[1], PartitionCount)
    assert facts[0].software == "kgo 1.17"
    assert (facts[1].topic, facts[1].partition_count) == ("orders", 3)


def test_coordinators_of_groups_alone_are_told() -> None:
    """Those of transactions have keys of another type."""
    answer = FindCoordinatorResponse(node_id=1, host="b", port=9092)
    of_group, of_transaction = (
        sightings_of(
            Dissection(
                make_exchange(
                    FindCoordinatorRequest(key="orders", key_type=key_type), answer, version=3
                )
            )
        )
        for key_type in (0, 1)
    )

    assert of_group is not None
    assert of_transaction is not None
    assert [type(each.fact) for each in of_group] == [BrokersSeen, CoordinatorFound]
    assert [type(each.fact) for each in of_transaction] == [BrokersSeen]


def test_what_tells_nothing_is_told_from_what_cannot_be_read() -> None:
    """A request of a group that cannot be read may be missed; others are of no interest."""
    whole = make_exchange(HeartbeatRequest(group_id="g"), HeartbeatResponse(), version=4)
    cut = make_exchange(HeartbeatRequest(group_id="g"), HeartbeatResponse(), version=4)
    assert cut.request is not None
    cut.request.data = cut.request.data[:-2]
    other = make_exchange(b"", version=0, api_key=32)

    assert len(sightings_of(Dissection(whole)) or ()) == 1
    assert sightings_of(Dissection(cut)) is None
    assert sightings_of(Dissection(other)) == []
    assert [tells(each) for each in (whole, cut, other)] == [True, True, False]
    assert [is_of_group(each) for each in (whole, other)] == [True, False]


def test_a_host_is_an_address_without_its_port() -> None:
    """IPv6 without brackets."""
    assert [host_of("10.0.0.1:9092"), host_of("[::1]:40000")] == ["10.0.0.1", "::1"]
