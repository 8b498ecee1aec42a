"""`kdiag rebalance probe` where it cannot begin; tests/interop has real brokers."""

import json
from collections.abc import Iterator

import pytest

from kdiag.wire.api.share_group_describe import ShareGroupDescribeResponse
from programs.kdiag_program import Done, kdiag
from scripted_kafka.joinable_cluster import JOINED, JoinableCluster
from scripted_kafka.scripted_broker import offering


@pytest.fixture
def cluster() -> Iterator[JoinableCluster]:
    """Return a broker with a group."""
    with JoinableCluster() as cluster:
        yield cluster


def probe(cluster: JoinableCluster, *arguments: object) -> Done:
    """Run the command."""
    return kdiag("rebalance", "probe", "-b", cluster.bootstrap, *arguments)


def test_brokers_without_the_consumer_protocol_are_told(cluster: JoinableCluster) -> None:
    """Where nothing else was asked for, that is not supported."""
    cluster.on("ApiVersions", offering(ConsumerGroupHeartbeat=(0, -1)))
    done = probe(cluster, "--protocol", "consumer", "-o", "json")
    assert done.code == 7
    assert "KIP-848" in done.err
    assert json.loads(done.out)["command"] == "rebalance probe"


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["--assignor", "fair"], "found 'fair'"),
        (["--protocol", "classic", "--assignor", "uniform"], "no assignor of uniform"),
    ],
)
def test_an_assignor_that_nobody_has_is_wrong_usage(
    cluster: JoinableCluster, arguments: list[str], why: str
) -> None:
    """Nothing is made on the cluster."""
    done = probe(cluster, *arguments)
    assert done.code == 2
    assert why in done.err
    assert cluster.brokers[1].asked("CreateTopics") == []


def test_a_real_group_of_another_kind_is_not_joined(cluster: JoinableCluster) -> None:
    """Share groups have no partitions to own."""
    cluster.add_group(JOINED, {})
    listed = cluster.listed[JOINED]
    listed.group_type = "Share"
    cluster.on("ShareGroupDescribe", ShareGroupDescribeResponse())
    done = probe(cluster, "--group", JOINED, "--i-know")
    assert done.code == 2
    assert "billing is a share group, which has no consumers" in done.err
