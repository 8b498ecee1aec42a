"""Packets of real captures, damaged as networks, recorders and enemies damage them.

A piece of a capture is drawn, so that most begin in the middle of connections, and then a few of
its packets are lost, cut, doubled, moved or changed. What is made of that must not depend on how
it is read: `rows` returns it as plain values, for one size of blocks.
"""

import os
import random
import struct
from collections.abc import Iterator
from functools import cache
from io import BytesIO
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec

from folders import CAPTURES, TLS_CAPTURES
from kdiag.exchange.model import Connection, Exchange, Gap
from kdiag.pcap.decoder import CaptureDecoder, Item
from kdiag.pcap.reader import CaptureReader
from kdiag.pcap.tls.keylog import KeyLog

BLOCK_SIZES: Final = (2 << 10, 24 << 10, 2 << 20)
"""The sizes of blocks that are compared."""

_FILE_HEADER_BYTES: Final = 24
_RECORD: Final = struct.Struct("<IIII")
_MAGICS: Final = (b"\xd4\xc3\xb2\xa1", b"\x4d\x3c\xb2\xa1")
_PIECE_PACKETS: Final = (30, 120, 120, 400)
_SNAP_BYTES: Final = (68, 96, 200)
_LIKELY_PAYLOAD: Final = range(54, 74)
"""Where the lengths and the headers of frames lie in most packets."""


class PacketFile(NamedTuple):
    """A capture, taken apart.

    Attributes:
        name: of the file.
        header: the header of the file.
        packets: its packets, each with its header.
        keylog: the TLS secrets beside it.
    """

    name: str
    header: bytes
    packets: list[bytes]
    keylog: bytes


class DamagedCapture(NamedTuple):
    """A piece of a capture, damaged.

    Attributes:
        name: of the file that it is made of.
        data: the new capture.
        keylog: the TLS secrets.
        follows_tcp: whether to fill in the facts of TCP.
    """

    name: str
    data: bytes
    keylog: bytes
    follows_tcp: bool


@cache
def files() -> list[Path]:
    """Return the captures to damage: those that ship, and the reference ones."""
    found = [*CAPTURES.glob("*.pcap"), *TLS_CAPTURES.glob("*.pcap")]
    if "KDIAG_REFERENCE" in os.environ:
        found += Path(os.environ["KDIAG_REFERENCE"], "captures").glob("*.pcap*")
    # By name first: so an input has the same number wherever the repository is.
    captures = (path for path in found if path.read_bytes()[:4] in _MAGICS)
    return sorted(captures, key=lambda path: (path.name, path))


@cache
def packet_file(path: Path) -> PacketFile:
    """Read a classic capture."""
    data = path.read_bytes()
    keys = path.with_suffix(".keylog")
    keylog = keys.read_bytes() if keys.exists() else b""
    return PacketFile(path.name, data[:_FILE_HEADER_BYTES], list(_packets(data)), keylog)


def damaged_piece(chance: random.Random) -> DamagedCapture:
    """Return a piece of a capture with its packets damaged."""
    name, header, packets, keylog = packet_file(chance.choice(files()))
    size = chance.choice(_PIECE_PACKETS)
    first = chance.choice((0, chance.randrange(len(packets))))
    piece = packets[first : first + size]
    if not chance.randrange(8):
        snap_bytes = chance.choice(_SNAP_BYTES)
        piece = [_cut(packet, snap_bytes) for packet in piece]
    for _ in range(chance.choice((1, 2, 4, 4, 16))):
        _damage(piece, chance)
    while piece and not chance.randrange(6):
        at, pause_s = chance.randrange(len(piece)), chance.choice((3599, 3601, 20_000))
        piece[at:] = [_later(packet, pause_s) for packet in piece[at:]]
    return DamagedCapture(name, header + b"".join(piece), keylog, not chance.randrange(4))


def rows(capture: DamagedCapture, block_bytes: int) -> dict[str, list[Any]]:
    """Decode a capture in blocks of one size; return all that was found, in one order."""
    reader = CaptureReader([BytesIO(capture.data)], block_bytes=block_bytes)
    keylog = KeyLog()
    keylog.add(capture.keylog)
    decoder = CaptureDecoder(reader.addresses, keylog=keylog)
    if capture.follows_tcp:
        decoder.follow_tcp()
    items: list[Item] = []
    for batch in reader.read_segments():
        items += decoder.feed(batch)
    items += decoder.finish()
    return {
        "exchanges": sorted(_exchange(each) for each in items if isinstance(each, Exchange)),
        "gaps": sorted(_gap(each) for each in items if isinstance(each, Gap)),
        "connections": sorted(
            list(msgspec.to_builtins(each).items())
            for each in items
            if isinstance(each, Connection)
        ),
        "counts": list(msgspec.to_builtins(decoder.counts).items()),
        "packets": [reader.packets, [str(each) for each in reader.warnings]],
    }


def difference(found: list[dict[str, list[Any]]]) -> str:
    """Return the first value in which readings of one capture differ; empty if there is none."""
    first, *others = found
    for other in others:
        for name, values in first.items():
            if values != other[name]:
                one = [each for each in values if each not in other[name]][:1]
                two = [each for each in other[name] if each not in values][:1]
                return f"{name}: {one} is not {two}"
    return ""


def _packets(data: bytes) -> Iterator[bytes]:
    position = _FILE_HEADER_BYTES
    while position + _RECORD.size <= len(data):
        end = position + _RECORD.size + _RECORD.unpack_from(data, position)[2]
        yield data[position:end]
        position = end


def _damage(packets: list[bytes], chance: random.Random) -> None:
    """Damage one packet, or a few that follow each other."""
    if not packets:
        return
    at = chance.randrange(len(packets))
    match chance.randrange(6):
        case 0:
            del packets[at : at + chance.choice((1, 1, 3))]
        case 1:
            packets[at] = _cut(packets[at], chance.randrange(40, len(packets[at]) + 41))
        case 2:
            later = at + chance.choice((0, 1, chance.randrange(40)))
            packets.insert(later, packets[at])
        case 3:
            other = min(at + chance.choice((1, 2, chance.randrange(40))), len(packets) - 1)
            packets[at], packets[other] = _swapped(packets[at], packets[other], chance)
        case _:
            packets[at] = _flipped(packets[at], chance)


def _later(packet: bytes, seconds: int) -> bytes:
    """Return a packet that was captured so much later."""
    captured, *others = _RECORD.unpack_from(packet)
    return _RECORD.pack(captured + seconds, *others) + packet[_RECORD.size :]


def _swapped(one: bytes, other: bytes, chance: random.Random) -> tuple[bytes, bytes]:
    """Return two packets in the other order, with their own times or those of their places."""
    if chance.randrange(2):
        return other, one
    return one[:8] + other[8:], other[:8] + one[8:]


def _cut(packet: bytes, size: int) -> bytes:
    """Return a packet of which the recorder kept no more than `size` bytes."""
    seconds, fraction, captured, original = _RECORD.unpack_from(packet)
    kept = min(captured, size)
    header = _RECORD.pack(seconds, fraction, kept, original)
    return header + packet[_RECORD.size : _RECORD.size + kept]


def _flipped(packet: bytes, chance: random.Random) -> bytes:
    """Return a packet with some bytes changed, often where a frame begins."""
    changed = bytearray(packet)
    size = len(packet) - _RECORD.size
    for _ in range(chance.choice((1, 1, 2, 8))):
        place = chance.choice((chance.randrange(14, max(size, 15)), chance.choice(_LIKELY_PAYLOAD)))
        if place < size:
            value = chance.choice((0, 0xFF, 0x7F, 1, chance.randrange(256)))
            changed[_RECORD.size + place] = value
    return bytes(changed)


def _exchange(exchange: Exchange) -> list[Any]:
    """Return an exchange as plain values that can be sorted, with its connection's number."""
    return [
        exchange.number,
        exchange.connection.number,
        *map(str, (exchange.api_key, exchange.version, exchange.correlation_id)),
        str(exchange.client_id),
        str(exchange.pairing),
        exchange.guessed,
        *(
            "" if each is None else repr(msgspec.structs.astuple(each))
            for each in (exchange.request, exchange.response)
        ),
    ]


def _gap(gap: Gap) -> list[Any]:
    return [gap.connection.number, gap.direction, gap.offset, gap.size, gap.time_ns, gap.reason]
