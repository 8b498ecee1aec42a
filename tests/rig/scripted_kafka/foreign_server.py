"""Servers that are no brokers: they answer whatever they are asked with the same bytes, or hang up.

with saying(HTTP) as port:
    ...
with hanging_up(unless_tls=SERVER_HELLO) as port:
    ...
"""

import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from threading import Thread
from typing import Final

HTTP: Final = b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n"
TOO_LONG: Final = b"\x7f\xff\xff\xff" + bytes(16)
"""A length that no frame may have."""
CUT_SHORT: Final = b"\x00\x10\x00\x00" + bytes(16)
"""A length that is allowed, and a few bytes of what it promises."""
SERVER_HELLO: Final = b"\x16\3\3\0\x2e\2\0\0\x2a"
"""The beginning of an answer to a ClientHello."""
_READ_BYTES: Final = 4096
_CLIENT_HELLO: Final = b"\x16\3"


@contextmanager
def hanging_up(unless_tls: bytes = b"") -> Iterator[int]:
    """Yield the port of a server that hangs up on whatever it hears.

    Args:
        unless_tls: what it says to a ClientHello before that.
    """

    def answer(heard: bytes) -> bytes:
        return unless_tls if heard.startswith(_CLIENT_HELLO) else b""

    with _serving(answer, hangs_up=True) as port:
        yield port


@contextmanager
def saying(answer: bytes) -> Iterator[int]:
    """Yield the port of a server that says this once it was said anything."""
    with _serving(lambda _: answer) as port:
        yield port


@contextmanager
def _serving(answer: Callable[[bytes], bytes], *, hangs_up: bool = False) -> Iterator[int]:
    with ExitStack() as opened, socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            with suppress(OSError):
                while True:
                    connection, _ = server.accept()
                    opened.callback(connection.close)
                    connection.sendall(answer(connection.recv(_READ_BYTES)))
                    if hangs_up:
                        connection.close()

        thread = Thread(target=serve, daemon=True)
        thread.start()
        yield server.getsockname()[1]
        server.shutdown(socket.SHUT_RDWR)
        thread.join()
