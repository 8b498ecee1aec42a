from kdiag.client.cluster_client import ClusterClient
from kdiag.client.fetch.position import PartitionKey
from kdiag.probe.groups.commits import Commit, GroupCommits, fetch_commits
from kdiag.probe.groups.listing import ListedGroup
from kdiag.wire.api.describe_share_group_offsets import (
    DescribeShareGroupOffsetsResponse,
    DescribeShareGroupOffsetsResponseGroup,
    DescribeShareGroupOffsetsResponsePartition,
    DescribeShareGroupOffsetsResponseTopic,
)
from kdiag.wire.error_code import CODE_BY_NAME
from scripted_kafka.group_cluster import GroupCluster
from scripted_kafka.scripted_broker import CLOSE

ORDERS = PartitionKey("orders", 0)


def commits(client: ClusterClient, **kinds: str) -> dict[str, GroupCommits]:
    """Return the commits of groups of broker 1."""
    groups = {name: ListedGroup(kind, "", "", 1) for name, kind in kinds.items()}
    return fetch_commits(client, groups, lambda _: None)


def test_groups_of_a_coordinator_are_asked_about_at_once(
    cluster: GroupCluster, client: ClusterClient
) -> None:
    """One request for all, whatever their type."""
    cluster.add_group("a", {("orders", 0): 7})
    cluster.add_new_group("b", {("orders", 0): 9, ("clicks", 1): 3}, {})
    found = commits(client, a="classic", b="consumer")

    assert found["a"] == GroupCommits({ORDERS: Commit(7)})
    assert found["b"].partitions[PartitionKey("clicks", 1)] == Commit(3)
    assert len(cluster.brokers[1].asked("OffsetFetch")) == 1


def test_errors_are_those_of_a_group_or_of_a_partition(
    cluster: GroupCluster, client: ClusterClient
) -> None:
    """A broker that does not answer is one of all."""
    cluster.add_group("a", {("orders", 0): 5})  # beside an error an offset is no position
    cluster.commits["a"].topics[0].partitions[0].error_code = CODE_BY_NAME[
        "TOPIC_AUTHORIZATION_FAILED"
    ]
    assert commits(client, a="classic")["a"].partitions == {
        ORDERS: Commit(None, error="TOPIC_AUTHORIZATION_FAILED")
    }
    cluster.commits["a"].error_code = CODE_BY_NAME["NOT_COORDINATOR"]
    assert commits(client, a="classic")["a"].error == "NOT_COORDINATOR"
    cluster.brokers[1].on("OffsetFetch", CLOSE)
    assert "127.0.0.1" in (commits(client, a="classic")["a"].error or "")


def test_share_groups_have_start_offsets(cluster: GroupCluster, client: ClusterClient) -> None:
    """And the lag that their coordinator tells; -1 is none."""
    parts = [
        DescribeShareGroupOffsetsResponsePartition(0, start_offset=4, lag=6),
        DescribeShareGroupOffsetsResponsePartition(1, start_offset=-1),
    ]
    topic = DescribeShareGroupOffsetsResponseTopic("orders", partitions=parts)
    group = DescribeShareGroupOffsetsResponseGroup("s", [topic])
    cluster.on("DescribeShareGroupOffsets", DescribeShareGroupOffsetsResponse(groups=[group]))

    assert commits(client, s="share")["s"].partitions == {
        ORDERS: Commit(4, lag=6),
        PartitionKey("orders", 1): Commit(None),
    }


def test_an_offset_that_waits_for_a_transaction_is_marked(
    cluster: GroupCluster, client: ClusterClient
) -> None:
    """With the one before; groups without are asked about once."""
    cluster.add_group("a", {("orders", 0): 5, ("orders", 1): 6})
    cluster.add_group("b", {("orders", 0): 7})
    cluster.pending = {("a", "orders", 1)}
    found = commits(client, a="classic", b="classic")
    assert found["a"].partitions == {
        ORDERS: Commit(5),
        PartitionKey("orders", 1): Commit(6, is_pending=True),
    }
    assert found["b"].partitions == {ORDERS: Commit(7)}
    asked = [each.message() for each in cluster.brokers[1].asked("OffsetFetch")]
    assert [[each.group_id for each in one.groups] for one in asked] == [["a", "b"], ["a"]]  # type: ignore[attr-defined]
