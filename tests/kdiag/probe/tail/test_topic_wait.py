"""Waiting for topics that are still to be created."""

from collections.abc import Iterator

import pytest

from kdiag.client.cluster_client import ClusterClient
from kdiag.errors import ConfigError
from kdiag.probe.tail.topic_selection import TopicSelector, parse_selector
from kdiag.probe.tail.topic_wait import TopicWait
from kdiag.wire.api.metadata import MetadataResponseTopic
from kdiag.wire.error_code import CODE_BY_NAME
from scripted_kafka.log_cluster import LogCluster
from scripted_kafka.scripted_cluster import ScriptedCluster


@pytest.fixture
def cluster() -> Iterator[LogCluster]:
    """A broker with one topic."""
    with LogCluster(1) as cluster:
        cluster.add("orders", 0)
        yield cluster


@pytest.fixture
def client(cluster: LogCluster) -> Iterator[ClusterClient]:
    """A client of the cluster."""
    with cluster.client() as client:
        yield client


@pytest.mark.parametrize("text", ["payments", "pay*"])
def test_a_topic_that_comes_is_read_from_its_beginning(
    client: ClusterClient, cluster: LogCluster, text: str
) -> None:
    """All of it is new; of topics that were there before it is not."""
    wait = TopicWait(client, [parse_selector("orders"), parse_selector(text)])
    missing = wait.look()
    assert missing is not None
    assert missing.key == text
    cluster.add("payments", 0)
    assert wait.look() is None
    assert wait.selectors == [TopicSelector("orders"), TopicSelector(text, {}, takes_new=True)]


def test_a_partition_may_be_waited_for(client: ClusterClient, cluster: LogCluster) -> None:
    """With its own position, if it has one."""
    wait = TopicWait(client, [parse_selector("orders:1@0")])
    assert wait.look() is not None
    cluster.add("orders", 1)
    assert wait.look() is None
    assert wait.selectors == [parse_selector("orders:1@0")]


def test_what_can_never_be_is_not_waited_for() -> None:
    """A name that no topic may have."""
    with ScriptedCluster(1) as cluster:
        code = CODE_BY_NAME["INVALID_TOPIC_EXCEPTION"]
        cluster.topics = [MetadataResponseTopic(error_code=code, name="..")]
        with cluster.client() as client, pytest.raises(ConfigError, match="INVALID_TOPIC"):
            TopicWait(client, [parse_selector("..")]).look()
