import pytest

from kdiag.wire.api.consumer_group_describe import (
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
)
from kdiag.wire.api.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)
from kdiag.wire.error_code import error_name
from lab_ends.group_asks import GroupAsks
from lab_ends.lab_client import LabClient
from lab_ends.one_coordinator import GROUP


@pytest.mark.parametrize("version", [0, 1])
def test_consumer_groups_are_described_in_every_version(asks: GroupAsks, version: int) -> None:
    """Others are GROUP_ID_NOT_FOUND; one has to be named."""
    heartbeat = ConsumerGroupHeartbeatRequest(
        group_id=GROUP,
        member_id="a",
        rebalance_timeout_ms=30_000,
        subscribed_topic_names=["orders"],
        topic_partitions=[],
    )
    asks.client.ask(heartbeat, ConsumerGroupHeartbeatResponse, 1)
    request = ConsumerGroupDescribeRequest(
        group_ids=[GROUP, "other", ""], include_authorized_operations=True
    )
    response = asks.client.ask(request, ConsumerGroupDescribeResponse, version)
    known, unknown, nameless = response.groups
    assert (known.group_state, known.group_epoch, known.assignment_epoch) == ("Stable", 2, 2)
    assert (known.assignor_name, known.authorized_operations > 0) == ("uniform", True)
    (member,) = known.members
    assert (member.member_id, member.member_epoch, member.client_host) == ("a", 2, "/127.0.0.1")
    assert member.subscribed_topic_names == ["orders"]
    (topic,) = member.assignment.topic_partitions
    assert (topic.topic_name, topic.partitions) == ("orders", [0, 1])
    assert member.target_assignment.topic_partitions == member.assignment.topic_partitions
    assert member.member_type == (1 if version else -1)
    assert error_name(unknown.error_code) == "GROUP_ID_NOT_FOUND"
    assert error_name(nameless.error_code) == "INVALID_GROUP_ID"


def test_a_classic_group_is_not_a_consumer_group(asks: GroupAsks) -> None:
    """It is told so."""
    asks.join()
    request = ConsumerGroupDescribeRequest(group_ids=[GROUP])
    (group,) = asks.client.ask(request, ConsumerGroupDescribeResponse, 0).groups
    assert error_name(group.error_code) == "GROUP_ID_NOT_FOUND"
    assert group.error_message == "Group billing is not a consumer group."


def test_another_coordinator_is_told_of_each_group(client: LabClient) -> None:
    """NOT_COORDINATOR."""
    request = ConsumerGroupDescribeRequest(group_ids=[GROUP])
    (group,) = client.ask(request, ConsumerGroupDescribeResponse, 0).groups
    assert error_name(group.error_code) == "NOT_COORDINATOR"
