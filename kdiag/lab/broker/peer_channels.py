"""The connections of a node to the others: it sends them requests as any client does.

    channels.send(2, Purpose.FETCH, FetchRequest(...), handle)
    internal-2-fetch     dialled when it is needed, one request at a time, the others in a queue

They are not made by the listeners of clients, which may want TLS, a certificate or a password that
a broker has not: both ends are in this process, and so are connected to each other by a pair of
sockets that nobody else can come to. What goes over them is Kafka's protocol, in its newest
versions, whatever release the brokers speak as to clients.

A response that does not come in time ends the connection; then, and where no broker runs, whoever
asked gets None. All calls come from the node's thread.

Source: Kafka's `BrokerBlockingSender`, `InterBrokerSendThread`.
"""

import logging
from collections import deque
from collections.abc import Callable
from typing import Any, Final, NamedTuple

from kdiag.clock import NS_PER_S, Clock
from kdiag.errors import DecodeError
from kdiag.lab.api.registry import HANDLERS
from kdiag.lab.replication.peer_requests import HandleResponse, Purpose
from kdiag.net.receive import NetworkReceive
from kdiag.net.server.processor import INTERNAL_PREFIX, Processor
from kdiag.wire.catalog import API_BY_KEY, Api
from kdiag.wire.codec.messages import decode_prefix, encode
from kdiag.wire.frame import LENGTH_BYTES
from kdiag.wire.header import read_response_header, request_header_bytes
from kdiag.wire.schema import Struct, info_of

LOG: Final = logging.getLogger(__name__)

TIMEOUT_NS: Final = 30 * NS_PER_S
"""`replica.socket.timeout.ms`, `request.timeout.ms` of a broker."""

Dial = Callable[[int], Any]
"""Returns a connected socket to a broker, or raises OSError if it does not run."""


def dial_nobody(node_id: int) -> Any:
    """Refuse to connect: the node is alone.

    Raises:
        OSError: always.
    """
    raise ConnectionRefusedError(f"there is no broker {node_id}")


class _PeerRequest(NamedTuple):
    """A request, and who waits for its response."""

    request: Struct
    handle: HandleResponse


class _PeerChannel:
    """A connection to a node, or the wish for one."""

    def __init__(self) -> None:
        self.is_open = False
        self.sent: _PeerRequest | None = None
        self.due_ns = 0
        self.correlation_id = 0
        self.queue: deque[_PeerRequest] = deque()

    def give_up(self) -> list[_PeerRequest]:
        """Return everything that was asked, and forget it."""
        lost = [*([self.sent] if self.sent else ()), *self.queue]
        self.sent, self.is_open = None, False
        self.queue.clear()
        return lost


class PeerChannels:
    """The connections of a node to the others.

    Attributes:
        processor: of the node; it has to be set before the first request.
        byte_count: that requests and responses had.
    """

    def __init__(self, node_id: int, clock: Clock, dial: Dial) -> None:
        """Begin without connections.

        Args:
            node_id: the node.
            clock: for timeouts.
            dial: connects to a broker.
        """
        self.processor: Processor | None = None
        self.byte_count = 0
        self._node_id = node_id
        self._clock = clock
        self._dial = dial
        self._channels: dict[str, _PeerChannel] = {}

    def __repr__(self) -> str:
        return f"<PeerChannels of broker {self._node_id}: {len(self._channels)}>"

    @property
    def open_count(self) -> int:
        """Return how many connections there are; from any thread."""
        return sum(each.is_open for each in [*self._channels.values()])

    def send(self, node_id: int, purpose: Purpose, request: Struct, handle: HandleResponse) -> None:
        """Send a request, and hand over its response."""
        channel_id = f"{INTERNAL_PREFIX}{node_id}-{purpose.value}"
        channel = self._channels.setdefault(channel_id, _PeerChannel())
        channel.queue.append(_PeerRequest(request, handle))
        if not channel.is_open:
            try:
                self._the_processor.add_client(channel_id, self._dial(node_id), self)
            except OSError as error:
                LOG.debug("broker %d cannot reach broker %d: %s", self._node_id, node_id, error)
                self._give_up(channel)
                return
            channel.is_open = True
        if channel.sent is None:
            self._send_next(channel_id, channel)

    def advance(self) -> int | None:
        """Give up what has waited for too long; return when to be called next."""
        now_ns = self._clock.monotonic_ns()
        due_ns = None
        for channel_id, channel in self._channels.items():
            if channel.sent is None:
                continue
            if channel.due_ns <= now_ns:
                LOG.info("broker %d: no response over %s", self._node_id, channel_id)
                self._the_processor.remove_client(channel_id)
                self._give_up(channel)
            elif due_ns is None or channel.due_ns < due_ns:
                due_ns = channel.due_ns
        return due_ns

    def handle_response(self, receive: NetworkReceive) -> None:
        """Hand over a response, and send what waits."""
        channel_id = receive.channel_id
        channel = self._channels[channel_id]
        asked, channel.sent = channel.sent, None
        assert asked is not None
        self.byte_count += LENGTH_BYTES + len(receive.payload)
        try:
            response = _read(asked.request, receive.payload)
        except DecodeError as error:
            LOG.warning("broker %d: %s over %s", self._node_id, error, channel_id)
            response = None
        if channel.queue:
            self._send_next(channel_id, channel)
        asked.handle(response)

    def handle_connection_end(self, channel_id: str) -> None:
        """Give up what was asked over a connection that has ended."""
        self._give_up(self._channels[channel_id])

    @property
    def _the_processor(self) -> Processor:
        assert self.processor is not None
        return self.processor

    def _give_up(self, channel: _PeerChannel) -> None:
        for asked in channel.give_up():
            asked.handle(None)

    def _send_next(self, channel_id: str, channel: _PeerChannel) -> None:
        asked = channel.sent = channel.queue.popleft()
        channel.correlation_id += 1
        channel.due_ns = self._clock.monotonic_ns() + TIMEOUT_NS
        api, version = _api_of(asked.request)
        client_id = f"broker-{self._node_id}"
        head = request_header_bytes(api, version, channel.correlation_id, client_id)
        body = encode(asked.request, version)
        self.byte_count += LENGTH_BYTES + len(head) + len(body)
        self._the_processor.send(channel_id, [head, body])


def _api_of(request: Struct) -> tuple[Api, int]:
    """Return the API of a request, and the version in which nodes speak it to each other."""
    key = info_of(type(request)).api_key
    assert key is not None
    return API_BY_KEY[key], HANDLERS[key].versions.high


def _read(request: Struct, frame: bytes) -> Struct:
    """Return the response to a request.

    Raises:
        DecodeError: if it is something else.
    """
    api, version = _api_of(request)
    header = read_response_header(frame, api.key, version)
    response, _ = decode_prefix(
        api.response_class(), version, frame, header.body_offset, views=True
    )
    return response
