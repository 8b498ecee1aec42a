"""The TLS transport: OpenSSL between two buffers in memory, on a socket that never blocks.

    HANDSHAKE -> POST_HANDSHAKE -> READY -> CLOSED
              -> REFUSED                 -> CLOSED

What comes from the socket goes into `incoming`, where OpenSSL reads it; what OpenSSL wants to send
it leaves in `outgoing`, from where it goes to the socket. In TLS 1.3 the client is through before
the server has looked at its certificate. So its transport is POST_HANDSHAKE, though already in use,
until the first data has arrived, and an alert in that state is a refusal.

Source: Kafka's `SslTransportLayer`; RFC 8446, sections 4.6 and 6; RFC 5246, section 7.4.1.1.
"""

import socket
import ssl
import sys
from contextlib import suppress
from enum import Enum, auto
from typing import Final, cast

from kdiag.errors import AuthenticationError, DecodeError
from kdiag.net.tcp import finish_connect
from kdiag.net.tls.failure import FIRST_BYTES, Handshake, broken, refusal
from kdiag.net.transport import EndOfStreamError

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
            server_hostname: whom a client connects to, a name or an address without brackets:
                what the certificate must be for, and what SNI tells the server.
            is_server: which side this is.
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
        """Return whether bytes were taken that the socket has not."""
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

        They are there as soon as they have come, whether they are accepted or not.
        """
        if sys.version_info >= (3, 13):
            return self._tls.get_unverified_chain()
        chain = self._tls._sslobj.get_unverified_chain()  # type: ignore[attr-defined] # noqa: SLF001 - public since 3.13
        return [one.public_bytes(_DER) for one in chain or ()]

    def fileno(self) -> int:
        """Return the socket's file descriptor; -1 once closed."""
        return self._socket.fileno()

    def finish_connect(self) -> None:
        """Take the outcome of a non-blocking connect.

        Raises:
            OSError: if it failed; `errno` tells how.
        """
        finish_connect(self._socket, self.peer)

    def handshake(self) -> None:
        """Go on with the handshake as far as the socket allows; nothing to do when it is ready.

        The socket is read once, and before anything is written: a peer that refuses us says why
        before it closes, after which writing fails.

        Raises:
            AuthenticationError: if either end refuses the other, once the peer was told; until
                then `wants_write` is true and `is_ready` is not.
            HandshakeBrokenError: if the connection ended first.
        """
        if self._state is _State.HANDSHAKE:
            self._receive()
            self._go_on()
        if self._refusal is not None:
            self._tell_refusal(self._refusal)

    def read_into(self, buffer: memoryview) -> int:
        """Read what is there into the buffer and return how many bytes; 0 is nothing yet.

        It ends with what brings no bytes, such as a part of a record or a new key, whatever else
        the socket has: a peer that sends nothing but those cannot keep us here.

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
        self._answer()
        has_progress = has_received or filled > 0
        self.has_bytes_buffered = has_progress and self._has_bytes_inside()
        if not filled and buffer:
            self._raise_failure()
        return filled

    def write(self, data: memoryview) -> int:
        """Take bytes to be sent and return how many were taken; 0 is none for now.

        Raises:
            OSError: if the connection broke.
        """
        self._check_open()
        taken = 0
        while self.is_ready and self.flush() and taken < len(data):
            taken += self._tls.write(data[taken : taken + _STEP_BYTES])
        return taken

    def flush(self) -> bool:
        """Send what was taken and still waits; return whether nothing waits any more.

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
        """Say goodbye as far as the socket allows, and close it; a second call does nothing."""
        if self._state is _State.CLOSED:
            return
        with suppress(OSError):  # nobody is left who could be told
            self.close_writing()
        self._state = _State.CLOSED
        self.has_bytes_buffered = False
        self._socket.close()

    def close_writing(self) -> None:
        """Tell the peer, if the socket takes it, that nothing more will be written.

        What the peer still writes can be read. Bytes that the socket does not take now are lost.

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

    def _go_on(self) -> None:
        """Let OpenSSL go on with the handshake, and send what it has to say."""
        is_done = self._shake_hands()
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

    def _shake_hands(self) -> bool:
        """Return whether the handshake is over."""
        try:
            self._tls.do_handshake()
        except ssl.SSLWantReadError:
            if self._end is not None:
                raise broken(self._end, self._talk()) from self._end
            return False
        except ssl.SSLZeroReturnError as error:
            raise broken(self._closed(), self._talk()) from error
        except ssl.SSLError as error:
            self._refuse(error)
        return True

    def _refuse(self, error: ssl.SSLError) -> None:
        """Keep what is to be raised once the peer knows."""
        self._state = _State.REFUSED
        self._refusal = refusal(error, self._talk())
        self._refusal.__cause__ = error

    def _find_refusal(self, error: OSError) -> None:
        """Look whether the peer has said why nothing can be written any more."""
        self._receive()
        self._end = self._end or error
        self._shake_hands()
        if self._refusal is None:
            raise broken(error, self._talk()) from error

    def _tell_refusal(self, refused: AuthenticationError) -> None:
        """Raise a refusal as soon as the peer was sent the alert about it."""
        try:
            is_told = self.flush()
        except OSError:
            is_told = True  # it does not listen any more
        if is_told:
            raise refused

    def _decrypt(self, buffer: memoryview) -> int:
        """Fill the buffer from one record at the most and return how many bytes; 0 is no record."""
        try:
            count = cast("int", self._tls.read(len(buffer), buffer))
        except ssl.SSLWantReadError:
            self._refuse_renegotiation()
            return 0
        except ssl.SSLZeroReturnError:
            count = 0
        except ssl.SSLError as error:
            self._note_unreadable(error)
            return 0
        if count:
            self._state = _State.READY
        else:
            self._end = self._closed()
        return count

    def _note_unreadable(self, error: ssl.SSLError) -> None:
        """Keep what a record means that cannot be read: an alert, or a broken connection."""
        if self._state is _State.POST_HANDSHAKE:
            self._refuse(error)
            return
        words = (error.reason or str(error)).replace("_", " ").lower()
        self._end = ConnectionAbortedError(f"TLS with {self.peer} broke off: {words}")
        self._end.__cause__ = error

    def _refuse_renegotiation(self) -> None:
        """End it if the peer begins a second handshake; in TLS 1.3 that does not exist."""
        if self._tls.version() is None:
            self._outgoing.read()  # OpenSSL has agreed already; that is not sent
            self._end = ConnectionAbortedError(
                f"{self.peer} wants to negotiate TLS again, which is refused"
            )

    def _raise_failure(self) -> None:
        if self._refusal is not None:
            raise self._refusal
        if self._end is not None:
            raise self._end

    def _answer(self) -> None:
        """Send what OpenSSL has to say about what was read."""
        try:
            self.flush()
        except OSError as error:
            self._end = self._end or error

    def _has_bytes_inside(self) -> bool:
        return bool(self._incoming.pending or self._tls.pending())

    def _closed(self) -> EndOfStreamError:
        return EndOfStreamError(f"{self.peer} has closed the connection")

    def _talk(self) -> Handshake:
        """Return what is known of the handshake."""
        from kdiag.net.tls.certificate import read_certificate  # noqa: PLC0415 - 40 ms, for failures

        try:
            chain = [read_certificate(der) for der in self.certificates()]
        except DecodeError:
            chain = []  # OpenSSL has its own words for what is wrong with it
        return Handshake(
            self.peer,
            self._tls.server_hostname,
            self._tls.server_side,
            self.cipher is not None,
            self._first_bytes,
            chain,
        )
