"""Handshake messages: joined from records, and read as far as decryption needs them.

Messages run across records as bytes do, and a record may hold several. Only the hellos and
EncryptedExtensions are read; of the others their arrival is all that counts, so that the chain of
certificates, which may be large, is passed over as it comes.

Source: RFC 8446, section 4; RFC 5246, section 7.4; RFC 6066, section 3 (server name); RFC 7301
(application protocol); RFC 8701 (reserved values that only test servers).
"""

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from kdiag.errors import DecodeError

CLIENT_HELLO: Final = 1
SERVER_HELLO: Final = 2
ENCRYPTED_EXTENSIONS: Final = 8
FINISHED: Final = 20
KEY_UPDATE: Final = 24

MAX_MESSAGE_BYTES: Final = 256 << 10
TLS12, TLS13 = 0x0303, 0x0304

_KNOWN: Final = {0, 1, 2, 3, 4, 5, 6, 8, 11, 12, 13, 14, 15, 16, 20, 21, 22, 23, 24, 25, 67, 254}
_KEPT: Final = {CLIENT_HELLO, SERVER_HELLO, ENCRYPTED_EXTENSIONS}
_HEADER_BYTES: Final = 4
_RANDOM_BYTES: Final = 32
_VERSIONS: Final = {
    0x0300: "SSL 3.0",
    0x0301: "TLS 1.0",
    0x0302: "TLS 1.1",
    TLS12: "TLS 1.2",
    TLS13: "TLS 1.3",
}
_RETRY_RANDOM: Final = bytes.fromhex(
    "cf21ad74e59a6111be1d8c021e65b891c2a211167abb8c5e079e09e2c8a8339c"
)
_SERVER_NAME, _ALPN, _ENCRYPT_THEN_MAC = 0, 16, 22
_PRE_SHARED_KEY, _EARLY_DATA, _SUPPORTED_VERSIONS = 41, 42, 43
_MAX_NAME_BYTES: Final = 255
_MAX_VERSIONS: Final = 16
_RESERVED: Final = 0x0A0A
_HELLO_START: Final = re.compile(
    rb"\x16\x03[\x00-\x04]..\x01\x00..\x03[\x00-\x04](.{32})", re.DOTALL
)
HELLO_START_BYTES: Final = 43
"""A record with a ClientHello, from its header to the end of the client random."""


def client_randoms_in(data: bytes | memoryview) -> Iterator[bytes]:
    """Yield what look like client randoms in bytes of any kind, such as packets in a file."""
    for match in _HELLO_START.finditer(data):
        yield match[1]


class Message(NamedTuple):
    """A handshake message that has come in full.

    Attributes:
        kind: its type.
        body: the bytes behind its header, if its kind is read and it is not too large.
    """

    kind: int
    body: bytes


class ClientHello(NamedTuple):
    """The offer of a client.

    Attributes:
        random: 32 bytes by which a key log names the connection.
        session_id: of the session to resume; in TLS 1.3 it means nothing.
        versions: names of the versions it would speak, best first.
        sni: the host name that it wants to reach.
        offers_early_data: whether it sends data before the handshake ends.
    """

    random: bytes
    session_id: bytes
    versions: tuple[str, ...]
    sni: str | None
    offers_early_data: bool


class ServerHello(NamedTuple):
    """The choice of a server.

    Attributes:
        random: 32 bytes.
        session_id: in TLS 1.2 the one that the client offered if it is resumed.
        version: `TLS12`, `TLS13` or another number.
        suite: number of the cipher suite.
        compression: of records, by its number; 0 is none.
        alpn: the application protocol; in TLS 1.3 EncryptedExtensions say it.
        macs_ciphertext: whether CBC records are encrypted first.
        chose_session: whether it resumes a session, in TLS 1.3.
        is_retry: whether it is a HelloRetryRequest: the client is to begin again.
    """

    random: bytes
    session_id: bytes
    version: int
    suite: int
    compression: int
    alpn: str | None
    macs_ciphertext: bool
    chose_session: bool
    is_retry: bool


class HandshakeReader:
    """Joins handshake messages from the payloads of the records that carry them.

    No message runs across a change of keys: each epoch begins with a new reader.
    """

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._passed_kind = 0
        self._rest_bytes = 0  # still to come of a message that is passed over
        self._is_unsure = False

    def feed(self, payload: bytes) -> list[Message]:
        """Return the messages that this payload completes."""
        if self._is_unsure:
            self._buffer.clear()
            self._rest_bytes = 0
        messages = []
        if self._rest_bytes:
            passed_bytes = min(self._rest_bytes, len(payload))
            payload = payload[passed_bytes:]
            self._rest_bytes -= passed_bytes
            if not self._rest_bytes:
                messages.append(Message(self._passed_kind, b""))
        self._buffer += payload
        while (message := self._next_message()) is not None:
            messages.append(message)
        return messages

    def lose_track(self) -> None:
        """Expect the next record to begin with a message, because one was missed."""
        self._is_unsure = True

    def _next_message(self) -> Message | None:
        if len(self._buffer) < _HEADER_BYTES:
            return None
        kind = self._buffer[0]
        end = _HEADER_BYTES + int.from_bytes(self._buffer[1:_HEADER_BYTES])
        if end <= len(self._buffer) and kind in _KNOWN:
            body = bytes(self._buffer[_HEADER_BYTES:end]) if kind in _KEPT else b""
            del self._buffer[:end]
            return Message(kind, body)
        if kind not in _KNOWN:
            self._buffer.clear()
            self.lose_track()
        elif kind not in _KEPT or end > MAX_MESSAGE_BYTES:
            self._passed_kind = kind
            self._rest_bytes = end - len(self._buffer)
            self._buffer.clear()
        return None


def read_client_hello(body: bytes) -> ClientHello:
    """Return the offer of a ClientHello.

    Raises:
        DecodeError: if it is malformed.
    """
    cursor = _Cursor("ClientHello", body)
    version = cursor.number(2)
    random, session_id = cursor.read(_RANDOM_BYTES), cursor.vector(1)
    cursor.vector(2)  # cipher suites
    cursor.vector(1)  # compression methods
    extensions = cursor.extensions()
    versions = _Cursor("supported_versions", extensions.get(_SUPPORTED_VERSIONS, b"")).versions()
    return ClientHello(
        random=random,
        session_id=session_id,
        versions=versions or (name_version(version),),
        sni=_Cursor("server_name", extensions.get(_SERVER_NAME, b"")).host_name(),
        offers_early_data=_EARLY_DATA in extensions,
    )


def read_server_hello(body: bytes) -> ServerHello:
    """Return the choice of a ServerHello.

    Raises:
        DecodeError: if it is malformed.
    """
    cursor = _Cursor("ServerHello", body)
    version = cursor.number(2)
    random, session_id = cursor.read(_RANDOM_BYTES), cursor.vector(1)
    suite, compression = cursor.number(2), cursor.number(1)
    extensions = cursor.extensions()
    if _SUPPORTED_VERSIONS in extensions:
        version = _Cursor("supported_versions", extensions[_SUPPORTED_VERSIONS]).number(2)
    return ServerHello(
        random=random,
        session_id=session_id,
        version=version,
        suite=suite,
        compression=compression,
        alpn=_Cursor("alpn", extensions.get(_ALPN, b"")).protocol(),
        macs_ciphertext=_ENCRYPT_THEN_MAC in extensions,
        chose_session=_PRE_SHARED_KEY in extensions,
        is_retry=random == _RETRY_RANDOM,
    )


def read_encrypted_extensions(body: bytes) -> str | None:
    """Return the application protocol that the server chose in TLS 1.3.

    Raises:
        DecodeError: if the message is malformed.
    """
    extensions = _Cursor("EncryptedExtensions", body).extensions()
    return _Cursor("alpn", extensions.get(_ALPN, b"")).protocol()


def name_version(number: int) -> str:
    """Return a version as people write it, or the number of an unknown one."""
    return _VERSIONS.get(number, f"0x{number:04X}")


class _Cursor:
    """Reads fields one after another, never past the end."""

    def __init__(self, path: str, data: bytes) -> None:
        self._path = path
        self._data = data
        self._position = 0

    def read(self, size: int) -> bytes:
        start, left = self._position, len(self._data) - self._position
        if size > left:
            raise DecodeError(self._path, start, f"{size} bytes should follow, {left} are left")
        self._position += size
        return self._data[start : start + size]

    def number(self, size: int) -> int:
        return int.from_bytes(self.read(size))

    def vector(self, size: int) -> bytes:
        """Return the bytes behind a length of `size` bytes."""
        return self.read(self.number(size))

    def is_at_end(self) -> bool:
        return self._position == len(self._data)

    def extensions(self) -> dict[int, bytes]:
        """Return the extensions that end a message, by type; old messages have none."""
        if self.is_at_end():
            return {}
        found: dict[int, bytes] = {}
        inner = _Cursor(f"{self._path} extensions", self.vector(2))
        while not inner.is_at_end():
            kind = inner.number(2)
            found.setdefault(kind, inner.vector(2))
        return found

    def versions(self) -> tuple[str, ...]:
        """Return the names of the versions that a client offers, without reserved values."""
        if self.is_at_end():
            return ()
        packed = self.vector(1)
        numbers = [int.from_bytes(packed[at : at + 2]) for at in range(0, len(packed) - 1, 2)]
        offered = [number for number in numbers if number & 0x0F0F != _RESERVED]
        return tuple(name_version(number) for number in offered[:_MAX_VERSIONS])

    def host_name(self) -> str | None:
        """Return the first name of a server name list."""
        if self.is_at_end():
            return None
        names = _Cursor(self._path, self.vector(2))
        names.number(1)  # the kind of name: there is but one
        return _text(names.vector(2))

    def protocol(self) -> str | None:
        """Return the first name of a list of application protocols."""
        if self.is_at_end():
            return None
        return _text(_Cursor(self._path, self.vector(2)).vector(1))


def _text(name: bytes) -> str:
    return name[:_MAX_NAME_BYTES].decode("ascii", "backslashreplace")
