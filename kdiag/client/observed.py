"""Exchanges as they cross the wire: what `--trace` prints and `--write` keeps.

The exchanges are numbered in the order in which they were asked, and handed out in the order in
which they ended. What was never written is no exchange.
"""

from collections.abc import Callable

from kdiag.client.in_flight import InFlightRequest
from kdiag.net.receive import NetworkReceive
from kdiag.wire.connection import Connection, Protocol
from kdiag.wire.exchange import Exchange, Status
from kdiag.wire.frame import LENGTH_BYTES, Frame

OnExchange = Callable[[Exchange], None]


class ExchangeObserver:
    """Tells of every exchange on the connections of one client.

    Attributes:
        last_number: number of the newest exchange; whoever else speaks on these connections
            (SASL) counts on.
    """

    def __init__(self, on_exchange: OnExchange, client_id: str | None) -> None:
        """Give exchanges to `on_exchange`; `client_id` is what the headers say."""
        self.last_number = 0
        self._on_exchange = on_exchange
        self._client_id = client_id
        self._connections: dict[str, Connection] = {}
        self._connection_count = 0

    def connect(self, node_id: str, ends: tuple[str, str], now_ns: int) -> None:
        """Begin a connection between two ends, `ip:port` each; `now_ns` is since 1970."""
        self._connection_count += 1
        client, broker = ends
        self._connections[node_id] = Connection(
            number=self._connection_count,
            connection_id=f"tcp-{client}-{broker}-{now_ns}",
            client=client,
            broker=broker,
            first_ns=now_ns,
            last_ns=now_ns,
            protocol=Protocol.KAFKA,
        )

    def connection(self, node_id: str) -> Connection:
        """Return the connection to a node that has begun."""
        return self._connections[node_id]

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
