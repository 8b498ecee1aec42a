"""Intents of ConsumerMembershipManagerTest, over real sockets.

Those of what a heartbeat says are in test_sent_fields, those of when it is sent in
test_heartbeat_request_manager, those of leaving and of poll intervals in
test_broker_assigned_member, those of commits before partitions are given up in
test_rebalance_commit. Left out, with the reason:

    testListenersGetNotified... (four)                  epochs are read, nobody is notified
    testMetrics..., testRebalanceMetrics... (four)      kdiag keeps no metrics
    testMemberIdInfoForLogs, testUpdateStateFailsOnResponsesWithErrors
                                                        errors never get so far
    testAddedPartitions... (two)                        positions are the Fetcher's
    ...WaitsForCallbackToRejoin..., testLeaveGroupWhenMemberAlreadyLeaving
                                                        callbacks are called, not waited for
    testOnSubscriptionUpdated... (two)                  a member here always subscribes
    testMembershipManagerInitSupportsEmptyGroupInstanceId
                                                        None is another type than text
"""

from collections.abc import Callable

import pytest

from kdiag.client.cluster_client import ClusterClient
from kdiag.client.group.consumer.broker_assigned_member import BrokerAssignedMember
from kdiag.client.group.consumer.local_assignment import NO_ASSIGNMENT
from kdiag.client.group.consumer.member_state import ConsumerMemberState
from kdiag.client.group.member import TopicSubscription
from kdiag.clock import NS_PER_MS
from kdiag.errors import CommitFailedError, GroupError
from kdiag.wire.api.consumer_group_heartbeat import TopicPartitions
from scripted_kafka.assigning_cluster import (
    BEAT,
    AssigningCluster,
    beaten,
    partitions_of_topic,
    topic_id,
)
from scripted_kafka.consumer_cluster import keys, offsets
from scripted_kafka.scripted_broker import HOLD

STATES = ConsumerMemberState
TRIES = 20_000
"""How often a member is polled, a millisecond each time, before a test gives up."""


def take(cluster: AssigningCluster) -> list[str]:
    """Return what the listener was told, in few words."""
    return [f"{event} {', '.join(found)}".strip() for event, found in cluster.listener.take()]


def poll_until(
    cluster: AssigningCluster, member: BrokerAssignedMember, condition: Callable[[], bool]
) -> None:
    """Poll a member until something holds."""
    for _ in range(TRIES):
        if condition():
            return
        member.poll(cluster.now() + NS_PER_MS)
        member.client.poll_no_wakeup()
    raise AssertionError(member.manager.state)


def reassign(cluster: AssigningCluster, member: BrokerAssignedMember, *partitions: int) -> None:
    """Have a stable member own other partitions."""
    count = len(cluster.beats())
    cluster.give(*partitions)
    cluster.skip_interval()
    poll_until(cluster, member, lambda: member.assignment == {*keys(*partitions)})
    cluster.broker.wait_for(BEAT, count + 2)
    poll_until(cluster, member, lambda: not member.heartbeat.is_in_flight)


def beats_with_partitions(cluster: AssigningCluster) -> list[list[TopicPartitions]]:
    """Return what heartbeats have said of partitions, without those that said nothing."""
    return [each.topic_partitions for each in cluster.beats() if each.topic_partitions is not None]


def test_a_member_owns_what_it_is_assigned_and_says_so(
    cluster: AssigningCluster, member: BrokerAssignedMember
) -> None:
    """At once, with the next heartbeat."""
    cluster.give(0, 1)
    assert member.poll(cluster.soon())
    assert member.assignment == {*keys(0, 1)}
    assert take(cluster) == ["assigned orders[0], orders[1]"]
    cluster.broker.wait_for(BEAT, 2)
    first, second = cluster.beats()
    assert (first.member_epoch, first.topic_partitions) == (0, [])
    assert (second.member_epoch, second.topic_partitions) == (2, partitions_of_topic(0, 1))
    assert member.manager.state is STATES.STABLE
    assert (member.generation, member.member_id) == (2, first.member_id)


def test_an_assignment_without_partitions_is_one(
    cluster: AssigningCluster, member: BrokerAssignedMember
) -> None:
    """The listener is told, and the broker, too."""
    assert member.poll(cluster.soon())
    assert take(cluster) == ["assigned"]
    cluster.broker.wait_for(BEAT, 2)
    assert beats_with_partitions(cluster) == [[], []]


def test_what_others_shall_have_is_given_up_before_what_is_new_is_owned(
    cluster: AssigningCluster, stable: BrokerAssignedMember
) -> None:
    """The rest stays, untouched; and the listener is told of new partitions, if of none."""
    cluster.set_topic("orders", 3)
    reassign(cluster, stable, 1, 2)
    assert take(cluster) == ["revoked orders[0]", "assigned orders[2]"]
    reassign(cluster, stable, 1)
    assert take(cluster) == ["revoked orders[2]", "assigned"]
    reassign(cluster, stable)
    assert take(cluster) == ["revoked orders[1]", "assigned"]
    cluster.broker.wait_for(BEAT, 8)
    assert beats_with_partitions(cluster)[2:] == [
        partitions_of_topic(1, 2),
        partitions_of_topic(1),
        [],
    ]


def test_the_same_assignment_again_is_no_news(
    cluster: AssigningCluster, stable: BrokerAssignedMember
) -> None:
    """It is not even acknowledged."""
    cluster.give(0, 1)
    cluster.skip_interval()
    poll_until(cluster, stable, lambda: stable.generation == 3)
    assert take(cluster) == []
    assert stable.manager.state is STATES.STABLE
    assert len(cluster.beats()) == 3


def test_a_topic_without_a_name_is_waited_for(
    cluster: AssigningCluster, client: ClusterClient
) -> None:
    """The others are owned and acknowledged meanwhile."""
    cluster.set_topic("bills", 1)
    (bills,) = (each for each in cluster.topics if each.name == "bills")
    cluster.topics.remove(bills)
    member = cluster.member(client, TopicSubscription.of("orders", "bills"))
    both = [*partitions_of_topic(0), *partitions_of_topic(0, topic="bills")]
    cluster.give_all(both)
    poll_until(cluster, member, lambda: bool(member.assignment))
    cluster.broker.wait_for(BEAT, 2)
    poll_until(cluster, member, lambda: member.manager.state is STATES.RECONCILING)
    assert not member.poll(cluster.now() + NS_PER_MS)
    assert take(cluster) == ["assigned orders[0]"]
    assert beats_with_partitions(cluster)[-1] == partitions_of_topic(0)
    cluster.topics.append(bills)
    assert member.poll(cluster.soon())
    assert take(cluster) == ["assigned bills[0]"]
    cluster.broker.wait_for(BEAT, 3)
    assert beats_with_partitions(cluster)[-1] == sorted(both, key=lambda each: each.topic_id)
    member._close_heartbeats()


def test_an_assignment_that_is_replaced_while_it_waits_is_never_owned(
    cluster: AssigningCluster, member: BrokerAssignedMember
) -> None:
    """The new one is, though the old one's topic still has no name."""
    cluster.give(0, topic="absent")
    assert not member.poll(cluster.now() + NS_PER_MS)
    poll_until(cluster, member, lambda: member.manager.state is STATES.RECONCILING)
    assert member.manager.current == NO_ASSIGNMENT or not member.assignment
    cluster.give(1)
    cluster.skip_interval()
    poll_until(cluster, member, lambda: member.assignment == {*keys(1)})
    assert "assigned orders[1]" in take(cluster)


def test_a_new_topic_without_a_name_changes_nothing_but_the_acknowledged_epoch(
    cluster: AssigningCluster, stable: BrokerAssignedMember
) -> None:
    """What can be owned is owned already, so that the listener has nothing to hear."""
    cluster.give_all([*partitions_of_topic(0, 1), *partitions_of_topic(0, topic="absent")])
    cluster.skip_interval()
    poll_until(cluster, stable, lambda: len(beats_with_partitions(cluster)) == 3)
    assert take(cluster) == []
    assert beats_with_partitions(cluster)[-1] == partitions_of_topic(0, 1)
    count = len(cluster.beats())
    for _ in range(5):
        assert not stable.poll(cluster.now() + NS_PER_MS)
    assert len(cluster.beats()) == count


def test_a_topic_that_is_deleted_is_given_up_by_its_name(
    cluster: AssigningCluster, stable: BrokerAssignedMember
) -> None:
    """Which the metadata have no more."""
    cluster.topics.clear()
    for _ in range(2):
        assert stable.client.await_metadata_update(cluster.soon())
    reassign(cluster, stable, 0)
    assert take(cluster) == ["revoked orders[1]", "assigned"]


def test_an_assignment_that_comes_during_another_is_next(
    cluster: AssigningCluster, stable: BrokerAssignedMember
) -> None:
    """What was begun is acknowledged first."""
    tell = cluster.listener.on_partitions_revoked

    def revoke(removed: object) -> None:
        tell(removed)  # type: ignore[arg-type]
        cluster.listener.on_partitions_revoked = tell  # type: ignore[method-assign]
        cluster.give(1)
        cluster.skip_interval()
        assert stable.client.await_condition(lambda: stable.generation == 4, cluster.soon())

    cluster.listener.on_partitions_revoked = revoke  # type: ignore[method-assign]
    cluster.give(0)
    cluster.skip_interval()
    poll_until(cluster, stable, lambda: stable.assignment == {*keys(1)})
    assert take(cluster) == [
        "revoked orders[1]",
        "assigned",
        "revoked orders[0]",
        "assigned orders[1]",
    ]
    cluster.broker.wait_for(BEAT, 6)
    assert beats_with_partitions(cluster)[2:] == [partitions_of_topic(0), partitions_of_topic(1)]


@pytest.mark.parametrize("error", ["FENCED_MEMBER_EPOCH", "UNKNOWN_MEMBER_ID"])
def test_a_member_that_is_fenced_loses_its_partitions_and_joins_again(
    cluster: AssigningCluster, stable: BrokerAssignedMember, error: str
) -> None:
    """As the same member, with epoch 0; the same assignment is owned and acknowledged again."""
    cluster.refuse(error)
    cluster.skip_interval()
    poll_until(cluster, stable, lambda: bool(cluster.listener.events))
    assert stable.poll(cluster.soon())
    assert take(cluster) == ["lost orders[0], orders[1]", "assigned orders[0], orders[1]"]
    cluster.broker.wait_for(BEAT, 5)
    assert [each.member_epoch for each in cluster.beats()] == [0, 2, 2, 0, 2]
    assert len({each.member_id for each in cluster.beats()}) == 1
    assert cluster.beats()[3].subscribed_topic_names == ["orders"]
    assert cluster.beats()[4].topic_partitions == partitions_of_topic(0, 1)


def test_a_fenced_member_sends_no_heartbeat_until_its_partitions_are_lost(
    cluster: AssigningCluster, stable: BrokerAssignedMember
) -> None:
    """Its epoch is reset at once; commits fail from then on."""
    cluster.refuse("FENCED_MEMBER_EPOCH")
    cluster.skip_interval()
    assert stable.client.await_condition(
        lambda: stable.manager.state is STATES.FENCED, cluster.soon()
    )
    assert (stable.generation, stable.membership.stable_generation) == (0, None)
    with pytest.raises(CommitFailedError, match=r"had not heard of it for .*, or it took longer"):
        stable.commit(offsets(7), cluster.soon())
    cluster.clock.advance(cluster.interval_ns)
    assert len(cluster.beats()) == 3
    assert stable.assignment == {*keys(0, 1)}


def test_a_member_that_owns_nothing_is_fenced_too(
    cluster: AssigningCluster, member: BrokerAssignedMember
) -> None:
    """There is nothing to lose."""
    assert member.poll(cluster.soon())
    cluster.broker.wait_for(BEAT, 2)
    cluster.listener.take()
    cluster.refuse("UNKNOWN_MEMBER_ID")
    cluster.skip_interval()
    poll_until(cluster, member, lambda: len(cluster.beats()) >= 5)
    assert take(cluster) == ["assigned"]


@pytest.mark.parametrize("event", ["revoked", "assigned"])
def test_what_was_begun_before_a_fence_is_not_finished(
    cluster: AssigningCluster, stable: BrokerAssignedMember, event: str
) -> None:
    """Also if the member is in the group again by then."""
    tell = getattr(cluster.listener, f"on_partitions_{event}")

    def fence(partitions: object) -> None:
        tell(partitions)
        setattr(cluster.listener, f"on_partitions_{event}", tell)
        stable.manager.fence("test")

    setattr(cluster.listener, f"on_partitions_{event}", fence)
    cluster.give(1)
    cluster.skip_interval()
    poll_until(cluster, stable, lambda: any(each[0] == "lost" for each in cluster.listener.events))
    assert stable.poll(cluster.soon())
    told = take(cluster)
    begun = ["revoked orders[0]", "assigned"]
    if event == "revoked":
        begun.pop()
    assert told == [*begun, "lost orders[1]", "assigned orders[1]"]
    cluster.broker.wait_for(BEAT, 5)
    assert [each.member_epoch for each in cluster.beats()] == [0, 2, 2, 0, 3]
    assert beats_with_partitions(cluster)[2:] == [[], partitions_of_topic(1)]


def test_answers_to_a_member_that_is_fenced_change_nothing(
    cluster: AssigningCluster, stable: BrokerAssignedMember
) -> None:
    """Nor do those that were meant for what it was before it joined again."""
    stable.manager.fence("test")
    stable.manager.on_heartbeat_success(beaten(9, partitions_of_topic(0)))
    assert (stable.manager.state, stable.generation) == (STATES.FENCED, 0)
    cluster.on(BEAT, HOLD)
    assert stable.manager.release_lost()
    stable._join()
    late = cluster.broker.wait_for(BEAT, 3)
    poll_until(cluster, stable, lambda: len(cluster.beats()) == 3)
    stable.manager.fence("again")
    assert stable.manager.release_lost()
    stable._join()
    cluster.on(BEAT, cluster.answer)
    late.reply(beaten(9, partitions_of_topic(0)))
    assert stable.poll(cluster.soon())
    assert stable.generation == 2


def test_a_refusal_for_good_loses_the_partitions_and_is_raised_again_and_again(
    cluster: AssigningCluster, stable: BrokerAssignedMember
) -> None:
    """Heartbeats end; nothing can be done but to close."""
    cluster.refuse("GROUP_AUTHORIZATION_FAILED")
    cluster.skip_interval()
    with pytest.raises(GroupError, match="allow the operation READ on the group"):
        poll_until(cluster, stable, lambda: False)
    assert take(cluster) == ["lost orders[0], orders[1]"]
    with pytest.raises(GroupError):
        stable.poll(cluster.soon())
    assert stable.manager.state is STATES.FATAL
    cluster.clock.advance(cluster.interval_ns)
    stable.close(cluster.soon())
    assert len(cluster.beats()) == 3


def test_a_member_may_be_refused_before_it_is_one(
    cluster: AssigningCluster, member: BrokerAssignedMember
) -> None:
    """There is nothing to lose then."""
    cluster.refuse("GROUP_MAX_SIZE_REACHED", "Full.")
    with pytest.raises(GroupError, match=r"group\.consumer\.max\.size.*the broker says: Full\."):
        member.poll(cluster.soon())
    assert take(cluster) == []


@pytest.mark.parametrize("event", ["revoked", "assigned"])
def test_a_listener_that_fails_is_called_again(
    cluster: AssigningCluster, stable: BrokerAssignedMember, event: str
) -> None:
    """Its error is raised; nothing is acknowledged until it has not failed."""
    cluster.listener.failures[event] = ValueError("in the program")
    cluster.give(1)
    cluster.skip_interval()
    with pytest.raises(ValueError, match="in the program"):
        poll_until(cluster, stable, lambda: False)
    assert stable.manager.state is STATES.RECONCILING
    assert partitions_of_topic(1) not in beats_with_partitions(cluster)
    assert stable.poll(cluster.soon())
    told = take(cluster)
    assert [each for each in told if each.startswith(event)] == {
        "revoked": ["revoked orders[0]"] * 2,
        "assigned": ["assigned"] * 2,
    }[event]


def test_a_listener_that_fails_as_partitions_are_lost_does_not_keep_them(
    cluster: AssigningCluster, stable: BrokerAssignedMember
) -> None:
    """Its error is raised, and the next poll joins again."""
    cluster.listener.failures["lost"] = ValueError("in the program")
    stable.manager.fence("test")
    with pytest.raises(ValueError, match="in the program"):
        stable.poll(cluster.soon())
    assert stable.assignment == frozenset()
    assert stable.poll(cluster.soon())
    assert stable.assignment == {*keys(0, 1)}


def test_an_id_that_the_broker_gives_is_used(
    cluster: AssigningCluster, member: BrokerAssignedMember
) -> None:
    """Brokers of version 0 may do so."""
    own = member.member_id
    assert len(own) == 22
    cluster.on(BEAT, beaten(1, [], member_id="given"))
    assert member.poll(cluster.soon())
    assert member.member_id == "given"


def test_a_member_cannot_skip_a_state(member: BrokerAssignedMember) -> None:
    """That would be a fault of kdiag's own."""
    with pytest.raises(RuntimeError, match="UNSUBSCRIBED cannot become STALE"):
        member.manager.end_stale()
    assert topic_id("orders").startswith(b"orders")
