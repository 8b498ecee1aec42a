"""Commits of a member by the consumer protocol; test_offset_commits has what all commits share."""

import pytest

from kdiag.client.cluster_client import ClusterClient
from kdiag.client.group.consumer.broker_assigned_member import BrokerAssignedMember
from kdiag.client.group.consumer.member_state import ConsumerMemberState
from kdiag.errors import CommitFailedError, GroupError, UnsupportedVersionError
from scripted_kafka.assigning_cluster import AssigningCluster
from scripted_kafka.consumer_cluster import offsets
from scripted_kafka.scripted_broker import offering


def test_a_commit_names_the_member_s_epoch(
    cluster: AssigningCluster, stable: BrokerAssignedMember
) -> None:
    """In a version that brokers take from such members."""
    stable.commit(offsets(7), cluster.soon())
    (received,) = cluster.broker.asked("OffsetCommit")
    (message,) = cluster.messages("OffsetCommit")
    assert received.header.version == 9
    assert message.generation_id_or_member_epoch == stable.generation == 2
    assert message.member_id == stable.member_id


def test_a_commit_that_meets_another_epoch_is_made_again(
    cluster: AssigningCluster, stable: BrokerAssignedMember
) -> None:
    """The member may not have heard of it yet."""
    cluster.let_commit("STALE_MEMBER_EPOCH", "NONE")
    stable.commit(offsets(7), cluster.soon())
    assert len(cluster.broker.asked("OffsetCommit")) == 2


@pytest.mark.parametrize("error", ["UNKNOWN_MEMBER_ID", "FENCED_MEMBER_EPOCH"])
def test_a_commit_of_a_member_that_is_unknown_fails(
    cluster: AssigningCluster, stable: BrokerAssignedMember, error: str
) -> None:
    """The member learns of it by its next heartbeat."""
    cluster.let_commit(error)
    with pytest.raises(CommitFailedError, match=f"the coordinator answers {error}"):
        stable.commit(offsets(7), cluster.soon())
    assert stable.manager.state is ConsumerMemberState.STABLE


def test_a_static_member_whose_place_was_taken_knows_why(
    cluster: AssigningCluster, client: ClusterClient
) -> None:
    """It is not told to join again."""
    member = cluster.member(client, group_instance_id="till-1")
    assert member.poll(cluster.soon())
    cluster.let_commit("FENCED_INSTANCE_ID")
    with pytest.raises(GroupError, match=r"the same group\.instance\.id, till-1"):
        member.commit(offsets(7), cluster.soon())
    member._close_heartbeats()


def test_a_member_that_is_not_in_the_group_does_not_commit(
    cluster: AssigningCluster, member: BrokerAssignedMember
) -> None:
    """It has no epoch to name."""
    with pytest.raises(CommitFailedError, match="it is not in the group"):
        member.commit(offsets(7), cluster.soon())
    assert cluster.broker.asked("OffsetCommit") == []


def test_a_broker_without_epochs_takes_no_commit(
    cluster: AssigningCluster, stable: BrokerAssignedMember
) -> None:
    """An older version could not say which epoch it is."""
    cluster.broker.on("ApiVersions", offering(OffsetCommit=(0, 8)))
    cluster.broker.hang_up()
    with pytest.raises(UnsupportedVersionError):
        stable.commit(offsets(7), cluster.soon())


def test_committed_offsets_are_fetched_as_for_any_member(
    cluster: AssigningCluster, stable: BrokerAssignedMember
) -> None:
    """By the coordinator."""
    cluster.let_fetch({0: 5, 1: -1})
    found = stable.committed(stable.assignment, cluster.soon())
    assert {str(key): each.offset for key, each in found.items()} == {"orders[0]": 5}
