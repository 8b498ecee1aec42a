"""The TLS of a connection: records in, the bytes inside out.

The bytes inside are handed on as if each record were one segment, captured with the packet that
made it readable: the one with its last byte, or a later one if the keys had to come first.
"""

from bisect import bisect_left
from typing import Final

from kdiag.pcap.kafka.frame_stream import FrameStream
from kdiag.pcap.tcp.reassembly import ByteConsumer, Moment
from kdiag.pcap.tcp.segments import Piece, Segments
from kdiag.pcap.tls.connection import Plaintext, TlsConnection
from kdiag.pcap.tls.facts import TlsFacts
from kdiag.pcap.tls.keylog import KeyLog

UNKNOWN_LOSS: Final = "how much of the encrypted bytes before this was lost is not known"

_MAX_REMEMBERED: Final = 4096


class TlsSide:
    """Reads the bytes of one end of a TLS connection."""

    def __init__(self, stream: "TlsStream", side: int) -> None:
        self._stream = stream
        self._side = side
        self._offset = 0
        self._stops: list[int] = []
        self._moments: list[Moment] = []

    def add_segments(self, segments: Segments, first: int, last: int, known: int = 0) -> None:
        """Read the next bytes of the direction."""
        for row in range(first, last):
            piece = segments.piece(row)
            now = Moment(max(known, piece.packet), piece.time_ns)
            self._offset += piece.size
            self._stops.append(self._offset)
            self._moments.append(now)
            if len(self._stops) > _MAX_REMEMBERED:
                del self._stops[: _MAX_REMEMBERED // 2], self._moments[: _MAX_REMEMBERED // 2]
            self._stream.feed(self._side, piece, now)

    def moment_of(self, end: int) -> Moment:
        """Return when the byte before offset `end` came, as far as that is remembered."""
        return self._moments[min(bisect_left(self._stops, end), len(self._stops) - 1)]


class TlsStream:
    """Both directions of a TLS connection.

    Attributes:
        sides: read the bytes of both ends.
        targets: read the bytes inside; may be replaced at any time.
    """

    def __init__(
        self, keylog: KeyLog | None, client: int, targets: tuple[ByteConsumer, ByteConsumer]
    ) -> None:
        """Begin with the first bytes of both directions.

        Args:
            keylog: where to look for the secrets.
            client: which side is the client.
            targets: read the bytes inside.
        """
        self.sides = TlsSide(self, 0), TlsSide(self, 1)
        self.targets: list[ByteConsumer] = [*targets]
        self._client = client
        self._connection = TlsConnection(keylog)

    @property
    def facts(self) -> TlsFacts:
        """Return the facts of the connection so far."""
        return self._connection.facts

    @property
    def is_unreadable(self) -> bool:
        """Return whether there are no keys, so that nothing inside will be handed on."""
        return self._connection.is_unreadable

    def let_go(self) -> None:
        """Let go of both sides, which refer back to it: no more bytes will come."""
        del self.sides

    def feed(self, side: int, piece: Piece, now: Moment) -> None:
        """Read bytes of one direction, and hand on the bytes inside."""
        is_client = side == self._client
        for plaintext in self._connection.feed(piece.data, is_client=is_client):
            self._hand_on(plaintext, now)
        missing = piece.size - len(piece.data)
        if missing:
            self._connection.gap(missing, is_client=is_client)

    def _hand_on(self, plaintext: Plaintext, now: Moment) -> None:
        side = self._client if plaintext.is_client else 1 - self._client
        moment = max(now, self.sides[side].moment_of(plaintext.end))
        target = self.targets[side]
        if plaintext.missing_bytes is None and isinstance(target, FrameStream):
            target.search(UNKNOWN_LOSS)
        pieces = [Piece(plaintext.data, len(plaintext.data), *moment)]
        if plaintext.missing_bytes:
            pieces.insert(0, Piece(b"", plaintext.missing_bytes, *moment))
        target.add_segments(Segments.of_pieces(pieces), 0, len(pieces))
