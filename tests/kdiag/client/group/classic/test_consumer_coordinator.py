"""Intents of ConsumerCoordinatorTest about joining, callbacks, metadata and closing.

Its tests of commits are held in test_offset_commits, those of fetching offsets in
test_committed_offsets, those of heartbeats and single answers in the tests of what gives them
(test_heartbeat_thread, test_group_join, test_coordinator_lookup). Left out, with the reason:

    testMetrics, testThreadSafeAssignedPartitionsMetric         kdiag keeps no metrics
    testPerformAssignment... (three)                            there are no assignors of users
    ...UserAssignedType, ...ManualAssignment, testCommitOffsetOnly,
    testCommitOffsetShouldNotSetInstanceIdIfMemberIdIsUnknown   a member here always subscribes
    testRefreshOffset, ...WithValidation,
    testNoCoordinatorDiscoveryIf... (two)                       positions are the Fetcher's
    testIncludeInternalTopicsConfigOption                       there is no such option
    testGetGroupMetadata, shouldUpdateConsumerGroupMetadata...  for producers' transactions alone
    testThrowOnUnsupportedStableFlag                            a mode of Kafka Streams alone
    ...DefaultCallback (two)                                    a callback that only logs
    ...ShouldBeRenderedIfNotKafkaException (three)              it is raised as it is
    testUnsubscribeWith... (two)                                closing is the only way out
    testRackAware... with racks of replicas that move within    the same snapshot decides
"""

from collections.abc import Iterator

import pytest

from kdiag.client.cluster_client import ClusterClient
from kdiag.client.group.assignor.assignor import RebalanceProtocol
from kdiag.client.group.classic.consumer_coordinator import ConsumerCoordinator, common_protocol
from kdiag.client.group.member import TopicSubscription
from kdiag.client.group.membership import MemberState
from kdiag.clock import NS_PER_MS
from kdiag.errors import (
    AuthorizationError,
    CommitFailedError,
    ConfigError,
    GroupError,
    RequestTimeoutError,
    WakeupError,
)
from kdiag.wire.api.heartbeat import HeartbeatResponse
from kdiag.wire.api.metadata import MetadataResponseTopic
from scripted_kafka.consumer_cluster import (
    COOPERATIVE,
    EAGER,
    TOPIC,
    ConsumerCluster,
    GivenAssignor,
    assigned,
    keys,
    offsets,
    refused_sync,
    subscribed,
    synced,
)
from scripted_kafka.member_cluster import (
    HOUR,
    MEMBER_ID,
    code,
    in_turn,
    refused_join,
)
from scripted_kafka.scripted_broker import CLOSE, HOLD
from tiers.cases import for_each

BOTH = pytest.mark.parametrize("protocol", [EAGER, COOPERATIVE], ids=["eager", "cooperative"])


@pytest.fixture
def cluster() -> Iterator[ConsumerCluster]:
    """Return a broker that coordinates consumers."""
    with ConsumerCluster() as cluster:
        yield cluster


@pytest.fixture
def client(cluster: ConsumerCluster) -> Iterator[ClusterClient]:
    """Return a client that knows the broker."""
    with cluster.member_client() as client:
        yield client


@pytest.fixture
def member(cluster: ConsumerCluster, client: ClusterClient) -> Iterator[ConsumerCoordinator]:
    """Return an eager member that has not joined yet."""
    member = cluster.consumer(client)
    yield member
    member._close_heartbeats()


def follow(
    cluster: ConsumerCluster, client: ClusterClient, protocol: RebalanceProtocol
) -> ConsumerCoordinator:
    """Return a follower that is stable and owns both partitions."""
    member = cluster.consumer(client, protocol=protocol)
    cluster.let_follow(0, 1)
    assert member.poll(cluster.soon())
    cluster.listener.take()
    return member


def rejoin(cluster: ConsumerCluster, member: ConsumerCoordinator) -> bool:
    """Have a member join again."""
    member.membership.request_rejoin("test")
    return member.poll(cluster.soon())


def refresh(cluster: ConsumerCluster, member: ConsumerCoordinator) -> None:
    """Have a member learn of new metadata; one answer may be older than the call."""
    for _ in range(2):
        assert member.client.await_metadata_update(cluster.soon())
    member._update_metadata()


def test_a_follower_joins_with_its_subscription_and_owns_what_it_is_assigned(
    cluster: ConsumerCluster, member: ConsumerCoordinator
) -> None:
    """The listener is told, and the assignor."""
    cluster.let_follow(0)
    assert member.poll(cluster.soon())
    assert member.assignment == {*keys(0)}
    assert not member.is_leader
    assert cluster.listener.events == [("assigned", ["orders[0]"])]
    assert cluster.assignor.heard == [(keys(0), 1)]
    (protocol,) = cluster.joins()[0].protocols
    assert protocol.name == "range"
    assert b"orders" in protocol.metadata
    assert b"range:orders" in protocol.metadata


def test_the_leader_divides_the_partitions_of_all_topics(
    cluster: ConsumerCluster, member: ConsumerCoordinator
) -> None:
    """Also those of topics that it does not want itself."""
    cluster.set_topic("bills", 3)
    cluster.let_lead(0, others={"m-2": subscribed(TOPIC, "bills")})
    cluster.assignor.given["m-2"] = [*keys(1), *keys(0, 1, 2, topic="bills")]
    assert member.poll(cluster.soon())
    assert member.is_leader
    ((racks, members),) = cluster.assignor.asked
    assert {name: len(each) for name, each in racks.items()} == {TOPIC: 2, "bills": 3}
    assert {name: list(each.topics) for name, each in members.items()} == {
        MEMBER_ID: [TOPIC],
        "m-2": ["bills", TOPIC],
    }
    (sync,) = cluster.messages("SyncGroup")
    assert {each.member_id for each in sync.assignments} == {MEMBER_ID, "m-2"}
    assert member.assignment == {*keys(0)}
    assert not member.rejoin_needed_or_pending()


def test_a_leader_waits_until_it_knows_the_topics_of_all(
    cluster: ConsumerCluster, member: ConsumerCoordinator
) -> None:
    """Without an answer about them, it does not assign."""
    member._request_timeout_ns = 2 * NS_PER_MS
    cluster.let_lead(0, others={"m-2": subscribed("bills")})
    assert member.lookup.ensure_ready(cluster.soon())
    cluster.on("Metadata", HOLD)
    future = member._initiate_join()
    member.client.await_future(future, cluster.soon())
    assert isinstance(future.error(), RequestTimeoutError)
    assert cluster.assignor.asked == []


def test_a_static_leader_that_returns_assigns_nothing(
    cluster: ConsumerCluster, client: ClusterClient
) -> None:
    """KIP-814: the others do not join again; but it watches their topics."""
    cluster.set_topic("bills", 1)
    member = cluster.consumer(client, group_instance_id="till-1")
    cluster.let_lead(0, others={"m-2": subscribed("bills")}, skip_assignment=True)
    assert member.poll(cluster.soon())
    assert cluster.assignor.asked == []
    assert cluster.messages("SyncGroup")[0].assignments == []
    assert member.is_leader

    cluster.set_topic("bills", 2)
    refresh(cluster, member)
    assert member.rejoin_needed_or_pending()
    member._close_heartbeats()


@BOTH
def test_the_members_own_partitions_are_told_unless_they_were_given_up(
    cluster: ConsumerCluster, client: ClusterClient, protocol: RebalanceProtocol
) -> None:
    """Eager members give up all of them before they join."""
    member = follow(cluster, client, protocol)
    cluster.let_follow(1, generation=2)
    assert rejoin(cluster, member)
    if protocol is EAGER:
        expected = [("revoked", ["orders[0]", "orders[1]"]), ("assigned", ["orders[1]"])]
    else:
        expected = [
            ("revoked", ["orders[0]"]),
            ("assigned", []),
            ("assigned", []),
        ]
    assert cluster.listener.take() == expected
    assert member.assignment == {*keys(1)}
    # topic, count of partitions, then the first partition
    owned = b"\0\6orders\0\0\0\2\0\0\0\0\0\0\0\1"
    assert (owned in cluster.joins()[1].protocols[0].metadata) is (protocol is COOPERATIVE)
    member._close_heartbeats()


def test_a_cooperative_member_joins_once_more_after_it_gave_something_up(
    cluster: ConsumerCluster, client: ClusterClient
) -> None:
    """Only then can others get it."""
    member = follow(cluster, client, COOPERATIVE)
    cluster.let_follow(1, generation=2)
    assert rejoin(cluster, member)
    assert len(cluster.joins()) == 3
    assert cluster.joins()[2].reason == "need to revoke partitions and re-join"
    member._close_heartbeats()


@BOTH
def test_partitions_are_lost_with_the_generation(
    cluster: ConsumerCluster, client: ClusterClient, protocol: RebalanceProtocol
) -> None:
    """Whatever the protocol: others may own them already."""
    member = follow(cluster, client, protocol)
    member.membership.reset("test", keeps_member_id=True)
    assert member.poll(cluster.soon())
    both = ["orders[0]", "orders[1]"]
    assert cluster.listener.take() == [("lost", both), ("assigned", both)]
    member._close_heartbeats()


@BOTH
def test_topics_that_are_not_wanted_any_more_are_given_up_first(
    cluster: ConsumerCluster, client: ClusterClient, protocol: RebalanceProtocol
) -> None:
    """The next poll joins for those that are wanted instead."""
    cluster.set_topic("bills", 1)
    member = follow(cluster, client, protocol)
    member.subscribe(TopicSubscription.of("bills"))
    cluster.let_follow(0, generation=2, topic="bills")
    assert member.poll(cluster.soon())
    both = ["orders[0]", "orders[1]"]
    assert cluster.listener.take() == [("revoked", both), ("assigned", ["bills[0]"])]
    assert cluster.joins()[1].reason == "subscription has changed"
    member._close_heartbeats()


def test_an_assignment_that_does_not_fit_is_not_used(
    cluster: ConsumerCluster, member: ConsumerCoordinator
) -> None:
    """The subscription has changed since the member joined: it joins again."""
    cluster.let_follow(0, topic="bills")
    cluster.on("SyncGroup", in_turn(*map(synced, (assigned(0, topic="bills"), assigned(1)))))
    assert member.poll(cluster.soon())
    assert member.assignment == {*keys(1)}
    assert cluster.joins()[1].reason == (
        "received assignment does not match the current subscription"
    )


def test_a_member_without_any_assignment_is_an_error(
    cluster: ConsumerCluster, member: ConsumerCoordinator
) -> None:
    """The leader has left it out: even no partitions are some bytes."""
    cluster.let_join(assignment=b"")
    with pytest.raises(GroupError, match="has assigned nothing to this member"):
        member.poll(cluster.soon())


def test_an_assignor_that_the_member_does_not_have_is_an_error(
    cluster: ConsumerCluster, member: ConsumerCoordinator
) -> None:
    """The coordinator should not have chosen it."""
    cluster.let_join(protocol="sticky", assignment=assigned())
    with pytest.raises(GroupError, match="the assignor sticky, which this member does not have"):
        member.poll(cluster.soon())


@for_each(
    ("supported", "protocol"),
    [
        ([(EAGER,)], EAGER),
        ([(COOPERATIVE,)], COOPERATIVE),
        ([(EAGER, COOPERATIVE), (COOPERATIVE, EAGER)], COOPERATIVE),
        ([(EAGER, COOPERATIVE), (EAGER,)], EAGER),
        ([(EAGER,), (COOPERATIVE,)], None),
        ([], None),
    ],
)
def test_the_most_advanced_protocol_that_all_assignors_have_is_used(
    supported: list[tuple[RebalanceProtocol, ...]], protocol: RebalanceProtocol | None
) -> None:
    """Without one, the setting is to blame."""
    assignors = [GivenAssignor(str(at), each) for at, each in enumerate(supported)]
    if protocol is None:
        with pytest.raises(ConfigError, match=r"partition\.assignment\.strategy"):
            common_protocol(assignors)
    else:
        assert common_protocol(assignors) is protocol


@pytest.mark.parametrize("event", ["revoked", "assigned"])
def test_an_error_of_the_listener_comes_after_the_assignment(
    cluster: ConsumerCluster, client: ClusterClient, event: str
) -> None:
    """The first one counts, and the member is in the group whatever it was."""
    member = follow(cluster, client, COOPERATIVE)
    cluster.listener.failures = {event: ValueError(event), "assigned": ValueError(event)}
    cluster.let_follow(1, generation=2)
    member.membership.request_rejoin("test")
    with pytest.raises(ValueError, match=event):
        member.poll(cluster.soon())
    assert cluster.listener.take() == [("revoked", ["orders[0]"]), ("assigned", [])]
    assert member.assignment == {*keys(1)}
    assert member.poll(cluster.soon())
    member._close_heartbeats()


def test_an_error_of_the_listener_before_a_join_does_not_stop_it(
    cluster: ConsumerCluster, client: ClusterClient
) -> None:
    """The next poll joins, and does not revoke again."""
    member = follow(cluster, client, EAGER)
    cluster.listener.failures = {"revoked": ValueError("in the program")}
    member.membership.request_rejoin("test")
    with pytest.raises(ValueError, match="in the program"):
        member.poll(cluster.soon())
    assert member.assignment == frozenset()
    assert member.poll(cluster.soon())
    events = [name for name, _ in cluster.listener.take()]
    assert events == ["revoked", "assigned"]
    member._close_heartbeats()


def test_a_wakeup_in_the_listener_has_it_called_again(
    cluster: ConsumerCluster, member: ConsumerCoordinator
) -> None:
    """The assignment is in place already, so nothing is new the second time."""
    cluster.let_follow(0)
    cluster.listener.failures = {"assigned": WakeupError("woken up")}
    with pytest.raises(WakeupError):
        member.poll(cluster.soon())
    assert member.poll(cluster.soon())
    assert cluster.listener.take() == [("assigned", ["orders[0]"]), ("assigned", [])]
    assert len(cluster.joins()) == 1


def test_a_wakeup_while_joining_loses_nothing(
    cluster: ConsumerCluster, member: ConsumerCoordinator
) -> None:
    """The join goes on at the next poll."""
    cluster.let_follow(0)
    member.client.wakeup()
    with pytest.raises(WakeupError):
        member.poll(cluster.soon())
    assert member.poll(cluster.soon())
    assert member.assignment == {*keys(0)}


def test_the_leader_has_the_group_rebalance_when_a_topic_grows(
    cluster: ConsumerCluster, member: ConsumerCoordinator
) -> None:
    """It assigns the new partition then."""
    cluster.let_lead(0, 1)
    assert member.poll(cluster.soon())
    cluster.set_topic(TOPIC, 3)
    refresh(cluster, member)
    cluster.let_lead(0, 1, 2, generation=2)
    assert member.poll(cluster.soon())
    assert cluster.joins()[1].reason == "cached metadata has changed"
    assert member.assignment == {*keys(0, 1, 2)}
    assert not member.rejoin_needed_or_pending()


def test_only_the_leader_watches_topics(cluster: ConsumerCluster, client: ClusterClient) -> None:
    """Followers would all do the same."""
    member = follow(cluster, client, EAGER)
    cluster.set_topic(TOPIC, 3)
    refresh(cluster, member)
    assert not member.rejoin_needed_or_pending()
    member._close_heartbeats()


def test_the_leader_watches_the_topics_of_others(
    cluster: ConsumerCluster, member: ConsumerCoordinator
) -> None:
    """As long as it leads."""
    cluster.set_topic("bills", 1)
    cluster.let_lead(0, others={"m-2": subscribed("bills")})
    assert member.poll(cluster.soon())
    cluster.set_topic("bills", 2)
    refresh(cluster, member)
    assert member.rejoin_needed_or_pending()
    cluster.let_follow(0, generation=2)
    assert member.poll(cluster.soon())
    assert not member.is_leader
    cluster.set_topic("bills", 3)
    refresh(cluster, member)
    assert not member.rejoin_needed_or_pending()


def test_a_leader_whose_rebalance_failed_may_follow_in_the_next(
    cluster: ConsumerCluster, member: ConsumerCoordinator
) -> None:
    """It does not watch topics then."""
    cluster.let_lead(0, 1)
    lead = cluster.broker._replies["JoinGroup"]
    cluster.let_follow(0, generation=2)
    follow = cluster.broker._replies["JoinGroup"]
    cluster.on("JoinGroup", in_turn(lead, follow))
    cluster.on("SyncGroup", in_turn(refused_sync("REBALANCE_IN_PROGRESS"), synced(assigned(0))))
    assert member.poll(cluster.soon())
    assert len(cluster.assignor.asked) == 1
    assert not member.is_leader
    cluster.set_topic(TOPIC, 3)
    refresh(cluster, member)
    assert not member.rejoin_needed_or_pending()


def test_metadata_that_changes_during_a_rebalance_causes_another(
    cluster: ConsumerCluster, member: ConsumerCoordinator
) -> None:
    """What was assigned is not all any more."""
    cluster.let_lead(0, 1)
    cluster.on("SyncGroup", HOLD)
    while not cluster.broker.asked("SyncGroup"):
        assert not member.poll(cluster.now() + NS_PER_MS)
    cluster.set_topic(TOPIC, 3)
    refresh(cluster, member)
    cluster.let_lead(0, 1, 2, generation=2)
    cluster.broker.wait_for("SyncGroup").reply(synced(assigned(0, 1)))
    assert member.poll(cluster.soon())
    assert len(cluster.joins()) == 2
    assert member.assignment == {*keys(0, 1, 2)}


def test_a_topic_that_is_created_or_deleted_changes_the_assignment(
    cluster: ConsumerCluster, member: ConsumerCoordinator
) -> None:
    """A member may wait for a topic, and goes on without it."""
    cluster.topics = []
    cluster.let_lead()
    assert member.poll(cluster.soon())
    assert cluster.assignor.asked[0][0] == {}
    cluster.set_topic(TOPIC, 1)
    refresh(cluster, member)
    cluster.let_lead(0, generation=2)
    assert member.poll(cluster.soon())
    assert member.assignment == {*keys(0)}
    cluster.topics = []
    refresh(cluster, member)
    cluster.let_lead(generation=3)
    assert member.poll(cluster.soon())
    assert member.assignment == frozenset()


@pytest.mark.parametrize(
    ("rack", "racks", "rejoins"),
    [
        ("a", ["a", "b"], True),
        ("a", ["c"], True),
        ("a", ["rack-1"], False),
        (None, ["a", "b"], False),
    ],
)
def test_racks_matter_to_members_that_have_one(
    cluster: ConsumerCluster,
    client: ClusterClient,
    rack: str | None,
    racks: list[str],
    rejoins: bool,  # noqa: FBT001 - a case
) -> None:
    """KIP-881: replicas that move to another rack are worth a rebalance then."""
    member = cluster.consumer(client, rack=rack)
    cluster.let_lead(0, 1)
    assert member.poll(cluster.soon())
    tag = b"\xff\xff" if rack is None else b"\0\1a"
    assert cluster.joins()[0].protocols[0].metadata.endswith(tag)
    refresh(cluster, member)
    cluster.move_to(racks)
    refresh(cluster, member)
    assert member.rejoin_needed_or_pending() is rejoins
    member._close_heartbeats()


def test_a_pattern_stands_for_the_topics_that_match_it(
    cluster: ConsumerCluster, client: ClusterClient
) -> None:
    """All topics are looked at before it joins, but for Kafka's own."""
    cluster.set_topic("orders-2", 1)
    cluster.set_topic("bills", 1)
    cluster.topics.append(MetadataResponseTopic(name="ordersinternal", is_internal=True))
    member = cluster.consumer(client, TopicSubscription(pattern="orders.*"))
    cluster.let_follow(0)
    assert member.poll(cluster.soon())
    metadata = cluster.joins()[0].protocols[0].metadata
    assert b"range:orders,orders-2" in metadata
    assert cluster.messages("Metadata")[-1].topics is None

    cluster.set_topic("orders-3", 1)
    refresh(cluster, member)
    cluster.let_follow(0, generation=2, topic="orders-3")
    assert member.poll(cluster.soon())
    assert cluster.joins()[1].reason == "subscription has changed"
    member._close_heartbeats()


def test_a_pattern_takes_the_leaders_word_for_new_topics(
    cluster: ConsumerCluster, client: ClusterClient
) -> None:
    """It may have seen one first, which must match; the member does not join again for it."""
    member = cluster.consumer(client, TopicSubscription(pattern="orders.*"))
    cluster.let_follow(0, topic="orders-9")
    assert member.poll(cluster.soon())
    assert member.assignment == {*keys(0, topic="orders-9")}
    cluster.set_topic("orders-9", 1)
    refresh(cluster, member)
    assert not member.rejoin_needed_or_pending()
    member._close_heartbeats()


def test_a_member_may_change_to_a_pattern_and_back(
    cluster: ConsumerCluster, client: ClusterClient
) -> None:
    """It asks for all topics only while it must."""
    cluster.set_topic("orders-2", 1)
    member = follow(cluster, client, EAGER)
    member.subscribe(TopicSubscription(pattern="orders-.*"))
    cluster.let_follow(0, generation=2, topic="orders-2")
    assert member.poll(cluster.soon())
    assert member.assignment == {*keys(0, topic="orders-2")}
    member.subscribe(TopicSubscription.of(TOPIC))
    cluster.let_follow(0, generation=3)
    assert member.poll(cluster.soon())
    refresh(cluster, member)
    assert [each.name for each in cluster.messages("Metadata")[-1].topics] == [TOPIC]
    member._close_heartbeats()


def test_a_topic_that_may_not_be_seen_is_an_error_until_it_is_not_wanted(
    cluster: ConsumerCluster, client: ClusterClient
) -> None:
    """The member lives on."""
    denied = MetadataResponseTopic(error_code=code("TOPIC_AUTHORIZATION_FAILED"), name="secret")
    cluster.topics.append(denied)
    member = cluster.consumer(client, TopicSubscription.of("secret"))
    cluster.let_lead()
    with pytest.raises(AuthorizationError, match="may not see secret"):
        member.poll(cluster.soon())
    member.subscribe(TopicSubscription.of(TOPIC))
    cluster.let_lead(0)
    assert member.poll(cluster.soon())
    assert member.assignment == {*keys(0)}
    member._close_heartbeats()


@pytest.mark.parametrize(
    "error", ["UNKNOWN_MEMBER_ID", "REBALANCE_IN_PROGRESS", "ILLEGAL_GENERATION", CLOSE]
)
def test_a_rebalance_that_fails_at_its_end_begins_again(
    cluster: ConsumerCluster, member: ConsumerCoordinator, error: object
) -> None:
    """In the same poll."""
    cluster.let_follow(0)
    first = refused_sync(error) if isinstance(error, str) else CLOSE
    cluster.on("SyncGroup", in_turn(first, synced(assigned(0))))
    assert member.poll(cluster.soon())
    assert len(cluster.joins()) == 2
    assert member.assignment == {*keys(0)}


@pytest.mark.parametrize(
    "error", ["INVALID_GROUP_ID", "INVALID_SESSION_TIMEOUT", "INCONSISTENT_GROUP_PROTOCOL"]
)
def test_a_group_may_refuse_a_member_for_good(
    cluster: ConsumerCluster, member: ConsumerCoordinator, error: str
) -> None:
    """The poll raises it."""
    cluster.on("JoinGroup", refused_join(error))
    with pytest.raises(GroupError, match=error):
        member.poll(cluster.soon())


def test_the_program_lives_also_while_there_is_no_coordinator(
    cluster: ConsumerCluster, client: ClusterClient
) -> None:
    """It must not leave the group for having polled in vain."""
    member = follow(cluster, client, EAGER)
    cluster.on("FindCoordinator", cluster.found("COORDINATOR_NOT_AVAILABLE"))
    member.lookup.mark_unknown()
    cluster.clock.advance(15 * HOUR)
    assert not member.poll(cluster.now())
    cluster.clock.advance(15 * HOUR)
    assert not member.heartbeat.has_poll_expired(cluster.now())
    member._close_heartbeats()


def test_an_expelled_member_loses_its_partitions_and_joins_again(
    cluster: ConsumerCluster, client: ClusterClient
) -> None:
    """It learns of it by a heartbeat."""
    member = follow(cluster, client, EAGER)
    cluster.on("Heartbeat", HeartbeatResponse(error_code=code("UNKNOWN_MEMBER_ID")))
    member.client.await_future(member.send_heartbeat(), cluster.soon())
    assert member.membership.state is MemberState.UNJOINED
    assert member.poll(cluster.soon())
    assert [name for name, _ in cluster.listener.take()] == ["lost", "assigned"]
    member._close_heartbeats()


def test_closing_gives_everything_up_and_leaves(
    cluster: ConsumerCluster, client: ClusterClient
) -> None:
    """The listener can still commit: the member is in the group."""
    member = follow(cluster, client, EAGER)
    member.close(cluster.soon())
    assert cluster.listener.take() == [("revoked", ["orders[0]", "orders[1]"])]
    assert member.assignment == frozenset()
    assert len(cluster.broker.asked("LeaveGroup")) == 1


def test_closing_in_the_middle_of_a_rebalance_loses_partitions(
    cluster: ConsumerCluster, client: ClusterClient
) -> None:
    """Or outside of the group: a commit would be refused."""
    member = follow(cluster, client, COOPERATIVE)
    cluster.on("JoinGroup", HOLD)
    member.membership.request_rejoin("test")
    assert not member.poll(cluster.now())
    member.close(cluster.now())
    assert [name for name, _ in cluster.listener.take()] == ["lost"]


def test_a_member_that_never_joined_has_nothing_to_close(
    cluster: ConsumerCluster, member: ConsumerCoordinator
) -> None:
    """Neither partitions nor a group."""
    member.close(cluster.soon())
    assert cluster.listener.events == []
    assert cluster.broker.asked("LeaveGroup") == []


def test_a_pending_member_leaves(cluster: ConsumerCluster, member: ConsumerCoordinator) -> None:
    """The coordinator has given it an id and waits for it."""
    cluster.on("JoinGroup", in_turn(refused_join("MEMBER_ID_REQUIRED", "m-7"), HOLD))
    while len(cluster.broker.asked("JoinGroup")) < 2:
        assert not member.poll(cluster.now() + NS_PER_MS)
    member.close(cluster.now() + NS_PER_MS)
    assert cluster.broker.wait_for("LeaveGroup").message().members[0].member_id == "m-7"  # type: ignore[attr-defined]


def test_a_member_that_has_left_cannot_commit(
    cluster: ConsumerCluster, client: ClusterClient
) -> None:
    """Its program is told why it left."""
    member = follow(cluster, client, EAGER)
    member.handle_poll_timeout()
    with pytest.raises(CommitFailedError, match=r"was not polled for max\.poll\.interval\.ms"):
        member.commit(offsets(1), cluster.soon())


def test_the_next_poll_is_due_with_the_next_heartbeat_or_commit(
    cluster: ConsumerCluster, client: ClusterClient
) -> None:
    """Whichever comes first."""
    member = follow(cluster, client, EAGER)
    assert 0 < member.ns_to_next_poll() <= HOUR
    member._close_heartbeats()
    committing = cluster.consumer(client, auto_commit_interval_ns=HOUR // 2)
    assert 0 < committing.ns_to_next_poll() <= HOUR // 2


def test_a_member_that_commits_by_itself_must_know_what(
    cluster: ConsumerCluster, client: ClusterClient
) -> None:
    """It does not read records itself."""
    settings = cluster.settings._replace(auto_commit_interval_ns=HOUR)
    topics = TopicSubscription.of(TOPIC)
    with pytest.raises(ValueError, match="needs the consumed positions"):
        ConsumerCoordinator(client, settings, topics, [GivenAssignor()], cluster.listener)
