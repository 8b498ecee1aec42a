"""Channels: one connection with its transport, its authenticator, one send and one receive.

A channel is ready once the transport's handshake and the authenticator are both done, and carries
nothing else before. A Selector drives it, and keeps a `Disconnection` when it has ended.

    NOT_CONNECTED -> (AUTHENTICATE ->) READY -> EXPIRED | FAILED_SEND | LOCAL_CLOSE
                      AUTHENTICATE     -> AUTHENTICATION_FAILED

A broker reads nothing from a channel while it handles a request of it, or throttles its client: the
channel is muted. It is read again only from MUTED, when nothing is pending:

    NOT_MUTED <-> MUTED <-> MUTED_AND_RESPONSE_PENDING <-> MUTED_AND_THROTTLED_AND_RESPONSE_PENDING
                    ^                                                      |
                    +---------------- MUTED_AND_THROTTLED <----------------+

Mute events, `maybe_begin_server_reauthentication` and `client_software` are a broker's side.

Source: Kafka's `KafkaChannel`, `ChannelState`; KIP-219 (throttling), KIP-368 (re-authentication).
"""

from collections.abc import Iterator
from contextlib import contextmanager
from enum import Enum, StrEnum, auto
from typing import Final, NamedTuple, Self

from kdiag.clock import NS_PER_S, Clock
from kdiag.errors import AuthenticationError
from kdiag.net.authenticator import Authenticator
from kdiag.net.memory_pool import MemoryPool
from kdiag.net.receive import NetworkReceive
from kdiag.net.send import NetworkSend
from kdiag.net.transport import Transport

_MIN_SERVER_REAUTHENTICATION_INTERVAL_NS: Final = NS_PER_S


class ChannelState(StrEnum):
    """How far a channel came and, once it is closed, why."""

    NOT_CONNECTED = "NOT_CONNECTED"
    AUTHENTICATE = "AUTHENTICATE"
    READY = "READY"
    EXPIRED = "EXPIRED"
    FAILED_SEND = "FAILED_SEND"
    AUTHENTICATION_FAILED = "AUTHENTICATION_FAILED"
    LOCAL_CLOSE = "LOCAL_CLOSE"


class MuteState(Enum):
    """Whether a channel is read, and if not, why."""

    NOT_MUTED = auto()
    MUTED = auto()
    MUTED_AND_RESPONSE_PENDING = auto()
    MUTED_AND_THROTTLED = auto()
    MUTED_AND_THROTTLED_AND_RESPONSE_PENDING = auto()


class MuteEvent(Enum):
    """Something that happened to the request of a muted channel."""

    REQUEST_RECEIVED = auto()
    RESPONSE_SENT = auto()
    THROTTLE_STARTED = auto()
    THROTTLE_ENDED = auto()


_NEXT: Final = {
    (MuteState.MUTED, MuteEvent.REQUEST_RECEIVED): MuteState.MUTED_AND_RESPONSE_PENDING,
    (MuteState.MUTED_AND_RESPONSE_PENDING, MuteEvent.RESPONSE_SENT): MuteState.MUTED,
    (
        MuteState.MUTED_AND_RESPONSE_PENDING,
        MuteEvent.THROTTLE_STARTED,
    ): MuteState.MUTED_AND_THROTTLED_AND_RESPONSE_PENDING,
    (
        MuteState.MUTED_AND_THROTTLED_AND_RESPONSE_PENDING,
        MuteEvent.RESPONSE_SENT,
    ): MuteState.MUTED_AND_THROTTLED,
    (
        MuteState.MUTED_AND_THROTTLED_AND_RESPONSE_PENDING,
        MuteEvent.THROTTLE_ENDED,
    ): MuteState.MUTED_AND_RESPONSE_PENDING,
    (MuteState.MUTED_AND_THROTTLED, MuteEvent.THROTTLE_ENDED): MuteState.MUTED,
}


def next_mute_state(state: MuteState, event: MuteEvent) -> MuteState:
    """Return the state after an event.

    Raises:
        ValueError: if the event cannot happen in the state.
    """
    try:
        return _NEXT[state, event]
    except KeyError:
        raise ValueError(f"{event.name} cannot happen to a channel that is {state.name}") from None


class Channel:
    """One connection.

    Attributes:
        id: its name in its selector.
        transport: moves its bytes.
        authenticator: proves who the two ends are.
        state: how far it came.
        error: what ended it; None while it lives, and where nothing went wrong.
        is_connected: whether TCP has connected.
        is_authenticating: whether the handshake is over and the authenticator was asked.
        mute_state: whether it is read, and if not, why.
        successful_authentications: how often it became ready; more than 1 is a re-authentication.
        client_software: name and version of the client, as a server learns them (KIP-511).
        listener: the name of the listener that accepted it; empty on a client.
    """

    def __init__(
        self, channel_id: str, transport: Transport, authenticator: Authenticator, clock: Clock
    ) -> None:
        """Take over a transport whose socket is connected or connecting."""
        self.id = channel_id
        self.transport = transport
        self.authenticator = authenticator
        self.state = ChannelState.NOT_CONNECTED
        self.error: Exception | None = None
        self.is_connected = False
        self.is_authenticating = False
        self.mute_state = MuteState.NOT_MUTED
        self.successful_authentications = 0
        self.client_software: tuple[str, str] | None = None
        self.listener = ""
        self._clock = clock
        self._send: NetworkSend | None = None
        self._receive: NetworkReceive | None = None
        self._is_mid_write = False
        self._server_reauthentication_ns: int | None = None

    def __repr__(self) -> str:
        return f"<Channel {self.id} to {self.peer}: {self.state}>"

    @property
    def peer(self) -> str:
        """Return `host:port` of the other end."""
        return self.transport.peer

    @property
    def is_ready(self) -> bool:
        """Return whether frames can be sent and received."""
        return self.is_connected and self.transport.is_ready and self.authenticator.is_complete

    @property
    def has_send(self) -> bool:
        """Return whether a send is under way."""
        return self._send is not None

    @property
    def receive(self) -> NetworkReceive | None:
        """Return the frame that is being read."""
        return self._receive

    @property
    def has_bytes_buffered(self) -> bool:
        """Return whether bytes can be read that the selector cannot see."""
        return self.transport.has_bytes_buffered

    @property
    def is_muted(self) -> bool:
        """Return whether it is not read."""
        return self.mute_state is not MuteState.NOT_MUTED

    @property
    def wants_write(self) -> bool:
        """Return whether there is something to do once the socket takes bytes."""
        if not self.is_connected or self.transport.wants_write:
            return True
        if self.is_ready:
            return self._send is not None
        return self.transport.is_ready and self.authenticator.wants_write

    @property
    def waits_for_memory(self) -> bool:
        """Return whether a receive lacks memory: the channel may be muted for it."""
        receive = self._receive
        return receive is not None and receive.is_memory_needed and self.transport.is_ready

    def finish_connect(self) -> None:
        """Finish the connect.

        Raises:
            OSError: if it failed.
        """
        self.transport.finish_connect()
        self.is_connected = True
        self.state = ChannelState.READY if self.is_ready else ChannelState.AUTHENTICATE

    def prepare(self) -> bool:
        """Continue the handshake, then the authentication, and return whether both are done.

        Raises:
            AuthenticationError: if either end refuses the other.
            OSError: if the connection broke.
        """
        with self._recording_refusal():
            if not self.transport.is_ready:
                self.transport.handshake()
            if self.transport.is_ready and not self.authenticator.is_complete:
                self.is_authenticating = True
                self.authenticator.authenticate(self.transport)
        if not self.is_ready:
            return False
        self.is_authenticating = False
        self.successful_authentications += 1
        self.state = ChannelState.READY
        return True

    def set_send(self, send: NetworkSend) -> None:
        """Start a send.

        Raises:
            RuntimeError: if another one is under way.
        """
        if self._send is not None:
            raise RuntimeError(f"{self!r} still has {self._send!r} to write")
        self._send = send

    def write(self) -> int:
        """Write what the transport accepts of the send, and return how many bytes.

        Raises:
            AuthenticationError: if the peer refuses us after the handshake.
            OSError: if the connection broke.
        """
        assert self._send is not None
        self._is_mid_write = True
        with self._recording_refusal():
            return self._send.write_to(self.transport, self._clock)

    def maybe_complete_send(self) -> NetworkSend | None:
        """Return the send, once it is completed; the next one can follow."""
        send = self._send
        if send is None or not send.is_completed:
            return None
        self._is_mid_write = False
        self._send = None
        return send

    def read(self, max_bytes: int, pool: MemoryPool) -> int:
        """Read the available bytes, up to the end of one frame, and return how many.

        The channel mutes itself when the pool has no memory for the next bytes.

        Raises:
            InvalidReceiveError: if the peer sent a length that no frame may have.
            AuthenticationError: if the peer refuses us after the handshake (TLS 1.3).
            OSError: if the connection broke.
        """
        if self._receive is None:
            self._receive = NetworkReceive(self.id, max_bytes, pool)
        with self._recording_refusal():
            count = self._receive.read_from(self.transport, self._clock)
        if self._receive.is_memory_needed:
            self.mute()
        return count

    def maybe_complete_receive(self) -> NetworkReceive | None:
        """Return the receive, once it is completed; the next one can begin."""
        receive = self._receive
        if receive is None or not receive.is_completed:
            return None
        self._receive = None
        return receive

    def mute(self) -> None:
        """Stop reading, if it is read."""
        if self.mute_state is MuteState.NOT_MUTED:
            self.mute_state = MuteState.MUTED

    def maybe_unmute(self) -> bool:
        """Read again unless a response or a throttle is pending; return whether it is read."""
        if self.mute_state is MuteState.MUTED:
            self.mute_state = MuteState.NOT_MUTED
        return self.mute_state is MuteState.NOT_MUTED

    def handle_mute_event(self, event: MuteEvent) -> None:
        """Record what happened to the request for which the channel is muted.

        Raises:
            ValueError: if it cannot happen now.
        """
        self.mute_state = next_mute_state(self.mute_state, event)

    def maybe_begin_client_reauthentication(self) -> bool:
        """Start a re-authentication if it is due and a send can wait for it; return whether.

        The send must not have begun. A half-read frame goes to the authenticator.
        """
        due_ns = self.authenticator.reauthenticate_at_ns
        if due_ns is None or self._clock.monotonic_ns() < due_ns:
            return False
        if not self.is_ready or self._send is None or self._is_mid_write or self.is_muted:
            return False
        receive, self._receive = self._receive, None
        self.authenticator.reauthenticate(receive)
        return True

    def maybe_begin_server_reauthentication(self, request: NetworkReceive) -> bool:
        """Start a re-authentication that a client asks for, at most once a second; return whether.

        Args:
            request: the whole frame that asks for it.

        Raises:
            RuntimeError: if the channel is not ready.
        """
        if not self.is_ready:
            raise RuntimeError(f"{self!r} is not ready, so it cannot authenticate again")
        now_ns = self._clock.monotonic_ns()
        last_ns = self._server_reauthentication_ns
        if last_ns is not None and now_ns - last_ns < _MIN_SERVER_REAUTHENTICATION_INTERVAL_NS:
            return False
        self._server_reauthentication_ns = now_ns
        self.authenticator.reauthenticate(request)
        return True

    def close(self) -> None:
        """Close the socket and give back the memory of a receive; a second call does nothing."""
        try:
            self.transport.close()
        finally:
            if self._receive is not None:
                self._receive.close()

    @contextmanager
    def _recording_refusal(self) -> Iterator[None]:
        """Record an AuthenticationError as the end of the channel."""
        try:
            yield
        except AuthenticationError:
            self.state = ChannelState.AUTHENTICATION_FAILED
            raise


class Disconnection(NamedTuple):
    """How a channel ended, for those who hear of it after it is gone.

    Attributes:
        state: how far it had come, or why it was closed.
        error: what ended it; None where nothing went wrong (an idle connection).
        peer: `host:port` of the other end.
    """

    state: ChannelState
    error: Exception | None
    peer: str

    @classmethod
    def of(cls, channel: Channel) -> Self:
        """Return how a channel has ended."""
        return cls(channel.state, channel.error, channel.peer)
