"""Exchanges as they cross the wire: what `--trace` prints and `--write` keeps.

The exchanges are numbered in the order in which they were asked, and handed out in the order in
which they ended. What was never written is no exchange.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from kdiag.client.network.in_flight import InFlightRequest
from kdiag.exchange.model import Connection, Exchange, Protocol, Status
from kdiag.net.receive import NetworkReceive
from kdiag.wire.frame import LENGTH_BYTES, Frame

if TYPE_CHECKING:  # only who authenticates with SASL needs to load it
    from kdiag.net.sasl.authenticator import SaslExchange

UNKNOWN_END: Final = "?"
"""Stands for an end of a connection that nobody could name in time."""

OnExchange = Callable[[Exchange], None]


class ExchangeObserver:
    """Tells of every exchange on the connections of one client.

    Attributes:
        last_number: number of the newest exchange.
    """

    def __init__(self, on_exchange: OnExchange, client_id: str | None) -> None:
        """Give exchanges to `on_exchange`; `client_id` is what the headers say."""
        self.last_number = 0
        self._on_exchange = on_exchange
        self._client_id = client_id
        self._connections: dict[str, Connection] = {}
        self._connection_count = 0

    def connect(self, node_id: str, ends: tuple[str, str], now_ns: int) -> Connection:
        """Begin a connection between two ends, `ip:port` each; `now_ns` is since 1970."""
        self._connection_count += 1
        client, broker = ends
        connection = self._connections[node_id] = Connection(
            number=self._connection_count,
            connection_id=f"tcp-{client}-{broker}-{now_ns}",
            client=client,
            broker=broker,
            first_ns=now_ns,
            last_ns=now_ns,
            protocol=Protocol.KAFKA,
        )
        return connection

    def disconnect(self, node_id: str, now_ns: int) -> None:
        """End a connection: the next one to the node is another."""
        connection = self._connections.pop(node_id, None)
        if connection is not None:
            connection.last_ns = max(connection.last_ns, now_ns)

    def number(self) -> int:
        """Return the number of the next exchange."""
        self.last_number += 1
        return self.last_number

    def answered(self, asked: InFlightRequest, receive: NetworkReceive) -> None:
        """Tell of a request and its response."""
        assert receive.first_byte_ns is not None
        assert receive.last_byte_ns is not None
        frame = Frame(
            receive.payload, len(receive.payload), receive.first_byte_ns, receive.last_byte_ns
        )
        self._tell(asked, frame, Status.OK)

    def not_answered(self, asked: InFlightRequest) -> None:
        """Tell of a request that has no response, because it needs none or the connection ended."""
        self._tell(asked, None, Status.UNANSWERED if asked.expects_response else Status.NO_RESPONSE)

    def authenticating(self, said: "SaslExchange") -> None:
        """Tell of a frame of an authenticator and its answer."""
        now_ns = said.request.first_byte_ns
        connection = self._connections.get(said.channel_id)
        if connection is None:  # it broke before anybody could tell that it had come about
            connection = self.connect(said.channel_id, (UNKNOWN_END, UNKNOWN_END), now_ns)
        _count(connection, said.request, said.response)
        has_header = said.api_key is not None
        pairing = Status.OK if has_header else Status.OPAQUE
        exchange = Exchange(
            number=self.number(),
            connection=connection,
            api_key=said.api_key,
            version=said.version,
            correlation_id=said.correlation_id,
            client_id=self._client_id if has_header else None,
            request=said.request,
            response=said.response,
            pairing=pairing if said.response or not has_header else Status.UNANSWERED,
        )
        self._on_exchange(exchange)

    def _tell(self, asked: InFlightRequest, response: Frame | None, pairing: Status) -> None:
        """Hand out an exchange, if any byte of its request crossed the wire."""
        request = _request_frame(asked)
        if request is None:
            return
        connection = self._connections[asked.request.node_id]
        _count(connection, request, response)
        exchange = Exchange(
            number=asked.number,
            connection=connection,
            api_key=asked.request.api.key,
            version=asked.version,
            correlation_id=asked.request.correlation_id,
            client_id=self._client_id,
            request=request,
            response=response,
            pairing=pairing,
        )
        self._on_exchange(exchange)


def _count(connection: Connection, request: Frame, response: Frame | None) -> None:
    """Add the frames of an exchange to what its connection has carried."""
    connection.requests += 1
    connection.request_bytes += LENGTH_BYTES + request.size
    connection.last_ns = max(connection.last_ns, request.last_byte_ns)
    if response is not None:
        connection.responses += 1
        connection.response_bytes += LENGTH_BYTES + response.size
        connection.last_ns = max(connection.last_ns, response.last_byte_ns)


def _request_frame(asked: InFlightRequest) -> Frame | None:
    """Return the frame of a request; None if not a byte of it was written."""
    first_ns = asked.send.first_write_ns
    if first_ns is None:
        return None
    payload = asked.send.payload
    return Frame(payload, len(payload), first_ns, asked.send.last_write_ns or first_ns)
