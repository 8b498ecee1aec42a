"""SASL on a channel: carries the client's conversation, and repeats it before the session expires.

    authenticator = SaslAuthenticator(Plain("alice", password), clock, channel_id, client_id)

The contents are the business of `kdiag.net.sasl.conversation` and of the mechanisms; here they are
sent and received as frames, as far as the transport allows.

Source: Kafka's `SaslClientAuthenticator`; KIP-368 (re-authentication).
"""

import random
from collections import deque
from collections.abc import Callable, Generator
from typing import Final, NamedTuple

from kdiag.clock import NS_PER_MS, Clock
from kdiag.errors import AuthenticationError, ConnectError, Fault, Layer
from kdiag.net.receive import NetworkReceive
from kdiag.net.sasl.conversation import BROKER_LOG, NO_KAFKA, SaslConversation, SaslRequest
from kdiag.net.sasl.mechanism import SaslError, SaslMechanism
from kdiag.net.send import NetworkSend
from kdiag.net.transport import EndOfStreamError, Transport
from kdiag.wire.catalog import API_BY_KEY
from kdiag.wire.client_release import ClientRelease
from kdiag.wire.frame import DEFAULT_MAX_FRAME_BYTES, Frame

MAX_SASL_FRAME_BYTES: Final = 512 * 1024
"""The largest response that is not refused: Kafka's own `sasl.server.max.receive.size`."""

_CORRELATION_ID_BYTES: Final = 4
_ANOTHER_LISTENER: Final = (
    "Check that the port is that of a Kafka listener with SASL, and whether it wants TLS"
    " (security.protocol SASL_SSL)"
)
_EARLIEST, _SPREAD = 0.85, 0.10
"""The part of a session after which it is renewed; spread, lest all clients come at once."""


class SaslExchange(NamedTuple):
    """A request of the client during authentication, and its response.

    Attributes:
        channel_id: the channel that carried it.
        api_key: ApiVersions, SaslHandshake or SaslAuthenticate; None for a token without header,
            as are the next two.
        version: of the request.
        correlation_id: of both.
        request: the client's frame; it may hold a password.
        response: the broker's frame; None if the connection ended first.
    """

    channel_id: str
    api_key: int | None
    version: int | None
    correlation_id: int | None
    request: Frame
    response: Frame | None

    def __repr__(self) -> str:
        return f"<SaslExchange of {self.channel_id}: API {self.api_key}>"


class SaslAuthenticator:
    """Proves to a broker who the client is.

    Attributes:
        is_complete: whether both ends are satisfied.
        receive: the frame that is being read.
        reauthenticate_at_ns: when the client must authenticate again, on the monotonic clock; None
            is never.
        draw: returns a number from 0 to 1: when within a tenth of the session that is.
    """

    def __init__(  # noqa: PLR0913 - the last two have one caller
        self,
        mechanism: SaslMechanism,
        clock: Clock,
        channel_id: str,
        client_id: str | None,
        on_exchange: Callable[[SaslExchange], None] | None = None,
        *,
        release: ClientRelease | None = None,
    ) -> None:
        """Prepare a conversation.

        Args:
            mechanism: how to prove it.
            clock: for the times of frames and the end of the session.
            channel_id: of the channel; responses to other requests are handed out with it.
            client_id: the client's name for itself in request headers.
            on_exchange: is called with each exchange when its response is complete, or once the
                connection has ended without it.
            release: Kafka's, as the clients of which it speaks; None for no such limit.
        """
        self.is_complete = False
        self.reauthenticate_at_ns: int | None = None
        self.draw: Callable[[], float] = random.random
        self._clock = clock
        self._channel_id = channel_id
        self._on_exchange = on_exchange
        self._mechanism = mechanism
        self._conversation = SaslConversation(mechanism, client_id, release)
        self._response_count = 0
        self._is_renewal = False
        self._failure: ConnectError | None = None
        self._others: deque[NetworkReceive] = deque()
        self._begin()

    def __repr__(self) -> str:
        return f"<SaslAuthenticator of {self._channel_id} with {self._mechanism!r}>"

    @property
    def wants_write(self) -> bool:
        """Return whether it waits for the transport to accept bytes."""
        return not self.is_complete and not self._send.is_completed

    def reauthenticate(self, receive: NetworkReceive | None = None) -> None:
        """Start a re-authentication: `is_complete` is false until it has succeeded.

        Args:
            receive: the half-read response to an earlier request.
        """
        self.is_complete = False
        self.reauthenticate_at_ns = None
        self._is_renewal = True
        self._begin(receive)

    def poll_response(self) -> NetworkReceive | None:
        """Return, once, a response to an earlier request that came during a re-authentication."""
        return self._others.popleft() if self._others else None

    def handle_authentication_failure(self, transport: Transport) -> None:
        """Do nothing: a client that refuses just leaves."""

    def authenticate(self, transport: Transport) -> None:
        """Continue as far as the transport allows.

        Raises:
            AuthenticationError: if either end refuses the other.
            ConnectError: if the connection ended before that was known, or the peer is not Kafka.
            OSError: if the connection broke.
        """
        if self._failure is not None:
            raise self._failure
        try:
            while not self.is_complete and self._advance(transport):
                pass
        except SaslError as error:
            self._failure = AuthenticationError(
                transport.peer, Layer.SASL, error.why, error.fix, error.fault
            )
            raise self._failure from None
        except (EndOfStreamError, ConnectionResetError):
            self._observe(None)
            self._failure = self._early_end(transport.peer)
            raise self._failure from None
        except (ConnectError, OSError):
            self._observe(None)
            raise

    def _begin(self, receive: NetworkReceive | None = None) -> None:
        """Start a new conversation with its first request."""
        self._requests: Generator[SaslRequest, bytes, int] = self._conversation.requests()
        self._begin_request(next(self._requests))
        if receive is not None:
            self.receive = receive

    def _begin_request(self, request: SaslRequest) -> None:
        """Prepare the send of a request and the receive of its response."""
        self._request = request
        self._send = NetworkSend(self._channel_id, [request.data])
        self.receive = self._new_receive()

    def _new_receive(self) -> NetworkReceive:
        # Responses to earlier requests may have any size.
        max_bytes = DEFAULT_MAX_FRAME_BYTES if self._is_renewal else MAX_SASL_FRAME_BYTES
        return NetworkReceive(self._channel_id, max_bytes)

    def _advance(self, transport: Transport) -> bool:
        """Write or read; return whether that was completed, so that there is more to do."""
        if not self._send.is_completed:
            self._send.write_to(transport, self._clock)
            return self._send.is_completed
        receive = self.receive
        while not receive.is_completed:
            if not receive.read_from(transport, self._clock):
                return False
        self._handle_receive(receive)
        return True

    def _handle_receive(self, receive: NetworkReceive) -> None:
        """Give a frame to the conversation if it is the response, else keep it for the channel."""
        expected = self._request.correlation_id
        found = int.from_bytes(receive.payload[:_CORRELATION_ID_BYTES], signed=True)
        if expected is not None and found != expected:
            if not self._is_renewal:
                raise SaslError(
                    f"correlation id {expected} was asked with, but {found} was answered",
                    NO_KAFKA,
                    Fault.BROKEN_PROTOCOL,
                )
            self._others.append(receive)
            self.receive = self._new_receive()
            return
        self._observe(receive)
        self._response_count += 1
        receive.close()
        try:
            self._begin_request(self._requests.send(receive.payload))
        except StopIteration as ended:
            self._complete(ended.value)

    def _complete(self, lifetime_ms: int) -> None:
        """Record that both ends are satisfied, and until when."""
        self.is_complete = True
        if lifetime_ms > 0:
            part = _EARLIEST + _SPREAD * self.draw()
            lasts_ns = int(lifetime_ms * NS_PER_MS * part)
            self.reauthenticate_at_ns = self._clock.monotonic_ns() + lasts_ns

    def _observe(self, receive: NetworkReceive | None) -> None:
        """Report the request and its response, if any of the request was sent."""
        sent, asked = self._send, self._request
        if self._on_exchange is None or sent.first_write_ns is None:
            return
        last_ns = sent.first_write_ns if sent.last_write_ns is None else sent.last_write_ns
        request = Frame(asked.data, len(asked.data), sent.first_write_ns, last_ns)
        response = None
        if receive is not None:
            assert receive.first_byte_ns is not None
            assert receive.last_byte_ns is not None
            data = receive.payload
            response = Frame(data, len(data), receive.first_byte_ns, receive.last_byte_ns)
        self._on_exchange(SaslExchange(self._channel_id, *asked[1:], request, response))

    def _early_end(self, peer: str) -> ConnectError:
        """Return the error for a connection that the broker closed before the end."""
        if self._request.api_key is None:
            refusal = self._mechanism.explain("it closed the connection, as old brokers do")
            return AuthenticationError(peer, Layer.SASL, *refusal)
        asked = API_BY_KEY[self._request.api_key].name
        why = f"the connection was closed when {asked} was asked, where an answer was expected"
        if self._response_count:
            return ConnectError(peer, Layer.SASL, why, BROKER_LOG, Fault.CLOSED)
        return AuthenticationError(peer, Layer.KAFKA, why, _ANOTHER_LISTENER, Fault.HUNG_UP)
