"""Offsets are looked up with the leaders."""

from collections.abc import Iterator

import pytest

from kdiag.client.fetch.offsets import (
    EARLIEST,
    LATEST,
    NO_OFFSET,
    EndOfEpoch,
    FoundOffset,
    ends_of_epochs,
    look_up,
)
from kdiag.client.fetch.position import FetchPosition, PartitionKey
from scripted_kafka.log_cluster import LogCluster
from scripted_kafka.scripted_broker import offering

S = 1_000_000_000
FIRST, SECOND = PartitionKey("orders", 0), PartitionKey("orders", 1)


@pytest.fixture
def cluster() -> Iterator[LogCluster]:
    """Two brokers that lead a partition each; the first has an open transaction."""
    with LogCluster(2) as cluster:
        first = cluster.add("orders", 0, leader=1)
        first.append(b"a", b"b", b"c", timestamp=5000)
        first.stable = 1
        cluster.add("orders", 1, leader=2).start = 7
        yield cluster


def found(
    cluster: LogCluster, timestamp: int, leaders: dict[PartitionKey, int | None] | None = None
) -> dict[PartitionKey, FoundOffset]:
    """Look both partitions up."""
    leaders = leaders or {FIRST: 1, SECOND: 2}
    with cluster.client() as client:
        return look_up(client, dict.fromkeys(leaders, timestamp), leaders, is_committed_only=True)


@pytest.mark.thorough
def test_the_first_the_last_and_the_one_at_a_time_are_found(cluster: LogCluster) -> None:
    """The last is the last stable one; no record at a time is -1."""
    assert found(cluster, EARLIEST) == {FIRST: FoundOffset(0), SECOND: FoundOffset(7)}
    assert found(cluster, LATEST) == {FIRST: FoundOffset(1), SECOND: FoundOffset(0)}
    assert found(cluster, 5001) == {FIRST: FoundOffset(1), SECOND: FoundOffset(-1)}


@pytest.mark.thorough
def test_each_partition_has_its_own_error(cluster: LogCluster) -> None:
    """Nobody leads it, the wrong one was asked, or the broker is down."""
    leaders = {FIRST: 2, SECOND: None}
    errors = {key: each.error for key, each in found(cluster, LATEST, leaders).items()}
    assert errors == {FIRST: "NOT_LEADER_OR_FOLLOWER", SECOND: "LEADER_NOT_AVAILABLE"}
    with cluster.client() as client:
        cluster.brokers[2].stop()
        result = look_up(
            client, {FIRST: LATEST, SECOND: LATEST}, {FIRST: 1, SECOND: 2}, is_committed_only=False
        )
    assert result[FIRST].error is None
    assert result[SECOND].error


def test_the_ends_of_epochs_are_asked_of_the_leaders(cluster: LogCluster) -> None:
    """An error is no end, and named; a broker that is down has said nothing."""
    first = FetchPosition(key=FIRST, offset=3, leader_id=1, leader_epoch=1, fetched_epoch=0)
    second = FetchPosition(key=SECOND, offset=3, leader_id=1, leader_epoch=1, fetched_epoch=0)
    with cluster.client() as client:
        found = ends_of_epochs(client, [first, second], S)
        refused = EndOfEpoch(0, -1, "NOT_LEADER_OR_FOLLOWER")
        assert found == {FIRST: EndOfEpoch(0, 3), SECOND: refused}
        cluster.brokers[2].stop()
        second.leader_id = 2
        found = ends_of_epochs(client, [first, second], S)
        assert found == {FIRST: EndOfEpoch(0, 3), SECOND: None}


@pytest.mark.parametrize("newest", [0, 1, 2])
def test_brokers_of_before_transactions_are_asked_without_an_isolation_level(
    cluster: LogCluster, newest: int
) -> None:
    """Kafka 0.10.0 has ListOffsets v0 alone, with offsets in the old style."""
    cluster.on("ApiVersions", offering(ListOffsets=(0, newest)))
    cluster.logs[FIRST].stable = None
    leaders = {FIRST: 1}
    with cluster.client() as client:
        for timestamp, offset in ((EARLIEST, 0), (LATEST, 3)):
            asked = {FIRST: timestamp}
            found = look_up(client, asked, leaders, is_committed_only=True, timeout_ns=S)
            assert found == {FIRST: FoundOffset(offset)}


def test_the_times_of_segments_are_no_offsets_of_records(cluster: LogCluster) -> None:
    """That is all that ListOffsets v0 knows: an error, and no wrong offset."""
    cluster.on("ApiVersions", offering(ListOffsets=(0, 0)))
    with cluster.client() as client:
        found = look_up(client, {FIRST: 1000}, {FIRST: 1}, is_committed_only=True, timeout_ns=S)
    assert found[FIRST].offset == NO_OFFSET
    assert found[FIRST].error is not None
