"""Measures the memory of `kdiag decode` on captures that would fill it, within its budget.

    python tests/bench/memory.py [--max-memory 512M] [--connections 400000] [--streams 200]

writes two captures into a temporary folder and decodes them:

    SYNs      each opens a connection that nobody answers
    streams   of bytes that are nothing known, one direction alone, from the middle on

Prints a line for each: how many connections were ended early, and the largest memory of the
program, which is to be no more than the budget and `ALLOWANCE` for itself and a block of packets.
"""

import argparse
import random
import resource
import struct
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

ALLOWANCE: Final = 256 << 20
KDIAG: Final = (sys.executable, "-c", "from kdiag_cli.app import main; main()", "decode")
BYTES_OF_A_STREAM: Final = 6 << 20

_MSS: Final = 1400
_PORTS: Final = 60_000
_SYN, _ACK = 2, 16
_PACKET: Final = struct.Struct(">12xH BBHHHBBH4s4s HHIIBBHHH")
_RECORD: Final = struct.Struct("<IIII")
_FILE: Final = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 262_144, 1)


def syns(connections: int) -> Iterator[bytes]:
    """Yield packets that open connections."""
    for number in range(connections):
        client = (10 << 24 | number // _PORTS).to_bytes(4)
        yield packet(client, 1024 + number % _PORTS, 1000, _SYN, b"")


def streams(count: int) -> Iterator[bytes]:
    """Yield packets of one direction of many streams, in turns."""
    noise = random.Random(1).randbytes(1 << 20)
    for turn in range(BYTES_OF_A_STREAM // _MSS):
        at = turn * 37 % (len(noise) - _MSS)
        for number in range(count):
            yield packet(b"\x0a\0\0\2", 2000 + number, turn * _MSS, _ACK, noise[at : at + _MSS])


def packet(client: bytes, port: int, sequence: int, flags: int, payload: bytes) -> bytes:
    """Return a packet from a client to a broker, behind Ethernet."""
    size = 40 + len(payload)
    ip = (0x45, 0, size, 0, 0, 64, 6, 0, client, b"\x0a\xff\0\1")
    return _PACKET.pack(0x800, *ip, port, 9092, sequence, 0, 0x50, flags, 65535, 0, 0) + payload


def write(path: Path, packets: Iterator[bytes]) -> None:
    """Write packets, a tenth of a millisecond apart, into a capture."""
    with path.open("wb") as file:
        file.write(_FILE)
        for number, data in enumerate(packets):
            seconds, rest = divmod(number, 10_000)
            head = _RECORD.pack(1_700_000_000 + seconds, rest * 100, len(data), len(data))
            file.write(head + data)


def measure(path: Path, max_memory: str) -> int:
    """Decode a capture; print what the program says, and return its largest memory in bytes."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    command = [*KDIAG, "--summary", "--max-memory", max_memory, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    told = [line for line in done.stdout.splitlines() if "ended early" in line]
    at_most = "at most " * (peak == before)
    sys.stdout.write(
        f"{path.stem}: {at_most}{peak >> 10} MB; {' '.join(told) or 'none given up'}\n"
    )
    return peak << 10


def main() -> int:
    """Run with the arguments of the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--max-memory", default="512M")
    parser.add_argument("--connections", type=int, default=400_000)
    parser.add_argument("--streams", type=int, default=200)
    arguments = parser.parse_args()
    budget = int(arguments.max_memory.rstrip("M")) << 20
    with tempfile.TemporaryDirectory() as name:
        peaks = []
        made = (("syns", syns(arguments.connections)), ("streams", streams(arguments.streams)))
        for stem, packets in made:
            path = Path(name, f"{stem}.pcap")
            write(path, packets)
            peaks.append(measure(path, arguments.max_memory))
            path.unlink()
    return int(max(peaks) > budget + ALLOWANCE)


if __name__ == "__main__":
    sys.exit(main())
