"""Captures that tests of the pipeline share."""

import struct
from pathlib import Path

import pytest

from recordings.hard_captures import base


def _block(order: str, kind: int, body: bytes) -> bytes:
    body += b"\0" * (-len(body) % 4)
    size = struct.pack(order + "I", len(body) + 12)
    return struct.pack(order + "I", kind) + size + body + size


@pytest.fixture
def two_sections(tmp_path: Path) -> Path:
    """Return a pcapng file of two sections: byte orders, link types and clocks differ."""
    parts = []
    for order, resolution in (("<", 6), (">", 9)):
        parts.append(_block(order, 0x0A0D0D0A, struct.pack(order + "IHHq", 0x1A2B3C4D, 1, 0, -1)))
        for link_type in (101, 1):
            option = struct.pack(order + "HHB3xHH", 9, 1, resolution, 0, 0)
            parts.append(_block(order, 1, struct.pack(order + "HHI", link_type, 0, 0) + option))
        if order == "<":
            keys = b"CLIENT_RANDOM 00 00\n"
            parts.append(_block(order, 10, struct.pack(order + "II", 0x544C534B, len(keys)) + keys))
        for packet in base():
            data = bytes(packet)
            ticks = round(float(packet.time) * 10**resolution)
            head = (1, ticks >> 32, ticks & 0xFFFFFFFF, len(data), len(data))
            parts.append(_block(order, 6, struct.pack(order + "5I", *head) + data))
    file = tmp_path / "sections.pcapng"
    file.write_bytes(b"".join(parts))
    return file
