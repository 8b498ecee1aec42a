"""Intents of AbstractCoordinatorTest about the answers to JoinGroup and SyncGroup.

Held: testGroupMaxSizeExceptionIsFatal, testJoinGroupRequestTimeout,
...LowerBoundedByDefaultRequestTimeout, ...MaxTimeout, testJoinGroupRequestWithMemberIdRequired,
...WithFencedInstanceIdException, testJoinGroupProtocolTypeAndName, testRejoinReason,
testNoGenerationWillNotTriggerProtocolNameCheck, testSyncGroupRequestWithFencedInstanceIdException,
testJoinGroupUnknownMemberResponseWithOldGeneration, testSyncGroupUnknownMember...,
testSyncGroupIllegalGeneration..., testJoinGroupRequestWithGroupInstanceIdNotFound, and of
ConsumerCoordinatorTest: testJoinGroupInvalidGroupId, testUnexpectedErrorOnSyncGroup,
testUnknownMemberIdOnSyncGroup, testRebalanceInProgressOnSyncGroup,
testIllegalGenerationOnSyncGroup.
"""

from typing import Any

import pytest

from kdiag.client.cluster_client import ClusterClient
from kdiag.client.group.classic.group_join import JOIN_EXTRA_NS
from kdiag.client.group.membership import Generation, MemberState
from kdiag.client.request_future import RequestFuture
from kdiag.clock import NS_PER_S
from kdiag.errors import GroupError, RequestTimeoutError
from kdiag.wire.api.sync_group import SyncGroupResponse
from scripted_kafka.member_cluster import (
    HOUR,
    MEMBER_ID,
    MemberCluster,
    PlainCoordinator,
    await_request,
    code,
    joined,
    refused_join,
)
from scripted_kafka.scripted_broker import HOLD

FIRST = Generation(1, MEMBER_ID, "range")


def join(cluster: MemberCluster, member: PlainCoordinator) -> RequestFuture[bytes]:
    """Send JoinGroup and return its future once that is done."""
    assert member.lookup.ensure_ready(cluster.soon())
    future = member._initiate_join()
    assert member.client.await_future(future, cluster.soon())
    return future


def refused(future: RequestFuture[Any]) -> str:
    """Return the name of the error with which a future failed."""
    error = future.error()
    assert isinstance(error, GroupError)
    return error.error


def test_a_follower_gets_its_assignment(cluster: MemberCluster, member: PlainCoordinator) -> None:
    """It sends no assignments itself."""
    cluster.let_join(3, assignment=b"mine")
    assert join(cluster, member).value() == b"mine"
    assert member.membership.stable_generation == Generation(3, MEMBER_ID, "range")
    (asked,) = cluster.messages("JoinGroup")
    assert (asked.group_id, asked.member_id, asked.protocol_type) == ("billing", "", "consumer")
    assert (asked.session_timeout_ms, asked.rebalance_timeout_ms) == (7_200_000, 72_000_000)
    assert [(each.name, each.metadata) for each in asked.protocols] == [("range", b"subscription")]
    (sync,) = cluster.messages("SyncGroup")
    assert (sync.generation_id, sync.member_id, sync.protocol_name) == (3, MEMBER_ID, "range")
    assert sync.assignments == []
    assert member.led == []


def test_the_leader_assigns(cluster: MemberCluster, member: PlainCoordinator) -> None:
    """Its SyncGroup has the assignment of each member."""
    cluster.let_join(leader=MEMBER_ID, subscriptions={MEMBER_ID: b"a", "m-2": b"b"})
    member.assignments = {MEMBER_ID: b"1", "m-2": b"2"}
    assert join(cluster, member).succeeded
    (sync,) = cluster.messages("SyncGroup")
    assert {each.member_id: each.assignment for each in sync.assignments} == member.assignments
    assert [each.member_id for each in member.led[0].members] == [MEMBER_ID, "m-2"]


def test_a_leader_that_cannot_assign_fails(
    cluster: MemberCluster, member: PlainCoordinator
) -> None:
    """Nothing is sent, and the reason is kept."""

    def fail(_: object) -> dict[str, bytes]:
        raise GroupError("billing", "NONE", "cannot assign")

    member.on_leader_elected = fail  # type: ignore[method-assign, assignment]
    cluster.let_join(leader=MEMBER_ID)
    assert "cannot assign" in str(join(cluster, member).error())
    assert cluster.broker.asked("SyncGroup") == []


def test_a_member_id_that_must_be_used_is_used(
    cluster: MemberCluster, member: PlainCoordinator
) -> None:
    """The generation stays none until the member has joined with it (KIP-394)."""
    cluster.on("JoinGroup", refused_join("MEMBER_ID_REQUIRED", "m-7"))
    assert refused(join(cluster, member)) == "MEMBER_ID_REQUIRED"
    assert member.membership.generation == Generation(-1, "m-7", None)
    assert member.rejoin_needed_or_pending()
    assert member.membership.rejoin_reason == "need to re-join with the given member-id: m-7"
    cluster.let_join(member_id="m-7")
    member._join_future = None
    assert join(cluster, member).succeeded
    assert [each.member_id for each in cluster.messages("JoinGroup")] == ["", "m-7"]


@pytest.mark.parametrize(
    "error",
    [
        "FENCED_INSTANCE_ID",
        "GROUP_AUTHORIZATION_FAILED",
        "GROUP_MAX_SIZE_REACHED",
        "INCONSISTENT_GROUP_PROTOCOL",
        "INVALID_GROUP_ID",
        "INVALID_SESSION_TIMEOUT",
        "UNSUPPORTED_VERSION",
        "REQUEST_TIMED_OUT",
    ],
)
def test_some_refusals_of_joins_are_for_good(
    cluster: MemberCluster, member: PlainCoordinator, error: str
) -> None:
    """So are those that nobody expects."""
    cluster.on("JoinGroup", refused_join(error))
    future = join(cluster, member)
    assert refused(future) == error
    assert not future.is_retriable


@pytest.mark.parametrize("error", ["COORDINATOR_NOT_AVAILABLE", "NOT_COORDINATOR"])
def test_a_broker_that_is_not_the_coordinator_is_forgotten(
    cluster: MemberCluster, member: PlainCoordinator, error: str
) -> None:
    """Whichever request it says so to."""
    cluster.on("JoinGroup", refused_join(error))
    assert join(cluster, member).is_retriable
    assert member.lookup.is_unknown
    member._join_future = None
    cluster.let_join()
    cluster.on("SyncGroup", SyncGroupResponse(error_code=code(error)))
    assert join(cluster, member).is_retriable
    assert member.lookup.is_unknown


def test_a_coordinator_that_still_loads_is_kept(
    cluster: MemberCluster, member: PlainCoordinator
) -> None:
    """It is asked again later."""
    cluster.on("JoinGroup", refused_join("COORDINATOR_LOAD_IN_PROGRESS"))
    assert join(cluster, member).is_retriable
    assert not member.lookup.is_unknown


def test_a_member_that_nobody_knows_forgets_its_id(
    cluster: MemberCluster, member: PlainCoordinator
) -> None:
    """It joins as a new one."""
    member.membership.generation = FIRST
    cluster.on("JoinGroup", refused_join("UNKNOWN_MEMBER_ID"))
    assert refused(join(cluster, member)) == "UNKNOWN_MEMBER_ID"
    assert member.membership.generation == Generation()
    assert member.membership.state is MemberState.UNJOINED


@pytest.mark.parametrize("api", ["JoinGroup", "SyncGroup"])
@pytest.mark.parametrize("error", ["UNKNOWN_MEMBER_ID", "ILLEGAL_GENERATION"])
def test_an_answer_about_an_old_generation_resets_nothing(
    cluster: MemberCluster, member: PlainCoordinator, api: str, error: str
) -> None:
    """The member has got another one since the request was sent."""
    cluster.let_join()
    cluster.on(api, HOLD)
    assert member.lookup.ensure_ready(cluster.soon())
    future = member._initiate_join()
    received = await_request(cluster, member, api)
    newer = Generation(2, "m-2", "range")
    member.membership.generation = newer
    answer = refused_join(error) if api == "JoinGroup" else SyncGroupResponse(0, code(error))
    received.reply(answer)
    member.client.await_future(future, cluster.soon())
    assert future.failed
    assert member.membership.generation == newer
    assert member.membership.state is not MemberState.UNJOINED


@pytest.mark.parametrize(
    ("error", "member_id"), [("UNKNOWN_MEMBER_ID", ""), ("ILLEGAL_GENERATION", MEMBER_ID)]
)
def test_a_member_that_comes_too_late_to_sync_joins_again(
    cluster: MemberCluster, member: PlainCoordinator, error: str, member_id: str
) -> None:
    """With its member id if only the generation is over."""
    cluster.let_join()
    cluster.on("SyncGroup", SyncGroupResponse(error_code=code(error)))
    assert refused(join(cluster, member)) == error
    assert member.membership.generation == Generation(-1, member_id, None)
    assert member.membership.is_rejoin_needed


def test_a_rebalance_that_begins_meanwhile_keeps_the_generation(
    cluster: MemberCluster, member: PlainCoordinator
) -> None:
    """The member is in the group; it only has to join again."""
    cluster.let_join()
    cluster.on("SyncGroup", SyncGroupResponse(error_code=code("REBALANCE_IN_PROGRESS")))
    assert refused(join(cluster, member)) == "REBALANCE_IN_PROGRESS"
    assert member.membership.generation == FIRST


@pytest.mark.parametrize(
    "error", ["FENCED_INSTANCE_ID", "GROUP_AUTHORIZATION_FAILED", "UNKNOWN_SERVER_ERROR"]
)
def test_some_refusals_of_syncs_are_for_good(
    cluster: MemberCluster, member: PlainCoordinator, error: str
) -> None:
    """So are those that nobody expects."""
    cluster.let_join()
    cluster.on("SyncGroup", SyncGroupResponse(error_code=code(error)))
    future = join(cluster, member)
    assert refused(future) == error
    assert not future.is_retriable


@pytest.mark.parametrize(
    "case",
    [
        ("consumer", "consumer", "range", ""),
        (None, None, None, ""),
        ("connect", None, None, "INCONSISTENT_GROUP_PROTOCOL"),
        (None, "connect", None, "INCONSISTENT_GROUP_PROTOCOL"),
        (None, None, "sticky", "INCONSISTENT_GROUP_PROTOCOL"),
    ],
)
def test_another_kind_of_group_or_another_assignor_is_refused(
    cluster: MemberCluster, member: PlainCoordinator, case: tuple[str | None, ...]
) -> None:
    """A broker that names neither (before KIP-559) is believed."""
    join_type, sync_type, sync_name, error = case
    cluster.on("JoinGroup", joined(protocol_type=join_type))
    sync = SyncGroupResponse(protocol_type=sync_type, protocol_name=sync_name)
    cluster.on("SyncGroup", sync)
    future = join(cluster, member)
    assert (refused(future) if future.failed else "") == error


def test_a_generation_that_is_lost_while_it_is_completed_is_not_entered(
    cluster: MemberCluster, member: PlainCoordinator
) -> None:
    """The assignor of the answer is not even looked at: the member joins again."""
    cluster.let_join()
    cluster.on("SyncGroup", HOLD)
    assert member.lookup.ensure_ready(cluster.soon())
    future = member._initiate_join()
    received = await_request(cluster, member, "SyncGroup")
    member.membership.reset("test")
    received.reply(SyncGroupResponse(protocol_name="other"))
    member.client.await_future(future, cluster.soon())
    assert refused(future) == "ILLEGAL_GENERATION"


def test_a_member_that_left_while_it_joined_does_not_go_on(
    cluster: MemberCluster, member: PlainCoordinator
) -> None:
    """It is in no group then."""
    cluster.on("JoinGroup", HOLD)
    assert member.lookup.ensure_ready(cluster.soon())
    future = member._initiate_join()
    received = await_request(cluster, member, "JoinGroup")
    member.membership.reset("test")
    received.reply(joined())
    member.client.await_future(future, cluster.soon())
    assert future.is_retriable
    assert cluster.broker.asked("SyncGroup") == []


def test_the_reason_is_told_until_the_group_is_stable(
    cluster: MemberCluster, member: PlainCoordinator
) -> None:
    """In 255 characters at the most (KIP-800)."""
    cluster.let_join()
    member.membership.request_rejoin("x" * 300)
    join(cluster, member)
    member._join_future = None
    join(cluster, member)
    assert [each.reason for each in cluster.messages("JoinGroup")] == ["x" * 255, ""]


@pytest.mark.parametrize(
    ("interval_ns", "timeout_ns"),
    [(400 * HOUR, 500 * HOUR), (600 * HOUR, 600 * HOUR + JOIN_EXTRA_NS)],
)
def test_a_join_may_take_as_long_as_the_group_waits_for_its_members(
    cluster: MemberCluster, client: ClusterClient, interval_ns: int, timeout_ns: int
) -> None:
    """And five seconds more; but a request may always take as long as any other."""
    cluster.on("JoinGroup", HOLD)
    settings = cluster.settings._replace(max_poll_interval_ns=interval_ns)
    member = PlainCoordinator(client, settings)
    assert member.lookup.ensure_ready(cluster.soon())
    future = member._initiate_join()
    await_request(cluster, member, "JoinGroup")
    cluster.clock.advance(timeout_ns - NS_PER_S)
    member.client.poll_no_wakeup()
    assert not future.is_done
    cluster.clock.advance(2 * NS_PER_S)
    member.client.await_future(future, cluster.soon())
    assert isinstance(future.error(), RequestTimeoutError)


def test_the_longest_interval_is_not_too_long(
    cluster: MemberCluster, client: ClusterClient
) -> None:
    """Java's largest number of milliseconds is written as it is."""
    cluster.let_join()
    settings = cluster.settings._replace(max_poll_interval_ns=(2**31 + 5) * 1_000_000)
    member = PlainCoordinator(client, settings)
    join(cluster, member)
    assert cluster.messages("JoinGroup")[0].rebalance_timeout_ms == 2**31 - 1


def test_a_static_member_says_so_in_each_request(
    cluster: MemberCluster, client: ClusterClient
) -> None:
    """KIP-345."""
    cluster.let_join()
    member = PlainCoordinator(client, cluster.settings._replace(group_instance_id="till-1"))
    join(cluster, member)
    member.client.await_future(member.send_heartbeat(), cluster.soon())
    for name in ("JoinGroup", "SyncGroup", "Heartbeat"):
        assert cluster.messages(name)[0].group_instance_id == "till-1"
