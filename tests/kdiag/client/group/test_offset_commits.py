"""Intents of ConsumerCoordinatorTest about commits: sync, async, automatic, and before a join."""

from collections.abc import Iterator

import pytest

from kdiag.client.cluster_client import ClusterClient
from kdiag.client.fetch.position import PartitionKey
from kdiag.client.group.classic.consumer_coordinator import ConsumerCoordinator
from kdiag.client.group.member import OffsetAndMetadata
from kdiag.client.group.membership import Generation, MemberState
from kdiag.client.group.offset_commits import Offsets
from kdiag.clock import NS_PER_MS
from kdiag.errors import (
    AuthorizationError,
    CommitFailedError,
    DisconnectedError,
    GroupError,
    KdiagError,
    RequestTimeoutError,
)
from scripted_kafka.consumer_cluster import (
    COOPERATIVE,
    EAGER,
    ConsumerCluster,
    commit_answer,
    keys,
    offsets,
)
from scripted_kafka.member_cluster import HOUR, MEMBER_ID, await_request
from scripted_kafka.scripted_broker import CLOSE, HOLD

FIRST = Generation(1, MEMBER_ID, "range")
MINUTE = HOUR // 60


@pytest.fixture
def cluster() -> Iterator[ConsumerCluster]:
    """Return a broker that coordinates consumers and takes commits."""
    with ConsumerCluster() as cluster:
        cluster.let_follow(0, 1)
        cluster.let_commit()
        yield cluster


@pytest.fixture
def client(cluster: ConsumerCluster) -> Iterator[ClusterClient]:
    """Return a client that knows the broker."""
    with cluster.member_client() as client:
        yield client


@pytest.fixture
def member(cluster: ConsumerCluster, client: ClusterClient) -> Iterator[ConsumerCoordinator]:
    """Return a member that is stable in generation 1."""
    member = cluster.consumer(client)
    assert member.poll(cluster.soon())
    yield member
    member._close_heartbeats()


@pytest.fixture
def automatic(cluster: ConsumerCluster, client: ClusterClient) -> Iterator[ConsumerCoordinator]:
    """Return a stable member that commits every minute, and has read something."""
    cluster.consumed = offsets(10, 20)
    member = cluster.consumer(client, auto_commit_interval_ns=MINUTE)
    assert member.poll(cluster.soon())
    yield member
    member._close_heartbeats()


class Outcomes(list[KdiagError | None]):
    """The errors of commits that nobody waited for, in the order of their callbacks."""

    def keep(self, _: Offsets, error: KdiagError | None) -> None:
        """Keep how one ended."""
        self.append(error)


def committed(cluster: ConsumerCluster) -> list[dict[PartitionKey, int]]:
    """Return the offsets of each commit."""
    return [
        {
            PartitionKey(topic.name, each.partition_index): each.committed_offset
            for topic in request.topics
            for each in topic.partitions
        }
        for request in cluster.messages("OffsetCommit")
    ]


def test_a_commit_names_the_generation(
    cluster: ConsumerCluster, member: ConsumerCoordinator
) -> None:
    """Offset, leader epoch and note of each partition."""
    given = {
        keys(0)[0]: OffsetAndMetadata(7, 3, "note"),
        keys(0, topic="bills")[0]: OffsetAndMetadata(8),
    }
    member.commit(given, cluster.soon())
    (request,) = cluster.messages("OffsetCommit")
    assert (request.group_id, request.member_id) == ("billing", MEMBER_ID)
    assert request.generation_id_or_member_epoch == 1
    assert request.group_instance_id is None
    (each,) = request.topics[0].partitions
    assert (each.committed_offset, each.committed_leader_epoch) == (7, 3)
    assert each.committed_metadata == "note"
    assert [topic.name for topic in request.topics] == ["orders", "bills"]


def test_a_static_member_commits_under_its_name(
    cluster: ConsumerCluster, client: ClusterClient
) -> None:
    """So that it can be fenced."""
    member = cluster.consumer(client, group_instance_id="till-1")
    assert member.poll(cluster.soon())
    member.commit(offsets(1), cluster.soon())
    assert cluster.messages("OffsetCommit")[0].group_instance_id == "till-1"
    member._close_heartbeats()


def test_an_offset_before_the_first_is_a_mistake(
    cluster: ConsumerCluster, member: ConsumerCoordinator
) -> None:
    """Nothing is sent."""
    with pytest.raises(ValueError, match=r"that of orders\[1\] is"):
        member.commit(offsets(0, -1), cluster.soon())
    assert cluster.broker.asked("OffsetCommit") == []


@pytest.mark.parametrize(
    "first",
    [
        "COORDINATOR_LOAD_IN_PROGRESS",
        "UNKNOWN_TOPIC_OR_PARTITION",
        "COORDINATOR_NOT_AVAILABLE",
        "NOT_COORDINATOR",
        "REQUEST_TIMED_OUT",
        CLOSE,
    ],
)
def test_a_commit_is_repeated_where_that_helps(
    cluster: ConsumerCluster, member: ConsumerCoordinator, first: str
) -> None:
    """The coordinator is looked for again if it was not the right one."""
    cluster.let_commit(first, "NONE")
    lookups = len(cluster.broker.asked("FindCoordinator"))
    member.commit(offsets(1, 2), cluster.soon())
    assert committed(cluster) == [{keys(0)[0]: 1, keys(1)[0]: 2}] * 2
    is_known = first in {"COORDINATOR_LOAD_IN_PROGRESS", "UNKNOWN_TOPIC_OR_PARTITION"}
    assert (len(cluster.broker.asked("FindCoordinator")) == lookups) is is_known


@pytest.mark.parametrize(
    ("error", "text"),
    [
        ("GROUP_AUTHORIZATION_FAILED", "the operation READ on the group"),
        ("OFFSET_METADATA_TOO_LARGE", "the note beside a committed offset"),
        ("INVALID_COMMIT_OFFSET_SIZE", "too large"),
        ("UNKNOWN_SERVER_ERROR", "unexpected answer to OffsetCommit"),
    ],
)
def test_some_refusals_are_for_good(
    cluster: ConsumerCluster, member: ConsumerCoordinator, error: str, text: str
) -> None:
    """The member stays in its group."""
    cluster.let_commit(error)
    with pytest.raises(GroupError, match=text):
        member.commit(offsets(1), cluster.soon())
    assert member.membership.stable_generation == FIRST


def test_topics_that_may_not_be_read_are_named(
    cluster: ConsumerCluster, member: ConsumerCoordinator
) -> None:
    """All of them."""
    cluster.let_commit("TOPIC_AUTHORIZATION_FAILED")
    given = {**offsets(1), **offsets(1, topic="bills")}
    with pytest.raises(AuthorizationError, match="commit offsets of bills, orders; allow"):
        member.commit(given, cluster.soon())


@pytest.mark.parametrize(
    ("error", "member_id"), [("UNKNOWN_MEMBER_ID", ""), ("ILLEGAL_GENERATION", MEMBER_ID)]
)
def test_a_member_that_was_expelled_cannot_commit(
    cluster: ConsumerCluster, member: ConsumerCoordinator, error: str, member_id: str
) -> None:
    """It joins again; its id may still be good. The two limits that it may have passed are told."""
    cluster.let_commit(error)
    with pytest.raises(CommitFailedError, match=r"session\.timeout\.ms.*max\.poll\.interval\.ms"):
        member.commit(offsets(1), cluster.soon())
    assert member.membership.generation == Generation(-1, member_id, None)
    assert member.membership.state is MemberState.UNJOINED
    with pytest.raises(CommitFailedError, match=f"encountered {error}"):
        member.commit(offsets(1), cluster.soon())


@pytest.mark.parametrize("error", ["UNKNOWN_MEMBER_ID", "ILLEGAL_GENERATION", "FENCED_INSTANCE_ID"])
@pytest.mark.parametrize("state", [MemberState.PREPARING_REBALANCE, MemberState.STABLE])
def test_a_commit_of_an_old_generation_is_refused_as_what_it_is(
    cluster: ConsumerCluster, member: ConsumerCoordinator, error: str, state: MemberState
) -> None:
    """In a rebalance the member will be in the group again; otherwise others have taken over."""
    cluster.on("OffsetCommit", HOLD)
    future = member.commits.send(offsets(1))
    received = await_request(cluster, member, "OffsetCommit")
    newer = Generation(2, MEMBER_ID, "range")
    member.membership.generation, member.membership.state = newer, state
    received.reply(commit_answer(received, error))
    member.client.await_future(future, cluster.soon())
    if state is MemberState.PREPARING_REBALANCE:
        assert "REBALANCE_IN_PROGRESS" in str(future.error())
        assert member.membership.generation == newer
    else:
        assert isinstance(future.error(), CommitFailedError)


def test_a_rebalance_elsewhere_must_be_joined_first(
    cluster: ConsumerCluster, member: ConsumerCoordinator
) -> None:
    """The generation is kept."""
    cluster.let_commit("REBALANCE_IN_PROGRESS")
    with pytest.raises(GroupError, match="poll the member until it is stable"):
        member.commit(offsets(1), cluster.soon())
    assert member.rejoin_needed_or_pending()
    assert member.membership.generation == FIRST
    assert member.membership.rejoin_reason == (
        "offset commit failed since group is already rebalancing"
    )


def test_nobody_commits_in_the_middle_of_a_rebalance(
    cluster: ConsumerCluster, member: ConsumerCoordinator
) -> None:
    """The coordinator would refuse it."""
    cluster.on("JoinGroup", HOLD)
    member.membership.request_rejoin("test")
    assert not member.poll(cluster.now())
    with pytest.raises(GroupError, match="REBALANCE_IN_PROGRESS"):
        member.commit(offsets(1), cluster.soon())
    assert cluster.broker.asked("OffsetCommit") == []


def test_a_fenced_member_is_told_at_once(
    cluster: ConsumerCluster, member: ConsumerCoordinator
) -> None:
    """And again and again, once a commit that nobody waited for has shown it."""
    cluster.let_commit("FENCED_INSTANCE_ID")
    with pytest.raises(GroupError, match="another member has joined with the same"):
        member.commit(offsets(1), cluster.soon())
    future = member.commits.commit_async(offsets(1))
    assert future is not None
    member.client.await_future(future, cluster.soon())
    for _ in range(2):
        with pytest.raises(GroupError, match="FENCED_INSTANCE_ID"):
            member.commit(offsets(1), cluster.soon())
    with pytest.raises(GroupError, match="FENCED_INSTANCE_ID"):
        member.commit_async(offsets(1))


def test_a_commit_waits_no_longer_than_it_may(
    cluster: ConsumerCluster, member: ConsumerCoordinator
) -> None:
    """For the answer, or for a coordinator."""
    cluster.on("OffsetCommit", HOLD)
    with pytest.raises(RequestTimeoutError, match="has not confirmed the commit in time"):
        member.commit(offsets(1), cluster.now() + NS_PER_MS)
    cluster.on("FindCoordinator", cluster.found("COORDINATOR_NOT_AVAILABLE"))
    member.lookup.mark_unknown()
    with pytest.raises(RequestTimeoutError):
        member.commit(offsets(1), cluster.now() + NS_PER_MS)


def test_nobody_waits_for_a_commit_that_is_async(
    cluster: ConsumerCluster, member: ConsumerCoordinator
) -> None:
    """Its callback is called by a later poll."""
    outcomes = Outcomes()
    cluster.on("OffsetCommit", HOLD)
    member.commit_async(offsets(1), outcomes.keep)
    assert member.commits.in_flight_count == 1
    received = await_request(cluster, member, "OffsetCommit")
    received.reply(commit_answer(received))
    member.client.await_condition(lambda: not member.commits.in_flight_count, cluster.soon())
    assert outcomes == []
    assert member.poll(cluster.soon())
    assert outcomes == [None]


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        ("COORDINATOR_NOT_AVAILABLE", GroupError),
        ("NOT_COORDINATOR", GroupError),
        (CLOSE, DisconnectedError),
        ("UNKNOWN_MEMBER_ID", CommitFailedError),
    ],
)
def test_a_commit_that_is_async_is_not_repeated(
    cluster: ConsumerCluster, member: ConsumerCoordinator, answer: str, error: type[KdiagError]
) -> None:
    """A later one may have been sent meanwhile; its callback gets the error."""
    cluster.let_commit(answer)
    outcomes = Outcomes()
    member.commit_async(offsets(1), outcomes.keep)
    member.client.await_condition(lambda: not member.commits.in_flight_count, cluster.soon())
    member.commits.call_back()
    assert [type(each) for each in outcomes] == [error]
    assert len(cluster.broker.asked("OffsetCommit")) == 1


def test_commits_call_back_in_order_before_one_that_waits_ends(
    cluster: ConsumerCluster, member: ConsumerCoordinator
) -> None:
    """Also before one of nothing, which waits for them alone."""
    outcomes = Outcomes()
    for _ in range(3):
        member.commit_async(offsets(1), outcomes.keep)
    member.commit(offsets(2), cluster.soon())
    assert outcomes == [None] * 3
    member.commit_async(offsets(3), outcomes.keep)
    member.commit({}, cluster.soon())
    assert outcomes == [None] * 4
    assert [each[keys(0)[0]] for each in committed(cluster)] == [1, 1, 1, 2, 3]


def test_many_commits_fail_with_their_coordinator(
    cluster: ConsumerCluster, member: ConsumerCoordinator
) -> None:
    """All of them, and it is looked for once."""
    cluster.on("OffsetCommit", HOLD)
    outcomes = Outcomes()
    for _ in range(50):
        member.commit_async(offsets(1), outcomes.keep)
    member.lookup.mark_unknown()
    member.client.await_condition(lambda: not member.commits.in_flight_count, cluster.soon())
    member.commits.call_back()
    assert [type(each) for each in outcomes] == [DisconnectedError] * 50


def test_a_commit_may_have_to_wait_for_a_coordinator(
    cluster: ConsumerCluster, member: ConsumerCoordinator
) -> None:
    """It is sent as soon as that is found, or fails with the search."""
    member._close_heartbeats()
    outcomes = Outcomes()
    member.lookup.mark_unknown(is_disconnected=True)
    cluster.on("FindCoordinator", HOLD)
    member.commit_async(offsets(1), outcomes.keep)
    assert member.commits.pending_count == 1
    await_request(cluster, member, "FindCoordinator", 2).reply(cluster.found())
    member.client.await_condition(
        lambda: not (member.commits.pending_count or member.commits.in_flight_count),
        cluster.soon(),
    )
    member.commits.call_back()
    assert outcomes == [None]

    member.lookup.mark_unknown(is_disconnected=True)
    member.lookup.clear_future()
    member.commit_async(offsets(2), outcomes.keep)
    answer = cluster.found("GROUP_AUTHORIZATION_FAILED")
    await_request(cluster, member, "FindCoordinator", 3).reply(answer)
    member.client.await_condition(lambda: not member.commits.pending_count, cluster.soon())
    member.commits.call_back()
    assert "GROUP_AUTHORIZATION_FAILED" in str(outcomes[1])


def test_a_member_commits_by_itself_when_it_is_time(
    cluster: ConsumerCluster, automatic: ConsumerCoordinator
) -> None:
    """The interval begins anew with each assignment."""
    assert automatic.poll(cluster.soon())
    assert cluster.broker.asked("OffsetCommit") == []
    cluster.clock.advance(MINUTE)
    assert automatic.poll(cluster.soon())
    await_request(cluster, automatic, "OffsetCommit")
    assert committed(cluster) == [{keys(0)[0]: 10, keys(1)[0]: 20}]
    assert automatic.poll(cluster.soon())
    assert len(cluster.broker.asked("OffsetCommit")) == 1


def test_a_commit_by_itself_that_fails_is_repeated_soon_and_known(
    cluster: ConsumerCluster, automatic: ConsumerCoordinator
) -> None:
    """If repeating it may help."""
    cluster.let_commit("COORDINATOR_LOAD_IN_PROGRESS", "NONE")
    cluster.clock.advance(MINUTE)
    assert automatic.poll(cluster.soon())
    commits = automatic.commits
    for count in (1, 2):
        await_request(cluster, automatic, "OffsetCommit", count)
        automatic.client.await_condition(lambda: not commits.in_flight_count, cluster.soon())
        if count == 1:
            commits.call_back()
            assert "COORDINATOR_LOAD_IN_PROGRESS" in str(commits.auto_commit_error)
            cluster.clock.advance(NS_PER_MS)
        assert automatic.poll(cluster.soon())
    assert automatic.commits.auto_commit_error is None


def test_a_member_commits_by_itself_once_its_coordinator_is_back(
    cluster: ConsumerCluster, automatic: ConsumerCoordinator
) -> None:
    """It was time to while there was none."""
    automatic._close_heartbeats()
    cluster.on("FindCoordinator", cluster.found("COORDINATOR_NOT_AVAILABLE"))
    automatic.lookup.mark_unknown(is_disconnected=True)
    cluster.clock.advance(MINUTE)
    assert not automatic.poll(cluster.now() + NS_PER_MS)
    assert cluster.broker.asked("OffsetCommit") == []
    cluster.let_find()
    assert automatic.poll(cluster.soon())
    await_request(cluster, automatic, "OffsetCommit")


def test_a_member_that_is_told_what_to_commit_never_does_so_by_itself(
    cluster: ConsumerCluster, member: ConsumerCoordinator
) -> None:
    """Not even when it joins or is closed."""
    cluster.consumed = offsets(1)
    cluster.clock.advance(HOUR)
    member.membership.request_rejoin("test")
    assert member.poll(cluster.soon())
    member.close(cluster.soon())
    assert member.commits.ns_to_next() is None
    assert cluster.broker.asked("OffsetCommit") == []


def test_what_was_read_is_committed_before_a_rebalance(
    cluster: ConsumerCluster, automatic: ConsumerCoordinator
) -> None:
    """Then partitions are given up."""
    automatic.membership.request_rejoin("test")
    assert automatic.poll(cluster.soon())
    assert committed(cluster) == [{keys(0)[0]: 10, keys(1)[0]: 20}]
    names = [each.name for each in cluster.broker.requests]
    assert names.index("OffsetCommit") < len(names) - 1 - names[::-1].index("JoinGroup")


def test_a_commit_before_a_rebalance_is_repeated_where_that_helps(
    cluster: ConsumerCluster, automatic: ConsumerCoordinator
) -> None:
    """By later polls; nothing is given up until then."""
    cluster.let_commit("UNKNOWN_TOPIC_OR_PARTITION", "UNKNOWN_TOPIC_OR_PARTITION", "NONE")
    automatic.membership.request_rejoin("test")
    cluster.listener.take()
    for _ in range(2):
        assert not automatic.poll(cluster.soon())
        assert cluster.listener.take() == []
    assert automatic.poll(cluster.soon())
    assert [name for name, _ in cluster.listener.take()] == ["revoked", "assigned"]
    assert len(cluster.broker.asked("OffsetCommit")) == 3


@pytest.mark.parametrize("protocol", [EAGER, COOPERATIVE])
def test_partitions_are_not_to_be_read_while_their_offsets_are_committed(
    cluster: ConsumerCluster, client: ClusterClient, protocol: object
) -> None:
    """By an eager member, which gives all of them up."""
    cluster.consumed = offsets(1, 2)
    member = cluster.consumer(client, protocol=protocol, auto_commit_interval_ns=MINUTE)  # type: ignore[arg-type]
    assert member.poll(cluster.soon())
    cluster.on("OffsetCommit", HOLD)
    member.membership.request_rejoin("test")
    assert not member.poll(cluster.now() + NS_PER_MS)
    expected = frozenset(keys(0, 1)) if protocol is EAGER else frozenset()
    assert member.subscriptions.pending_revocation == expected
    assert member.assignment == {*keys(0, 1)}
    member._close_heartbeats()


@pytest.mark.parametrize("error", ["UNKNOWN_MEMBER_ID", "OFFSET_METADATA_TOO_LARGE"])
def test_a_commit_that_cannot_succeed_does_not_hold_up_a_rebalance(
    cluster: ConsumerCluster, automatic: ConsumerCoordinator, error: str
) -> None:
    """Partitions are lost if the member is."""
    cluster.let_commit(error)
    automatic.membership.request_rejoin("test")
    cluster.listener.take()
    assert automatic.poll(cluster.soon())
    events = [name for name, _ in cluster.listener.take()]
    assert events == ["lost" if error == "UNKNOWN_MEMBER_ID" else "revoked", "assigned"]


def test_a_commit_does_not_take_longer_than_the_group_waits(
    cluster: ConsumerCluster, automatic: ConsumerCoordinator
) -> None:
    """The member would be expelled."""
    automatic._close_heartbeats()
    cluster.let_commit("UNKNOWN_TOPIC_OR_PARTITION")
    automatic.membership.request_rejoin("test")
    assert not automatic.poll(cluster.soon())
    cluster.clock.advance(20 * HOUR)
    assert automatic.poll(cluster.soon())
    assert len(cluster.joins()) == 2


def test_closing_commits_a_last_time(
    cluster: ConsumerCluster, automatic: ConsumerCoordinator
) -> None:
    """Before the member leaves."""
    automatic.close(cluster.soon())
    assert committed(cluster) == [{keys(0)[0]: 10, keys(1)[0]: 20}]
    names = [each.name for each in cluster.broker.requests]
    assert names.index("OffsetCommit") < names.index("LeaveGroup")
    assert automatic.commits.auto_commit_error is None


@pytest.mark.parametrize("answer", [HOLD, "UNKNOWN_SERVER_ERROR"])
def test_closing_leaves_whatever_becomes_of_the_last_commit(
    cluster: ConsumerCluster, automatic: ConsumerCoordinator, answer: str
) -> None:
    """The error is kept."""
    cluster.let_commit(answer)
    automatic.close(cluster.now() + 20 * NS_PER_MS)
    cluster.broker.wait_for("LeaveGroup")
    assert automatic.commits.auto_commit_error is not None


def test_closing_sends_what_waits_for_a_coordinator(
    cluster: ConsumerCluster, member: ConsumerCoordinator
) -> None:
    """As long as it may take."""
    member._close_heartbeats()
    outcomes = Outcomes()
    member.lookup.mark_unknown(is_disconnected=True)
    cluster.on("FindCoordinator", HOLD)
    member.commit_async(offsets(1), outcomes.keep)
    received = await_request(cluster, member, "FindCoordinator", 2)
    cluster.let_find()
    received.reply(cluster.found())
    member.close(cluster.soon())
    assert committed(cluster) == [{keys(0)[0]: 1}]


def test_closing_without_a_coordinator_ends_in_time(
    cluster: ConsumerCluster, member: ConsumerCoordinator
) -> None:
    """Nothing can be sent."""
    member._close_heartbeats()
    cluster.on("FindCoordinator", cluster.found("COORDINATOR_NOT_AVAILABLE"))
    member.lookup.mark_unknown()
    member.close(cluster.now() + 2 * NS_PER_MS)
    assert cluster.broker.asked("LeaveGroup") == []
