"""The observer: turns requests and responses into exchanges, for `--trace` and `--write`.

Exchanges are numbered in the order of their requests and handed out in the order in which they
ended. A request of which no byte was written is not an exchange.

Logins are logged here, for DEBUG: by name, size and time, without what they say.
"""

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from kdiag.client.network.in_flight import InFlightRequest
from kdiag.clock import NS_PER_MS
from kdiag.exchange.model import Connection, Exchange, Protocol, Status
from kdiag.net.receive import NetworkReceive
from kdiag.wire.catalog import API_BY_KEY
from kdiag.wire.frame import LENGTH_BYTES, Frame

if TYPE_CHECKING:  # only who authenticates with SASL needs to load it
    from kdiag.net.sasl.authenticator import SaslExchange

_LOG: Final = logging.getLogger(__name__)
UNKNOWN_END: Final = "?"
"""Stands for an end of a connection whose address was not known in time."""

OnExchange = Callable[[Exchange], None]


class ExchangeObserver:
    """Reports every exchange on the connections of one client.

    Attributes:
        last_number: number of the newest exchange.
    """

    def __init__(self, on_exchange: OnExchange, client_id: str | None) -> None:
        """Give exchanges to `on_exchange`; `client_id` is that of the headers."""
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

    def next_number(self) -> int:
        """Return the number of the next exchange."""
        self.last_number += 1
        return self.last_number

    def record_response(self, sent: InFlightRequest, receive: NetworkReceive) -> None:
        """Report a request with its response."""
        assert receive.first_byte_ns is not None
        assert receive.last_byte_ns is not None
        frame = Frame(
            receive.payload, len(receive.payload), receive.first_byte_ns, receive.last_byte_ns
        )
        self._report(sent, frame, Status.OK)

    def record_unanswered(self, sent: InFlightRequest) -> None:
        """Report a request without a response: it expects none, or the connection ended."""
        self._report(sent, None, Status.UNANSWERED if sent.expects_response else Status.NO_RESPONSE)

    def record_authentication(self, sasl: "SaslExchange") -> None:
        """Report a request of an authenticator with its response."""
        now_ns = sasl.request.first_byte_ns
        connection = self._connections.get(sasl.channel_id)
        if connection is None:  # it broke before the selector reported it
            connection = self.connect(sasl.channel_id, (UNKNOWN_END, UNKNOWN_END), now_ns)
        _count(connection, sasl.request, sasl.response)
        if _LOG.isEnabledFor(logging.DEBUG):
            _log_authentication(sasl)
        has_header = sasl.api_key is not None
        pairing = Status.OK if has_header else Status.OPAQUE
        exchange = Exchange(
            number=self.next_number(),
            connection=connection,
            api_key=sasl.api_key,
            version=sasl.version,
            correlation_id=sasl.correlation_id,
            client_id=self._client_id if has_header else None,
            request=sasl.request,
            response=sasl.response,
            pairing=pairing if sasl.response or not has_header else Status.UNANSWERED,
        )
        self._on_exchange(exchange)

    def _report(self, sent: InFlightRequest, response: Frame | None, pairing: Status) -> None:
        """Hand out an exchange, if any byte of its request crossed the wire."""
        request = _request_frame(sent)
        if request is None:
            return
        connection = self._connections[sent.request.node_id]
        _count(connection, request, response)
        exchange = Exchange(
            number=sent.number,
            connection=connection,
            api_key=sent.request.api.key,
            version=sent.version,
            correlation_id=sent.request.correlation_id,
            client_id=self._client_id,
            request=request,
            response=response,
            pairing=pairing,
        )
        self._on_exchange(exchange)


def _log_authentication(sasl: "SaslExchange") -> None:
    name = "a token" if sasl.api_key is None else API_BY_KEY[sasl.api_key].name
    came = "not answered"
    if sasl.response is not None:
        waited_ns = max(0, sasl.response.first_byte_ns - sasl.request.last_byte_ns)
        came = f"answered in {waited_ns / NS_PER_MS:.3f} ms, {sasl.response.size} bytes"
    _LOG.debug("node %s: %s, %d bytes: %s", sasl.channel_id, name, sasl.request.size, came)


def _count(connection: Connection, request: Frame, response: Frame | None) -> None:
    """Add the frames of an exchange to the counts of its connection."""
    connection.requests += 1
    connection.request_bytes += LENGTH_BYTES + request.size
    connection.last_ns = max(connection.last_ns, request.last_byte_ns)
    if response is not None:
        connection.responses += 1
        connection.response_bytes += LENGTH_BYTES + response.size
        connection.last_ns = max(connection.last_ns, response.last_byte_ns)


def _request_frame(sent: InFlightRequest) -> Frame | None:
    """Return the frame of a request; None if no byte of it was written."""
    first_ns = sent.send.first_write_ns
    if first_ns is None:
        return None
    payload = sent.send.payload
    return Frame(payload, len(payload), first_ns, sent.send.last_write_ns or first_ns)
