"""Writes a capture several times over into one file, as if the same had happened again and again.

    python tests/bench/repeat_capture.py large.pcap huge.pcap 1300000000

Each round begins a second after the one before it ends, and its clients have ports of their own;
all else is the same, checksums too (so TCP's are wrong). The last round ends where the wanted size
is reached. Takes what `record_load.py` records: IPv4 and TCP over Ethernet, to and from port 9092,
in a little-endian pcap file of microseconds.
"""

import struct
import sys
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

_BROKER_PORT: Final = 9092
_FILE_HEADER_BYTES: Final = 24
_PACKET_HEADER: Final = struct.Struct("<IIII")
_MAGIC: Final = b"\xd4\xc3\xb2\xa1"
_ETHERNET_IPV4: Final = b"\x08\x00\x45"
_TCP: Final = 6
_FIRST_CLIENT_PORT: Final = 20_000

Rows = npt.NDArray[np.int64]


def packet_starts(capture: bytes) -> Rows:
    """Return where the header of each packet is.

    Raises:
        SystemExit: if a packet, or the file, is not of the expected kind.
    """
    starts = []
    at = _FILE_HEADER_BYTES
    if capture[:4] != _MAGIC:
        raise SystemExit("not a little-endian pcap file of microseconds")
    while at < len(capture):
        length = _PACKET_HEADER.unpack_from(capture, at)[2]
        ethernet = at + _PACKET_HEADER.size
        if (
            capture[ethernet + 12 : ethernet + 15] != _ETHERNET_IPV4
            or capture[ethernet + 23] != _TCP
        ):
            raise SystemExit(f"not a plain IPv4 packet with TCP: byte {at}")
        starts.append(at)
        at = ethernet + length
    return np.array(starts, np.int64)


class Clock:
    """The times of all packets, in the file's bytes."""

    def __init__(self, capture: npt.NDArray[np.uint8], starts: Rows) -> None:
        self._seconds = starts[:, None] + np.arange(4)
        seconds = capture[self._seconds].view("<u4").ravel()
        self._first = seconds.astype(np.int64)
        self.round_s = int(seconds.max() - seconds.min()) + 2

    def set_round(self, capture: npt.NDArray[np.uint8], number: int) -> None:
        """Write the times of a round, from 0."""
        seconds = (self._first + number * self.round_s).astype("<u4")
        capture[self._seconds] = seconds.view(np.uint8).reshape(-1, 4)


class ClientPorts:
    """The clients' ports of all packets, in the file's bytes."""

    def __init__(self, capture: npt.NDArray[np.uint8], starts: Rows) -> None:
        tcp = starts + _PACKET_HEADER.size + 14 + 20
        ports = capture[tcp[:, None] + np.arange(4)].view(">u2")
        to_broker = ports[:, 1] == _BROKER_PORT
        self._where = np.where(to_broker, tcp, tcp + 2)[:, None] + np.arange(2)
        clients = np.where(to_broker, ports[:, 0], ports[:, 1])
        self._known, self._number = np.unique(clients, return_inverse=True)

    def set_round(self, capture: npt.NDArray[np.uint8], number: int) -> None:
        """Write the ports of a round, from 0: no two rounds have one in common."""
        first = _FIRST_CLIENT_PORT + number * len(self._known)
        ports = (first + self._number).astype(">u2")
        capture[self._where] = ports.view(np.uint8).reshape(-1, 2)


def repeat(source: Path, target: Path, wanted_bytes: int) -> str:
    """Write the rounds; return what was written, for people."""
    original = source.read_bytes()
    starts = packet_starts(original)
    capture = np.frombuffer(original, np.uint8).copy()
    clock, ports = Clock(capture, starts), ClientPorts(capture, starts)
    written, packets, rounds = _FILE_HEADER_BYTES, 0, 0
    ends = np.append(starts[1:], len(capture))
    part = target.with_suffix(".part")
    with part.open("wb") as file:
        file.write(original[:_FILE_HEADER_BYTES])
        while written < wanted_bytes:
            clock.set_round(capture, rounds)
            ports.set_round(capture, rounds)
            limit = _FILE_HEADER_BYTES + wanted_bytes - written
            count = min(int(np.searchsorted(ends, limit)) + 1, len(ends))
            file.write(capture[_FILE_HEADER_BYTES : ends[count - 1]].data)
            written += int(ends[count - 1]) - _FILE_HEADER_BYTES
            packets += count
            rounds += 1
    part.rename(target)
    return f"{target}: {written:,} bytes, {packets:,} packets, {rounds} rounds of {source.name}\n"


if __name__ == "__main__":
    sys.stdout.write(repeat(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3])))
