"""Servers that are no brokers: they answer whatever they are asked with the same bytes.

with saying(HTTP) as port:
    ...
"""

import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from threading import Thread
from typing import Final

HTTP: Final = b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n"
TOO_LONG: Final = b"\x7f\xff\xff\xff" + bytes(16)
"""A length that no frame may have."""
CUT_SHORT: Final = b"\x00\x10\x00\x00" + bytes(16)
"""A length that is allowed, and a few bytes of what it promises."""
_READ_BYTES: Final = 4096


@contextmanager
def saying(answer: bytes) -> Iterator[int]:
    """Yield the port of a server that says this once it was said anything."""
    with ExitStack() as opened, socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            with suppress(OSError):
                while True:
                    connection, _ = server.accept()
                    opened.callback(connection.close)
                    connection.recv(_READ_BYTES)
                    connection.sendall(answer)

        thread = Thread(target=serve, daemon=True)
        thread.start()
        yield server.getsockname()[1]
        server.shutdown(socket.SHUT_RDWR)
        thread.join()
