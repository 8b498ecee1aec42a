"""The TLS connections of a capture that lost nothing: each as its stretches of bytes, in order."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final, NamedTuple

from kdiag.pcap.reader import CaptureReader
from kdiag.pcap.tls.connection import Plaintext, TlsConnection

_SYN, _ACK = 2, 16
_NUMBERS: Final = 1 << 32
_HALF: Final = 1 << 31  # a number that far behind another one comes before it


class Stretch(NamedTuple):
    """Bytes that one end sent, as one packet carried them."""

    is_client: bool
    data: bytes


def feed_all(connection: TlsConnection, wire: Iterable[Stretch]) -> list[Plaintext]:
    """Return what a connection makes of all that crossed the wire."""
    return [
        plaintext
        for is_client, data in wire
        for plaintext in connection.feed(data, is_client=is_client)
    ]


def joined(parts: Iterable[Stretch | Plaintext], *, is_client: bool) -> bytes:
    """Return the bytes of one direction."""
    return b"".join(part.data for part in parts if part.is_client == is_client)


def connections(path: Path) -> list[list[Stretch]]:
    """Return the connections of a capture that begin in it, by the order of their first packets.

    Raises:
        ValueError: if a connection lost bytes or has them out of order; repeated ones are dropped.
    """
    found: dict[frozenset[int], list[Stretch]] = {}
    following: dict[tuple[int, int], int] = {}
    clients: dict[frozenset[int], int] = {}
    for source, destination, sequence, flags, payload in _segments(path):
        ends, way = frozenset((source, destination)), (source, destination)
        if flags & _SYN:
            following[way] = (sequence + 1) % _NUMBERS
            if not flags & _ACK:
                found[ends] = []
                clients[ends] = source
        elif payload and ends in found and (sequence - following[way]) % _NUMBERS < _HALF:
            if sequence != following[way]:
                raise ValueError(f"{path}: expected byte {following[way]}, found {sequence}")
            following[way] = (sequence + len(payload)) % _NUMBERS
            found[ends].append(Stretch(source == clients[ends], payload))
    return list(found.values())


def _segments(path: Path) -> Iterator[tuple[int, int, int, int, bytes]]:
    for batch in CaptureReader([path]).read_segments():
        starts = batch.payload_offset.tolist()
        ends = (batch.payload_offset + batch.payload_bytes).tolist()
        columns = (batch.source, batch.destination, batch.sequence, batch.flags)
        for row, numbers in enumerate(zip(*(column.tolist() for column in columns), strict=True)):
            yield *numbers, bytes(batch.data[starts[row] : ends[row]])
