"""IP fragments back into datagrams: the slow path, packet by packet.

Source: RFC 791 and RFC 8200; like most systems, an incomplete datagram is given up after 30 s.
"""

from collections import Counter
from typing import Final, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from kdiag.pcap.packets.layer import Payloads, ProtocolLayer

_MAX_DATAGRAMS: Final = 256
_MAX_DATAGRAM_BYTES: Final = 65_535
_MAX_PIECES: Final = 256  # of the least MTU there is, 576, a datagram has 119
_TIMEOUT_NS: Final = 30_000_000_000
_PROTOCOL: Final = 2  # its place in a key

Key: TypeAlias = tuple[int, int, int, int]


class _Piece(NamedTuple):
    """One fragment's bytes; fewer than on the wire if the capture cut them."""

    start: int
    wire_bytes: int
    captured: bytes


class _Datagram:
    """The fragments of one datagram that have been seen."""

    def __init__(self, first_ns: int) -> None:
        self.first_ns = first_ns
        self.fragments = 0
        self.size: int | None = None
        self._pieces: dict[int, _Piece] = {}
        self._seen_bytes = 0

    def add(self, piece: _Piece, *, last: bool) -> bool:
        """Keep a fragment, unless there is one at its place; return false if it is too much."""
        self.fragments += 1
        if last:
            self.size = piece.start + piece.wire_bytes
        if piece.start not in self._pieces:
            self._pieces[piece.start] = piece
            self._seen_bytes += piece.wire_bytes
        end = max(self._seen_bytes, piece.start + piece.wire_bytes)
        return end <= _MAX_DATAGRAM_BYTES and len(self._pieces) <= _MAX_PIECES

    def join(self) -> bytes | None:
        """Return the captured bytes up to the first that was cut; None if a fragment is missing."""
        if self.size is None or self._seen_bytes < self.size:
            return None
        whole, cut, end = bytearray(), False, 0
        for start in sorted(self._pieces):
            piece = self._pieces[start]
            if start > end:
                return None
            cut = cut or len(whole) < start
            if not cut:
                whole += piece.captured[len(whole) - start :]
            end = max(end, start + piece.wire_bytes)
        return bytes(whole[: self.size]) if end >= self.size else None


class Defragmenter:
    """Collects fragments over blocks until their datagrams are whole; bounded in memory.

    Attributes:
        is_closed: whether fragments of datagrams that are not begun yet are passed over.
        absorbed: fragments that were joined to the one that completed their datagram.
    """

    def __init__(self) -> None:
        self.is_closed = False
        self.absorbed = 0
        self._lost: Counter[int] = Counter()
        self._datagrams: dict[Key, _Datagram] = {}

    @property
    def waiting(self) -> int:
        """Return how many datagrams are begun and not whole."""
        return len(self._datagrams)

    def lost(self) -> Counter[int]:
        """Return the fragments whose datagrams are not whole so far, by IP protocol."""
        lost = self._lost.copy()
        for key, datagram in self._datagrams.items():
            lost[key[_PROTOCOL]] += datagram.fragments
        return lost

    def join(
        self,
        data: npt.NDArray[np.uint8],
        time_ns: npt.NDArray[np.int64],
        fragments: Payloads,
    ) -> tuple[npt.NDArray[np.uint8], Payloads]:
        """Add fragments and return the datagrams that are whole now.

        Args:
            data: where the fragments lie.
            time_ns: when each packet of the block was captured.
            fragments: the fragments of the block.

        Returns:
            The data with the datagrams' bytes appended, and the datagrams, each in the row of the
            fragment that completed it.
        """
        done: list[int] = []
        bodies: list[bytes] = []
        wire: list[int] = []
        for index, row in enumerate(fragments.layer.row.tolist()):
            datagram = self._add(data, int(time_ns[row]), fragments, index)
            if datagram is not None and (body := datagram.join()) is not None:
                self._datagrams.pop(_key(fragments, index))
                self.absorbed += datagram.fragments - 1
                done.append(index)
                bodies.append(body)
                wire.append(datagram.size or 0)
        sizes = np.array([len(body) for body in bodies], np.int64)
        layer = ProtocolLayer(
            fragments.layer.row[done],
            len(data) + np.cumsum(sizes) - sizes,
            sizes,
            np.array(wire, np.int64),
        )
        if done:
            data = np.concatenate([data, np.frombuffer(b"".join(bodies), np.uint8)])
        no = np.zeros(len(done), np.int64)
        whole = Payloads(
            layer,
            fragments.protocol[done],
            fragments.source[done],
            fragments.destination[done],
            no,
            no,
            no != 0,
        )
        return data, whole

    def _add(
        self, data: npt.NDArray[np.uint8], time_ns: int, fragments: Payloads, index: int
    ) -> _Datagram | None:
        """Add a fragment to its datagram; None if that makes no sense."""
        key = _key(fragments, index)
        datagram = self._datagrams.get(key)
        if datagram is None or time_ns - datagram.first_ns > _TIMEOUT_NS:
            self._give_up(key)
            if self.is_closed:
                return None
            datagram = self._datagrams[key] = _Datagram(time_ns)
            if len(self._datagrams) > _MAX_DATAGRAMS:
                self._give_up(next(iter(self._datagrams)))
        _, offset, captured, wire = (int(column[index]) for column in fragments.layer)
        piece = _Piece(
            int(fragments.start[index]), wire, data[offset : offset + captured].tobytes()
        )
        if datagram.add(piece, last=not fragments.more[index]):
            return datagram
        self._give_up(key)
        return None

    def _give_up(self, key: Key) -> None:
        """Forget a datagram, if it is known, and count its fragments as lost."""
        datagram = self._datagrams.pop(key, None)
        if datagram is not None:
            self._lost[key[_PROTOCOL]] += datagram.fragments


def _key(fragments: Payloads, index: int) -> Key:
    """Return the key that the fragments of one datagram share."""
    return (
        int(fragments.source[index]),
        int(fragments.destination[index]),
        int(fragments.protocol[index]),
        int(fragments.identity[index]),
    )
