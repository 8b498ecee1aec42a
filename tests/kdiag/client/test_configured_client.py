from kdiag.client.cluster_client import ClusterSettings
from kdiag.client.config.load import ConfigSources, load_config
from kdiag.client.configured_client import cluster_settings, configured_client, timed_client
from kdiag.client.network.settings import IMPATIENT, NetworkSettings
from kdiag.clock import ManualClock, SystemClock
from kdiag.net.address import resolve
from kdiag.wire.api.metadata import MetadataResponse, MetadataResponseBroker
from kdiag.wire.client_release import client_release
from scripted_kafka.scripted_broker import ScriptedBroker

MS_NS = 1_000_000


def settings(*properties: str) -> ClusterSettings:
    """Return the settings of a client with these properties."""
    return cluster_settings(load_config(ConfigSources(properties=properties)))


def test_what_nobody_gave_is_as_a_terminal_needs_it() -> None:
    """Kafka's defaults, but for the patience with what does not connect."""
    made = settings("bootstrap.servers=a,[::1]:1")

    assert made.servers == (("a", 9092), ("::1", 1))
    assert made.selector == ClusterSettings(made.servers).selector
    assert made.selector.max_idle_ns == 540_000 * MS_NS
    client_id = made.network.client_id
    assert client_id is not None
    assert client_id.startswith("kdiag-")
    lookup = made.network.lookup
    assert made.network == NetworkSettings(client_id, IMPATIENT, lookup=lookup)
    assert lookup("127.0.0.1", 7) == resolve("127.0.0.1", 7)


def test_settings_arrive_in_nanoseconds() -> None:
    """Where each belongs."""
    made = settings(
        "client.id=me",
        "request.timeout.ms=1",
        "max.in.flight=7",
        "reconnect.backoff.ms=2",
        "reconnect.backoff.max.ms=3",
        "socket.connection.setup.timeout.ms=4",
        "socket.connection.setup.timeout.max.ms=5",
        "connections.max.idle.ms=6",
        "send.buffer.bytes=8",
        "receive.buffer.bytes=9",
    )

    times = made.network.times
    assert (made.network.client_id, made.network.max_in_flight) == ("me", 7)
    assert made.network.request_timeout_ns == 1 * MS_NS
    assert (times.reconnect_backoff_ns, times.reconnect_backoff_max_ns) == (2 * MS_NS, 3 * MS_NS)
    assert (times.setup_timeout_ns, times.setup_timeout_max_ns) == (4 * MS_NS, 5 * MS_NS)
    assert made.selector.max_idle_ns == 6 * MS_NS
    assert (made.selector.send_buffer_bytes, made.selector.receive_buffer_bytes) == (8, 9)


def test_a_release_to_speak_as_limits_the_network() -> None:
    """It is the one that was named."""
    assert settings("as.version=2.8.1").network.release == client_release("2.8")
    assert settings().network.release is None


def test_idle_connections_may_be_kept() -> None:
    """Java's -1 and librdkafka's 0 are the selector's never."""
    assert settings("connections.max.idle.ms=-1").selector.max_idle_ns == -1
    assert settings("connections.max.idle.ms=0").selector.max_idle_ns == -1


def test_a_client_knows_its_servers() -> None:
    """It is not connected yet."""
    config = load_config(ConfigSources(properties=["bootstrap.servers=a"]))

    with configured_client(config, ManualClock(), on_exchange=print) as client:
        assert client.brokers == []
        assert client.cluster.is_bootstrap


def test_a_timed_client_knows_how_far_each_connection_came() -> None:
    """By the id of its node; the client is the same as any other."""
    with ScriptedBroker() as broker:
        config = load_config(
            ConfigSources(properties=[f"bootstrap.servers=127.0.0.1:{broker.port}"])
        )
        node = MetadataResponseBroker(1, "127.0.0.1", broker.port)
        broker.on("Metadata", MetadataResponse(brokers=[node]))
        client, timed = timed_client(config, SystemClock())
        with client:
            client.connect()
            assert client.reach_all() == {1: None}

    assert list(timed.progress) == ["-1", "1"]
    assert all(each.authenticated_ns is not None for each in timed.progress.values())
