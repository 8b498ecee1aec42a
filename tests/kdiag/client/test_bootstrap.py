import socket
from collections.abc import Callable, Sequence
from threading import Barrier, Event, Thread

import pytest

from client_ends.client_peers import (
    MS,
    STEADY,
    RecordingClient,
    S,
    closed_port,
    full_server,
    network_client,
)
from kdiag.client.bootstrap import Bootstrap, BootstrapNodes
from kdiag.client.consumer_network_client import ConsumerNetworkClient
from kdiag.client.network.connection_states import FOREVER_NS
from kdiag.client.network.metadata import Cluster, Node
from kdiag.errors import ConnectError, Fault, Layer, RequestTimeoutError
from kdiag.net.address import Address, resolve
from kdiag.wire.api.metadata import MetadataResponse, MetadataResponseBroker
from scripted_kafka.scripted_broker import CLOSE, HOLD, ScriptedBroker, offering

ANSWER = MetadataResponse(
    brokers=[MetadataResponseBroker(node_id=7, host="kafka.example", port=9092)]
)

Lookup = Callable[[str, int], Sequence[Address]]


def bootstrap(
    network: RecordingClient, servers: Sequence[tuple[str, int]], lookup: Lookup = resolve
) -> Bootstrap:
    """Return a bootstrap over a network client."""
    nodes = BootstrapNodes(servers, lookup, network.clock)
    return Bootstrap(network, ConsumerNetworkClient(network), nodes)


def run(
    servers: Sequence[tuple[str, int]], deadline_ns: int = FOREVER_NS, lookup: Lookup = resolve
) -> tuple[Node, Cluster]:
    """Bootstrap from servers, with a clock that stands still."""
    with network_client((), STEADY) as network:
        return bootstrap(network, servers, lookup).run(deadline_ns)


def why_not(servers: Sequence[tuple[str, int]]) -> ConnectError:
    """Return why no server is of any help."""
    with pytest.raises(ConnectError) as raised:
        run(servers)
    return raised.value


def test_who_has_no_time_is_not_told_that_names_are_unknown() -> None:
    """Nobody was asked."""
    with pytest.raises(RequestTimeoutError, match="the time was up before a bootstrap server"):
        run([("127.0.0.1", 9092)], 0)


def test_a_server_tells_what_the_cluster_is_made_of() -> None:
    """One question is enough."""
    with ScriptedBroker() as broker:
        broker.on("Metadata", ANSWER)
        node, cluster = run([("127.0.0.1", broker.port)])

        assert (node.id, node.port) == ("-1", broker.port)
        assert cluster == Cluster.from_response(ANSWER)
        assert [each.name for each in broker.requests] == ["ApiVersions", "Metadata"]


def test_one_server_that_answers_is_enough() -> None:
    """Whatever is wrong with the others: off, silent, unknown, dropping packets."""
    with ScriptedBroker() as broker, ScriptedBroker() as silent, full_server() as full:
        broker.on("Metadata", ANSWER)
        silent.on("ApiVersions", HOLD)
        others = [silent.port, closed_port(), full]
        servers = [("no-such-host.invalid", 9092), *(("127.0.0.1", each) for each in others)]
        node, _ = run([*servers, ("127.0.0.1", broker.port)])

        assert (node.id, node.port) == ("-4", broker.port)


def test_every_address_of_a_name_is_tried_at_the_same_time() -> None:
    """Each is a node of its own."""
    with ScriptedBroker() as broker, full_server():
        broker.on("Metadata", ANSWER)

        def lookup(host: str, port: int) -> Sequence[Address]:
            ips = ["127.0.0.7", "127.0.0.8", "127.0.0.1"]
            return [Address(host, port, ip, socket.AF_INET) for ip in ips]

        node, _ = run([("kafka.example", broker.port)], lookup=lookup)

        assert node.id == "-3"
        assert node.address is not None
        assert node.address.ip == "127.0.0.1"


def test_names_are_looked_up_at_the_same_time() -> None:
    """Each look-up here waits until the other has begun."""
    begun = Barrier(2, timeout=30)

    def lookup(host: str, port: int) -> Sequence[Address]:
        begun.wait()
        return [Address(host, port, "127.0.0.1", socket.AF_INET)]

    with ScriptedBroker() as broker:
        broker.on("Metadata", ANSWER)
        node, _ = run([("a", broker.port), ("b", broker.port)], lookup=lookup)

    assert node.host in ("a", "b")


def test_a_name_server_that_is_silent_does_not_hold_it_up() -> None:
    """The deadline counts for it too; the fault is named."""
    never = Event()

    def lookup(host: str, port: int) -> Sequence[Address]:
        never.wait(30)
        return [Address(host, port, "127.0.0.1", socket.AF_INET)]

    with pytest.raises(ConnectError) as raised:
        run([("kafka.example", 9092)], 1 * MS, lookup)
    never.set()
    assert (raised.value.layer, raised.value.fault) == (Layer.DNS, Fault.NO_NAME_SERVER)


def test_only_the_first_node_that_is_ready_is_asked() -> None:
    """The others are left alone unless it does not answer soon."""
    with ScriptedBroker() as one, ScriptedBroker() as two:
        for each in (one, two):
            each.on("Metadata", ANSWER)
        run([("127.0.0.1", one.port), ("127.0.0.1", two.port)])

        assert len([*one.asked("Metadata"), *two.asked("Metadata")]) == 1


def test_the_next_node_is_asked_when_the_first_does_not_answer_soon() -> None:
    """After 300 ms, though nothing happens on any connection; the first answer wins."""
    with ScriptedBroker() as one, ScriptedBroker() as two, network_client((), STEADY) as network:
        one.on("Metadata", HOLD)
        two.on("Metadata", ANSWER)
        two.on("ApiVersions", HOLD)
        talk = bootstrap(network, [("127.0.0.1", one.port), ("127.0.0.1", two.port)])
        results: list[tuple[Node, Cluster]] = []
        thread = Thread(target=lambda: results.append(talk.run(FOREVER_NS)))
        thread.start()
        one.wait_for("Metadata")
        two.wait_for("ApiVersions").reply(offering())
        network.time.advance(300 * MS)
        thread.join()

        assert results[0][0].port == two.port
        assert len(one.asked("Metadata")) == 1


def test_the_next_node_is_asked_at_once_when_the_first_fails() -> None:
    """As one that asks for SASL does."""
    with ScriptedBroker() as one, ScriptedBroker() as two:
        one.on("Metadata", CLOSE)
        two.on("Metadata", CLOSE)
        error = why_not([("127.0.0.1", one.port), ("127.0.0.1", two.port)])

        assert len(one.asked("Metadata")) == len(two.asked("Metadata")) == 1
        assert "the first request after ApiVersions" in error.why


def test_servers_that_are_off_fail_at_once() -> None:
    """With the reason, though the clock stands still."""
    error = why_not([("127.0.0.1", closed_port()), ("localhost", closed_port())])

    assert error.layer is Layer.TCP
    assert error.why.startswith("connection refused")


def test_a_controller_is_told_from_a_broker() -> None:
    """It speaks ApiVersions, but no Metadata."""
    with ScriptedBroker() as controller:
        controller.on("ApiVersions", offering(Metadata=(0, -1)))
        error = why_not([("127.0.0.1", controller.port)])

        assert error.why.startswith("this is a controller's listener, as it seems")
        assert error.why.endswith("the broker does not offer Metadata")
        assert error.fix.startswith("Give the port of a listener for clients")


@pytest.mark.thorough
def test_the_most_telling_reason_is_given() -> None:
    """A server that is no broker says more than one that is off, or a name that is unknown."""
    with ScriptedBroker() as broker:
        broker.on("ApiVersions", CLOSE)
        servers = [
            ("no-such-host.invalid", 9092),
            ("127.0.0.1", closed_port()),
            ("127.0.0.1", broker.port),
        ]
        assert why_not(servers[:1]).layer is Layer.DNS
        assert why_not(servers[:2]).layer is Layer.TCP
        assert why_not(servers).address == f"127.0.0.1:{broker.port}"


@pytest.mark.parametrize(
    ("held", "why"),
    [
        ("ApiVersions", "did not answer the ApiVersions request"),
        ("Metadata", "did not answer Metadata in time"),
    ],
)
def test_a_deadline_ends_it_with_what_was_waited_for(held: str, why: str) -> None:
    """As the answer to one of the first two requests."""

    def let_pass() -> None:
        broker.wait_for(held)
        network.time.advance(S)
        network.wakeup()

    with ScriptedBroker() as broker, network_client((), STEADY) as network:
        broker.on(held, HOLD)
        thread = Thread(target=let_pass)
        thread.start()
        with pytest.raises(ConnectError, match=why):
            bootstrap(network, [("127.0.0.1", broker.port)]).run(S)
        thread.join()
