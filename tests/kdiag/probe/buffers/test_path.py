import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from client_ends.client_peers import closed_port
from kdiag.client.cluster_client import ClusterClient
from kdiag.diagnosis.buffers.facts import BrokerConfig, KernelLimits
from kdiag.errors import ConnectError
from kdiag.probe.buffers.path import look_at_paths, read_kernel_limits
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


def write(folder: Path, **texts: str) -> None:
    """Write what a kernel would show."""
    for name, text in texts.items():
        file = folder / name.replace("__", "/")
        file.parent.mkdir(exist_ok=True)
        file.write_text(text, encoding="ascii")


def test_limits_are_read_as_the_kernel_shows_them(tmp_path: Path) -> None:
    """Single numbers, and triples between tabs."""
    write(
        tmp_path,
        core__wmem_max="212992\n",
        core__rmem_max="425984\n",
        ipv4__tcp_wmem="4096\t16384\t4194304\n",
        ipv4__tcp_rmem="4096\t131072\t6291456\n",
    )
    assert read_kernel_limits(tmp_path) == KernelLimits(
        212992, 425984, (4096, 16384, 4194304), (4096, 131072, 6291456)
    )


@pytest.mark.parametrize("text", ["", "many", "1 2"])
def test_what_cannot_be_read_is_unknown(tmp_path: Path, text: str) -> None:
    """So is all of it where there is no such kernel."""
    write(tmp_path, core__wmem_max=text, ipv4__tcp_rmem=text)
    assert read_kernel_limits(tmp_path) == KernelLimits()
    assert read_kernel_limits(tmp_path / "nowhere") == KernelLimits()


@pytest.mark.skipif(sys.platform != "linux", reason="no such files")
def test_this_machine_tells_its_limits() -> None:
    """At least for TCP: a container may hide the others."""
    limits = read_kernel_limits()
    assert limits.tcp_wmem is not None
    assert limits.tcp_wmem == tuple(sorted(limits.tcp_wmem))
