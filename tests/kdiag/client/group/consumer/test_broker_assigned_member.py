"""A member as a whole: joining, leaving, and programs that do not poll.

Intents of ConsumerMembershipManagerTest and ConsumerHeartbeatRequestManagerTest about these.
"""

import pytest

from kdiag.client.cluster_client import ClusterClient
from kdiag.client.group.consumer.broker_assigned_member import BrokerAssignedMember
from kdiag.client.group.consumer.member_state import ConsumerMemberState
from kdiag.client.group.member import TopicSubscription
from kdiag.clock import NS_PER_MS
from kdiag.errors import CommitFailedError, ConfigError, GroupError, RequestTimeoutError
from scripted_kafka.assigning_cluster import BEAT, AssigningCluster, partitions_of_topic
from scripted_kafka.consumer_cluster import keys, offsets
from scripted_kafka.member_cluster import HOUR
from scripted_kafka.scripted_broker import HOLD

STATES = ConsumerMemberState


def events(cluster: AssigningCluster) -> list[str]:
    """Return the names of what the listener was told."""
    return [name for name, _ in cluster.listener.take()]


def test_settings_that_contradict_each_other_are_refused(
    cluster: AssigningCluster, client: ClusterClient
) -> None:
    """As are commits that nobody can make."""
    with pytest.raises(ConfigError, match="needs a group"):
        cluster.member(client, group_id="")
    with pytest.raises(ValueError, match="needs the consumed positions"):
        BrokerAssignedMember(
            client,
            cluster.settings._replace(auto_commit_interval_ns=HOUR),
            TopicSubscription.of("orders"),
            cluster.listener,
        )


def test_a_poll_without_time_loses_nothing(
    cluster: AssigningCluster, member: BrokerAssignedMember
) -> None:
    """The next one goes on where it was."""
    cluster.on(BEAT, HOLD)
    while not cluster.beats():
        assert not member.poll(cluster.now() + NS_PER_MS)
    cluster.give(0)
    cluster.answer(cluster.broker.wait_for(BEAT))
    cluster.on(BEAT, cluster.answer)
    assert member.poll(cluster.soon())
    assert [each.member_epoch for each in cluster.beats()][:1] == [0]
    assert member.assignment == {*keys(0)}


def test_a_member_asks_for_its_assignor(cluster: AssigningCluster, client: ClusterClient) -> None:
    """By name, when it joins."""
    member = cluster.member(client, assignor="range", group_instance_id="till-1", rack="b")
    assert member.poll(cluster.soon())
    first = cluster.beats()[0]
    assert (first.server_assignor, first.instance_id, first.rack_id) == ("range", "till-1", "b")
    assert first.rebalance_timeout_ms == 20 * 3600 * 1000
    member._close_heartbeats()


def test_another_subscription_is_said_with_the_next_heartbeat(
    cluster: AssigningCluster, stable: BrokerAssignedMember
) -> None:
    """The member does not join again for that."""
    stable.subscribe(TopicSubscription.of("orders", "bills"))
    cluster.skip_interval()
    last = cluster.beats()[-1]
    assert (last.member_epoch, last.subscribed_topic_names) == (2, ["bills", "orders"])


@pytest.mark.parametrize(("instance_id", "epoch"), [(None, -1), ("till-1", -2)])
def test_a_member_gives_up_its_partitions_and_leaves(
    cluster: AssigningCluster, client: ClusterClient, instance_id: str | None, epoch: int
) -> None:
    """A static one says that it comes back."""
    member = cluster.member(client, group_instance_id=instance_id)
    cluster.give(0, 1)
    assert member.poll(cluster.soon())
    cluster.broker.wait_for(BEAT, 2)
    cluster.listener.take()
    member.close(cluster.soon())
    last = cluster.beats()[-1]
    assert (last.member_epoch, last.member_id, last.topic_partitions) == (
        epoch,
        member.member_id,
        None,
    )
    assert events(cluster) == ["revoked"]
    assert (member.assignment, member.manager.state) == (frozenset(), STATES.UNSUBSCRIBED)
    member.close(cluster.soon())
    assert cluster.beats()[-1] == last
    assert len(cluster.beats()) == 3


def test_a_member_that_joins_can_leave(
    cluster: AssigningCluster, member: BrokerAssignedMember
) -> None:
    """The broker may have taken it already."""
    cluster.on(BEAT, HOLD)
    while not cluster.beats():
        assert not member.poll(cluster.now() + NS_PER_MS)
    cluster.on(BEAT, cluster.answer)
    member.close(cluster.now() + NS_PER_MS)
    cluster.broker.wait_for(BEAT, 2)
    assert cluster.beats()[-1].member_epoch == -1


def test_a_member_that_never_polled_has_nothing_to_leave(
    cluster: AssigningCluster, member: BrokerAssignedMember
) -> None:
    """Nor has one whose coordinator is not known."""
    member.close(cluster.soon())
    assert cluster.broker.requests[-1].name != BEAT


def test_without_a_coordinator_nobody_is_told(
    cluster: AssigningCluster, stable: BrokerAssignedMember
) -> None:
    """The session will expire."""
    stable.lookup.mark_unknown()
    cluster.on("FindCoordinator", HOLD)
    stable.close(cluster.now() + NS_PER_MS)
    assert events(cluster) == ["revoked"]
    assert len(cluster.beats()) == 2


@pytest.mark.parametrize("error", ["FENCED_MEMBER_EPOCH", "GROUP_AUTHORIZATION_FAILED"])
def test_a_member_that_is_fenced_as_it_leaves_has_left(
    cluster: AssigningCluster, stable: BrokerAssignedMember, error: str
) -> None:
    """It does not join again, and ignores what it is assigned meanwhile."""

    def revoke(_: object) -> None:
        assert stable.manager.state is STATES.PREPARE_LEAVING
        cluster.give(0)
        cluster.skip_interval()
        assert stable.client.await_condition(lambda: stable.generation == 3, cluster.soon())
        assert stable.manager.target.partitions == stable.manager.current.partitions
        cluster.refuse(error)
        cluster.skip_interval()
        assert stable.client.await_condition(
            lambda: stable.manager.state is STATES.UNSUBSCRIBED, cluster.soon()
        )

    cluster.listener.on_partitions_revoked = revoke  # type: ignore[method-assign, assignment]
    stable.close(cluster.soon())
    assert [each.member_epoch for each in cluster.beats()] == [0, 2, 2, 3]


def test_a_fenced_member_that_is_closed_loses_its_partitions(
    cluster: AssigningCluster, stable: BrokerAssignedMember
) -> None:
    """There is nothing to leave."""
    stable.manager.fence("test")
    stable.close(cluster.soon())
    assert events(cluster) == ["lost"]
    assert len(cluster.beats()) == 2


def test_a_listener_that_fails_does_not_keep_a_member_from_leaving(
    cluster: AssigningCluster, stable: BrokerAssignedMember
) -> None:
    """Its error is raised afterwards."""
    cluster.listener.failures["revoked"] = ValueError("in the program")
    with pytest.raises(ValueError, match="in the program"):
        stable.close(cluster.soon())
    assert cluster.beats()[-1].member_epoch == -1


@pytest.mark.parametrize(("instance_id", "epoch"), [(None, -1), ("till-1", -2)])
def test_a_program_that_does_not_poll_leaves_and_joins_again_when_it_does(
    cluster: AssigningCluster, client: ClusterClient, instance_id: str | None, epoch: int
) -> None:
    """Its partitions are lost, and until it polls no heartbeat is sent."""
    member = cluster.member(client, group_instance_id=instance_id)
    cluster.give(0, 1)
    assert member.poll(cluster.soon())
    cluster.broker.wait_for(BEAT, 2)
    cluster.listener.take()
    cluster.clock.advance(21 * HOUR)
    while not any(each.member_epoch == epoch for each in cluster.beats()):
        member.client.poll(cluster.now() + NS_PER_MS)
    assert member.client.await_condition(
        lambda: member.manager.state is STATES.STALE, cluster.soon()
    )
    with pytest.raises(CommitFailedError, match=r"not polled for max\.poll\.interval\.ms"):
        member.commit(offsets(1), cluster.soon())
    count = len(cluster.beats())
    cluster.clock.advance(HOUR)
    assert len(cluster.beats()) == count
    assert member.poll(cluster.soon())
    assert events(cluster) == ["lost", "assigned"]
    cluster.broker.wait_for(BEAT, count + 2)
    assert cluster.beats()[count].member_epoch == 0
    assert cluster.beats()[count + 1].topic_partitions == partitions_of_topic(0, 1)
    member._close_heartbeats()


def test_a_stale_member_that_is_closed_loses_its_partitions(
    cluster: AssigningCluster, stable: BrokerAssignedMember
) -> None:
    """It has left already."""
    with stable.membership.monitor:
        stable.handle_poll_timeout()
    cluster.broker.wait_for(BEAT, 3)
    stable.close(cluster.soon())
    assert events(cluster) == ["lost"]
    assert [each.member_epoch for each in cluster.beats()] == [0, 2, -1]


def test_a_program_that_takes_long_to_leave_is_not_blamed(
    cluster: AssigningCluster, stable: BrokerAssignedMember
) -> None:
    """It leaves anyway."""
    assert stable.manager.begin_leave()
    cluster.clock.advance(21 * HOUR)
    with stable.membership.monitor:
        stable.handle_poll_timeout()
        assert not stable.heartbeat.has_poll_expired(cluster.now())
    assert stable.manager.state is STATES.PREPARE_LEAVING


def test_a_failure_of_the_heartbeat_thread_is_raised_and_the_next_poll_starts_another(
    cluster: AssigningCluster, stable: BrokerAssignedMember
) -> None:
    """No member goes on without heartbeats."""
    thread = stable._thread
    assert thread is not None
    thread.failure = GroupError("billing", "UNKNOWN_SERVER_ERROR", "test")
    with pytest.raises(GroupError, match="test"):
        stable.poll(cluster.soon())
    assert stable.poll(cluster.soon())
    cluster.skip_interval()
    assert stable._thread is not thread


def test_a_coordinator_that_is_not_found_in_time_is_no_error(
    cluster: AssigningCluster, member: BrokerAssignedMember
) -> None:
    """The next poll looks again; for commits it is one."""
    cluster.on("FindCoordinator", HOLD)
    assert not member.poll(cluster.now() + NS_PER_MS)
    with pytest.raises(RequestTimeoutError):
        member.committed(keys(0), cluster.now() + NS_PER_MS)
    assert member.generation == 0
