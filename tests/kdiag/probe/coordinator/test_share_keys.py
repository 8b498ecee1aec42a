"""The keys of share partitions."""

from collections.abc import Iterator

import pytest

from kdiag.errors import AbsentError, AuthorizationError, ProbeError
from kdiag.probe.coordinator.share_keys import share_keys
from kdiag.wire.api.describe_share_group_offsets import (
    DescribeShareGroupOffsetsResponse,
    DescribeShareGroupOffsetsResponseGroup,
    DescribeShareGroupOffsetsResponsePartition,
    DescribeShareGroupOffsetsResponseTopic,
)
from kdiag.wire.api.find_coordinator import Coordinator, FindCoordinatorResponse
from kdiag.wire.api.metadata import MetadataResponsePartition, MetadataResponseTopic
from kdiag.wire.error_code import CODE_BY_NAME
from kdiag.wire.primitives import uuid_text
from scripted_kafka.scripted_cluster import ScriptedCluster

TOPIC_ID = bytes(range(16))
TEXT = uuid_text(TOPIC_ID)


@pytest.fixture
def cluster() -> Iterator[ScriptedCluster]:
    """One broker with the topic `orders` and no share group."""
    with ScriptedCluster(1) as cluster:
        there = [MetadataResponsePartition(partition_index=n) for n in range(8)]
        cluster.topics = [MetadataResponseTopic(0, "orders", TOPIC_ID, partitions=there)]
        coordinator = Coordinator("billing", 1, "127.0.0.1", cluster.brokers[1].port)
        cluster.on("FindCoordinator", FindCoordinatorResponse(coordinators=[coordinator]))
        yield cluster


def keys(cluster: ScriptedCluster, *names: str) -> list[str]:
    """Return the keys of names."""
    with cluster.client() as client:
        return share_keys(client, names)


def describing(group: DescribeShareGroupOffsetsResponseGroup) -> DescribeShareGroupOffsetsResponse:
    """Return the answer about a group."""
    return DescribeShareGroupOffsetsResponse(groups=[group])


def test_one_partition_is_named_by_group_topic_and_number(cluster: ScriptedCluster) -> None:
    """A group may have colons in its name; the same key comes once."""
    names = ["billing:orders:7", "a:b:orders:0", "billing:orders:7"]
    assert keys(cluster, *names) == [f"billing:{TEXT}:7", f"a:b:{TEXT}:0"]


def test_a_group_stands_for_all_that_it_shares(cluster: ScriptedCluster) -> None:
    """Its coordinator knows the partitions."""
    partitions = [DescribeShareGroupOffsetsResponsePartition(partition_index=n) for n in (0, 1)]
    topic = DescribeShareGroupOffsetsResponseTopic("orders", TOPIC_ID, partitions)
    group = DescribeShareGroupOffsetsResponseGroup("billing", [topic])
    cluster.on("DescribeShareGroupOffsets", describing(group))
    assert keys(cluster, "billing") == [f"billing:{TEXT}:0", f"billing:{TEXT}:1"]


@pytest.mark.parametrize(
    ("error", "why"), [("GROUP_ID_NOT_FOUND", "GROUP_ID_NOT_FOUND"), ("NONE", "shares nothing yet")]
)
def test_a_group_that_shares_nothing_is_refused(
    cluster: ScriptedCluster, error: str, why: str
) -> None:
    """There is nothing to look for."""
    group = DescribeShareGroupOffsetsResponseGroup("billing", error_code=CODE_BY_NAME[error])
    cluster.on("DescribeShareGroupOffsets", describing(group))
    with pytest.raises(AbsentError, match=why):
        keys(cluster, "billing")


def test_a_topic_that_does_not_exist_is_refused(cluster: ScriptedCluster) -> None:
    """Its id is needed for the key."""
    with pytest.raises(AbsentError, match="UNKNOWN_TOPIC_OR_PARTITION"):
        keys(cluster, "billing:nosuch:0")
    with pytest.raises(AbsentError, match="partition 9 of topic orders: the topic has partitions"):
        keys(cluster, "billing:orders:9")


def test_a_group_without_a_coordinator_is_refused(cluster: ScriptedCluster) -> None:
    """Nobody can be asked what it shares."""
    refusal = Coordinator("billing", error_code=CODE_BY_NAME["GROUP_AUTHORIZATION_FAILED"])
    cluster.on("FindCoordinator", FindCoordinatorResponse(coordinators=[refusal]))
    with pytest.raises(AuthorizationError, match="GROUP_AUTHORIZATION_FAILED"):
        keys(cluster, "billing")
    refusal = Coordinator("billing", error_code=CODE_BY_NAME["COORDINATOR_NOT_AVAILABLE"])
    cluster.on("FindCoordinator", FindCoordinatorResponse(coordinators=[refusal]))
    with pytest.raises(ProbeError, match="no coordinator: COORDINATOR_NOT_AVAILABLE"):
        keys(cluster, "billing")
