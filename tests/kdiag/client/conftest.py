"""A broker and a client that knows it: what holds for them holds with and without TLS."""

import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from client_ends.client_peers import STEADY, RecordingClient, Security, in_the_clear, network_client
from kdiag.client.network.settings import NetworkSettings
from kdiag.net.tls.context import client_context, server_context
from kdiag.net.tls.transport import TlsTransport
from kdiag.net.transport import Transport
from kdiag.wire.api.heartbeat import HeartbeatResponse
from scripted_kafka.scripted_broker import ScriptedBroker
from secure_ends.tls_sockets import HOST, SERVING, TRUSTING


@pytest.fixture(params=["plaintext", "tls"])
def security(request: pytest.FixtureRequest) -> Security:
    """Return both ways to carry bytes, one after the other."""
    if request.param == "plaintext":
        return Security(None, in_the_clear)
    context = client_context(TRUSTING)

    def encrypted(sock: socket.socket, peer: str, _: str) -> Transport:
        return TlsTransport(sock, peer, context, HOST)

    return Security(server_context(SERVING), encrypted)


@pytest.fixture
def broker(security: Security) -> Iterator[ScriptedBroker]:
    """Yield a broker that answers ApiVersions and heartbeats."""
    with ScriptedBroker(tls=security.server) as peer:
        peer.on("Heartbeat", HeartbeatResponse(error_code=27))
        yield peer


@pytest.fixture
def make_client(
    broker: ScriptedBroker, security: Security
) -> Iterator[Callable[..., RecordingClient]]:
    """Return a function from settings to a client that knows the broker."""
    with ExitStack() as opened:

        def make(settings: NetworkSettings = STEADY) -> RecordingClient:
            client = network_client([broker.node()], settings, transport=security.transport)
            return opened.enter_context(client)

        yield make


@pytest.fixture
def client(make_client: Callable[..., RecordingClient]) -> RecordingClient:
    """Return a client that knows the broker and whose clock stands still."""
    return make_client()
