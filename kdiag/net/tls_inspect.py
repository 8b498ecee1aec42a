"""Inspection: what a TLS listener shows of itself, and whether the two ends accept each other.

One connection is made as a client would make it. If the listener's certificate is not accepted, a
second one accepts any, to learn on what the two would agree.

In TLS 1.3 a server can refuse a client after the client is through. So the client says goodbye at
once, which a server answers only after it has judged: by an alert, by a goodbye or by closing.
"""

import selectors
import socket
import ssl
from contextlib import closing
from typing import Final, NamedTuple

from kdiag.clock import NS_PER_S, Clock
from kdiag.errors import ConnectError, Layer
from kdiag.net.address import Address
from kdiag.net.tcp import start_connect
from kdiag.net.tls.certificate import Certificate, read_certificate
from kdiag.net.tls.context import TlsSettings, client_context
from kdiag.net.tls.failure import HandshakeBrokenError
from kdiag.net.tls.transport import TlsTransport

_GOODBYE_NS: Final = 1_000_000_000
_READ_BYTES: Final = 16 * 1024


class Inspection(NamedTuple):
    """What was learned about a TLS listener.

    Attributes:
        version: what is spoken: `TLSv1.3`; None if it did not come that far.
        cipher: the cipher suite, as OpenSSL names it; None if it did not come that far.
        certificates: those that the listener sent, its own first, accepted or not.
        handshake_ns: from the connected socket to the end of the handshake; None without an end.
        error: why no connection can be had; None where both ends accept each other.
    """

    version: str | None
    cipher: str | None
    certificates: tuple[Certificate, ...]
    handshake_ns: int | None
    error: ConnectError | None


def inspect_tls(
    address: Address, settings: TlsSettings, clock: Clock, timeout_ns: int
) -> Inspection:
    """Return what a TLS listener shows of itself.

    Args:
        address: where it is; the certificate must be for the host.
        settings: as for any client.
        clock: for the deadline.
        timeout_ns: for everything, the second connection as well.

    Raises:
        ConfigError: if the settings cannot be used.
        DecodeError: if a certificate cannot be read.
    """
    deadline_ns = clock.monotonic_ns() + timeout_ns
    first = _Visit(address, client_context(settings), clock, deadline_ns).inspect()
    if first.error is None or not isinstance(first.error.__cause__, ssl.SSLCertVerificationError):
        return first
    context = client_context(settings._replace(verifies_certificate=False))
    second = _Visit(address, context, clock, deadline_ns).inspect()
    certificates = first.certificates or second.certificates
    return second._replace(certificates=certificates, error=first.error)


class _Visit:
    """One connection to a listener."""

    def __init__(
        self, address: Address, context: ssl.SSLContext, clock: Clock, deadline_ns: int
    ) -> None:
        self._address = address
        self._clock = clock
        self._deadline_ns = deadline_ns
        self._socket = socket.socket(address.family, socket.SOCK_STREAM)
        self._socket.setblocking(False)  # noqa: FBT003 - the standard library's own signature
        self._transport = TlsTransport(self._socket, address.peer, context, address.host)
        self._handshake_ns: int | None = None

    def inspect(self) -> Inspection:
        """Connect, shake hands, say goodbye, and tell what was seen."""
        error: ConnectError | None = None
        with closing(self._transport):
            try:
                self._connect()
                self._shake_hands()
                self._say_goodbye()
            except HandshakeBrokenError as broken:
                error = broken.told
            except ConnectError as refused:
                error = refused
            return Inspection(
                self._transport.version,
                self._transport.cipher,
                tuple(map(read_certificate, self._transport.certificates())),
                self._handshake_ns,
                error,
            )

    def _connect(self) -> None:
        try:
            if not start_connect(self._socket, self._address):
                self._wait(selectors.EVENT_WRITE)
            self._transport.finish_connect()
        except TimeoutError:
            raise ConnectError(self._address.peer, Layer.TCP, "no answer in time") from None
        except OSError as error:
            why = error.strerror or str(error)
            raise ConnectError(self._address.peer, Layer.TCP, why) from error

    def _shake_hands(self) -> None:
        started_ns = self._clock.monotonic_ns()
        self._transport.handshake()
        while not self._transport.is_ready:
            try:
                self._wait_for_transport()
            except TimeoutError:
                waited_ns = self._clock.monotonic_ns() - started_ns
                raise self._transport.unanswered(waited_ns) from None
            self._transport.handshake()
        self._handshake_ns = self._clock.monotonic_ns() - started_ns

    def _say_goodbye(self) -> None:
        """Wait for what the server says last: an AuthenticationError, or anything but that."""
        self._deadline_ns = min(self._deadline_ns, self._clock.monotonic_ns() + _GOODBYE_NS)
        buffer = memoryview(bytearray(_READ_BYTES))
        try:
            self._transport.close_writing()
            while True:
                if not self._transport.read_into(buffer):
                    self._wait_for_transport()
        except OSError:
            return  # it has closed, or says nothing: no refusal

    def _wait_for_transport(self) -> None:
        write = selectors.EVENT_WRITE if self._transport.wants_write else 0
        self._wait(selectors.EVENT_READ | write)

    def _wait(self, events: int) -> None:
        """Wait until the socket is ready.

        Raises:
            TimeoutError: if it is not before the deadline.
        """
        left_ns = self._deadline_ns - self._clock.monotonic_ns()
        with selectors.DefaultSelector() as selector:
            selector.register(self._socket, events)
            if left_ns <= 0 or not selector.select(left_ns / NS_PER_S):
                raise TimeoutError
