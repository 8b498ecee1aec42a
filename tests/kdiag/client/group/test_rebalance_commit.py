"""Commits before a rebalance, by the consumer protocol; test_offset_commits has classic members.

Intents of ConsumerMembershipManagerTest: testReconcilePartitionsRevoked... (three).
"""

from collections.abc import Iterator

import pytest

from kdiag.client.cluster_client import ClusterClient
from kdiag.client.group.consumer.broker_assigned_member import BrokerAssignedMember
from kdiag.clock import NS_PER_MS
from scripted_kafka.assigning_cluster import BEAT, AssigningCluster
from scripted_kafka.consumer_cluster import commit_answer, keys, offsets
from scripted_kafka.member_cluster import HOUR
from scripted_kafka.scripted_broker import HOLD


@pytest.fixture
def assigning() -> Iterator[AssigningCluster]:
    """Return a broker that assigns, and takes commits."""
    with AssigningCluster() as cluster:
        cluster.let_commit()
        yield cluster


@pytest.fixture
def assigning_client(assigning: AssigningCluster) -> Iterator[ClusterClient]:
    """Return a client that knows it."""
    with assigning.member_client() as client:
        yield client


def taken_from(
    cluster: AssigningCluster, client: ClusterClient, commit_interval_ns: int | None
) -> BrokerAssignedMember:
    """Return a member that has read something, and is to give up a partition."""
    cluster.give(0, 1)
    member = cluster.member(client, auto_commit_interval_ns=commit_interval_ns)
    assert member.poll(cluster.soon())
    cluster.broker.wait_for(BEAT, 2)
    cluster.listener.take()
    cluster.consumed = offsets(10, 20)
    cluster.give(0)
    cluster.skip_interval()
    assert member.client.await_condition(lambda: member.generation == 3, cluster.soon())
    return member


def test_nothing_is_given_up_before_it_is_committed(
    assigning: AssigningCluster, assigning_client: ClusterClient
) -> None:
    """A commit that takes longer is waited for by later polls."""
    member = taken_from(assigning, assigning_client, 100 * HOUR)
    assigning.on("OffsetCommit", HOLD)
    assert not member.poll(assigning.now() + NS_PER_MS)
    assert member.assignment == {*keys(0, 1)}
    asked = assigning.broker.wait_for("OffsetCommit")
    assert len(assigning.beats()) == 3
    asked.reply(commit_answer(asked))
    while member.assignment != {*keys(0)}:
        member.poll(assigning.now() + NS_PER_MS)
    assert [name for name, _ in assigning.listener.take()] == ["revoked", "assigned"]
    assigning.broker.wait_for(BEAT, 4)
    assert len(assigning.broker.asked("OffsetCommit")) == 1
    member._close_heartbeats()


@pytest.mark.parametrize(
    ("errors", "count"),
    [(["UNKNOWN_TOPIC_OR_PARTITION", "NONE"], 2), (["OFFSET_METADATA_TOO_LARGE"], 1)],
)
def test_a_commit_is_repeated_where_that_helps_and_else_given_up(
    assigning: AssigningCluster, assigning_client: ClusterClient, errors: list[str], count: int
) -> None:
    """The partitions are given up anyway."""
    member = taken_from(assigning, assigning_client, 100 * HOUR)
    assigning.let_commit(*errors)
    while member.assignment != {*keys(0)}:
        member.poll(assigning.soon())
    assert len(assigning.broker.asked("OffsetCommit")) == count
    member._close_heartbeats()


def test_a_member_that_does_not_commit_by_itself_gives_up_at_once(
    assigning: AssigningCluster, assigning_client: ClusterClient
) -> None:
    """Its listener may have committed."""
    member = taken_from(assigning, assigning_client, None)
    assert member.poll(assigning.soon())
    assert member.assignment == {*keys(0)}
    assert assigning.broker.asked("OffsetCommit") == []
    member._close_heartbeats()


def test_a_commit_that_is_not_answered_does_not_hold_up_the_group_for_ever(
    assigning: AssigningCluster, assigning_client: ClusterClient
) -> None:
    """The group waits for the member as long as for a poll."""
    member = taken_from(assigning, assigning_client, 100 * HOUR)
    assigning.on("OffsetCommit", HOLD)
    assert not member.poll(assigning.now() + NS_PER_MS)
    rebalance = member._rebalance_commit
    assigning.clock.advance(20 * HOUR)
    assert rebalance.is_done(assigning.now() + NS_PER_MS)
    member._close_heartbeats()
