"""Intents of AbstractCoordinatorTest about finding the coordinator.

Held: testCoordinatorDiscoveryExponentialBackoff, testWakeupFromEnsureCoordinatorReady,
testLookupCoordinator, testAuthenticationErrorInEnsureCoordinatorReady; and of
ConsumerCoordinatorTest: testCoordinatorNotAvailable, testGroupReadUnauthorized,
testEnsureCoordinatorReady..., testCoordinatorNotAvailableWithUserAssignedType,
testCoordinatorDisconnect...
"""

import pytest

from kdiag.client.cluster_client import ClusterClient
from kdiag.client.group.coordinator_lookup import CoordinatorLookup, connection_id
from kdiag.client.group.membership import Membership
from kdiag.client.network.request import RequestBuilder, builder_of
from kdiag.client.request_future import RequestFuture
from kdiag.clock import NS_PER_MS, NS_PER_S
from kdiag.errors import (
    AuthenticationError,
    DisconnectedError,
    GroupError,
    Layer,
    WakeupError,
)
from kdiag.wire.api.find_coordinator import FindCoordinatorResponse
from kdiag.wire.api.heartbeat import HeartbeatRequest
from kdiag.wire.api.join_group import JoinGroupRequest
from scripted_kafka.member_cluster import COORDINATOR_ID, GROUP, MemberCluster, in_turn
from scripted_kafka.scripted_broker import CLOSE, HOLD, offering
from tiers.cases import for_each

HEARTBEAT = builder_of(HeartbeatRequest(group_id=GROUP))
JOIN = builder_of(JoinGroupRequest(group_id=GROUP))


def complete(_: object, done: RequestFuture[None]) -> None:
    """Complete a future with nothing."""
    done.complete(None)


@pytest.fixture
def found() -> list[str]:
    """Return a list of the times that the coordinator was found."""
    return []


@pytest.fixture
def lookup(cluster: MemberCluster, client: ClusterClient, found: list[str]) -> CoordinatorLookup:
    """Return a lookup that knows nobody."""
    monitor = Membership().monitor
    return CoordinatorLookup(client, cluster.settings, monitor, lambda: found.append("found"))


def test_the_coordinator_has_a_connection_of_its_own(
    cluster: MemberCluster, lookup: CoordinatorLookup, found: list[str]
) -> None:
    """Its id is counted from the end of the numbers, where no broker's is."""
    assert lookup.is_unknown
    assert lookup.ensure_ready(cluster.soon())
    assert lookup.node is not None
    assert lookup.node.id == COORDINATOR_ID == "2147483646"
    assert lookup.node.port == cluster.broker.port
    assert found == ["found"]
    assert cluster.messages("FindCoordinator")[0].coordinator_keys == [GROUP]


def test_a_coordinator_that_is_known_is_not_asked_for(
    cluster: MemberCluster, lookup: CoordinatorLookup
) -> None:
    """Whatever the deadline."""
    lookup.ensure_ready(cluster.soon())
    assert lookup.ensure_ready(0)
    assert len(cluster.broker.asked("FindCoordinator")) == 1


def test_an_old_broker_is_asked_about_one_group(cluster: MemberCluster) -> None:
    """It answers about one, too."""
    cluster.on("ApiVersions", offering(FindCoordinator=(0, 3)))
    port = cluster.broker.port
    cluster.on("FindCoordinator", FindCoordinatorResponse(node_id=1, host="127.0.0.1", port=port))
    with cluster.member_client() as client:
        monitor = Membership().monitor
        lookup = CoordinatorLookup(client, cluster.settings, monitor, lambda: None)
        assert lookup.ensure_ready(cluster.soon())
        assert lookup.node is not None
        assert lookup.node.id == COORDINATOR_ID
    assert cluster.messages("FindCoordinator")[-1].key == GROUP


def test_discovery_backs_off_longer_each_time(
    cluster: MemberCluster, client: ClusterClient, found: list[str]
) -> None:
    """Four attempts that fail take at least the sum of the backoffs."""
    cluster.let_find(*["COORDINATOR_NOT_AVAILABLE"] * 4)
    settings = cluster.settings._replace(retry_backoff_max_ns=8 * NS_PER_MS)
    lookup = CoordinatorLookup(
        client, settings, Membership().monitor, lambda: found.append("found")
    )
    before_ns = cluster.clock.monotonic_ns()
    assert lookup.ensure_ready(cluster.soon())
    assert cluster.clock.monotonic_ns() - before_ns >= (1 + 2 + 4 + 8) * NS_PER_MS
    assert len(cluster.broker.asked("FindCoordinator")) == 5


@pytest.mark.parametrize("error", ["COORDINATOR_NOT_AVAILABLE", "COORDINATOR_LOAD_IN_PROGRESS"])
def test_a_broker_that_does_not_know_yet_is_asked_again(
    cluster: MemberCluster, lookup: CoordinatorLookup, error: str
) -> None:
    """The deadline ends that, without an error."""
    cluster.let_find(error)
    assert lookup.ensure_ready(cluster.soon())
    lookup.mark_unknown()
    cluster.on("FindCoordinator", cluster.found(error))
    assert not lookup.ensure_ready(cluster.clock.monotonic_ns() + 5 * NS_PER_MS)


def test_metadata_is_refreshed_when_nobody_answers(
    cluster: MemberCluster, lookup: CoordinatorLookup
) -> None:
    """The brokers may have others for neighbours now."""
    before = len(cluster.broker.asked("Metadata"))
    cluster.on("FindCoordinator", in_turn(CLOSE, cluster.found()))
    assert lookup.ensure_ready(cluster.soon())
    assert len(cluster.broker.asked("Metadata")) > before


def test_a_group_that_may_not_be_read_is_not_asked_for_again(
    cluster: MemberCluster, lookup: CoordinatorLookup
) -> None:
    """The error says what to allow; the next call asks once more."""
    cluster.on("FindCoordinator", cluster.found("GROUP_AUTHORIZATION_FAILED"))
    with pytest.raises(GroupError, match="allow the operation READ on the group"):
        lookup.ensure_ready(cluster.soon())
    assert len(cluster.broker.asked("FindCoordinator")) == 1
    cluster.let_find()
    assert lookup.ensure_ready(cluster.soon())


def test_one_lookup_is_under_way_at_a_time(
    cluster: MemberCluster, client: ClusterClient, lookup: CoordinatorLookup
) -> None:
    """Whoever asks gets its future; a new one comes after its answer was looked at."""
    cluster.on("FindCoordinator", HOLD)
    future = lookup.lookup()
    assert lookup.lookup() is future
    assert lookup.is_pending
    assert not lookup.ensure_ready(cluster.now())
    cluster.let_find()
    while not cluster.broker.asked("FindCoordinator"):
        client.client.poll(cluster.clock.monotonic_ns() + NS_PER_MS)
    cluster.broker.wait_for("FindCoordinator").reply(cluster.found())
    assert client.client.await_future(future, cluster.soon())
    assert lookup.lookup() is future
    lookup.clear_future()
    assert lookup.lookup() is not future


def test_a_wakeup_ends_the_wait_unless_it_must_not(
    cluster: MemberCluster, client: ClusterClient, lookup: CoordinatorLookup
) -> None:
    """One that is not wanted stays for the next poll, even one that must not wait."""
    client.client.wakeup()
    assert lookup.ensure_ready(cluster.soon(), wakes=False)
    lookup.mark_unknown()
    with pytest.raises(WakeupError):
        lookup.ensure_ready(cluster.now())


def test_what_a_broker_of_another_protocol_says_is_raised(
    cluster: MemberCluster, lookup: CoordinatorLookup
) -> None:
    """No other attempt will succeed; it is raised once."""
    refusal = AuthenticationError("h:1", Layer.SASL, "wrong password")
    future = lookup.lookup()
    lookup._handle_failure(refusal, type(future)())
    with pytest.raises(AuthenticationError, match="wrong password"):
        lookup.ensure_ready(cluster.soon())
    assert lookup.ensure_ready(cluster.soon())


def test_a_coordinator_is_lost_with_its_connection(
    cluster: MemberCluster, client: ClusterClient, lookup: CoordinatorLookup
) -> None:
    """What was asked fails, and another lookup is needed."""
    lookup.ensure_ready(cluster.soon())
    cluster.on("Heartbeat", CLOSE)
    future = lookup.send(HEARTBEAT, complete)
    client.client.await_future(future, cluster.soon())
    assert isinstance(future.error(), DisconnectedError)
    assert lookup._node is None


def test_a_coordinator_that_is_given_up_answers_nothing_any_more(
    cluster: MemberCluster, client: ClusterClient, lookup: CoordinatorLookup
) -> None:
    """Its connection is closed from here."""
    cluster.on("Heartbeat", HOLD)
    lookup.ensure_ready(cluster.soon())
    future = lookup.send(HEARTBEAT, complete)
    lookup.mark_unknown()
    assert lookup.is_unknown
    client.client.await_future(future, cluster.soon())
    assert isinstance(future.error(), DisconnectedError)


@for_each(
    ("request", "reported"),
    [
        (HEARTBEAT, "group billing: no answer to Heartbeat for 5 s"),
        (JOIN, "no answer to JoinGroup for 5 s: it waits for the other members to join again"),
    ],
)
def test_a_request_that_is_not_answered_is_reported(request: RequestBuilder, reported: str) -> None:
    """After 5 s, until the answer comes: a member waits for ever."""
    with MemberCluster() as cluster, cluster.member_client() as client:
        found = CoordinatorLookup(client, cluster.settings, Membership().monitor, lambda: None)
        cluster.on(request.api.name, HOLD)
        found.ensure_ready(cluster.soon())
        future = found.send(request, complete, timeout_ns=60 * NS_PER_S)
        client.client.poll_no_wakeup()
        cluster.clock.advance(4 * NS_PER_S)
        assert found.lasting_refusal() is None
        cluster.clock.advance(NS_PER_S)
        assert reported in (found.lasting_refusal() or "")
        found.mark_unknown()
        client.client.await_future(future, cluster.soon())
        assert "no answer" not in (found.lasting_refusal() or "")


@for_each(
    ("api", "error", "is_reported"),
    [
        ("JoinGroup", "REBALANCE_IN_PROGRESS", True),
        ("SyncGroup", "UNKNOWN_MEMBER_ID", True),
        ("JoinGroup", "MEMBER_ID_REQUIRED", True),
        ("Heartbeat", "MEMBER_ID_REQUIRED", True),
        ("Heartbeat", "REBALANCE_IN_PROGRESS", False),
        ("OffsetCommit", "REBALANCE_IN_PROGRESS", False),
    ],
)
def test_a_refusal_that_lasts_is_reported(api: str, error: str, *, is_reported: bool) -> None:
    """A rebalance is usual, but not one that keeps a member out for longer than 2 s."""
    with MemberCluster() as cluster, cluster.member_client() as client:
        found = CoordinatorLookup(client, cluster.settings, Membership().monitor, lambda: None)
        for _ in range(2):
            future = RequestFuture[None]()
            future.fail(GroupError(GROUP, error, "so"))
            found._note(api, future)
            cluster.clock.advance(2 * NS_PER_S)
        reported = found.lasting_refusal()
        assert (reported is not None) == is_reported
        assert reported is None or (error in reported and f"(answer to {api})" in reported)


@for_each("errors", [["MEMBER_ID_REQUIRED"], ["UNKNOWN_MEMBER_ID", "MEMBER_ID_REQUIRED"]])
def test_a_step_of_joining_is_no_refusal(errors: list[str]) -> None:
    """It comes once, before the answer that counts, and stands in for no other error."""
    with MemberCluster() as cluster, cluster.member_client() as client:
        found = CoordinatorLookup(client, cluster.settings, Membership().monitor, lambda: None)
        for error in errors:
            future = RequestFuture[None]()
            future.fail(GroupError(GROUP, error, "so"))
            found._note("JoinGroup", future)
            cluster.clock.advance(5 * NS_PER_S)
        assert found.lasting_refusal() is None


def test_nothing_is_sent_to_a_coordinator_that_is_not_known(lookup: CoordinatorLookup) -> None:
    """The future has failed from the start, and may succeed later."""
    future = lookup.send(HEARTBEAT, complete)
    assert future.is_retriable
    assert "COORDINATOR_NOT_AVAILABLE" in str(future.error())


def test_ids_of_coordinators_are_apart_from_those_of_brokers() -> None:
    """As in Kafka's own clients."""
    assert [connection_id(each) for each in (0, 7)] == ["2147483647", "2147483640"]
