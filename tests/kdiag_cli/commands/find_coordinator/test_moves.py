"""`kdiag find-coordinator --moves` on scripted brokers."""

import json

from kdiag.wire.api.describe_cluster import DescribeClusterResponse
from programs.kdiag_program import kdiag
from scripted_kafka.coordinating_cluster import coordinating_cluster
from scripted_kafka.scripted_broker import CLOSE


def test_every_broker_is_a_row_with_its_groups() -> None:
    """Types and states are counted in their cells."""
    with coordinating_cluster() as cluster:
        done = kdiag("find-coordinator", "-b", cluster.bootstrap, "--moves", "--no-headers")
        port = cluster.brokers[2].port
    rows = [line.split("\t") for line in done.out.splitlines()]
    assert done.code == 0
    assert rows[1] == ["2", f"127.0.0.1:{port}", "rack-2", "1", "consumer 1", "Stable 1", "1", "-"]
    assert [row[3] for row in rows] == ["0", "1", "0"]


def test_a_broker_that_does_not_say_makes_it_partial() -> None:
    """Exit code 8, and the row says why."""
    with coordinating_cluster() as cluster:
        cluster.brokers[3].on("ListGroups", CLOSE)
        done = kdiag("find-coordinator", "-b", cluster.bootstrap, "--moves", "-o", "json")
    third = json.loads(done.out)["data"][2]
    assert done.code == 8
    assert (third["groups"], third["node_id"]) == (None, 3)
    assert third["error"]


def test_groups_that_a_user_may_not_see_make_it_partial() -> None:
    """The counts are of those that are listed."""
    with coordinating_cluster() as cluster:
        cluster.on("DescribeCluster", DescribeClusterResponse(cluster_authorized_operations=0))
        done = kdiag("find-coordinator", "-b", cluster.bootstrap, "--moves")
    assert done.code == 8
    assert "brokers list only the groups that you may describe" in done.err
