"""A client of a lab that speaks every version: it sends a request, and returns the response.

with LabCluster() as lab, LabClient(lab.nodes[0].port) as client:
    client.ask(MetadataRequest(topics=None), MetadataResponse, 12)
"""

import socket
import struct
from typing import Final, Self, TypeVar

from kdiag.wire.catalog import API_BY_KEY
from kdiag.wire.codec.messages import decode, encode
from kdiag.wire.header import read_response_header, request_header_bytes
from kdiag.wire.schema import Struct, info_of

_DEADLINE_S: Final = 60
_SIZE: Final = struct.Struct(">i")

R = TypeVar("R", bound=Struct)


class LabClient:
    """A connection, while a `with` block lasts."""

    def __init__(self, port: int) -> None:
        """Connect."""
        self.socket = socket.create_connection(("127.0.0.1", port), _DEADLINE_S)
        self._correlation_id = 0

    def __enter__(self) -> Self:
        """Return itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the connection."""
        self.socket.close()

    def send(self, request: Struct, version: int) -> int:
        """Send a request, and return its correlation id."""
        key = info_of(type(request)).api_key
        assert key is not None
        self._correlation_id += 1
        head = request_header_bytes(API_BY_KEY[key], version, self._correlation_id, "lab-client")
        self.send_frame(head + encode(request, version))
        return self._correlation_id

    def send_frame(self, frame: bytes) -> None:
        """Send a frame as it is."""
        self.socket.sendall(_SIZE.pack(len(frame)) + frame)

    def receive(self, response_class: type[R], version: int) -> R:
        """Return the next response."""
        key = info_of(response_class).api_key
        assert key is not None
        frame = self.receive_frame()
        header = read_response_header(frame, key, version)
        assert header.correlation_id == self._correlation_id
        return decode(response_class, version, frame, header.body_offset)

    def receive_frame(self) -> bytes:
        """Return the next frame; empty if the connection is closed."""
        size = self._read(_SIZE.size)
        return self._read(_SIZE.unpack(size)[0]) if size else b""

    def ask(self, request: Struct, response_class: type[R], version: int) -> R:
        """Return the response to a request."""
        self.send(request, version)
        return self.receive(response_class, version)

    def _read(self, size: int) -> bytes:
        data = b""
        while len(data) < size:
            chunk = self.socket.recv(size - len(data))
            if not chunk:
                return b""
            data += chunk
        return data
