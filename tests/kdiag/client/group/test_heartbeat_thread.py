"""Intents of AbstractCoordinatorTest and ConsumerCoordinatorTest about the heartbeat thread.

Held: testHeartbeatSentWhenCompletingRebalance, testHeartbeatRequestWithFencedInstanceIdException,
testUncaughtExceptionInHeartbeatThread, testPollHeartbeatAwakesHeartbeatThread,
testJavaPollTimeout..., and that it neither waits for another thread that polls, nor is waited for.
"""

from threading import Thread

import pytest

from kdiag.client.cluster_client import ClusterClient
from kdiag.client.fetch.fetcher import Fetcher
from kdiag.client.fetch.position import FetchPosition, PartitionKey
from kdiag.client.fetch.session import FetchLimits
from kdiag.client.group.heartbeat_thread import HeartbeatState, HeartbeatThread
from kdiag.client.group.membership import MemberState
from kdiag.clock import NS_PER_MS
from kdiag.errors import GroupError, WakeupError
from kdiag.wire.api.fetch import FetchRequest
from kdiag.wire.api.heartbeat import HeartbeatResponse
from scripted_kafka.log_cluster import LogCluster
from scripted_kafka.member_cluster import (
    HOUR,
    MEMBER_ID,
    MemberCluster,
    PlainCoordinator,
    code,
    in_turn,
)
from scripted_kafka.scripted_broker import HOLD


@pytest.fixture
def joined_member(cluster: MemberCluster, member: PlainCoordinator) -> PlainCoordinator:
    """Return a member that is stable in generation 1."""
    cluster.let_join()
    assert member.ensure_active_group(cluster.soon())
    return member


def thread_of(member: PlainCoordinator) -> HeartbeatThread:
    """Return the heartbeat thread of a member."""
    assert member._thread is not None
    return member._thread


def refusing(error: str) -> HeartbeatResponse:
    """Return an answer that is an error."""
    return HeartbeatResponse(error_code=code(error))


def await_change(member: PlainCoordinator, until: object) -> None:
    """Wait until the heartbeat thread has changed something."""
    monitor = member.membership.monitor
    with monitor:
        assert callable(until)
        for _ in range(30_000):
            if until():
                return
            monitor.wait(0.001)
    raise AssertionError("it does not happen")


def test_heartbeats_are_sent_while_the_program_does_something_else(
    cluster: MemberCluster, joined_member: PlainCoordinator
) -> None:
    """Each after the interval, with generation and member id; the program never polls."""
    assert thread_of(joined_member).state is HeartbeatState.ENABLED
    for count in (1, 2, 3):
        cluster.clock.advance(HOUR)
        cluster.broker.wait_for("Heartbeat", count)
        await_change(joined_member, lambda: not joined_member.heartbeat.is_in_flight)
    beat = cluster.messages("Heartbeat")[-1]
    assert (beat.group_id, beat.generation_id, beat.member_id) == ("billing", 1, MEMBER_ID)
    assert beat.group_instance_id is None
    assert joined_member.membership.state is MemberState.STABLE


def test_heartbeats_begin_before_the_assignment_is_there(
    cluster: MemberCluster, member: PlainCoordinator
) -> None:
    """The leader may take its time."""
    cluster.let_join()
    cluster.on("SyncGroup", HOLD)
    while not cluster.broker.asked("SyncGroup"):
        assert not member.ensure_active_group(cluster.now() + NS_PER_MS)
    assert member.membership.state is MemberState.COMPLETING_REBALANCE
    cluster.clock.advance(HOUR)
    cluster.broker.wait_for("Heartbeat")


def test_no_heartbeats_are_sent_while_the_member_joins(
    cluster: MemberCluster, joined_member: PlainCoordinator
) -> None:
    """JoinGroup itself says that it lives."""
    cluster.on("JoinGroup", HOLD)
    joined_member.membership.request_rejoin("test")
    assert not joined_member.ensure_active_group(cluster.now())
    cluster.clock.advance(HOUR)
    joined_member.poll_heartbeat()
    thread = thread_of(joined_member)
    await_change(joined_member, lambda: thread.state is HeartbeatState.DISABLED)
    assert cluster.broker.asked("Heartbeat") == []


def test_a_fenced_member_learns_of_it_at_its_next_poll(
    cluster: MemberCluster, client: ClusterClient
) -> None:
    """Once; then it may join again, with another thread."""
    cluster.let_join()
    settings = cluster.settings._replace(group_instance_id="till-1")
    member = PlainCoordinator(client, settings)
    assert member.ensure_active_group(cluster.soon())
    cluster.on("Heartbeat", refusing("FENCED_INSTANCE_ID"))
    cluster.clock.advance(HOUR)
    await_change(member, lambda: thread_of(member).failure is not None)
    with pytest.raises(GroupError, match="another member has joined with the same"):
        member.poll_heartbeat()
    member.poll_heartbeat()
    assert member._thread is None
    assert member.membership.state is MemberState.UNJOINED
    member.close(cluster.soon())


def test_an_error_in_the_thread_is_raised_in_the_program(
    cluster: MemberCluster, joined_member: PlainCoordinator
) -> None:
    """Whatever it is: nobody sends heartbeats any more."""

    def fail() -> None:
        raise RuntimeError("a defect")

    joined_member.send_heartbeat = fail  # type: ignore[method-assign, assignment]
    cluster.clock.advance(HOUR)
    thread = thread_of(joined_member)
    thread.join()
    assert thread.state is HeartbeatState.CLOSED
    with pytest.raises(RuntimeError, match="a defect"):
        joined_member.ns_to_next_heartbeat()
    with pytest.raises(RuntimeError, match="a defect"):
        joined_member.poll_heartbeat()
    joined_member.poll_heartbeat()


def test_a_poll_wakes_the_thread_when_a_heartbeat_is_due(
    cluster: MemberCluster, client: ClusterClient
) -> None:
    """It waits for a backoff of an hour otherwise."""
    cluster.let_join()
    settings = cluster.settings._replace(retry_backoff_ns=HOUR, retry_backoff_max_ns=HOUR)
    member = PlainCoordinator(client, settings)
    assert member.ensure_active_group(cluster.soon())
    cluster.clock.advance(HOUR)
    member.poll_heartbeat()
    with member.membership.monitor:
        pass
    member.client.await_condition(lambda: bool(cluster.broker.asked("Heartbeat")), cluster.soon())
    member._close_heartbeats()


def test_a_heartbeat_that_fails_is_sent_again_soon(
    cluster: MemberCluster, joined_member: PlainCoordinator
) -> None:
    """Not after the whole interval."""
    cluster.on("Heartbeat", in_turn(refusing("COORDINATOR_NOT_AVAILABLE"), HeartbeatResponse()))
    cluster.clock.advance(HOUR)
    cluster.broker.wait_for("Heartbeat", 2)
    assert len(cluster.broker.asked("FindCoordinator")) >= 2
    assert joined_member.membership.state is MemberState.STABLE


def test_a_lost_coordinator_is_looked_for_until_it_is_found(
    cluster: MemberCluster, joined_member: PlainCoordinator
) -> None:
    """The program need not poll for that."""
    cluster.let_find("COORDINATOR_NOT_AVAILABLE", "COORDINATOR_NOT_AVAILABLE")
    joined_member.lookup.mark_unknown()
    cluster.broker.wait_for("FindCoordinator", 4)
    await_change(joined_member, lambda: not joined_member.lookup.is_unknown)


def test_a_coordinator_that_says_nothing_for_a_session_is_given_up(
    cluster: MemberCluster, joined_member: PlainCoordinator
) -> None:
    """It is looked for again; the member stays what it is until somebody says otherwise."""
    cluster.on("Heartbeat", HOLD)
    cluster.clock.advance(HOUR)
    cluster.broker.wait_for("Heartbeat")
    cluster.clock.advance(HOUR)
    cluster.broker.wait_for("FindCoordinator", 2)
    assert joined_member.membership.generation.member_id == MEMBER_ID


def test_a_program_that_does_not_poll_leaves_its_group(
    cluster: MemberCluster, joined_member: PlainCoordinator
) -> None:
    """Others get its partitions, and it learns why its commits are refused."""
    for _ in range(20):
        cluster.clock.advance(HOUR)
        joined_member.heartbeat.reset_session_timeout(cluster.now())
    (identity,) = cluster.broker.wait_for("LeaveGroup").message().members  # type: ignore[attr-defined]
    assert identity.member_id == MEMBER_ID
    assert identity.reason == "consumer poll timeout has expired."
    await_change(joined_member, lambda: bool(joined_member.membership.end_reason))
    assert "max.poll.interval.ms, which is 72000000" in joined_member.membership.end_reason
    assert joined_member.membership.state is MemberState.UNJOINED
    thread = thread_of(joined_member)
    await_change(joined_member, lambda: thread.state is HeartbeatState.DISABLED)


def test_a_rebalance_elsewhere_is_no_failure(
    cluster: MemberCluster, joined_member: PlainCoordinator
) -> None:
    """The member must join again, and its session goes on until it does."""
    cluster.on("Heartbeat", refusing("REBALANCE_IN_PROGRESS"))
    cluster.clock.advance(HOUR)
    await_change(joined_member, lambda: joined_member.membership.is_rejoin_needed)
    await_change(joined_member, lambda: not joined_member.heartbeat.is_in_flight)
    assert joined_member.membership.rejoin_reason == "group is already rebalancing"
    assert not joined_member.heartbeat.has_session_expired(cluster.now() + HOUR)


def test_a_heartbeat_is_sent_while_the_program_waits_for_records(
    cluster: MemberCluster, joined_member: PlainCoordinator, client: ClusterClient
) -> None:
    """The thread does not wait for it, nor does it end the program's wait."""
    cluster.on("Fetch", HOLD)
    future = client.send(1, FetchRequest())
    reader = Thread(target=joined_member.client.await_future, args=[future, cluster.soon()])
    reader.start()
    cluster.broker.wait_for("Fetch")
    cluster.clock.advance(HOUR)
    cluster.broker.wait_for("Heartbeat")
    await_change(joined_member, lambda: not joined_member.heartbeat.is_in_flight)
    assert not future.is_done
    joined_member.client.wakeup()
    reader.join()


def test_closing_ends_a_thread_that_waits(joined_member: PlainCoordinator) -> None:
    """Also one that has nothing to do, and never had."""
    thread = thread_of(joined_member)
    joined_member._close_heartbeats()
    assert thread.state is HeartbeatState.CLOSED
    assert not thread._thread.is_alive()
    thread.enable()
    assert thread.state is HeartbeatState.CLOSED


def test_a_wakeup_is_for_the_program(
    cluster: MemberCluster, joined_member: PlainCoordinator
) -> None:
    """The thread of heartbeats goes on, and the program still gets it."""
    joined_member.client.wakeup()
    cluster.clock.advance(HOUR)
    cluster.broker.wait_for("Heartbeat")
    with pytest.raises(WakeupError):
        joined_member.client.poll(cluster.soon())
    assert thread_of(joined_member).failure is None


def test_hanging_up_ends_the_connection_to_the_coordinator_too(
    cluster: MemberCluster, joined_member: PlainCoordinator, client: ClusterClient
) -> None:
    """After an interruption nobody knows what is on it; the member can still leave, on another."""
    cluster.on("Heartbeat", HOLD)
    cluster.clock.advance(HOUR)
    cluster.broker.wait_for("Heartbeat")
    before = cluster.broker.connections
    client.hang_up()
    assert client.network.in_flight_count() == 0
    joined_member.close(cluster.soon())
    left = cluster.broker.wait_for("LeaveGroup")
    assert left.connection is not cluster.broker.asked("Heartbeat")[0].connection
    assert cluster.broker.connections == before + 1


@pytest.mark.thorough
def test_heartbeats_without_end_disturb_no_reader(
    cluster: MemberCluster, client: ClusterClient
) -> None:
    """Both threads send and receive on one client, and the reader misses nothing."""
    cluster.let_join()
    often = cluster.settings._replace(heartbeat_interval_ns=NS_PER_MS, retry_backoff_ns=1)
    member = PlainCoordinator(client, often)
    assert member.ensure_active_group(cluster.soon())
    with LogCluster(1) as logs:
        log = logs.add("orders", 0)
        for at in range(200):
            log.append(b"%d" % at)
        broker = cluster.broker
        for name in ("Fetch", "Metadata"):
            broker.on(name, logs.brokers[1]._replies[name])
        logs.max_batches = 1
        position = FetchPosition(
            key=PartitionKey("orders", 0),
            offset=0,
            stop=200,
            topic_id=log.topic_id,
            leader_id=1,
            leader_epoch=0,
        )
        fetcher = Fetcher(client, [position], FetchLimits(max_wait_ms=10))
        values: list[bytes | None] = []
        while not fetcher.is_done:
            for fetched in fetcher.poll(cluster.soon()):
                values += [record.value for record in fetched.batch.records()]
            member.poll_heartbeat()
    assert values == [b"%d" % at for at in range(200)]
    assert len(cluster.broker.asked("Heartbeat")) > 1
    member._close_heartbeats()
