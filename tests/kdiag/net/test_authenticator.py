import pytest

from client_ends.echo_server import SETTINGS, Loopback, Security
from kdiag.clock import ManualClock
from kdiag.errors import AuthenticationError, Layer
from kdiag.net.authenticator import Authenticator, NoAuthenticator
from kdiag.net.channel import ChannelState
from kdiag.net.receive import NetworkReceive
from kdiag.net.send import NetworkSend
from kdiag.net.transport import Transport
from secure_ends.memory_transport import MemoryTransport

CLOCK = ManualClock()
TOKEN = b"token"


class _TokenAuthenticator:
    """A client that is satisfied when its token comes back; it keeps whatever else comes."""

    def __init__(self) -> None:
        self.reauthenticate_at_ns: int | None = None
        self.reauthenticate()

    @property
    def wants_write(self) -> bool:
        return not self._send.is_completed

    def reauthenticate(self, receive: NetworkReceive | None = None) -> None:
        self.is_complete = False
        self.reauthenticate_at_ns = None
        self._send = NetworkSend("", [TOKEN])
        self.receive = receive or NetworkReceive("")
        self._responses: list[NetworkReceive] = []

    def authenticate(self, transport: Transport) -> None:
        if not self._send.is_completed:
            self._send.write_to(transport, CLOCK)
        self.receive.read_from(transport, CLOCK)
        if self.receive.is_completed:
            self._take(self.receive)
            self.receive = NetworkReceive("1")

    def poll_response(self) -> NetworkReceive | None:
        return self._responses.pop(0) if self._responses else None

    def handle_authentication_failure(self, transport: Transport) -> None:
        raise AssertionError(f"no client reports to {transport.peer}")

    def _take(self, receive: NetworkReceive) -> None:
        if receive.payload == TOKEN:
            self.is_complete = True
        else:
            self._responses.append(receive)


class _RefusingAuthenticator(NoAuthenticator):
    """A server that refuses whatever token it is shown, and says so when it is asked to."""

    is_complete = False

    def __init__(self) -> None:
        self._receive = NetworkReceive("")

    def authenticate(self, transport: Transport) -> None:
        self._receive.read_from(transport, CLOCK)
        if self._receive.is_completed:
            raise AuthenticationError(transport.peer, Layer.SASL, "the token is wrong")

    def handle_authentication_failure(self, transport: Transport) -> None:
        NetworkSend("", [b"no"]).write_to(transport, CLOCK)


@pytest.fixture
def proven(security: Security) -> Security:
    """Return how a client with a token speaks to a server that echoes it."""
    return security._replace(client_authenticator=_TokenAuthenticator)


def authenticator_of(loopback: Loopback) -> Authenticator:
    """Return the client's authenticator."""
    return loopback.client.selector.channels[0].authenticator


def test_no_authenticator_has_nothing_to_prove() -> None:
    """It is complete from the start, for ever, and keeps nothing."""
    authenticator, transport = NoAuthenticator(), MemoryTransport(b"data")
    authenticator.authenticate(transport)
    authenticator.reauthenticate()
    authenticator.handle_authentication_failure(transport)

    assert authenticator.is_complete
    assert authenticator.poll_response() is None
    assert (authenticator.wants_write, authenticator.reauthenticate_at_ns) == (False, None)
    assert (transport.written, bytes(transport.incoming)) == (b"", b"data")


def test_a_channel_is_ready_once_its_authenticator_is(proven: Security) -> None:
    """Nothing of it is among what was sent and received."""
    with Loopback(proven) as loopback:
        loopback.connect("1")
        selector = loopback.client.selector

        assert loopback.server.payloads == [TOKEN]
        assert (loopback.client.payloads, selector.metrics.bytes_received) == ([], 0)
        assert selector.channels[0].state is ChannelState.READY
        assert (selector.metrics.authentications, selector.metrics.reauthentications) == (1, 0)


def test_a_client_proves_itself_again_before_it_sends(proven: Security) -> None:
    """When it is time, the next send waits for the proof; without a send nothing happens."""
    with Loopback(proven) as loopback:
        loopback.connect("1")
        authenticator_of(loopback).reauthenticate_at_ns = 100  # type: ignore[misc]
        loopback.clock.advance(99)
        loopback.send("1", b"early")
        loopback.poll_until(lambda: loopback.client.payloads == [b"early"])
        loopback.clock.advance(1)
        loopback.client.poll()
        loopback.client.send("1", b"due")
        loopback.poll_until(lambda: loopback.client.payloads == [b"early", b"due"])

        assert loopback.server.payloads == [TOKEN, b"early", TOKEN, b"due"]
        metrics = loopback.client.selector.metrics
        assert (metrics.authentications, metrics.reauthentications) == (1, 1)
        assert loopback.client.connected == ["1"]


def test_answers_that_come_during_the_proof_are_handed_out(proven: Security) -> None:
    """Answers to earlier requests come before that to the proof, one a poll, and in order."""
    with Loopback(proven) as loopback:
        loopback.connect("1")
        questions = [bytes([number]) * 100_000 for number in range(3)]
        loopback.send("1", *questions)
        authenticator_of(loopback).reauthenticate_at_ns = 0  # type: ignore[misc]
        loopback.client.send("1", b"last")
        loopback.client.poll()
        received = list[bytes]()
        while len(received) < len(questions) + 1:
            loopback.poll_until(lambda: loopback.client.receives)
            assert len(loopback.client.selector.completed_receives) == 1
            received.append(loopback.client.receives.pop().payload)

        assert received == [*questions, b"last"]
        assert loopback.client.selector.metrics.reauthentications == 1


@pytest.mark.parametrize("delay_ns", [0, 100])
def test_a_refused_client_is_told_after_a_while(security: Security, delay_ns: int) -> None:
    """Until then the server does not listen, write or close; without delay that is at once."""
    refusing = security._replace(
        client_authenticator=_TokenAuthenticator, server_authenticator=_RefusingAuthenticator
    )
    settings = SETTINGS._replace(failed_authentication_delay_ns=delay_ns)
    with Loopback(refusing, server=settings) as loopback:
        server, metrics = loopback.server, loopback.server.selector.metrics
        loopback.client.selector.connect("1", loopback.address)
        loopback.poll_until(lambda: metrics.failed_authentications)
        if delay_ns:
            loopback.clock.advance(delay_ns - 1)
            loopback.client.selector.channels[0].transport.write(memoryview(b"let me in"))
            for _ in range(3):
                server.selector.unmute("1")
                server.poll(1_000_000)
                loopback.client.poll()
            assert (server.disconnected, len(server.selector.channels)) == ({}, 1)
            assert loopback.client.payloads == []
            loopback.clock.advance(1)
        loopback.poll_until(lambda: server.disconnected and loopback.client.disconnected)
        end = server.disconnected["1"]

        assert loopback.client.payloads == [b"no"]
        assert end.state is ChannelState.AUTHENTICATION_FAILED
        assert isinstance(end.error, AuthenticationError)
        assert metrics.failed_authentications == 1
        assert loopback.client.disconnected["1"].state is ChannelState.AUTHENTICATE
