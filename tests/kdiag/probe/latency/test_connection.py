from collections.abc import Iterator

import pytest

from kdiag.client.cluster_client import ClusterClient
from kdiag.client.network.request import builder_of
from kdiag.errors import ConnectError
from kdiag.probe.latency.connection import Ended, OwnConnection
from kdiag.wire.api.heartbeat import HeartbeatRequest, HeartbeatResponse
from scripted_kafka.scripted_cluster import ScriptedCluster

ASK = builder_of(HeartbeatRequest())


@pytest.fixture
def cluster() -> Iterator[ScriptedCluster]:
    """Return a broker that answers heartbeats."""
    with ScriptedCluster(1) as cluster:
        cluster.on("Heartbeat", HeartbeatResponse())
        yield cluster


def asked(client: ClusterClient, connection: OwnConnection, due_ns: int = 0) -> Ended:
    """Return how a request ended."""
    ends: list[Ended] = []
    connection.ask(ASK, due_ns, ends.append)
    assert connection.pending == 1
    client.client.await_condition(lambda: bool(ends))
    assert connection.pending == 0
    return ends[0]


def test_the_times_of_a_request_follow_each_other(cluster: ScriptedCluster) -> None:
    """From when it was due until its answer was read; the network's part is what TCP saw."""
    with cluster.client() as client:
        connection = OwnConnection(client, 1, "test")
        due_ns = client.clock.epoch_ns()
        ended = asked(client, connection, due_ns)
        times = ended.times(client.clock.epoch_ns())
        assert list(times) == sorted(times)
        assert ended.body == HeartbeatResponse()
        assert connection.facts is not None
        assert ended.rtt_ns == connection.facts.min_rtt_ns
        assert 0 < ended.rtt_ns < 100_000_000


def test_each_purpose_has_a_connection_of_its_own(cluster: ScriptedCluster) -> None:
    """To the same broker; one that is made is used again."""
    with cluster.client() as client:
        before = cluster.brokers[1].connections
        one, other = (OwnConnection(client, 1, purpose) for purpose in ("one", "other"))
        one.connect()
        other.connect()
        client.client.await_condition(lambda: one.is_settled and other.is_settled)
        for connection in (one, other, one):
            asked(client, connection)
        assert cluster.brokers[1].connections == before + 2


def test_a_broker_that_is_gone_is_told(cluster: ScriptedCluster) -> None:
    """There are no times then."""
    with cluster.client() as client:
        connection = OwnConnection(client, 1, "test")
        cluster.brokers[1].stop()
        connection.connect()
        client.client.await_condition(lambda: connection.is_settled)
        ended = asked(client, connection)
    assert isinstance(ended.error, ConnectError)
    assert (ended.body, ended.written_ns, connection.facts) == (None, None, None)
