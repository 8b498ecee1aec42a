"""A lab's traffic as a capture: what its clients sent and got, in packets that never were.

    with TrafficRecorder(Path("lab.pcapng"), clock) as recorder:
        transport = recorder.recorded(transport, broker="127.0.0.1:9092", is_login=...)

Each connection has a handshake, its bytes as segments with right numbers and checksums, and an end.
A segment is what was read or written at once, with the time at which that was. With TLS it is what
is inside, so that nobody needs keys to read it. Tokens of SASL are overwritten by `x`.

A file that cannot be written any more is one line in the log, and nothing is recorded from then on:
clients do not notice.
"""

import logging
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from threading import Lock
from typing import Final, Self

from kdiag.clock import Clock
from kdiag.errors import CaptureError, DecodeError
from kdiag.exchange.model import Connection
from kdiag.net.transport import EndOfStreamError, Transport
from kdiag.pcap.writer.connection import Delivery, Sender, SyntheticConnection
from kdiag.pcap.writer.savefile import LINKTYPE_RAW, SavefileWriter
from kdiag.wire import api_keys
from kdiag.wire.frame import LENGTH_BYTES
from kdiag.wire.header import read_request_header
from kdiag.wire.primitives import RefusedError, read_uvarint

LOG: Final = logging.getLogger(__name__)

_FIRST_FLEXIBLE: Final = 2
_INT32_BYTES: Final = 4
_WITHOUT_TOKEN: Final = frozenset((api_keys.API_VERSIONS, api_keys.SASL_HANDSHAKE))


class TrafficRecorder:
    """A capture file; a context manager, which ends it. Connections may be of several threads."""

    def __init__(self, path: Path, clock: Clock) -> None:
        """Start a file; one of that name is lost. It is a pcapng if its name ends with that.

        Raises:
            CaptureError: if it cannot be written.
        """
        self._file: SavefileWriter | None = SavefileWriter(path, LINKTYPE_RAW, is_private=True)
        self._clock = clock
        self._lock = Lock()
        self._count = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """End the file; connections that are open have no end in it."""
        with self._lock:
            file, self._file = self._file, None
            if file is not None:
                _written(file.close)

    def __repr__(self) -> str:
        return f"<TrafficRecorder of {self._count} connections>"

    def recorded(
        self,
        transport: Transport,
        broker: str,
        is_login: Callable[[], bool],
        masked: Callable[[bytes], bytes] | None = None,
    ) -> "RecordedTransport":
        """Return a transport that does what another one does, and is recorded.

        Args:
            transport: of a connection that begins.
            broker: `host:port` of this end; brackets around IPv6.
            is_login: whether the client has still to prove who it is.
            masked: returns a frame of such a client without its token; by default a frame that is
                none of a request for that is a token as a whole.
        """
        with self._lock:
            self._count += 1
            now_ns = self._clock.epoch_ns()
            connection = Connection(
                number=self._count,
                connection_id=str(self._count),
                client=transport.peer,
                broker=broker,
                first_ns=now_ns,
                last_ns=now_ns,
            )
        return RecordedTransport(transport, self, connection, is_login, masked or masked_login)

    def write(self, action: Callable[[SavefileWriter, int], None]) -> None:
        """Write packets, with the time that it is now.

        Args:
            action: writes them, given the file and the time.
        """
        with self._lock:
            file = self._file
            if file is not None and not _written(lambda: action(file, self._clock.epoch_ns())):
                self._file = None


class RecordedTransport:
    """A server's transport whose bytes are recorded, apart from that the one that it wraps."""

    def __init__(
        self,
        transport: Transport,
        recorder: TrafficRecorder,
        connection: Connection,
        is_login: Callable[[], bool],
        masked: Callable[[bytes], bytes],
    ) -> None:
        """Begin the connection."""
        self._transport = transport
        self._recorder = recorder
        self._connection = connection
        self._is_login = is_login
        self._masked = masked
        self._packets: SyntheticConnection | None = None
        self._held = b""
        self._is_ended = False
        recorder.write(self._open)

    def __repr__(self) -> str:
        return f"<RecordedTransport {self._transport!r}>"

    @property
    def peer(self) -> str:
        """Return `host:port` of the other end."""
        return self._transport.peer

    @property
    def is_ready(self) -> bool:
        """Return whether bytes can be read and written."""
        return self._transport.is_ready

    @property
    def has_pending_writes(self) -> bool:
        """Return whether accepted bytes wait for the socket."""
        return self._transport.has_pending_writes

    @property
    def has_bytes_buffered(self) -> bool:
        """Return whether there are bytes that the selector cannot see."""
        return self._transport.has_bytes_buffered

    @property
    def wants_write(self) -> bool:
        """Return whether it waits for the socket to become writable."""
        return self._transport.wants_write

    def fileno(self) -> int:
        """Return the socket's file descriptor."""
        return self._transport.fileno()

    def finish_connect(self) -> None:
        """Finish the connect.

        Raises:
            OSError: if it failed.
        """
        self._transport.finish_connect()

    def handshake(self) -> None:
        """Continue the handshake, which is not recorded.

        Raises:
            AuthenticationError: if either end refuses the other.
            OSError: if the connection broke.
        """
        self._transport.handshake()

    def flush(self) -> bool:
        """Send what waits; return whether nothing does.

        Raises:
            OSError: if the connection broke.
        """
        return self._transport.flush()

    def read_into(self, buffer: memoryview) -> int:
        """Read bytes, and record them as the client's.

        Raises:
            EndOfStreamError: if the client has closed.
            AuthenticationError: if it refuses us.
            OSError: if the connection broke.
        """
        try:
            count = self._transport.read_into(buffer)
        except EndOfStreamError:
            self._connection.closed_by = "client"
            raise
        except OSError:
            self._connection.close_reason, self._connection.closed_by = "rst", "client"
            raise
        if count:
            self._add_read(bytes(buffer[:count]))
        return count

    def write(self, data: memoryview) -> int:
        """Write bytes, and record what was accepted.

        Raises:
            OSError: if the connection broke.
        """
        count = self._transport.write(data)
        if count:
            self._add(Sender.BROKER, bytes(data[:count]))
        return count

    def transfer_from(self, fd: int, position: int, count: int) -> int:
        """Send bytes of a file, and record what was accepted.

        Raises:
            OSError: if the connection broke, or the file ends before.
        """
        sent = self._transport.transfer_from(fd, position, count)
        if sent:
            self._add(Sender.BROKER, os.pread(fd, sent, position))
        return sent

    def close(self) -> None:
        """Close it, and record the end of the connection."""
        self._transport.close()
        if self._is_ended:
            return
        self._is_ended = True
        if self._held:  # a frame that was cut while the client logged in
            self._add(Sender.CLIENT, b"x" * len(self._held))
        self._connection.closed_by = self._connection.closed_by or "broker"
        self._recorder.write(self._close)

    def _add_read(self, data: bytes) -> None:
        """Record bytes of the client; while it logs in, frame by frame and without tokens."""
        if not self._held and not self._is_login():
            self._add(Sender.CLIENT, data)
            return
        self._held += data
        while len(self._held) >= LENGTH_BYTES:
            size = int.from_bytes(self._held[:LENGTH_BYTES], signed=True)
            end = LENGTH_BYTES + max(0, size)
            if len(self._held) < end:
                return
            self._add(
                Sender.CLIENT,
                self._held[:LENGTH_BYTES] + self._masked(self._held[LENGTH_BYTES:end]),
            )
            self._held = self._held[end:]

    def _add(self, side: Sender, data: bytes) -> None:
        delivery = Delivery(side, data, b"", 0)

        def begin(_: SavefileWriter, now_ns: int) -> None:
            if self._packets is not None:
                self._packets.begin(delivery, now_ns)

        self._recorder.write(begin)

    def _open(self, file: SavefileWriter, now_ns: int) -> None:
        self._packets = SyntheticConnection(self._connection, file)
        self._packets.open(now_ns)

    def _close(self, file: SavefileWriter, now_ns: int) -> None:
        if self._packets is not None:
            self._packets.close(now_ns)
            file.flush()


def _written(action: Callable[[], None]) -> bool:
    """Return whether a file could be written."""
    try:
        action()
    except CaptureError as error:
        LOG.warning("traffic is recorded no more: %s", error)
        return False
    return True


def masked_login(frame: bytes) -> bytes:
    """Return a frame of a client that logs in, without its token."""
    start, end = 0, len(frame)  # a token without header
    with suppress(DecodeError, RefusedError, IndexError):
        header = read_request_header(frame)
        if header.api_key in _WITHOUT_TOKEN:
            return frame
        if header.api_key == api_keys.SASL_AUTHENTICATE:
            start = header.body_offset + _INT32_BYTES
            if header.version >= _FIRST_FLEXIBLE:
                size, start = read_uvarint(frame, header.body_offset)
                end = min(end, start + size - 1)
    return frame[:start] + b"x" * max(0, end - start) + frame[max(start, end) :]
