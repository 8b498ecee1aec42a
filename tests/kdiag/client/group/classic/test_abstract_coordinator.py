"""Intents of AbstractCoordinatorTest about a whole rebalance, heartbeats' answers, and leaving.

Held here or in test_group_join, test_coordinator_lookup and test_heartbeat_thread: all 47 but
testMetrics (kdiag keeps no metrics). Of testJoinGroupRequestMaxTimeout the overflow is left out,
which Python's integers do not have; the largest value on the wire is tested instead.
"""

import re

import pytest

from kdiag.client.cluster_client import ClusterClient
from kdiag.client.group.membership import Generation, MemberState
from kdiag.clock import NS_PER_MS
from kdiag.errors import GroupError, WakeupError
from kdiag.wire.api.heartbeat import HeartbeatResponse
from kdiag.wire.api.leave_group import LeaveGroupResponse, MemberResponse
from kdiag.wire.api.sync_group import SyncGroupResponse
from scripted_kafka.member_cluster import (
    HOUR,
    MEMBER_ID,
    MemberCluster,
    PlainCoordinator,
    await_request,
    code,
    in_turn,
    joined,
    refused_join,
)
from scripted_kafka.scripted_broker import CLOSE, HOLD, offering

FIRST = Generation(1, MEMBER_ID, "range")
ANSWERS = {"JoinGroup": joined(), "SyncGroup": SyncGroupResponse(assignment=b"mine")}


def beat(cluster: MemberCluster, member: PlainCoordinator, error: str) -> str:
    """Return the error of a heartbeat that is answered so; `NONE` if it counts as a success."""
    cluster.on("Heartbeat", HeartbeatResponse(error_code=code(error)))
    future = member.send_heartbeat()
    member.client.await_future(future, cluster.soon())
    failed = future.error() if future.failed else None
    return failed.error if isinstance(failed, GroupError) else "NONE"


def test_a_rebalance_calls_back_once_before_and_once_after(
    cluster: MemberCluster, member: PlainCoordinator
) -> None:
    """With what the member was before, and with its assignment."""
    cluster.let_join(assignment=b"mine")
    assert member.ensure_active_group(cluster.soon())
    assert member.prepared == [Generation()]
    assert member.completed == [(FIRST, b"mine")]
    assert (member.member_id, member.generation) == (MEMBER_ID, 1)
    assert not member.rejoin_needed_or_pending()
    assert member.ensure_active_group(0)
    assert len(member.completed) == 1


def test_a_join_that_takes_long_goes_on_at_the_next_call(
    cluster: MemberCluster, member: PlainCoordinator
) -> None:
    """It is not sent again."""
    cluster.let_join()
    cluster.on("JoinGroup", HOLD)
    assert member.lookup.ensure_ready(cluster.soon())
    while not cluster.broker.asked("JoinGroup"):
        assert not member.join_group_if_needed(cluster.now() + NS_PER_MS)
    cluster.broker.wait_for("JoinGroup").reply(joined())
    assert member.join_group_if_needed(cluster.soon())
    assert len(cluster.broker.asked("JoinGroup")) == 1
    assert len(member.prepared) == len(member.completed) == 1


@pytest.mark.parametrize("api", ["JoinGroup", "SyncGroup"])
@pytest.mark.parametrize("is_answered", [False, True])
@pytest.mark.parametrize("polls_elsewhere", [False, True])
def test_a_wakeup_at_any_stage_loses_nothing(
    cluster: MemberCluster,
    member: PlainCoordinator,
    api: str,
    is_answered: bool,  # noqa: FBT001 - a case
    polls_elsewhere: bool,  # noqa: FBT001 - a case
) -> None:
    """The answer may come before it or after, to this poll or to another."""
    cluster.let_join(assignment=b"mine")

    def wake(received: object) -> None:
        member.client.wakeup()
        if is_answered:
            received.reply(ANSWERS[api])  # type: ignore[attr-defined]

    cluster.on(api, in_turn(wake, ANSWERS[api]))
    with pytest.raises(WakeupError):
        member.ensure_active_group(cluster.soon())
    assert member.completed == []
    if not is_answered:
        cluster.broker.wait_for(api).reply(ANSWERS[api])
    if polls_elsewhere:
        future = member._join_future
        assert future is not None
        member.client.await_future(future, cluster.soon())
    assert member.ensure_active_group(cluster.soon())
    assert len(cluster.broker.asked("JoinGroup")) == len(cluster.broker.asked("SyncGroup")) == 1
    assert member.prepared == [Generation()]
    assert member.completed == [(FIRST, b"mine")]


def test_a_wakeup_in_the_callback_has_it_called_again(
    cluster: MemberCluster, member: PlainCoordinator
) -> None:
    """With the same assignment."""
    cluster.let_join(assignment=b"mine")
    errors: list[Exception] = [WakeupError("woken up")]

    def complete() -> None:
        if errors:
            raise errors.pop()

    member.on_complete = complete
    with pytest.raises(WakeupError):
        member.ensure_active_group(cluster.soon())
    assert member.rejoin_needed_or_pending()
    assert member.ensure_active_group(cluster.soon())
    assert member.completed == [(FIRST, b"mine")] * 2
    assert len(member.prepared) == 1


@pytest.mark.parametrize("api", ["JoinGroup", "SyncGroup"])
def test_a_connection_that_ends_does_not_end_the_member_id(
    cluster: MemberCluster, member: PlainCoordinator, api: str
) -> None:
    """The member joins again from the beginning, as the one that it is."""
    member.membership.generation = Generation(-1, MEMBER_ID, None)
    cluster.let_join()
    cluster.on(api, in_turn(CLOSE, ANSWERS[api]))
    assert member.join_group_if_needed(cluster.soon())
    assert [each.member_id for each in cluster.messages("JoinGroup")] == [MEMBER_ID] * 2
    assert cluster.messages("JoinGroup")[1].reason == "rebalance failed due to DisconnectedError"
    assert len(member.prepared) == len(member.completed) == 1


@pytest.mark.parametrize(
    "answer",
    [
        refused_join("MEMBER_ID_REQUIRED", MEMBER_ID),
        refused_join("UNKNOWN_MEMBER_ID"),
        refused_join("REBALANCE_IN_PROGRESS"),
        refused_join("COORDINATOR_LOAD_IN_PROGRESS"),
        refused_join("NOT_COORDINATOR"),
    ],
    ids=lambda answer: str(answer.error_code),
)
def test_a_join_is_repeated_where_that_helps(
    cluster: MemberCluster, member: PlainCoordinator, answer: object
) -> None:
    """Within the same call."""
    cluster.let_join()
    cluster.on("JoinGroup", in_turn(answer, joined()))  # type: ignore[arg-type]
    assert member.join_group_if_needed(cluster.soon())
    assert len(cluster.broker.asked("JoinGroup")) == 2
    assert len(member.completed) == 1


def test_a_retriable_error_after_the_deadline_ends_the_call(
    cluster: MemberCluster, member: PlainCoordinator
) -> None:
    """It does not go round for ever."""
    cluster.let_join()
    cluster.on("JoinGroup", refused_join("COORDINATOR_LOAD_IN_PROGRESS"))
    assert member.lookup.ensure_ready(cluster.soon())
    for _ in range(50):
        assert not member.join_group_if_needed(cluster.now() + NS_PER_MS)
        if len(cluster.broker.asked("JoinGroup")) >= 2:
            return
    raise AssertionError("it does not try again")


def test_a_refusal_for_good_is_raised(cluster: MemberCluster, member: PlainCoordinator) -> None:
    """The next call begins anew."""
    cluster.let_join()
    cluster.on("JoinGroup", in_turn(refused_join("GROUP_MAX_SIZE_REACHED"), joined()))
    with pytest.raises(GroupError, match=r"group\.max\.size"):
        member.ensure_active_group(cluster.soon())
    assert member.ensure_active_group(cluster.soon())
    reasons = [each.reason for each in cluster.messages("JoinGroup")]
    assert reasons == ["", "rebalance failed due to GROUP_MAX_SIZE_REACHED"]


def test_preparations_are_made_once_even_if_they_fail(
    cluster: MemberCluster, member: PlainCoordinator
) -> None:
    """The program's callback is not called twice for one rebalance."""
    cluster.let_join()
    calls: list[int] = []

    def fail(*_: object) -> bool:
        calls.append(1)
        raise ValueError("in the program")

    member.on_join_prepare = fail  # type: ignore[method-assign, assignment]
    with pytest.raises(ValueError, match="in the program"):
        member.ensure_active_group(cluster.soon())
    assert member.ensure_active_group(cluster.soon())
    assert calls == [1]


def test_preparations_that_take_longer_are_made_again(
    cluster: MemberCluster, member: PlainCoordinator
) -> None:
    """Nothing is sent until they are done."""
    cluster.let_join()
    results = [False, True]
    member.on_join_prepare = lambda *_: results.pop(0)  # type: ignore[method-assign]
    assert not member.ensure_active_group(cluster.soon())
    assert cluster.broker.asked("JoinGroup") == []
    assert member.ensure_active_group(cluster.soon())


def test_a_generation_lost_before_the_callback_is_not_handed_out(
    cluster: MemberCluster, member: PlainCoordinator
) -> None:
    """The heartbeat thread may learn of it first; the member joins again."""
    cluster.let_join()
    assert member.lookup.ensure_ready(cluster.soon())
    future = member._initiate_join()
    member.client.await_future(future, cluster.soon())
    member.membership.reset("test")
    assert member.join_group_if_needed(cluster.soon())
    assert len(cluster.broker.asked("JoinGroup")) == 2
    assert len(member.completed) == 1


@pytest.mark.parametrize(
    ("error", "member_id"),
    [("ILLEGAL_GENERATION", MEMBER_ID), ("UNKNOWN_MEMBER_ID", ""), ("FENCED_INSTANCE_ID", "")],
)
def test_a_member_that_was_expelled_joins_again(
    cluster: MemberCluster, member: PlainCoordinator, error: str, member_id: str
) -> None:
    """Unless the answer is about a generation that it has left behind."""
    cluster.let_join()
    assert member.join_group_if_needed(cluster.soon())
    sent = member.membership.generation
    member.membership.generation = Generation(0, MEMBER_ID, "range")
    cluster.on("Heartbeat", HOLD)
    future = member.send_heartbeat()
    received = await_request(cluster, member, "Heartbeat")
    member.membership.generation = sent
    received.reply(HeartbeatResponse(error_code=code(error)))
    member.client.await_future(future, cluster.soon())
    assert future.succeeded
    assert member.membership.state is MemberState.STABLE

    assert beat(cluster, member, error) == error
    assert member.membership.generation == Generation(-1, member_id, None)
    assert member.rejoin_needed_or_pending()


@pytest.mark.parametrize(
    ("silence_ns", "why"),
    [
        (2 * HOUR, r"not heard of it for session.timeout.ms, which is 7200000"),
        (0, r"though its heartbeats came in time: .*max.poll.interval.ms, which is 72000000"),
    ],
)
def test_a_member_that_was_expelled_knows_which_limit_it_passed(
    cluster: MemberCluster, member: PlainCoordinator, silence_ns: int, why: str
) -> None:
    """Its own timers tell whether the session can have expired."""
    cluster.let_join()
    assert member.join_group_if_needed(cluster.soon())
    member.heartbeat.reset_session_timeout(cluster.now())
    cluster.clock.advance(silence_ns)
    assert beat(cluster, member, "UNKNOWN_MEMBER_ID") == "UNKNOWN_MEMBER_ID"
    assert re.search(why, member.membership.end_reason)


def test_a_rebalance_matters_only_to_a_member_that_is_stable(
    cluster: MemberCluster, member: PlainCoordinator
) -> None:
    """Another is in the middle of it."""
    cluster.let_join()
    assert member.join_group_if_needed(cluster.soon())
    member.membership.state = MemberState.COMPLETING_REBALANCE
    assert beat(cluster, member, "REBALANCE_IN_PROGRESS") == "NONE"
    assert not member.membership.is_rejoin_needed
    member.membership.state = MemberState.STABLE
    assert beat(cluster, member, "REBALANCE_IN_PROGRESS") == "REBALANCE_IN_PROGRESS"
    assert member.membership.is_rejoin_needed


@pytest.mark.parametrize("error", ["COORDINATOR_NOT_AVAILABLE", "NOT_COORDINATOR"])
def test_a_heartbeat_may_come_to_the_wrong_broker(
    cluster: MemberCluster, member: PlainCoordinator, error: str
) -> None:
    """The member stays in its generation and looks for the right one."""
    cluster.let_join()
    assert member.join_group_if_needed(cluster.soon())
    assert beat(cluster, member, error) == error
    assert member.lookup.is_unknown
    assert member.membership.stable_generation == FIRST


def test_other_answers_to_heartbeats_are_errors(
    cluster: MemberCluster, member: PlainCoordinator
) -> None:
    """They leave the member as it is."""
    cluster.let_join()
    assert member.join_group_if_needed(cluster.soon())
    for error in ("GROUP_AUTHORIZATION_FAILED", "UNKNOWN_SERVER_ERROR"):
        assert beat(cluster, member, error) == error
    assert beat(cluster, member, "NONE") == "NONE"
    assert member.membership.stable_generation == FIRST


def test_only_a_dynamic_member_leaves(cluster: MemberCluster, client: ClusterClient) -> None:
    """A static one is expected back; both forget their generation."""
    cluster.let_join()
    for instance_id, count in (("till-1", 0), (None, 1)):
        settings = cluster.settings._replace(group_instance_id=instance_id)
        member = PlainCoordinator(client, settings)
        assert member.ensure_active_group(cluster.soon())
        member.close(cluster.soon())
        assert len(cluster.broker.asked("LeaveGroup")) == count
        assert member.membership.generation == Generation()
    (identity,) = cluster.messages("LeaveGroup")[0].members
    assert (identity.member_id, identity.reason) == (MEMBER_ID, "the consumer is being closed")


def test_a_member_that_is_in_no_group_does_not_leave(
    cluster: MemberCluster, member: PlainCoordinator
) -> None:
    """It has no member id, or no coordinator to tell."""
    assert member.maybe_leave_group("test") is None
    cluster.let_join()
    assert member.join_group_if_needed(cluster.soon())
    member.lookup.mark_unknown()
    assert member.maybe_leave_group("test") is None
    assert cluster.broker.asked("LeaveGroup") == []


@pytest.mark.parametrize(
    ("members", "error", "expected"),
    [
        ([MemberResponse(MEMBER_ID)], "NONE", None),
        ([], "NONE", None),
        ([MemberResponse(MEMBER_ID, error_code=25)], "NONE", "UNKNOWN_MEMBER_ID"),
        ([], "NOT_COORDINATOR", "NOT_COORDINATOR"),
        ([MemberResponse("a"), MemberResponse("b")], "NONE", "answered about 2"),
    ],
)
def test_a_member_may_learn_how_its_leaving_ended(
    cluster: MemberCluster,
    member: PlainCoordinator,
    members: list[MemberResponse],
    error: str,
    expected: str | None,
) -> None:
    """Whatever it is, it has left."""
    cluster.let_join()
    assert member.join_group_if_needed(cluster.soon())
    cluster.on("LeaveGroup", LeaveGroupResponse(error_code=code(error), members=members))
    future = member.maybe_leave_group("x" * 300)
    assert future is not None
    member.client.await_future(future, cluster.soon())
    assert cluster.messages("LeaveGroup")[0].members[0].reason == "x" * 255
    assert future.succeeded if expected is None else expected in str(future.error())
    assert member.membership.state is MemberState.UNJOINED


def test_an_old_broker_is_told_the_member_alone(cluster: MemberCluster) -> None:
    """Before KIP-345 it takes no list."""
    cluster.on("ApiVersions", offering(LeaveGroup=(0, 2)))
    cluster.let_join()
    with cluster.member_client() as client:
        member = PlainCoordinator(client, cluster.settings)
        assert member.join_group_if_needed(cluster.soon())
        member.close(cluster.soon())
    assert cluster.messages("LeaveGroup")[0].member_id == MEMBER_ID


def test_closing_waits_for_answers_no_longer_than_it_may(
    cluster: MemberCluster, member: PlainCoordinator
) -> None:
    """A coordinator that says nothing holds nobody up."""
    cluster.let_join()
    assert member.ensure_active_group(cluster.soon())
    cluster.on("LeaveGroup", HOLD)
    member.client.wakeup()  # it is not for closing
    member.close(cluster.now() + NS_PER_MS)
    assert member.client.pending_count(member.lookup.node.id) == 1  # type: ignore[union-attr]


def test_a_member_leaves_though_its_program_fails(
    cluster: MemberCluster, member: PlainCoordinator
) -> None:
    """The error comes afterwards."""
    cluster.let_join()
    assert member.ensure_active_group(cluster.soon())

    def fail() -> None:
        raise ValueError("in the program")

    member.on_leave_prepare = fail  # type: ignore[method-assign]
    with pytest.raises(ValueError, match="in the program"):
        member.close(cluster.soon())
    cluster.broker.wait_for("LeaveGroup")


def test_the_time_to_the_next_heartbeat_is_known_to_a_member_only(
    cluster: MemberCluster, member: PlainCoordinator
) -> None:
    """Others send none."""
    assert member.ns_to_next_heartbeat() > 1_000_000 * HOUR
    cluster.let_join()
    assert member.ensure_active_group(cluster.soon())
    assert 0 < member.ns_to_next_heartbeat() <= HOUR
