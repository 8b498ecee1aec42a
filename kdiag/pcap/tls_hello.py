"""What a TLS handshake says in the clear: the server's name and the version agreed on.

Source: RFC 8446 sections 4.1.2 and 4.1.3 (hello messages), 4.2.1 (supported_versions), 5.1
(records); RFC 6066 section 3 (server_name).
"""

from typing import Final, NamedTuple

from kdiag.pcap.segments import Segments

_RECORD_HEADER_BYTES: Final = 5
_HANDSHAKE_HEADER_BYTES: Final = 4
_HANDSHAKE_RECORD: Final = b"\x16"
_CLIENT_HELLO: Final = 1
_SERVER_HELLO: Final = 2
_SERVER_NAME: Final = 0
_SUPPORTED_VERSIONS: Final = 43
_MAX_HELLO_BYTES: Final = 32 << 10
_MAX_TRIES: Final = 64
_RANDOM_BYTES: Final = 32
_VERSIONS: Final = {
    0x0300: "SSLv3",
    0x0301: "TLSv1",
    0x0302: "TLSv1.1",
    0x0303: "TLSv1.2",
    0x0304: "TLSv1.3",
}


class Hello(NamedTuple):
    """A ClientHello or ServerHello.

    Attributes:
        is_client: which of the two.
        version: the version chosen, or the highest that the client offers, in Java's spelling.
        server_name: the name that the client asks for.
    """

    is_client: bool
    version: str | None
    server_name: str | None


class HelloReader:
    """Collects the start of one direction until it has read the hello in it.

    Attributes:
        hello: what was read; None before, or if there is none.
    """

    def __init__(self) -> None:
        self.hello: Hello | None = None
        self._data = b""
        self._tries_left = _MAX_TRIES

    def take(self, segments: Segments, first: int, last: int, known: int = 0) -> None:
        """Take the next bytes of the direction; those after the hello are passed over."""
        del known
        row = first
        while row < last and self._tries_left:
            piece = segments.piece(row)
            self._data += piece.data
            self.hello = read_hello(self._data)
            is_over = len(piece.data) < piece.size or len(self._data) > _MAX_HELLO_BYTES
            self._tries_left = 0 if self.hello or is_over else self._tries_left - 1
            row += 1
        if not self._tries_left:
            self._data = b""


def read_hello(data: bytes) -> Hello | None:
    """Return the hello that a direction of a TLS connection starts with, if it is all here."""
    message = _handshake(data)
    if len(message) < _HANDSHAKE_HEADER_BYTES:
        return None
    size = int.from_bytes(message[1:_HANDSHAKE_HEADER_BYTES])
    body = message[_HANDSHAKE_HEADER_BYTES : _HANDSHAKE_HEADER_BYTES + size]
    if len(body) < size or message[0] not in {_CLIENT_HELLO, _SERVER_HELLO}:
        return None
    reader = _Reader(body)
    version = reader.number(2)
    reader.skip(_RANDOM_BYTES)
    reader.block(1)  # session id
    is_client = message[0] == _CLIENT_HELLO
    if is_client:
        reader.block(2)  # cipher suites
        reader.block(1)  # compression methods
    else:
        reader.skip(3)
    return _with_extensions(_Reader(reader.block(2)), version, is_client=is_client)


def _handshake(data: bytes) -> bytes:
    """Return the handshake bytes in the records at the start of `data`."""
    found = b""
    at = 0
    while data[at : at + 1] == _HANDSHAKE_RECORD:
        body = at + _RECORD_HEADER_BYTES
        at = body + int.from_bytes(data[body - 2 : body])
        found += data[body:at]
    return found


def _with_extensions(reader: "_Reader", version: int, *, is_client: bool) -> Hello:
    """Return a hello with what its extensions say."""
    server_name = None
    while reader.left:
        kind = reader.number(2)
        body = _Reader(reader.block(2))
        if kind == _SUPPORTED_VERSIONS:
            chosen = body.block(1) if is_client else body.data
            offered = (int.from_bytes(chosen[at : at + 2]) for at in range(0, len(chosen), 2))
            version = max((each for each in offered if each in _VERSIONS), default=version)
        elif kind == _SERVER_NAME and is_client:
            names = _Reader(body.block(2))
            if names.left and names.number(1) == 0:  # the only kind of name there is
                server_name = names.block(2).decode("ascii", "replace")
    return Hello(is_client, _VERSIONS.get(version), server_name)


class _Reader:
    """Reads numbers and blocks; past the end there are none."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self._position = 0

    @property
    def left(self) -> int:
        return len(self.data) - self._position

    def skip(self, size: int) -> bytes:
        start = self._position
        self._position = min(start + size, len(self.data))
        return self.data[start : self._position]

    def number(self, size: int) -> int:
        return int.from_bytes(self.skip(size))

    def block(self, length_bytes: int) -> bytes:
        return self.skip(self.number(length_bytes))
