"""Capture files and packets made byte by byte, right or wrong as a test wants them."""

import struct
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from kdiag.pcap.files.block import PacketBlock

ETHERNET = 1
MICROSECONDS = 0xA1B2C3D4
NANOSECONDS = 0xA1B23C4D
PATCHED = 0xA1B2CD34
NS_PER_S = 1_000_000_000


class Packet(NamedTuple):
    """A captured packet: its bytes, when, and its length on the wire where that is more."""

    data: bytes
    time_ns: int = 1_700_000_000 * NS_PER_S
    original: int | None = None


def savefile(
    packets: Iterable[Packet],
    *,
    magic: int = MICROSECONDS,
    byte_order: str = "<",
    snaplen: int = 262_144,
    link_type: int = ETHERNET,
) -> bytes:
    """Return a classic capture file."""
    file = struct.pack(byte_order + "IHHiIII", magic, 2, 4, 0, 0, snaplen, link_type)
    tick_ns = 1 if magic == NANOSECONDS else 1000
    for data, time_ns, original in packets:
        seconds, rest_ns = divmod(time_ns, NS_PER_S)
        wire = len(data) if original is None else original
        file += struct.pack(byte_order + "IIII", seconds, rest_ns // tick_ns, len(data), wire)
        file += bytes(8 if magic == PATCHED else 0) + data
    return file


def tcp_frame(payload: bytes, sequence: int = 1, *, padding: int = 0) -> bytes:
    """Return an Ethernet frame with an IPv4 packet from 10.0.0.1:40000 to 10.0.0.2:9092."""
    head = struct.pack(">BBHHHBBH", 0x45, 0, 40 + len(payload), 7, 0x4000, 64, 6, 0)
    addresses = bytes([10, 0, 0, 1, 10, 0, 0, 2])
    tcp = struct.pack(">HHIIBBHHH", 40000, 9092, sequence, 77, 5 << 4, 0x18, 501, 0, 0)
    return b"\x02" * 12 + b"\x08\x00" + head + addresses + tcp + payload + bytes(padding)


def block_of(frames: Sequence[bytes | Packet], link_type: int = ETHERNET) -> PacketBlock:
    """Return packets as a block, a nanosecond apart unless they say when; no file is involved."""
    packets = [
        frame if isinstance(frame, Packet) else Packet(frame, number)
        for number, frame in enumerate(frames)
    ]
    captured = np.array([len(packet.data) for packet in packets], np.int64)
    original = [packet.original or len(packet.data) for packet in packets]
    return PacketBlock(
        np.frombuffer(b"".join(packet.data for packet in packets), np.uint8),
        np.cumsum(captured) - captured,
        captured,
        np.array(original, np.int64),
        np.array([packet.time_ns for packet in packets], np.int64),
        np.full(len(packets), link_type, np.int64),
        np.zeros(len(packets), np.int64),
    )


class Section:
    """Writes the blocks of a pcapng section in one byte order."""

    def __init__(self, byte_order: str = "<") -> None:
        self.byte_order = byte_order

    def block(self, kind: int, body: bytes) -> bytes:
        """Return a block of any kind; the body is padded to 4 bytes."""
        body += bytes(-len(body) % 4)
        size = struct.pack(self.byte_order + "I", len(body) + 12)
        return struct.pack(self.byte_order + "I", kind) + size + body + size

    def start(self) -> bytes:
        """Return a section header."""
        return self.block(0x0A0D0D0A, struct.pack(self.byte_order + "IHHq", 0x1A2B3C4D, 1, 0, -1))

    def interface(
        self, link_type: int = ETHERNET, snaplen: int = 0, options: Iterable[tuple[int, bytes]] = ()
    ) -> bytes:
        """Return an interface description."""
        body = struct.pack(self.byte_order + "HHI", link_type, 0, snaplen)
        for code, value in options:
            body += struct.pack(self.byte_order + "HH", code, len(value))
            body += value + bytes(-len(value) % 4)
        return self.block(1, body)

    def packet(self, data: bytes, ticks: int = 0, interface: int = 0, wire: int = 0) -> bytes:
        """Return an enhanced packet block."""
        head = (interface, *divmod(ticks, 1 << 32), len(data), wire or len(data))
        return self.block(6, struct.pack(self.byte_order + "IIIII", *head) + data)

    def old_packet(self, data: bytes, ticks: int = 0, interface: int = 0) -> bytes:
        """Return a packet block of the form before the enhanced one, with a count of drops."""
        head = (interface, 9, *divmod(ticks, 1 << 32), len(data), len(data))
        return self.block(2, struct.pack(self.byte_order + "HHIIII", *head) + data)

    def simple_packet(self, data: bytes, wire: int = 0) -> bytes:
        """Return a simple packet block."""
        return self.block(3, struct.pack(self.byte_order + "I", wire or len(data)) + data)

    def secrets(self, data: bytes, kind: int = 0x544C534B) -> bytes:
        """Return a decryption secrets block."""
        return self.block(10, struct.pack(self.byte_order + "II", kind, len(data)) + data)

    def statistics(
        self, interface_drops: int, system_drops: int, interface: int = 0, start: bytes = b""
    ) -> bytes:
        """Return the statistics of an interface, at the end of a recording that began at `start`.

        Args:
            interface_drops: packets that the interface dropped.
            system_drops: packets that the operating system dropped.
            interface: its number.
            start: the time at which the recording began; not told if empty.
        """
        body = struct.pack(self.byte_order + "III", interface, 0, 0)
        if start:
            body += struct.pack(self.byte_order + "HH", 2, len(start)) + start
        for code, value in ((5, interface_drops), (7, system_drops)):
            body += struct.pack(self.byte_order + "HHQ", code, 8, value)
        return self.block(5, body + bytes(4))
