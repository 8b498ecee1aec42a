"""A peer for clients under test: it speaks frames, and answers, waits or hangs up as it is told.

    with ScriptedBroker() as broker:
        broker.on("Metadata", MetadataResponse(...))     # always this answer
        broker.on("FindCoordinator", HOLD)               # none yet
        ...
        broker.wait_for("FindCoordinator").reply(FindCoordinatorResponse(...))

ApiVersions is answered with every version that kdiag knows unless something else is told.
"""

import socket
import ssl
import struct
from collections.abc import Callable
from contextlib import suppress
from enum import Enum, auto
from threading import Condition, Thread
from typing import Final, NamedTuple, Self, cast

from kdiag.client.network.metadata import Node
from kdiag.net.address import Address
from kdiag.wire.api.api_versions import ApiVersion, ApiVersionsResponse
from kdiag.wire.catalog import API_BY_KEY, APIS
from kdiag.wire.codec.messages import decode, encode
from kdiag.wire.header import RequestHeader, read_request_header
from kdiag.wire.schema import Struct

_TIMEOUT_S: Final = 30
_SIZE: Final = struct.Struct(">i")
_CORRELATION_ID: Final = struct.Struct(">i")
_RESET: Final = struct.pack("ii", 1, 0)


class Instead(Enum):
    """What a broker does instead of answering."""

    HOLD = auto()
    """Nothing, for now."""
    CLOSE = auto()
    """It closes the connection."""
    RESET = auto()
    """It resets the connection."""


HOLD: Final = Instead.HOLD
CLOSE: Final = Instead.CLOSE
RESET: Final = Instead.RESET


class Received(NamedTuple):
    """A request that the broker got, on the connection that it came by.

    Attributes:
        name: of the API.
        header: as read.
        body: its bytes.
        connection: the socket.
    """

    name: str
    header: RequestHeader
    body: bytes
    connection: socket.socket

    def message(self) -> Struct:
        """Return the request."""
        request_class = API_BY_KEY[self.header.api_key].request_class()
        return decode(request_class, self.header.version, self.body)

    def reply(self, answer: Struct, *, version: int | None = None) -> None:
        """Send an answer, by default in the version of the request."""
        asked = self.header.version
        flags = b"\0" if API_BY_KEY[self.header.api_key].response_header_version(asked) else b""
        body = encode(answer, asked if version is None else version)
        self.reply_frame(_CORRELATION_ID.pack(self.header.correlation_id) + flags + body)

    def reply_frame(self, frame: bytes) -> None:
        """Send a frame as it is."""
        with suppress(OSError):  # the client may be gone
            self.connection.sendall(_SIZE.pack(len(frame)) + frame)


Reply = Struct | Instead | Callable[[Received], None]
"""What follows a request: an answer, or something instead, or whatever the function does."""


def offering(**versions: tuple[int, int]) -> ApiVersionsResponse:
    """Return an ApiVersions answer with every API that kdiag knows, but those as told."""
    ranges = {api.name: (api.versions.low, api.versions.high) for api in APIS} | versions
    keys = {api.name: api.key for api in APIS}
    return ApiVersionsResponse(
        api_keys=[
            ApiVersion(api_key=keys[name], min_version=low, max_version=high)
            for name, (low, high) in ranges.items()
            if high >= low
        ]
    )


class ScriptedBroker:
    """A listening socket with a thread for each connection.

    Attributes:
        requests: everything that was asked, in order of arrival.
        connections: how many there have been.
    """

    def __init__(
        self, host: str = "127.0.0.1", tls: ssl.SSLContext | None = None, *, port: int = 0
    ) -> None:
        """Listen on a port, 0 for a free one, with TLS if a context is given."""
        self._tls = tls
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self._server = socket.create_server((host, port), family=family)
        self.port = cast("int", self._server.getsockname()[1])
        self.address = Address(host, self.port, host, family)
        self.requests: list[Received] = []
        self.connections = 0
        self._replies: dict[str, Reply] = {"ApiVersions": offering()}
        self._changed = Condition()
        self._open: list[socket.socket] = []
        self._threads = [Thread(target=self._accept, daemon=True)]

    def __enter__(self) -> Self:
        """Begin to accept connections."""
        self._threads[0].start()
        return self

    def __exit__(self, *_: object) -> None:
        """Close everything."""
        self.stop()
        for each in self._threads:
            each.join(_TIMEOUT_S)

    def node(self, node_id: str = "1") -> Node:
        """Return where it listens."""
        return Node(node_id, self.address.host, self.port)

    def on(self, name: str, reply: Reply) -> None:
        """Have requests of an API answered so from now on."""
        self._replies[name] = reply

    def stop(self) -> None:
        """Close the listening socket and every connection, as a broker that is killed."""
        with suppress(OSError):
            self._server.shutdown(socket.SHUT_RDWR)
        self._server.close()
        self.hang_up()

    def hang_up(self) -> None:
        """Close every connection, and go on listening."""
        for each in self._open:
            with suppress(OSError):
                # TLS's own shutdown would take its state from under the thread that reads.
                socket.socket.shutdown(each, socket.SHUT_RDWR)

    def wait_for(self, name: str, count: int = 1) -> Received:
        """Return the count-th request of an API, once it has come."""
        with self._changed:
            arrived = self._changed.wait_for(lambda: len(self.asked(name)) >= count, _TIMEOUT_S)
        assert arrived, f"no {name} came, but {[each.name for each in self.requests]}"
        return self.asked(name)[count - 1]

    def asked(self, name: str) -> list[Received]:
        """Return the requests of an API."""
        return [each for each in self.requests if each.name == name]

    def _accept(self) -> None:
        """Start a thread for each connection until the socket is closed."""
        with suppress(OSError):
            while True:
                connection, _ = self._server.accept()
                self.connections += 1
                self._open.append(connection)
                thread = Thread(target=self._serve, args=[connection], daemon=True)
                self._threads.append(thread)
                thread.start()

    def _serve(self, connection: socket.socket) -> None:
        """Answer the requests of a connection until it ends."""
        with suppress(OSError):
            if self._tls is not None:
                connection = self._tls.wrap_socket(connection, server_side=True)
                self._open.append(connection)
            self._converse(connection)

    def _converse(self, connection: socket.socket) -> None:
        """Take requests until one ends the connection."""
        with connection, connection.makefile("rb") as stream:
            while prefix := stream.read(_SIZE.size):
                (size,) = _SIZE.unpack(prefix)
                frame = stream.read(size)
                if len(frame) < size or not self._take(frame, connection):
                    break

    def _take(self, frame: bytes, connection: socket.socket) -> bool:
        """Do as told with a request; return whether the connection goes on."""
        header = read_request_header(frame)
        name = API_BY_KEY[header.api_key].name
        received = Received(name, header, frame[header.body_offset :], connection)
        reply = self._replies.get(name, HOLD)
        with self._changed:
            self.requests.append(received)
            self._changed.notify_all()
        if reply is RESET:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
        if isinstance(reply, Struct):
            received.reply(reply)
        elif callable(reply):
            reply(received)
        return reply not in (CLOSE, RESET)
