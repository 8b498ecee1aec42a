from collections.abc import Iterator

import pytest

from kdiag.client.cluster_client import ClusterClient
from kdiag.probe.config_value import broker_setting, broker_settings, topic_setting
from kdiag.wire.api.describe_configs import (
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    DescribeConfigsResult,
)
from scripted_kafka.scripted_broker import CLOSE
from scripted_kafka.scripted_cluster import ScriptedCluster


@pytest.fixture
def cluster() -> Iterator[ScriptedCluster]:
    """A broker whose settings are two numbers, and one that is not told."""
    settings = [("segment.ms", "7"), ("retention.ms", "9"), ("secret", None)]
    configs = [DescribeConfigsResourceResult(*each) for each in settings]
    with ScriptedCluster(1) as cluster:
        result = DescribeConfigsResult(configs=configs)
        cluster.on("DescribeConfigs", DescribeConfigsResponse(results=[result]))
        yield cluster


def test_a_setting_is_found_by_its_name(client: ClusterClient) -> None:
    """One that is not told is None."""
    assert broker_setting(client, "retention.ms") == topic_setting(client, "t", "retention.ms") == 9
    assert broker_setting(client, "secret") is None
    assert topic_setting(client, "t", "other") is None


def test_settings_are_asked_for_at_once(cluster: ScriptedCluster, client: ClusterClient) -> None:
    """In one request, and those that are not told are not there."""
    keys = ["segment.ms", "retention.ms", "secret"]
    assert broker_settings(client, 1, keys) == {"segment.ms": 7, "retention.ms": 9}
    assert len(cluster.brokers[1].asked("DescribeConfigs")) == 1


def test_nobody_may_answer(cluster: ScriptedCluster, client: ClusterClient) -> None:
    """Then it is not known."""
    cluster.on("DescribeConfigs", CLOSE)
    assert broker_setting(client, "retention.ms") is None
    assert topic_setting(client, "t", "retention.ms") is None
    assert broker_settings(client, 1, ["retention.ms"]) == {}
