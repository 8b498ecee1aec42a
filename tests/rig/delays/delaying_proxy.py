"""A proxy in front of a broker that delays its responses, or writes them in two small pieces.

    with DelayingProxy(("127.0.0.1", 9092), delay_s=0.02) as proxy:
        ...  # whoever connects to proxy.port speaks to the broker, which seems 20 ms slower

It understands frames only as far as it must: requests pass as they come, of responses it reads the
length. Responses are delayed each by itself, so that a connection carries as many as before. With
`is_split` a response leaves in two writes with Nagle's algorithm on, as from a program that never
set TCP_NODELAY: the second waits until the first is acknowledged.
"""

import socket
import struct
import time
from collections.abc import Callable
from contextlib import suppress
from queue import SimpleQueue
from threading import Thread
from typing import Final, Self

_LENGTH: Final = struct.Struct(">i")
_CHUNK_BYTES: Final = 1 << 16
_FIRST_PIECE_BYTES: Final = 6
_TIMEOUT_S: Final = 30.0


class DelayingProxy:
    """A listening socket, and threads for each connection.

    Attributes:
        port: where it listens.
        delay_s: how much later each response leaves than it came; may be changed at any time.
        is_split: whether responses leave in two writes, on connections made from then on.
        took_s: how long each response was here, which is longer than its delay on a busy machine.
    """

    def __init__(
        self,
        broker: tuple[str, int],
        *,
        port: int = 0,
        delay_s: float = 0.0,
        is_split: bool = False,
    ) -> None:
        """Listen, on a free port unless one is given."""
        self.delay_s = delay_s
        self._broker = broker
        self.is_split = is_split
        self.took_s: list[float] = []
        self._server = socket.create_server(("127.0.0.1", port))
        self.port: int = self._server.getsockname()[1]
        self._open: list[socket.socket] = []
        self._threads: list[Thread] = []

    def __enter__(self) -> Self:
        """Begin to accept connections."""
        self._start(self._accept)
        return self

    def __exit__(self, *_: object) -> None:
        """Close everything."""
        for each in [self._server, *self._open]:
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join(_TIMEOUT_S)
        for each in [self._server, *self._open]:
            each.close()

    def _start(self, work: Callable[[], None]) -> None:
        thread = Thread(target=work, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        """Connect each client to the broker."""
        with suppress(OSError):
            while True:
                client, _ = self._server.accept()
                broker = socket.create_connection(self._broker)
                broker.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, not self.is_split)
                self._open += [client, broker]
                _Relay(self, client, broker, is_split=self.is_split).start(self._start)


class _Relay:
    """One connection."""

    def __init__(
        self, proxy: DelayingProxy, client: socket.socket, broker: socket.socket, *, is_split: bool
    ) -> None:
        self._proxy = proxy
        self._client = client
        self._broker = broker
        self._is_split = is_split
        self._responses: SimpleQueue[tuple[float, float, bytes]] = SimpleQueue()

    def start(self, start: Callable[[Callable[[], None]], None]) -> None:
        """Start its threads."""
        for work in (self._carry_requests, self._take_responses, self._deliver_responses):
            start(work)

    def _carry_requests(self) -> None:
        with suppress(OSError):
            while data := self._client.recv(_CHUNK_BYTES):
                self._broker.sendall(data)
        self._end(self._broker)

    def _take_responses(self) -> None:
        """Note when each response has come, and for how long it shall stay."""
        with suppress(OSError, struct.error), self._broker.makefile("rb") as stream:
            while prefix := stream.read(_LENGTH.size):
                frame = prefix + stream.read(*_LENGTH.unpack(prefix))
                self._responses.put((time.monotonic(), self._proxy.delay_s, frame))
        self._responses.put((0.0, 0.0, b""))

    def _deliver_responses(self) -> None:
        with suppress(OSError):
            while True:
                came_s, delay_s, frame = self._responses.get()
                if not frame:
                    break
                _wait_until(came_s + delay_s)
                self._write(frame)
                self._proxy.took_s.append(time.monotonic() - came_s)
        self._end(self._client)

    def _write(self, frame: bytes) -> None:
        if self._is_split:
            self._client.sendall(frame[:_FIRST_PIECE_BYTES])
            frame = frame[_FIRST_PIECE_BYTES:]
        self._client.sendall(frame)

    @staticmethod
    def _end(sock: socket.socket) -> None:
        """Pass on that one side has ended."""
        with suppress(OSError):
            sock.shutdown(socket.SHUT_RDWR)


def _wait_until(due_s: float) -> None:
    """Return at a time, to the fraction of a millisecond."""
    while (left_s := due_s - time.monotonic()) > 0:
        time.sleep(left_s)  # the delay that this proxy is for
