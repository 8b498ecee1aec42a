"""A processor: one thread that reads requests from many connections and writes their responses.

    accepted sockets  ->  register
    selector.poll     ->  a request: the channel is muted, the handler gets it
    the handler       ->  respond, sooner or later, from this thread or another
    the response      ->  is written; the channel is un-muted, and its next request is read

So a connection has one request under way at a time, and its responses keep the order of its
requests, whatever order they are completed in. A client that is to slow down gets its response at
once and is not read until its time is up (KIP-219):

    MUTED_AND_RESPONSE_PENDING -> throttled -> response sent -> MUTED_AND_THROTTLED -> MUTED -> read

Whatever a handler raises ends the connection, and nothing else. A request is released, and its
memory with it, when it is answered.

A server may also be the client of another one, over connections of the same selector and so in the
same thread: `add_client`, `send`. What comes by them are responses, which their owner gets.

Source: Kafka's `SocketServer.Processor`, `RequestChannel`; KIP-219.
"""

import logging
import socket
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from threading import Event, get_ident
from typing import Final, NamedTuple, Protocol

from kdiag.clock import Clock, wait_ns
from kdiag.net.authenticator import NoAuthenticator
from kdiag.net.channel import Channel, Disconnection, MuteEvent
from kdiag.net.receive import NetworkReceive
from kdiag.net.selector.selector import MakeChannel, Selector, SelectorSettings
from kdiag.net.send import NetworkSend, RawSend
from kdiag.net.server.file_send import FileRegion, FileSend, FramePart
from kdiag.net.transport import PlaintextTransport
from kdiag.wire import api_keys

LOG: Final = logging.getLogger(__name__)


_SASL_HANDSHAKE: Final = api_keys.SASL_HANDSHAKE.to_bytes(2)
INTERNAL_PREFIX: Final = "internal-"
"""The ids of connections between servers of this process begin so."""
_MOST_ROUNDS: Final = 100
"""How many rounds who waits for a quiet one waits at the most, as clients may never pause."""


def plaintext_channels(clock: Clock) -> MakeChannel:
    """Return a function that makes the channels of a listener without TLS and SASL."""

    def make(channel_id: str, sock: socket.socket, peer: str, _host: str) -> Channel:
        return Channel(channel_id, PlaintextTransport(sock, peer), NoAuthenticator(), clock)

    return make


class ServerRequest(NamedTuple):
    """A request on a connection that waits for its response.

    Attributes:
        channel_id: the connection.
        peer: `host:port` of the client.
        receive: the frame.
        listener: the name of the listener that the client came by.
    """

    channel_id: str
    peer: str
    receive: NetworkReceive
    listener: str = ""


class RequestHandler(Protocol):
    """Who answers the requests of a processor; all calls come from its thread."""

    def handle(self, request: ServerRequest) -> None:
        """Answer a request by `respond` of its processor, now or later, once."""
        ...

    def handle_disconnect(self, channel_id: str, ended: Disconnection) -> None:
        """Forget a connection that has ended by itself."""
        ...

    def advance(self) -> int | None:
        """Do what is due, and return when to be called next on the clock; None is no matter."""
        ...


class ConnectionOwner(Protocol):
    """Who sends requests over a connection of a processor; all calls come from its thread."""

    def handle_response(self, receive: NetworkReceive) -> None:
        """Read a response; it is released afterwards."""
        ...

    def handle_connection_end(self, channel_id: str) -> None:
        """Give up what was asked: the connection has ended."""
        ...


class _Response(NamedTuple):
    channel_id: str
    parts: Sequence[FramePart] | None
    throttle_ns: int
    is_last: bool


class Processor:
    """The connections of one thread.

    Attributes:
        selector: over them.
        accepted_count: how many there have been.
    """

    def __init__(
        self,
        clock: Clock,
        handler: RequestHandler,
        *,
        make_channel: MakeChannel,
        settings: SelectorSettings,
    ) -> None:
        """Begin without connections.

        Args:
            clock: for throttles and idle connections.
            handler: answers requests.
            make_channel: makes the channel of an accepted socket.
            settings: sizes and times.
        """
        self.selector = Selector(clock, make_channel=make_channel, settings=settings)
        self.accepted_count = 0
        self._clock = clock
        self._handler = handler
        self._accepted: deque[tuple[str, socket.socket]] = deque()
        self._clients: dict[str, ConnectionOwner] = {}
        self._responses: deque[_Response] = deque()
        self._throttled_until_ns: dict[str, int] = {}
        self._requests: dict[str, ServerRequest] = {}
        self._calls: deque[Callable[[], object]] = deque()
        self._awaiting_quiet: deque[Event] = deque()
        self._delayed_rounds = 0
        self._is_closed = False
        self._is_finished = False
        self._thread_id = 0

    def __repr__(self) -> str:
        return f"<Processor of {len(self.selector.channels)} connections>"

    def accept(self, sock: socket.socket, *, is_internal: bool = False) -> None:
        """Take over a connection; from any thread.

        Args:
            sock: was accepted.
            is_internal: whether it comes from another server of this process.
        """
        self._accepted.append((INTERNAL_PREFIX if is_internal else "", sock))
        if self._is_finished:
            self._close_accepted()  # nobody will take it over
        else:
            self.selector.wakeup()

    def add_client(self, channel_id: str, sock: socket.socket, owner: ConnectionOwner) -> None:
        """Take over a connection over which requests are sent; from the processor's thread.

        Args:
            channel_id: begins with INTERNAL_PREFIX; nothing else has it.
            sock: is connected.
            owner: gets what comes.

        Raises:
            ValueError: if the id is in use.
            OSError: if it is no longer connected; it is closed then.
        """
        self.selector.register(channel_id, sock)
        self._clients[channel_id] = owner

    def send(self, channel_id: str, parts: Sequence[bytes]) -> None:
        """Send a request over a connection of `add_client`; from the processor's thread.

        Raises:
            ValueError: if there is no such connection.
            RuntimeError: if its last request is not sent yet.
        """
        self.selector.send(NetworkSend(channel_id, [*parts]))

    def remove_client(self, channel_id: str) -> None:
        """Close a connection of `add_client`; its owner hears nothing of it."""
        if self._clients.pop(channel_id, None) is not None:
            self.selector.close_channel(channel_id)

    def respond(
        self, channel_id: str, parts: Sequence[FramePart] | None, throttle_ns: int = 0
    ) -> None:
        """Answer the request of a connection; from any thread.

        Args:
            channel_id: the connection; it may be gone.
            parts: the frame; None if the client expects none.
            throttle_ns: how long the connection is not read after this.
        """
        self._respond(_Response(channel_id, parts, throttle_ns, is_last=False))

    def end(self, channel_id: str) -> None:
        """Close a connection instead of answering its request; from any thread."""
        self._respond(_Response(channel_id, None, 0, is_last=True))

    def call(self, function: Callable[[], object]) -> None:
        """Have a function called in the processor's thread; from any thread."""
        self._calls.append(function)
        self.selector.wakeup()

    def await_quiet(self, timeout_s: float) -> bool:
        """Wait until all is handled that has arrived by now; from any thread but the processor's.

        All is handled behind the first round in which nothing arrives and no response has left (its
        connection is read on then); who waits is told behind 100 rounds at the latest, at once if
        there are none any more. What arrives on connections that `accept` has not been given yet
        does not count.

        Returns:
            Whether it was so in that time.
        """
        quiet = Event()
        self._awaiting_quiet.append(quiet)
        if self._is_finished:
            self._tell_quiet(len(self._awaiting_quiet))
        else:
            self.selector.wakeup()
        return quiet.wait(timeout_s)

    def run(self) -> None:
        """Process until `stop` is called, and close every connection."""
        try:
            while not self._is_closed:
                self.process_once()
        finally:
            self.close()

    def stop(self) -> None:
        """End `run`; from any thread."""
        self._is_closed = True
        self.selector.wakeup()

    def close(self) -> None:
        """Close every connection, and those that come."""
        self._is_finished = True
        self._close_accepted()
        for request in self._requests.values():
            request.receive.close()
        self._requests.clear()
        self.selector.close()
        self._tell_quiet(len(self._awaiting_quiet))

    def process_once(self, timeout_ns: int | None = None) -> None:
        """Do one round: what is due, new connections, responses, what arrived and what was sent.

        Args:
            timeout_ns: how long to wait for something at the most, in the machine's own time; None
                is until something is due.
        """
        self._thread_id = get_ident()
        due_ns = self._advance()
        self._register_accepted()
        self._send_responses()
        waiting_count = len(self._awaiting_quiet)
        received_bytes = self.selector.metrics.bytes_received
        is_awaited = self._is_closed or self._calls or self._responses or self._accepted
        is_idle = not (is_awaited or waiting_count)
        self.selector.poll(wait_ns(self._clock, due_ns, timeout_ns) if is_idle else 0)
        self._run_calls()  # before requests of those who knew of them
        self._handle_polled()
        self._send_responses()
        has_arrived = self.selector.metrics.bytes_received > received_bytes
        is_quiet = not (has_arrived or self.selector.completed_sends or self.selector.disconnected)
        self._end_round(waiting_count, is_quiet=is_quiet)

    def _handle_polled(self) -> None:
        """Handle what has arrived, what was sent, and who has hung up."""
        for receive in self.selector.completed_receives:
            self._handle_receive(receive)
        for send in self.selector.completed_sends:
            if isinstance(send, RawSend):  # who sent it goes on
                send.on_completed()
            elif send.channel_id not in self._clients:
                self._handle_sent(send.channel_id)
        for channel_id, ended in self.selector.disconnected.items():
            self._handle_disconnect(channel_id, ended)

    def _end_round(self, waiting_count: int, *, is_quiet: bool) -> None:
        """Tell those that have waited since before the round, if they need wait no longer."""
        self._delayed_rounds += 1
        if is_quiet or not waiting_count or self._delayed_rounds >= _MOST_ROUNDS:
            self._delayed_rounds = 0
            self._tell_quiet(waiting_count)

    def _close_accepted(self) -> None:
        with suppress(IndexError):
            while True:
                self._accepted.popleft()[1].close()

    def _respond(self, response: _Response) -> None:
        self._responses.append(response)
        if get_ident() != self._thread_id:
            self.selector.wakeup()

    def _run_calls(self) -> None:
        while self._calls:
            self._calls.popleft()()

    def _tell_quiet(self, count: int) -> None:
        """Tell the first of those that wait for it."""
        with suppress(IndexError):
            for _ in range(count):
                self._awaiting_quiet.popleft().set()

    def _advance(self) -> int | None:
        """Call what is due, end throttles, and return when something is due next."""
        self._run_calls()
        try:
            due_ns = self._handler.advance()
        except Exception:
            LOG.exception("what was due could not be done")
            due_ns = self._clock.monotonic_ns()
        now_ns = self._clock.monotonic_ns()
        for channel_id, until_ns in [*self._throttled_until_ns.items()]:
            if until_ns <= now_ns:
                del self._throttled_until_ns[channel_id]
                self._handle_mute_event(channel_id, MuteEvent.THROTTLE_ENDED)
            elif due_ns is None or until_ns < due_ns:
                due_ns = until_ns
        return due_ns

    def _register_accepted(self) -> None:
        while self._accepted:
            self.accepted_count += 1
            prefix, sock = self._accepted.popleft()
            with suppress(OSError):  # it has hung up already
                self.selector.register(f"{prefix}{self.accepted_count}", sock)

    def _handle_receive(self, receive: NetworkReceive) -> None:
        owner = self._clients.get(receive.channel_id)
        if owner is None:
            self._handle_request(receive)
            return
        try:
            owner.handle_response(receive)
        except Exception:
            LOG.exception("a response over %s could not be handled", receive.channel_id)
        finally:
            receive.close()

    def _handle_request(self, receive: NetworkReceive) -> None:
        channel_id = receive.channel_id
        channel = self.selector.channel(channel_id) or self.selector.closing_channel(channel_id)
        if channel is None:
            receive.close()
            return
        if self._is_reauthentication(channel, receive):
            return
        self.selector.mute(channel_id)
        channel.handle_mute_event(MuteEvent.REQUEST_RECEIVED)
        request = ServerRequest(channel_id, channel.peer, receive, channel.listener)
        self._requests[channel_id] = request
        try:
            self._handler.handle(request)
        except Exception:
            LOG.exception("a request of %s could not be handled", channel.peer)
            self.end(channel_id)

    def _is_reauthentication(self, channel: Channel, receive: NetworkReceive) -> bool:
        """Begin a re-authentication if a client asks for one that may; return whether it did."""
        is_asked = receive.payload[: len(_SASL_HANDSHAKE)] == _SASL_HANDSHAKE
        if not is_asked or isinstance(channel.authenticator, NoAuthenticator):
            return False
        if not channel.is_ready or not channel.maybe_begin_server_reauthentication(receive):
            return False
        receive.close()
        self.selector.unmute(channel.id)  # it is watched for writing: the answer
        return True

    def _send_responses(self) -> None:
        while self._responses:
            response = self._responses.popleft()
            request = self._requests.pop(response.channel_id, None)
            if request is not None:
                request.receive.close()
                self._send_response(response)

    def _send_response(self, response: _Response) -> None:
        """Send a response on a connection that is still there."""
        channel_id, parts = response.channel_id, response.parts
        channel = self.selector.channel(channel_id) or self.selector.closing_channel(channel_id)
        if channel is None:
            return
        if response.is_last:
            self._throttled_until_ns.pop(channel_id, None)
            self.selector.close_channel(channel_id)
            return
        if response.throttle_ns > 0:
            until_ns = self._clock.monotonic_ns() + response.throttle_ns
            self._throttled_until_ns[channel_id] = until_ns
            channel.handle_mute_event(MuteEvent.THROTTLE_STARTED)
        if parts is None:
            self._handle_sent(channel_id)
            return
        try:
            self.selector.send(_frame(channel_id, parts))
        except OSError as error:
            LOG.warning("a response to %s cannot be sent: %s", channel.peer, error)
            self.selector.close_channel(channel_id)

    def _handle_sent(self, channel_id: str) -> None:
        self._handle_mute_event(channel_id, MuteEvent.RESPONSE_SENT)

    def _handle_mute_event(self, channel_id: str, event: MuteEvent) -> None:
        """Read a connection again, unless something else keeps it muted."""
        channel = self.selector.channel(channel_id) or self.selector.closing_channel(channel_id)
        if channel is not None:
            channel.handle_mute_event(event)
            self.selector.unmute(channel_id)

    def _handle_disconnect(self, channel_id: str, ended: Disconnection) -> None:
        owner = self._clients.pop(channel_id, None)
        if owner is not None:
            owner.handle_connection_end(channel_id)
            return
        self._throttled_until_ns.pop(channel_id, None)
        request = self._requests.pop(channel_id, None)
        if request is not None:
            request.receive.close()
        self._handler.handle_disconnect(channel_id, ended)


def _frame(channel_id: str, parts: Sequence[FramePart]) -> NetworkSend:
    plain = [part for part in parts if not isinstance(part, FileRegion)]
    if len(plain) == len(parts):
        return NetworkSend(channel_id, plain)
    return FileSend(channel_id, parts)
