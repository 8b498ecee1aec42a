from collections.abc import Iterator

import pytest

from kdiag.client.cluster_client import ClusterClient
from kdiag.diagnosis.transactions import OpenPartition
from kdiag.probe.transactions.held_groups import groups_held_back
from kdiag.wire.api.describe_cluster import DescribeClusterResponse
from kdiag.wire.api.list_groups import ListGroupsResponse
from kdiag.wire.api.offset_fetch import OffsetFetchResponseGroup
from kdiag.wire.error_code import CODE_BY_NAME
from kdiag.wire.records.record import ControlType
from scripted_kafka.group_cluster import GroupCluster

OPEN = OpenPartition(
    topic="orders",
    partition=0,
    leader_id=1,
    producer_id=7,
    producer_epoch=0,
    coordinator_epoch=0,
    start_offset=3,
    last_ms=0,
    lso=3,
    end=5,
)


@pytest.fixture
def cluster() -> Iterator[GroupCluster]:
    """A partition with two records, a marker, and two records of an open transaction."""
    with GroupCluster(1) as cluster:
        log = cluster.add("orders", 0)
        log.append(b"a", b"b")
        log.mark(9, ControlType.COMMIT)
        log.append(b"open", b"open")
        log.stable = 3
        yield cluster


def test_groups_that_have_read_all_up_to_a_transaction_wait_for_it(
    cluster: GroupCluster, client: ClusterClient
) -> None:
    """A marker is nothing to read; who is further behind has something, who is ahead goes on."""
    for name, offset in {"at": 3, "before": 2, "behind": 1, "ahead": 5}.items():
        cluster.add_group(name, {("orders", 0): offset, ("clicks", 0): 3})
    cluster.add_new_group("next", {("orders", 0): 3}, {})
    client.refresh(["orders"])
    held = groups_held_back(client, [OPEN])
    assert held == ({("orders", 0): ["at", "before", "next"]}, [])


def test_without_groups_nobody_waits(client: ClusterClient) -> None:
    """Nor without open transactions."""
    client.refresh(["orders"])
    assert groups_held_back(client, [OPEN]) == ({}, [])
    assert groups_held_back(client, []) == ({}, [])


def test_groups_that_may_wait_unseen_are_told_of(
    cluster: GroupCluster, client: ClusterClient
) -> None:
    """Where brokers do not list their groups, list some, or do not say what is committed."""
    cluster.add_group("refused", {("orders", 0): 3})
    code = CODE_BY_NAME["COORDINATOR_LOAD_IN_PROGRESS"]
    cluster.commits["refused"] = OffsetFetchResponseGroup("refused", error_code=code)
    cluster.on("DescribeCluster", DescribeClusterResponse(cluster_authorized_operations=0))
    client.refresh(["orders"])
    hidden, unknown = groups_held_back(client, [OPEN]).warnings
    assert hidden.startswith("brokers list only the groups that you may describe: ")
    assert unknown == "group refused: its commits are not known: COORDINATOR_LOAD_IN_PROGRESS"
    cluster.brokers[1].on("ListGroups", ListGroupsResponse(error_code=code))
    (unlisted, _) = groups_held_back(client, [OPEN]).warnings
    assert unlisted == "broker 1 did not list its groups: COORDINATOR_LOAD_IN_PROGRESS"
