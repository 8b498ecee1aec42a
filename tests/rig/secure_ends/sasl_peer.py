"""A broker's end of a connection that says what a test has it say, and nothing by itself.

with SaslPeer() as peer:
    authenticator.authenticate(peer.transport)
    peer.hear().api_key                    # what the client asked
    peer.answer(SaslHandshakeResponse())   # the answer to it
"""

import socket
import struct
from collections.abc import Sequence
from typing import Final, NamedTuple, Self

from kdiag.net.transport import PlaintextTransport
from kdiag.wire.api.api_versions import ApiVersion, ApiVersionsResponse
from kdiag.wire.header import REQUEST_START
from kdiag.wire.schema import Struct
from recordings.exchange_maker import response_bytes

_LENGTH: Final = struct.Struct(">i")
_TIMEOUT_S: Final = 30


class Heard(NamedTuple):
    """A frame of the client; the numbers mean nothing for one without header."""

    data: bytes
    api_key: int
    version: int
    correlation_id: int


class SaslPeer:
    """Both ends of a pair of sockets: the client's as a transport, the broker's to speak.

    Attributes:
        transport: the client's end.
    """

    def __init__(self) -> None:
        client, self.socket = socket.socketpair()
        client.settimeout(0)
        self.transport = PlaintextTransport(client, "broker:9093")
        self.socket.settimeout(_TIMEOUT_S)
        self._asked: Heard | None = None

    def __enter__(self) -> Self:
        """Return itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close both ends."""
        self.transport.close()
        self.socket.close()

    def hear(self) -> Heard:
        """Return the next frame of the client."""
        (size,) = _LENGTH.unpack(self._read(_LENGTH.size))
        data = self._read(size)
        head = data.ljust(REQUEST_START.size, b"\0")
        self._asked = Heard(data, *REQUEST_START.unpack_from(head))
        return self._asked

    def answer(self, message: Struct) -> None:
        """Answer the frame that was heard last."""
        assert self._asked is not None
        _, _, version, correlation_id = self._asked
        self.say(response_bytes(message, version, correlation_id=correlation_id))

    def say(self, frame: bytes) -> None:
        """Say a frame, whatever is in it."""
        self.socket.sendall(_LENGTH.pack(len(frame)) + frame)

    def _read(self, size: int) -> bytes:
        data = b""
        while len(data) < size:
            more = self.socket.recv(size - len(data))
            assert more, "the client has closed"
            data += more
        return data


def offer(*versions: Sequence[int]) -> ApiVersionsResponse:
    """Return a broker's offer: API key, lowest and highest version of each."""
    return ApiVersionsResponse(
        api_keys=[
            ApiVersion(api_key=key, min_version=low, max_version=high)
            for key, low, high in versions
        ]
    )
