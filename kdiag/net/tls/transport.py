"""The TLS transport: OpenSSL between two buffers in memory, on a socket that never blocks.

    HANDSHAKE -> POST_HANDSHAKE -> READY -> CLOSED
              -> REFUSED                 -> CLOSED

Bytes from the socket go into `incoming`, where OpenSSL reads them; OpenSSL leaves bytes for the
socket in `outgoing`. In TLS 1.3 the client has finished before the server has looked at its
certificate. So its transport is POST_HANDSHAKE, though already in use, until the first data has
arrived, and an alert in that state is a refusal.

Source: Kafka's `SslTransportLayer`; RFC 8446, sections 4.6 and 6; RFC 5246, section 7.4.1.1.
"""

import os
import socket
import ssl
import sys
from contextlib import suppress
from enum import Enum, auto
from typing import Final, cast

from kdiag.errors import AuthenticationError, DecodeError
from kdiag.net.tcp.sockets import finish_connect
from kdiag.net.tls.failure import FIRST_BYTES, FailedHandshake, broken, refusal
from kdiag.net.transport import EndOfStreamError, file_ends

_STEP_BYTES: Final = 64 * 1024
"""How much is read from the socket, or encrypted, at a time: four records."""
_DER: Final = 2


class _State(Enum):
    HANDSHAKE = auto()
    REFUSED = auto()
    POST_HANDSHAKE = auto()
    READY = auto()
    CLOSED = auto()


_IN_USE: Final = frozenset((_State.POST_HANDSHAKE, _State.READY))


class TlsTransport:
    """One TCP connection with TLS, from the client's or from the server's side.

    Attributes:
        peer: `host:port` of the other end; brackets around IPv6.
        has_bytes_buffered: whether `read_into` may return bytes that the selector cannot see.
    """

    def __init__(
        self,
        sock: socket.socket,
        peer: str,
        context: ssl.SSLContext,
        server_hostname: str | None,
        *,
        is_server: bool = False,
    ) -> None:
        """Take over a non-blocking socket, connected or still connecting.

        Args:
            sock: the socket.
            peer: `host:port` of the other end; brackets around IPv6.
            context: what the two ends must prove, and how.
            server_hostname: the host that a client connects to, a name or an address without
                brackets; the certificate must be for it, and SNI sends it to the server.
            is_server: whether this is the server's side.
        """
        self.peer = peer
        self.has_bytes_buffered = False
        self._socket = sock
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls = context.wrap_bio(
            self._incoming,
            self._outgoing,
            server_side=is_server,
            server_hostname=None if is_server else server_hostname,
        )
        self._state = _State.HANDSHAKE
        self._unsent = memoryview(b"")
        self._first_bytes = b""
        self._refusal: AuthenticationError | None = None
        self._end: OSError | None = None

    def __repr__(self) -> str:
        return f"<TlsTransport to {self.peer}: {self._state.name}>"

    @property
    def is_ready(self) -> bool:
        """Return whether bytes of the layer above can be read and written."""
        return self._state in _IN_USE

    @property
    def has_pending_writes(self) -> bool:
        """Return whether accepted bytes still wait for the socket."""
        return bool(self._unsent or self._outgoing.pending)

    @property
    def wants_write(self) -> bool:
        """Return whether the transport itself waits for the socket to become writable."""
        return self.has_pending_writes and self._state is not _State.CLOSED

    @property
    def version(self) -> str | None:
        """Return the version spoken: `TLSv1.3`; None before the end of the handshake."""
        return self._tls.version()

    @property
    def cipher(self) -> str | None:
        """Return the cipher suite, as OpenSSL names it; None before it is agreed on."""
        cipher = self._tls.cipher()
        return cipher and cipher[0]

    def certificates(self) -> list[bytes]:
        """Return the DER of the certificates that the peer has sent, its own first.

        They are known as soon as they have arrived, accepted or not.
        """
        if sys.version_info >= (3, 13):
            chain = self._tls.get_unverified_chain()
        else:
            found = self._tls._sslobj.get_unverified_chain()  # type: ignore[attr-defined] # noqa: SLF001 - public since 3.13
            chain = [one.public_bytes(_DER) for one in found or ()]
        return chain

    def fileno(self) -> int:
        """Return the socket's file descriptor; -1 once closed."""
        return self._socket.fileno()

    def finish_connect(self) -> None:
        """Finish a non-blocking connect.

        Raises:
            OSError: if it failed; `errno` says how.
        """
        finish_connect(self._socket, self.peer)

    def handshake(self) -> None:
        """Continue the handshake as far as the socket allows; do nothing once it is ready.

        The socket is read once, and before anything is written: a peer that refuses us says why
        before it closes, and after that writing fails.

        Raises:
            AuthenticationError: if either end refuses the other, once the peer was sent the alert;
                until then `wants_write` is true and `is_ready` is not.
            HandshakeBrokenError: if the connection ended first.
        """
        if self._state is _State.HANDSHAKE:
            self._receive()
            self._continue_handshake()
        if self._refusal is not None:
            self._raise_when_sent(self._refusal)

    def read_into(self, buffer: memoryview) -> int:
        """Read available bytes into the buffer and return how many; 0 is none yet.

        It stops at whatever yields no bytes, such as a part of a record or a new key, even if the
        socket has more: a peer that sends nothing else cannot keep us here.

        Raises:
            EndOfStreamError: if the peer has closed and everything before was read.
            AuthenticationError: if the peer refuses us after the handshake (TLS 1.3).
            OSError: if the connection broke, or the peer wants to negotiate again.
        """
        self._check_open()
        if not self.is_ready:
            return 0
        filled = 0
        has_received = False
        while filled < len(buffer) and self.is_ready:
            count = self._decrypt(buffer[filled:])
            filled += count
            if not count and (has_received or not self._receive()):
                break
            has_received = not count
        self._flush_quietly()
        has_progress = has_received or filled > 0
        self.has_bytes_buffered = has_progress and self._has_bytes_inside()
        if not filled and buffer:
            self._raise_failure()
        return filled

    def write(self, data: memoryview) -> int:
        """Accept bytes to be sent and return how many; 0 is none for now.

        Raises:
            OSError: if the connection broke.
        """
        self._check_open()
        taken = 0
        while self.is_ready and self.flush() and taken < len(data):
            taken += self._tls.write(data[taken : taken + _STEP_BYTES])
        return taken

    def transfer_from(self, fd: int, position: int, count: int) -> int:
        """Read bytes of a file, accept them to be sent and return how many; 0 is none for now.

        Raises:
            OSError: if the connection broke, or the file ends before the position.
        """
        if not self.flush():
            return 0
        data = os.pread(fd, min(count, _STEP_BYTES), position)
        if not data:
            raise file_ends(position)
        return self.write(memoryview(data))

    def flush(self) -> bool:
        """Send accepted bytes that still wait; return whether none is left.

        Raises:
            OSError: if the connection broke.
        """
        while self.has_pending_writes:
            if not self._unsent:
                self._unsent = memoryview(self._outgoing.read())
            try:
                sent = self._socket.send(self._unsent)
            except BlockingIOError:
                return False
            self._unsent = self._unsent[sent:]
        return True

    def close(self) -> None:
        """Send `close_notify` if the socket allows, and close it; a second call does nothing."""
        if self._state is _State.CLOSED:
            return
        with suppress(OSError):  # the peer is gone already
            self.close_writing()
        self._state = _State.CLOSED
        self.has_bytes_buffered = False
        self._socket.close()

    def close_writing(self) -> None:
        """Send `close_notify` if the socket allows: nothing more will be written.

        The peer's bytes can still be read. Bytes that the socket does not accept now are lost.

        Raises:
            OSError: if the connection broke.
        """
        if self.flush() and self.is_ready:
            with suppress(ssl.SSLError):  # it complains that the peer has not said the same
                self._tls.unwrap()
            self.flush()

    def _check_open(self) -> None:
        if self._state is _State.CLOSED:
            raise BrokenPipeError(f"the connection to {self.peer} was closed from here")

    def _receive(self) -> bool:
        """Read once from the socket; return whether anything came."""
        if self._end is not None:
            return False
        try:
            data = self._socket.recv(_STEP_BYTES)
        except BlockingIOError:
            return False
        except OSError as error:
            self._end = error
            return False
        if not data:
            self._end = self._closed()
        if len(self._first_bytes) < FIRST_BYTES:
            self._first_bytes += data[: FIRST_BYTES - len(self._first_bytes)]
        self._incoming.write(data)
        return bool(data)

    def _continue_handshake(self) -> None:
        """Let OpenSSL continue the handshake, and send its bytes."""
        is_done = self._do_handshake()
        if self._state is _State.REFUSED:
            return
        try:
            is_sent = self.flush()
        except OSError as error:
            self._find_refusal(error)
            return
        if is_done and is_sent:
            is_tls13 = self.version == "TLSv1.3"
            self._state = _State.POST_HANDSHAKE if is_tls13 else _State.READY
            self.has_bytes_buffered = self._has_bytes_inside()

    def _do_handshake(self) -> bool:
        """Return whether the handshake is over."""
        try:
            self._tls.do_handshake()
        except ssl.SSLWantReadError:
            if self._end is not None:
                raise broken(self._end, self._failed_handshake()) from self._end
            return False
        except ssl.SSLZeroReturnError as error:
            raise broken(self._closed(), self._failed_handshake()) from error
        except ssl.SSLError as error:
            self._refuse(error)
        return True

    def _refuse(self, error: ssl.SSLError) -> None:
        """Keep the error until the peer was sent the alert."""
        self._state = _State.REFUSED
        self._refusal = refusal(error, self._failed_handshake())
        self._refusal.__cause__ = error

    def _find_refusal(self, error: OSError) -> None:
        """Look for the peer's alert after a write has failed."""
        self._receive()
        self._end = self._end or error
        self._do_handshake()
        if self._refusal is None:
            raise broken(error, self._failed_handshake()) from error

    def _raise_when_sent(self, refused: AuthenticationError) -> None:
        """Raise a refusal once the peer was sent the alert about it."""
        try:
            is_sent = self.flush()
        except OSError:
            is_sent = True  # the peer no longer listens
        if is_sent:
            raise refused

    def _decrypt(self, buffer: memoryview) -> int:
        """Fill the buffer from at most one record and return how many bytes; 0 without a record."""
        try:
            count = cast("int", self._tls.read(len(buffer), buffer))
        except ssl.SSLWantReadError:
            self._refuse_renegotiation()
            return 0
        except ssl.SSLZeroReturnError:
            count = 0
        except ssl.SSLError as error:
            self._record_unreadable(error)
            return 0
        if count:
            self._state = _State.READY
        else:
            self._end = self._closed()
        return count

    def _record_unreadable(self, error: ssl.SSLError) -> None:
        """Keep the meaning of an unreadable record: an alert, or a broken connection."""
        if self._state is _State.POST_HANDSHAKE:
            self._refuse(error)
            return
        words = (error.reason or str(error)).replace("_", " ").lower()
        self._end = ConnectionAbortedError(f"TLS with {self.peer} broke off: {words}")
        self._end.__cause__ = error

    def _refuse_renegotiation(self) -> None:
        """End the connection if the peer starts a second handshake, which TLS 1.3 does not have."""
        if self._tls.version() is None:
            self._outgoing.read()  # OpenSSL has agreed already: drop that
            self._end = ConnectionAbortedError(
                f"{self.peer} wants to negotiate TLS again, which is refused"
            )

    def _raise_failure(self) -> None:
        if self._refusal is not None:
            raise self._refusal
        if self._end is not None:
            raise self._end

    def _flush_quietly(self) -> None:
        """Send OpenSSL's answer to what was read; keep an error for when all is read."""
        try:
            self.flush()
        except OSError as error:
            self._end = self._end or error

    def _has_bytes_inside(self) -> bool:
        return bool(self._incoming.pending or self._tls.pending())

    def _closed(self) -> EndOfStreamError:
        return EndOfStreamError(f"{self.peer} has closed the connection")

    def _failed_handshake(self) -> FailedHandshake:
        """Return the facts of the handshake, for the error."""
        from kdiag.net.tls.certificate import read_certificate  # noqa: PLC0415 - 5 ms, failures only

        try:
            chain = [read_certificate(der) for der in self.certificates()]
        except DecodeError:
            chain = []  # OpenSSL has its own words for what is wrong with it
        return FailedHandshake(
            self.peer,
            self._tls.server_hostname,
            self._tls.server_side,
            self.cipher is not None,
            self._first_bytes,
            chain,
        )
