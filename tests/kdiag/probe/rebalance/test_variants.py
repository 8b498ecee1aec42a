from collections.abc import Iterator

import pytest

from kdiag.client.cluster_client import ClusterClient
from kdiag.client.config.load import ClientConfig, ConfigSources, load_config
from kdiag.clock import NS_PER_MS
from kdiag.diagnosis.rebalance.model import GroupType
from kdiag.errors import ConfigError
from kdiag.probe.rebalance.variants import speaks_consumer_protocol, times_of, variants_of
from kdiag.wire.api.describe_configs import (
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    DescribeConfigsResult,
)
from scripted_kafka.scripted_broker import Received
from scripted_kafka.scripted_cluster import ScriptedCluster
from tiers.cases import for_each

CLASSIC, CONSUMER = GroupType.CLASSIC, GroupType.CONSUMER
SETTINGS = {
    "group.min.session.timeout.ms": "900",
    "group.consumer.session.timeout.ms": "2000",
    "group.consumer.heartbeat.interval.ms": "300",
}


@pytest.fixture
def cluster() -> Iterator[ScriptedCluster]:
    """Return a broker that tells its settings."""

    def describe(received: Received) -> None:
        key = received.message().resources[0].configuration_keys[0]  # type: ignore[attr-defined]
        config = DescribeConfigsResourceResult(name=key, value=SETTINGS.get(key))
        received.reply(DescribeConfigsResponse(results=[DescribeConfigsResult(configs=[config])]))

    with ScriptedCluster(1) as cluster:
        cluster.on("DescribeConfigs", describe)
        yield cluster


def config(*properties: str) -> ClientConfig:
    """Return the configuration of a client."""
    return load_config(ConfigSources(properties=["bootstrap.servers=a:1", *properties]))


@for_each(
    ("protocols", "assignors", "variants"),
    [
        ([], [], ["range (eager)", "cooperative-sticky (cooperative)", "uniform (KIP-848)"]),
        ([CLASSIC], [], ["range (eager)", "cooperative-sticky (cooperative)"]),
        ([CONSUMER], [], ["uniform (KIP-848)"]),
        ([CONSUMER], ["range"], ["range (KIP-848)"]),
        ([], ["sticky", "sticky", "uniform"], ["sticky (eager)", "uniform (KIP-848)"]),
    ],
)
def test_protocols_and_assignors_make_kinds_of_groups(
    protocols: list[GroupType], assignors: list[str], variants: list[str]
) -> None:
    """Without a word about either, one of each kind."""
    assert [each.name for each in variants_of(protocols, assignors)] == variants


@pytest.mark.parametrize(
    ("protocols", "assignors", "why"),
    [
        ([], ["fair"], "found 'fair'"),
        ([CLASSIC], ["uniform"], "no assignor of uniform is one of the classic protocol"),
        ([CLASSIC, CONSUMER], ["range"], "no assignor of range is one of the consumer protocol"),
    ],
)
def test_an_assignor_that_nobody_has_is_refused(
    protocols: list[GroupType], assignors: list[str], why: str
) -> None:
    """As is a protocol that is left without any."""
    with pytest.raises(ConfigError, match=why):
        variants_of(protocols, assignors)


@for_each(
    ("protocol", "properties", "times_ms"),
    [
        (CLASSIC, [], (900, 300, 1000)),
        (CLASSIC, ["session.timeout.ms=30000"], (30_000, 3_000, 1000)),
        (
            CLASSIC,
            ["heartbeat.interval.ms=50", "metadata.max.age.ms=200"],
            (900, 50, 200),
        ),
        (CONSUMER, ["metadata.max.age.ms=200", "session.timeout.ms=7"], (2000, 300, 200)),
    ],
)
def test_what_is_not_set_is_as_short_as_the_broker_allows(
    client: ClusterClient, protocol: GroupType, properties: list[str], times_ms: tuple[int, ...]
) -> None:
    """With KIP-848 session and heartbeats are the broker's alone."""
    times = times_of(client, config(*properties), protocol)
    assert tuple(each // NS_PER_MS for each in times) == times_ms


def test_a_broker_that_tells_no_settings_has_the_usual_ones(
    cluster: ScriptedCluster, client: ClusterClient
) -> None:
    """A user who may not read them can probe all the same."""
    cluster.on("DescribeConfigs", DescribeConfigsResponse())
    assert times_of(client, config(), CLASSIC).session_timeout_ns == 6_000 * NS_PER_MS
    assert times_of(client, config(), CONSUMER).session_timeout_ns == 45_000 * NS_PER_MS


def test_brokers_tell_whether_they_know_the_consumer_protocol(cluster: ScriptedCluster) -> None:
    """By the versions that they offer."""
    with cluster.client() as client:
        assert speaks_consumer_protocol(client)
