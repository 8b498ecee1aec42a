"""A plain socket to a broker that sends what kdiag writes and reads the answer with kdiag."""

import socket
import struct
from typing import Self, TypeVar

from kdiag.wire.api.request_header import RequestHeader
from kdiag.wire.catalog import API_BY_KEY
from kdiag.wire.codec.messages import decode, encode
from kdiag.wire.header import read_response_header
from kdiag.wire.schema import Struct, info_of

_TIMEOUT_S = 30
_SIZE = struct.Struct(">i")

R = TypeVar("R", bound=Struct)


class BrokerSocket:
    """One connection; a question is answered before the next is asked."""

    def __init__(self, address: str, timeout_s: float = _TIMEOUT_S) -> None:
        """Connect to `host:port`; nothing may take longer than the timeout."""
        host, port = address.split(":")
        self._socket = socket.create_connection((host, int(port)), timeout_s)
        self._answers = self._socket.makefile("rb")
        self._correlation_id = 0

    def __enter__(self) -> Self:
        """Return itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the connection."""
        self._answers.close()
        self._socket.close()

    def ask(self, request: Struct, version: int, answer: type[R]) -> R:
        """Send a request and return its response, of which not a byte may be left over."""
        api_key = info_of(type(request)).api_key
        assert api_key is not None
        return decode(answer, version, self.exchange(api_key, version, encode(request, version)))

    def exchange(self, api_key: int, version: int, body: bytes) -> bytes:
        """Send the body of a request and return the body of its response."""
        self._correlation_id += 1
        header = RequestHeader(
            request_api_key=api_key,
            request_api_version=version,
            correlation_id=self._correlation_id,
            client_id="kdiag-test",
        )
        frame = encode(header, API_BY_KEY[api_key].request_header_version(version)) + body
        self._socket.sendall(_SIZE.pack(len(frame)) + frame)
        (size,) = _SIZE.unpack(self._answers.read(_SIZE.size))
        response = self._answers.read(size)
        read = read_response_header(response, api_key, version)
        assert read.correlation_id == self._correlation_id
        return response[read.body_offset :]
