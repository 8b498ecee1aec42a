from collections.abc import Iterator

import pytest

from client_ends.client_peers import closed_port
from kdiag.client.cluster_client import ClusterClient
from kdiag.diagnosis.buffers.facts import BrokerConfig
from kdiag.errors import ConnectError
from kdiag.probe.buffers.path import look_at_paths
from kdiag.wire.api.metadata import MetadataResponse, MetadataResponseBroker
from scripted_kafka.loaded_cluster import LoadedCluster
from scripted_kafka.scripted_broker import CLOSE

MS = 1_000_000


@pytest.fixture
def cluster() -> Iterator[LoadedCluster]:
    """Yield two brokers."""
    with LoadedCluster(2) as brokers:
        yield brokers


def test_paths_are_told_by_broker(client: ClusterClient, cluster: LoadedCluster) -> None:
    """Round trips of TCP and of small requests, and what both ends are set to."""
    first, second = look_at_paths(client)

    assert (first.node_id, second.node_id) == (1, 2)
    assert first.address == f"127.0.0.1:{cluster.brokers[1].port}"
    assert first.rtt_ns is not None
    assert first.is_short
    assert first.least_request_rtt_ns is not None
    assert first.request_rtt_ns is not None
    assert 0 < first.least_request_rtt_ns <= first.request_rtt_ns < 1_000 * MS
    assert first.facts is not None
    assert first.config == BrokerConfig(102400, -1, 1048588)
    assert first.error is None


def test_a_round_trip_that_is_given_is_gone_by(client: ClusterClient) -> None:
    """Whatever is measured."""
    path, _ = look_at_paths(client, 80 * MS)
    assert path.rtt_ns == 80 * MS


def test_a_broker_may_keep_its_settings_to_itself(
    client: ClusterClient, cluster: LoadedCluster
) -> None:
    """The error says why; nothing else is missing."""
    cluster.errors["DescribeConfigs"] = "CLUSTER_AUTHORIZATION_FAILED"
    path, _ = look_at_paths(client)

    assert path.config == BrokerConfig(why_unknown="CLUSTER_AUTHORIZATION_FAILED")
    assert path.rtt_ns is not None


def test_a_broker_may_hang_up_when_asked_for_its_settings(
    client: ClusterClient, cluster: LoadedCluster
) -> None:
    """The other one answers all the same."""
    cluster.brokers[2].on("DescribeConfigs", CLOSE)
    first, second = look_at_paths(client)

    assert first.config.send_buffer_bytes == 102400
    assert "closed" in (second.config.why_unknown or "")


def test_settings_that_are_no_numbers_are_unknown(
    client: ClusterClient, cluster: LoadedCluster
) -> None:
    """And so are those that are not told."""
    cluster.configs = {"socket.send.buffer.bytes": "many"}
    path, _ = look_at_paths(client)
    assert path.config == BrokerConfig()


def test_a_broker_that_cannot_be_reached_takes_nothing_from_the_others(
    cluster: LoadedCluster,
) -> None:
    """Its path holds the reason."""
    nodes = [
        MetadataResponseBroker(1, "127.0.0.1", cluster.brokers[1].port),
        MetadataResponseBroker(2, "127.0.0.1", closed_port()),
    ]
    cluster.on("Metadata", MetadataResponse(brokers=nodes, controller_id=1))
    with cluster.client() as client:
        reached, lost = look_at_paths(client)

    assert reached.error is None
    assert isinstance(lost.error, ConnectError)
    assert (lost.rtt_ns, lost.facts, lost.request_rtt_ns) == (None, None, None)
