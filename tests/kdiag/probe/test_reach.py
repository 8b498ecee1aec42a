"""Clusters whose brokers advertise addresses that cannot be used."""

import socket
from collections.abc import Iterator

import pytest

from kdiag.errors import AdvertisedAddressError
from kdiag.probe.reach import require_reachable
from programs.kdiag_program import kdiag
from scripted_kafka.log_cluster import LogCluster
from scripted_kafka.scripted_broker import HOLD
from scripted_kafka.scripted_cluster import ScriptedCluster


@pytest.fixture
def closed_port() -> Iterator[int]:
    """A port that refuses: it is bound, and nobody listens."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        yield bound.getsockname()[1]


def advertise(cluster: ScriptedCluster, number: int, port: int) -> None:
    """Let the whole cluster name another port for a broker."""
    usual = cluster._nodes
    cluster._nodes = lambda: [  # type: ignore[method-assign]
        each if each.node_id != number else type(each)(number, each.host, port) for each in usual()
    ]


def test_one_broker_that_can_be_used_is_enough(closed_port: int) -> None:
    """The others are told where they matter."""
    with ScriptedCluster(2) as cluster:
        advertise(cluster, 1, closed_port)
        with cluster.client() as client:
            require_reachable(client)
            with pytest.raises(AdvertisedAddressError):
                require_reachable(client, [1])


def test_a_broker_that_hangs_leaves_time_for_the_others() -> None:
    """It takes no more than a third of what there is."""
    with ScriptedCluster(2) as cluster, cluster.client() as client:
        cluster.brokers[2].on("ApiVersions", HOLD)
        began_ns = client.clock.monotonic_ns()
        client.deadline_ns = began_ns + 300_000_000
        require_reachable(client)
        assert client.clock.monotonic_ns() < client.deadline_ns


def test_all_that_cannot_be_used_are_named(closed_port: int) -> None:
    """One line, with the addresses and what to do."""
    with ScriptedCluster(2) as cluster:
        advertise(cluster, 1, closed_port)
        advertise(cluster, 2, closed_port)
        with cluster.client() as client, pytest.raises(AdvertisedAddressError) as caught:
            require_reachable(client)
    text = str(caught.value)
    where = f"127.0.0.1:{closed_port}"
    assert text.startswith(f"KD1501: broker 1 advertises {where}, which cannot be used from here: ")
    assert text.endswith(f"; nor can broker 2 at {where}")
    assert "advertised.listeners" in caught.value.fix


@pytest.mark.parametrize(
    "command",
    [
        ("tail", "orders", "-e"),
        ("tail", "orders"),
        ("latency", "--duration", "1s"),
        ("latency", "--topic", "orders", "--duration", "1s"),
    ],
    ids=" ".join,
)
def test_commands_name_the_address_that_is_to_blame(
    closed_port: int, command: tuple[str, ...]
) -> None:
    """At once, instead of waiting for a leader or blaming a topic that was never created."""
    with LogCluster(1) as cluster:
        cluster.add("orders", 0).append(b"a")
        advertise(cluster, 1, closed_port)
        name, *arguments = command
        done = kdiag(name, "-b", cluster.bootstrap, *arguments)
    assert (done.code, done.out) == (3, "")
    first, second = done.err.splitlines()
    assert first.startswith("kdiag: KD1501: broker 1 advertises 127.0.0.1:")
    assert "advertised.listeners" in second
