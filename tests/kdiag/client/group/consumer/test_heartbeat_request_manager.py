"""Intents of ConsumerHeartbeatRequestManagerTest: when heartbeats are sent, and their answers.

Those of what they say are in test_sent_fields, those of poll intervals in
test_broker_assigned_member. Left out, with the reason:

    ...ToStringBase, testisExpiredByUsedForLogging      kdiag has no such texts
    testSkippingHeartbeat, testNoCoordinator            the heartbeat thread's own tests hold them
"""

import pytest

from kdiag.client.cluster_client import ClusterClient
from kdiag.client.group.consumer.broker_assigned_member import BrokerAssignedMember
from kdiag.client.group.consumer.member_state import ConsumerMemberState
from kdiag.client.group.member import TopicSubscription
from kdiag.clock import NS_PER_MS
from kdiag.errors import AuthorizationError, GroupError, UnsupportedVersionError
from scripted_kafka.assigning_cluster import BEAT, AssigningCluster, beaten
from scripted_kafka.member_cluster import HOUR, in_turn
from scripted_kafka.scripted_broker import CLOSE, HOLD, offering
from tiers.cases import for_each

STATES = ConsumerMemberState


def test_the_broker_says_how_often_heartbeats_come(
    cluster: AssigningCluster, stable: BrokerAssignedMember
) -> None:
    """Not before that, whatever the member's own settings are."""
    cluster.interval_ns = 30 * HOUR // 60
    cluster.clock.advance(HOUR)
    cluster.broker.wait_for(BEAT, 3)
    assert stable.client.await_condition(
        lambda: stable.heartbeat.interval_ns == cluster.interval_ns, cluster.soon()
    )
    now_ns = cluster.now()
    assert not stable.heartbeat.should_heartbeat(now_ns)
    assert stable.heartbeat.should_heartbeat(now_ns + cluster.interval_ns)


@pytest.mark.parametrize("interval_ns", [0, -HOUR])
def test_an_interval_that_is_none_does_not_make_heartbeats_endless(
    cluster: AssigningCluster, member: BrokerAssignedMember, interval_ns: int
) -> None:
    """They are a backoff apart, at the least."""
    cluster.interval_ns = interval_ns
    assert member.poll(cluster.soon())
    assert member.heartbeat.interval_ns == cluster.settings.retry_backoff_ns


def test_there_is_one_heartbeat_in_flight_at_most(
    cluster: AssigningCluster, stable: BrokerAssignedMember
) -> None:
    """However late its answer is, and whatever is urgent."""
    cluster.on(BEAT, HOLD)
    cluster.skip_interval()
    cluster.clock.advance(HOUR)
    stable.manager.state = STATES.ACKNOWLEDGING
    assert not stable.heartbeat.should_heartbeat(cluster.now())
    cluster.broker.asked(BEAT)[-1].reply(beaten(2))
    assert stable.client.await_condition(lambda: not stable.heartbeat.is_in_flight, cluster.soon())


@pytest.mark.parametrize("error", ["COORDINATOR_LOAD_IN_PROGRESS", "NOT_COORDINATOR"])
def test_a_heartbeat_is_repeated_where_that_helps(
    cluster: AssigningCluster, member: BrokerAssignedMember, error: str
) -> None:
    """After a backoff; if the coordinator is another one, that is found first."""
    cluster.refuse(error)
    assert member.poll(cluster.soon())
    assert [each.member_epoch for each in cluster.beats()[:2]] == [0, 0]
    lookups = len(cluster.broker.asked("FindCoordinator"))
    assert (lookups > 1) is (error == "NOT_COORDINATOR")


def test_after_a_lost_answer_everything_is_said_again(
    cluster: AssigningCluster, member: BrokerAssignedMember
) -> None:
    """Also what was acknowledged: nobody knows whether the broker has heard it."""
    cluster.give(0, 1)
    cluster.on(BEAT, in_turn(cluster.answer, CLOSE, cluster.answer))
    assert member.poll(cluster.soon())
    cluster.broker.wait_for(BEAT, 3)
    _, lost, again = cluster.beats()
    assert lost.subscribed_topic_names is None
    assert again.subscribed_topic_names == ["orders"]
    assert again.topic_partitions == lost.topic_partitions
    assert again.member_epoch == 2


@for_each(
    ("error", "why"),
    [
        ("INVALID_REQUEST", "the broker says: No."),
        ("UNSUPPORTED_ASSIGNOR", r"group\.remote\.assignor"),
        ("UNRELEASED_INSTANCE_ID", r"the group\.instance\.id till-1 and has not left"),
        ("FENCED_INSTANCE_ID", r"the same group\.instance\.id, till-1"),
        ("INVALID_REGULAR_EXPRESSION", "RE2"),
        ("GROUP_ID_NOT_FOUND", "the broker says: No."),
    ],
)
def test_a_refusal_says_what_to_change(
    cluster: AssigningCluster, client: ClusterClient, error: str, why: str
) -> None:
    """And what the broker says."""
    member = cluster.member(client, group_instance_id="till-1")
    cluster.refuse(error, "No.")
    with pytest.raises(GroupError, match=why) as raised:
        member.poll(cluster.soon())
    assert raised.value.error == error
    member.close(cluster.soon())


@pytest.mark.parametrize("is_offered", [False, True])
def test_a_broker_that_does_not_speak_the_protocol_ends_the_member_at_once(
    cluster: AssigningCluster,
    member: BrokerAssignedMember,
    is_offered: bool,  # noqa: FBT001 - a case
) -> None:
    """Whether it lacks the API, or has it and not the feature."""
    if is_offered:
        cluster.refuse("UNSUPPORTED_VERSION")
    else:
        cluster.broker.on("ApiVersions", offering(ConsumerGroupHeartbeat=(0, -1)))
        cluster.broker.hang_up()
    with pytest.raises(UnsupportedVersionError, match=r"billing: .*use the classic protocol"):
        member.poll(cluster.soon())
    with pytest.raises(UnsupportedVersionError):
        member.poll(cluster.soon())
    member.close(cluster.soon())


def test_a_topic_that_may_not_be_seen_is_told_once(
    cluster: AssigningCluster, stable: BrokerAssignedMember
) -> None:
    """The member stays in its group: the right may be given."""
    cluster.refuse("TOPIC_AUTHORIZATION_FAILED")
    before = stable.manager.change_count
    cluster.skip_interval()
    assert stable.client.await_condition(
        lambda: stable.manager.change_count > before, cluster.soon()
    )
    with pytest.raises(AuthorizationError, match="allow the operation DESCRIBE"):
        stable.poll(cluster.soon())
    assert stable.poll(cluster.soon())
    assert stable.manager.state is STATES.STABLE


@pytest.mark.parametrize(("highest", "names"), [(1, []), (0, ["orders"])])
def test_a_pattern_goes_to_brokers_that_know_patterns(
    cluster: AssigningCluster, client: ClusterClient, highest: int, names: list[str]
) -> None:
    """Older ones get the names that match."""
    cluster.broker.on("ApiVersions", offering(ConsumerGroupHeartbeat=(0, highest)))
    cluster.broker.hang_up()
    member = cluster.member(client, TopicSubscription(pattern="ord.*"))
    cluster.give(0)
    assert member.poll(cluster.soon())
    first = cluster.beats()[0]
    assert first.subscribed_topic_names == names
    assert first.subscribed_topic_regex == ("ord.*" if highest else None)
    member._close_heartbeats()


def test_a_member_whose_coordinator_is_silent_looks_for_it_again(
    cluster: AssigningCluster, stable: BrokerAssignedMember
) -> None:
    """And stays what it is: only the broker can expel it."""
    cluster.on(BEAT, HOLD)
    cluster.skip_interval()
    cluster.on(BEAT, cluster.answer)
    count = len(cluster.broker.asked("FindCoordinator"))
    cluster.clock.advance(3 * HOUR)
    assert stable.client.await_condition(
        lambda: len(cluster.broker.asked("FindCoordinator")) > count, cluster.soon()
    )
    assert stable.poll(cluster.now() + 1000 * NS_PER_MS)
    assert stable.generation == 2
