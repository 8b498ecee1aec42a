"""Intents of ConsumerCoordinatorTest about fetching committed offsets.

Held: testFetchCommittedOffsets, testTopicAuthorizationFailedInOffsetFetch,
testRefreshOffsetsGroupNotAuthorized, testRefreshOffsetWithPendingTransactions,
testRefreshOffsetUnknownTopicOrPartition, testRefreshOffsetRetriableErrorCoordinatorLookup,
testRefreshOffsetWithNoFetchableOffsets, testNoThrowWhenStableFlagIsSupported. Left out:
testThrowOnUnsupportedStableFlag (a mode of Kafka Streams alone).
"""

from collections.abc import Iterator

import pytest

from kdiag.client.cluster_client import ClusterClient
from kdiag.client.group.classic.consumer_coordinator import ConsumerCoordinator
from kdiag.client.group.committed_offsets import UnstableOffsetsError
from kdiag.client.group.member import OffsetAndMetadata
from kdiag.client.group.membership import Generation, MemberState
from kdiag.clock import NS_PER_MS, NS_PER_S
from kdiag.errors import AuthorizationError, GroupError, RequestTimeoutError
from kdiag.wire.api.offset_fetch import (
    OffsetFetchResponse,
    OffsetFetchResponsePartition,
    OffsetFetchResponseTopic,
)
from scripted_kafka.consumer_cluster import TOPIC, ConsumerCluster, fetched, keys
from scripted_kafka.member_cluster import in_turn
from scripted_kafka.scripted_broker import CLOSE, HOLD, offering

BOTH = keys(0, 1)


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
def member(cluster: ConsumerCluster, client: ClusterClient) -> ConsumerCoordinator:
    """Return a member that has not joined: offsets can be asked for anyway."""
    return cluster.consumer(client)


def test_offsets_come_with_their_epochs_and_notes(
    cluster: ConsumerCluster, member: ConsumerCoordinator
) -> None:
    """Of the partitions that have any; only what is stable counts."""
    cluster.let_fetch({0: 7, 1: -1})
    assert member.committed(BOTH, cluster.soon()) == {keys(0)[0]: OffsetAndMetadata(7, 3, "note")}
    (asked,) = cluster.messages("OffsetFetch")
    assert asked.require_stable
    ((group,),) = [asked.groups]
    assert group.group_id == "billing"
    assert [(each.name, each.partition_indexes) for each in group.topics] == [(TOPIC, [0, 1])]


def test_nothing_is_asked_about_nothing(
    cluster: ConsumerCluster, member: ConsumerCoordinator
) -> None:
    """Not even who the coordinator is."""
    assert member.committed([], cluster.soon()) == {}
    assert cluster.broker.asked("FindCoordinator") == []


@pytest.mark.parametrize("newest", [6, 7])
def test_an_old_broker_is_asked_about_one_group(cluster: ConsumerCluster, newest: int) -> None:
    """And for stable offsets if it knows of them (KIP-447)."""
    cluster.on("ApiVersions", offering(OffsetFetch=(1, newest)))
    partition = OffsetFetchResponsePartition(0, 7)
    topic = OffsetFetchResponseTopic(TOPIC, [partition])
    cluster.on("OffsetFetch", OffsetFetchResponse(topics=[topic]))
    with cluster.member_client() as client:
        member = cluster.consumer(client)
        assert member.committed(keys(0), cluster.soon()) == {keys(0)[0]: OffsetAndMetadata(7)}
    (asked,) = cluster.messages("OffsetFetch")
    assert asked.group_id == "billing"
    assert asked.require_stable is (newest == 7)


@pytest.mark.parametrize(
    "first",
    [
        fetched({}, "COORDINATOR_LOAD_IN_PROGRESS"),
        fetched({}, "NOT_COORDINATOR"),
        fetched({}, "COORDINATOR_NOT_AVAILABLE"),
        fetched({0: "UNSTABLE_OFFSET_COMMIT", 1: 5}),
        CLOSE,
    ],
    ids=["loading", "moved", "away", "unstable", "closed"],
)
def test_what_may_end_is_waited_for(
    cluster: ConsumerCluster, member: ConsumerCoordinator, first: OffsetFetchResponse
) -> None:
    """A coordinator that moves, and a transaction that is open."""
    cluster.on("OffsetFetch", in_turn(first, fetched({0: 7})))
    assert member.committed(BOTH, cluster.soon())[keys(0)[0]].offset == 7
    assert len(cluster.broker.asked("OffsetFetch")) == 2


@pytest.mark.parametrize("error", ["GROUP_AUTHORIZATION_FAILED", "UNKNOWN_SERVER_ERROR"])
def test_a_group_may_not_be_asked_about(
    cluster: ConsumerCluster, member: ConsumerCoordinator, error: str
) -> None:
    """Then it is not asked about again."""
    cluster.let_fetch({}, error)
    with pytest.raises(GroupError, match=error):
        member.committed(BOTH, cluster.soon())
    assert len(cluster.broker.asked("OffsetFetch")) == 1


def test_an_error_of_one_partition_is_named(
    cluster: ConsumerCluster, member: ConsumerCoordinator
) -> None:
    """Before anything else."""
    cluster.let_fetch({0: 7, 1: "UNKNOWN_TOPIC_OR_PARTITION"})
    with pytest.raises(GroupError, match=r"does not tell the committed offset of orders\[1\]"):
        member.committed(BOTH, cluster.soon())


def test_a_topic_that_may_not_be_read_is_named(
    cluster: ConsumerCluster, member: ConsumerCoordinator
) -> None:
    """With the operation to allow."""
    cluster.let_fetch({0: "TOPIC_AUTHORIZATION_FAILED", 1: "UNSTABLE_OFFSET_COMMIT"})
    with pytest.raises(AuthorizationError, match="may not read orders; allow the operation READ"):
        member.committed(BOTH, cluster.soon())


def test_the_next_call_goes_on_with_a_request_that_took_too_long(
    cluster: ConsumerCluster, member: ConsumerCoordinator
) -> None:
    """If it is for the same partitions, and the member is in the same generation."""
    cluster.on("OffsetFetch", HOLD)
    assert member.lookup.ensure_ready(cluster.soon())
    while not cluster.broker.asked("OffsetFetch"):
        with pytest.raises(RequestTimeoutError, match="has not returned the committed offsets"):
            member.committed(BOTH, cluster.now() + NS_PER_MS)
    cluster.broker.wait_for("OffsetFetch").reply(fetched({0: 7}))
    assert len(member.committed(BOTH, cluster.soon())) == 1
    assert len(cluster.broker.asked("OffsetFetch")) == 1


@pytest.mark.parametrize("changes", ["partitions", "generation"])
def test_the_answer_to_another_question_is_not_used(
    cluster: ConsumerCluster, member: ConsumerCoordinator, changes: str
) -> None:
    """Offsets may have been committed since."""
    cluster.on("OffsetFetch", HOLD)
    assert member.lookup.ensure_ready(cluster.soon())
    while not cluster.broker.asked("OffsetFetch"):
        with pytest.raises(RequestTimeoutError):
            member.committed(BOTH, cluster.now() + NS_PER_MS)
    cluster.let_fetch({0: 8})
    cluster.broker.wait_for("OffsetFetch").reply(fetched({0: 7}))
    if changes == "generation":
        member.membership.state = MemberState.STABLE
        member.membership.generation = Generation(2, "m-1", "range")
    asked = BOTH if changes == "generation" else keys(0)
    assert member.committed(asked, cluster.soon())[keys(0)[0]].offset == 8


def test_a_deadline_ends_the_search_for_a_coordinator(
    cluster: ConsumerCluster, member: ConsumerCoordinator
) -> None:
    """And waits between attempts."""
    cluster.on("FindCoordinator", cluster.found("COORDINATOR_NOT_AVAILABLE"))
    with pytest.raises(RequestTimeoutError):
        member.committed(BOTH, cluster.now() + 3 * NS_PER_MS)
    cluster.let_find()
    cluster.let_fetch({}, "COORDINATOR_LOAD_IN_PROGRESS")
    with pytest.raises(RequestTimeoutError):
        member.committed(BOTH, cluster.now() + 20 * NS_PER_MS)


@pytest.mark.thorough
def test_a_transaction_that_stays_open_is_said_after_a_moment(
    cluster: ConsumerCluster, member: ConsumerCoordinator
) -> None:
    """Long before the deadline, with the partitions; what asks may ask again."""
    cluster.let_fetch({0: 7, 1: "UNSTABLE_OFFSET_COMMIT"})
    with pytest.raises(UnstableOffsetsError, match="UNSTABLE_OFFSET_COMMIT") as raised:
        member.committed(BOTH, cluster.now() + 3600 * NS_PER_S)
    assert raised.value.keys == set(keys(1))
    assert raised.value.is_retriable
    cluster.let_fetch({0: 7, 1: 9})
    assert member.committed(BOTH, cluster.soon())[keys(1)[0]].offset == 9
