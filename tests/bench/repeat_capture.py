"""Writes a capture several times over, as if the same had happened again and again.

    python tests/bench/repeat_capture.py large.pcap huge.pcap 1300000000
    python tests/bench/repeat_capture.py large.pcap 'day-{}.pcap' 3200000000 --rotate
    python tests/bench/repeat_capture.py small.pcap skewed.pcap 280000000 --elephant 9

Each round begins a second after the one before it ends, and its clients have ports of their own;
all else is the same, checksums too (so TCP's are wrong). The last round ends where the wanted size
is reached. With `--rotate` each round is a file. With `--elephant 9` only the connection with the
most packets is written, without its opening and its end, and nine of ten rounds are one and the
same, which goes on: its sequence numbers do; with `--elephant 0` none are.

Takes what `record_load.py` records: IPv4 and TCP over Ethernet, to and from port 9092, in a
little-endian pcap file of microseconds.
"""

import argparse
import struct
import sys
from collections.abc import Iterator
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
_SYN, _FIN = 2, 1
_MODULUS: Final = 1 << 32
_TEN: Final = 10

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


class Streams:
    """The sequence numbers of all packets, in the file's bytes, for connections that go on."""

    def __init__(self, capture: npt.NDArray[np.uint8], starts: Rows) -> None:
        """Find how far each end of the connection with the most packets comes in a round.

        Raises:
            SystemExit: if it is not there from its opening to its end.
        """
        tcp = starts + _PACKET_HEADER.size + 14 + 20
        ports = capture[tcp[:, None] + np.arange(4)].view(">u2")
        self._to_broker = ports[:, 1] == _BROKER_PORT
        clients = np.where(self._to_broker, ports[:, 0], ports[:, 1])
        is_mine = clients == np.bincount(clients).argmax()
        self._where = tcp[:, None] + np.arange(4, 12)
        self._numbers = capture[self._where].view(">u4").astype(np.int64)
        flags = capture[tcp + 13]
        opening = is_mine & ((flags & _SYN) != 0)
        ending = is_mine & ((flags & _FIN) != 0)
        if opening.sum() != 2 or ending.sum() != 2:
            raise SystemExit("the connection is not there from its opening to its end")
        self.is_data = is_mine & ~opening & ~ending
        first = [self._numbers[opening & side, 0][0] + 1 for side in self._sides]
        last = [self._numbers[ending & side, 0][0] for side in self._sides]
        self._sent = (np.array(last) - np.array(first)) % _MODULUS

    @property
    def _sides(self) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
        return ~self._to_broker, self._to_broker

    def set_round(self, capture: npt.NDArray[np.uint8], number: int) -> None:
        """Write the numbers of a round, from 0."""
        side = self._to_broker.astype(np.int64)
        shift = number * np.stack([self._sent[side], self._sent[1 - side]], axis=1)
        numbers = ((self._numbers + shift) % _MODULUS).astype(">u4")
        capture[self._where] = numbers.view(np.uint8).reshape(-1, 8)


class Rounds:
    """The rounds of a capture."""

    def __init__(self, source: Path, elephant: int | None) -> None:
        original = source.read_bytes()
        self.header = original[:_FILE_HEADER_BYTES]
        self._starts = packet_starts(original)
        self._capture = np.frombuffer(original, np.uint8).copy()
        self._ends = np.append(self._starts[1:], len(original))
        self._clock = Clock(self._capture, self._starts)
        self._ports = ClientPorts(self._capture, self._starts)
        self._elephant = elephant or 0
        is_skewed = elephant is not None
        self._streams = Streams(self._capture, self._starts) if is_skewed else None

    def packets(self, number: int) -> Iterator[memoryview]:
        """Yield the packets of a round."""
        is_elephant = number % _TEN < self._elephant
        self._clock.set_round(self._capture, number)
        self._ports.set_round(self._capture, 0 if is_elephant else number + 1)
        is_wanted = np.ones(len(self._starts), np.bool_)
        if self._streams is not None:
            goes_on = number // _TEN * self._elephant + number % _TEN if is_elephant else 0
            self._streams.set_round(self._capture, goes_on)
            is_wanted = self._streams.is_data
        for start, end in zip(self._starts[is_wanted], self._ends[is_wanted], strict=True):
            yield self._capture[start:end].data


def repeat(source: Path, target: str, wanted_bytes: int, options: argparse.Namespace) -> str:
    """Write the rounds; return what was written, for people."""
    rounds = Rounds(source, options.elephant)
    written = packets = number = 0
    while written < wanted_bytes:
        is_new = options.rotate or not number
        with Path(target.format(number)).open("wb" if is_new else "ab") as file:
            if is_new:
                written += file.write(rounds.header)
            for packet in rounds.packets(number):
                if written >= wanted_bytes:
                    break
                written += file.write(packet)
                packets += 1
        number += 1
    return f"{target}: {written:,} bytes, {packets:,} packets, {number} rounds of {source.name}\n"


def main() -> None:
    """Write what is asked for."""
    parser = argparse.ArgumentParser()
    parser.add_argument("source", type=Path)
    parser.add_argument("target")
    parser.add_argument("wanted_bytes", type=int)
    parser.add_argument("--rotate", action="store_true")
    parser.add_argument("--elephant", type=int, choices=range(_TEN))
    options = parser.parse_args()
    sys.stdout.write(repeat(options.source, options.target, options.wanted_bytes, options))


if __name__ == "__main__":
    main()
