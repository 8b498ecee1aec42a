from collections.abc import Iterator

import pytest

from client_ends.client_peers import RecordingClient, S, connect, network_client, poll_until
from kdiag.client.network.observer import ExchangeObserver
from kdiag.client.network.request import builder_of
from kdiag.exchange.model import Exchange, Status
from kdiag.net.sasl.authenticator import SaslExchange
from kdiag.wire.api.heartbeat import HeartbeatRequest, HeartbeatResponse
from kdiag.wire.api.produce import ProduceRequest
from kdiag.wire.codec.messages import decode
from kdiag.wire.frame import Frame
from kdiag.wire.header import read_request_header
from scripted_kafka.scripted_broker import HOLD, ScriptedBroker

HEARTBEAT = builder_of(HeartbeatRequest(group_id="orders"))


@pytest.fixture
def broker() -> Iterator[ScriptedBroker]:
    """Yield a broker that answers ApiVersions and heartbeats."""
    with ScriptedBroker() as peer:
        peer.on("Heartbeat", HeartbeatResponse(error_code=27))
        yield peer


@pytest.fixture
def seen() -> list[Exchange]:
    """Return the list that exchanges are put in."""
    return []


@pytest.fixture
def client(broker: ScriptedBroker, seen: list[Exchange]) -> Iterator[RecordingClient]:
    """Yield a client that is observed, connected to the broker."""
    observer = ExchangeObserver(seen.append, "kdiag-test")
    with network_client([broker.node()], observer=observer) as network:
        network.time.advance(S)
        connect(network, broker.node())
        yield network


def test_an_exchange_is_told_with_both_frames(
    client: RecordingClient, broker: ScriptedBroker, seen: list[Exchange]
) -> None:
    """They are what crossed the wire, without the length in front, and when."""
    client.time.advance(S)
    client.send(client.request("1", HEARTBEAT))
    client.take()

    exchange = seen[-1]
    assert (exchange.api_key, exchange.version, exchange.correlation_id) == (12, 4, 1)
    assert (exchange.pairing, exchange.client_id) == (Status.OK, "kdiag-test")
    assert exchange.request is not None
    assert exchange.response is not None
    header = read_request_header(exchange.request.data)
    assert exchange.request.data[header.body_offset :] == broker.wait_for("Heartbeat").body
    assert decode(HeartbeatResponse, 4, exchange.response.data, 5).error_code == 27
    assert exchange.request.first_byte_ns == exchange.response.last_byte_ns == 2 * S
    assert exchange.latency_ns == 0


def test_the_client_is_observed_from_its_first_request(seen: list[Exchange]) -> None:
    """That is ApiVersions; exchanges and connections count from 1."""
    observer = ExchangeObserver(seen.append, None)
    with ScriptedBroker() as broker, network_client(observer=observer) as client:
        for node_id in ("1", "2"):
            connect(client, broker.node(node_id))

        assert [each.api_key for each in seen] == [18, 18]
        assert [each.number for each in seen] == [1, 2]
        assert [each.connection.number for each in seen] == [1, 2]
        first = seen[0].connection
        assert first.broker == f"127.0.0.1:{broker.port}"
        assert first.client.startswith("127.0.0.1:")
        assert first.connection_id == f"tcp-{first.client}-{first.broker}-0"
        assert first.client != seen[1].connection.client


@pytest.mark.usefixtures("broker")
def test_exchanges_of_a_connection_share_it(client: RecordingClient, seen: list[Exchange]) -> None:
    """It counts frames and bytes, length prefixes included."""
    client.send(client.request("1", HEARTBEAT))
    client.take()

    assert len(seen) == 2
    connection = seen[0].connection
    assert connection is seen[1].connection
    assert (connection.requests, connection.responses) == (2, 2)
    frames = [each.request for each in seen if each.request]
    assert connection.request_bytes == sum(4 + each.size for each in frames)


def test_a_request_that_needs_no_answer_is_told_as_such(
    client: RecordingClient, seen: list[Exchange]
) -> None:
    """As soon as it is written."""
    client.send(client.request("1", builder_of(ProduceRequest(acks=0))))
    client.take()

    assert seen[-1].pairing is Status.NO_RESPONSE
    assert seen[-1].response is None


def test_a_request_that_is_lost_is_unanswered(
    client: RecordingClient, broker: ScriptedBroker, seen: list[Exchange]
) -> None:
    """When its connection has ended; the next connection is another."""
    broker.on("Heartbeat", HOLD)
    client.send(client.request("1", HEARTBEAT))
    poll_until(client, lambda: broker.asked("Heartbeat"))
    client.time.advance(S)
    client.disconnect("1")

    assert (seen[-1].api_key, seen[-1].pairing) == (12, Status.UNANSWERED)
    assert seen[-1].connection.last_ns == 2 * S
    client.time.advance(S)
    connect(client, broker.node())
    assert seen[-1].connection.number == 2


def test_a_request_of_which_nothing_was_written_is_no_exchange(
    client: RecordingClient, seen: list[Exchange]
) -> None:
    """It never crossed the wire."""
    before = len(seen)
    client.send(client.request("1", HEARTBEAT))
    client.disconnect("1")

    assert len(seen) == before


def test_what_is_in_flight_when_the_client_is_closed_is_unanswered(
    broker: ScriptedBroker, seen: list[Exchange]
) -> None:
    """Nothing that was written is lost."""
    broker.on("ApiVersions", HOLD)
    observer = ExchangeObserver(seen.append, None)
    with network_client(observer=observer) as client:
        client.ready(broker.node())
        poll_until(client, lambda: broker.asked("ApiVersions"))

    assert [each.pairing for each in seen] == [Status.UNANSWERED]


def said(api_key: int | None, response: Frame | None) -> SaslExchange:
    """Return what an authenticator has said."""
    request = Frame(b"question", 8, 10, 20)
    version = None if api_key is None else 1
    return SaslExchange("1", api_key, version, api_key and 2**31 - 8, request, response)


def test_sasl_is_observed_on_its_connection(seen: list[Exchange]) -> None:
    """Requests, and tokens without a header, which are told as opaque."""
    observer = ExchangeObserver(seen.append, "kdiag-test")
    observer.connect("1", ("127.0.0.1:1", "127.0.0.1:2"), 5)
    answer = Frame(b"answer", 6, 30, 40)
    for exchange in (said(17, answer), said(36, None), said(None, answer)):
        observer.record_authentication(exchange)

    assert [each.pairing for each in seen] == [Status.OK, Status.UNANSWERED, Status.OPAQUE]
    assert [each.client_id for each in seen] == ["kdiag-test", "kdiag-test", None]
    assert [each.number for each in seen] == [1, 2, 3]
    assert seen[0].connection.client == "127.0.0.1:1"
    assert seen[0].connection.last_ns == 40


def test_sasl_may_break_before_its_connection_was_told(seen: list[Exchange]) -> None:
    """Then nobody knows the ends of the connection."""
    ExchangeObserver(seen.append, None).record_authentication(said(17, None))

    assert (seen[0].connection.client, seen[0].connection.broker) == ("?", "?")
