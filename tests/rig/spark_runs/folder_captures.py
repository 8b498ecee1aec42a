"""Captures that appear in a folder: tiny ones, written at times that a test chooses."""

import os
import struct
from pathlib import Path
from typing import Final

NOW_NS: Final = 1_800_000_000_000_000_000
"""The present of tests that move the clock."""

_HEADER: Final = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1)
_NS_PER_S: Final = 1_000_000_000


def pcap(*packets: str) -> bytes:
    """Return a capture of packets that hold no more than such texts."""
    records = [
        struct.pack("<4I", 1, number, len(each), len(each)) + each.encode()
        for number, each in enumerate(packets)
    ]
    return _HEADER + b"".join(records)


def write(file: Path, content: bytes, age_s: int = 100) -> None:
    """Write a capture so many seconds before `NOW_NS`."""
    file.parent.mkdir(exist_ok=True)
    file.write_bytes(content)
    os.utime(file, ns=(NOW_NS - age_s * _NS_PER_S, NOW_NS - age_s * _NS_PER_S))
