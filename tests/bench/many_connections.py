"""Measures `kdiag decode` on captures in which little is large but the number of something.

    python tests/bench/many_connections.py [--rounds 3] [--connections 100000]

writes three captures into a temporary folder:

    connections   each of eight packets: a handshake, ApiVersions, its response, two FINs, an ACK
    sections      20,000 pcapng sections of one packet
    zeros         2 MB of zeros on port 9092, behind a request

and decodes them; the first in turns with the cheapest pass of tshark that dissects Kafka. Prints a
line for each program with the median, least and most CPU time; ends with 1 if a goal is missed.
"""

import argparse
import statistics
import struct
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

sys.path.insert(0, str(Path(__file__).parents[1] / "rig"))
sys.path.insert(0, str(Path(__file__).parents[2]))

from kdiag.wire.api.api_versions import ApiVersionsRequest, ApiVersionsResponse
from recordings.capture_writer import Section
from recordings.exchange_maker import request_bytes, response_bytes
from tests.bench.decode import ENVIRONMENT

SECTIONS: Final = 20_000
ZERO_BYTES: Final = 2_000_000
MOST_SECTIONS_S: Final = 2.0
MOST_ZEROS_S: Final = 1.0
MOST_ZERO_LINES: Final = 5
KDIAG: Final = (sys.executable, "-c", "from kdiag_cli.app import main; main()", "decode")
TSHARK: Final = ("tshark", "-n", "-q", "-z", "io,stat,0,kafka", "-r")

_FIN, _SYN, _PSH, _ACK = 1, 2, 8, 16
_BROKER: Final = bytes([10, 200, 0, 1])
_PORT: Final = 9092
_FIRST_PORT: Final = 10_000
_PORTS: Final = 50_000
_MSS: Final = 1448
_START_S: Final = 1_700_000_000
_HEADERS: Final = struct.Struct(">6s6sH BBHHHBBH4s4s HHIIBBHHH")
_RECORD: Final = struct.Struct("<IIII")
_FILE: Final = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 262_144, 1)


class Talk:
    """Writes the packets of one connection."""

    def __init__(self, number: int) -> None:
        self._client = (10 << 24 | 1 + number // _PORTS).to_bytes(4), _FIRST_PORT + number % _PORTS
        self._broker = _BROKER, _PORT
        self._sent = {True: 1000 + number, False: 7_000_000 + number}

    def frame(self, flags: int, payload: bytes = b"", *, is_client: bool = True) -> bytes:
        """Return the next packet of an end, as an Ethernet frame."""
        ends = self._client, self._broker
        (source, from_port), (target, to_port) = ends if is_client else ends[::-1]
        sequence, acknowledged = self._sent[is_client], self._sent[not is_client]
        self._sent[is_client] = sequence + len(payload) + bool(flags & (_SYN | _FIN))
        return (
            _HEADERS.pack(
                *(b"\2\0\0\0\0\1", b"\2\0\0\0\0\2", 0x0800),
                *(0x45, 0, 40 + len(payload), 0, 0x4000, 64, 6, 0, source, target),
                *(from_port, to_port, sequence, acknowledged if flags & _ACK else 0),
                *(5 << 4, flags, 502, 0, 0),
            )
            + payload
        )


def framed(frame: bytes) -> bytes:
    """Return a frame of Kafka behind its length."""
    return len(frame).to_bytes(4) + frame


def connections(count: int) -> Iterator[bytes]:
    """Yield the packets of short connections, one after the other."""
    software = ApiVersionsRequest(
        client_software_name="apache-kafka-java", client_software_version="4.3.0"
    )
    request = framed(request_bytes(software, 3, client_id="producer-1"))
    response = framed(response_bytes(ApiVersionsResponse(), 3))
    for number in range(count):
        talk = Talk(number)
        yield talk.frame(_SYN)
        yield talk.frame(_SYN | _ACK, is_client=False)
        yield talk.frame(_ACK)
        yield talk.frame(_PSH | _ACK, request)
        yield talk.frame(_PSH | _ACK, response, is_client=False)
        yield talk.frame(_FIN | _ACK)
        yield talk.frame(_FIN | _ACK, is_client=False)
        yield talk.frame(_ACK)


def zeros(size: int) -> Iterator[bytes]:
    """Yield the packets of a client that sends a request and then zeros."""
    talk = Talk(0)
    yield talk.frame(_SYN)
    yield talk.frame(_SYN | _ACK, is_client=False)
    yield talk.frame(_PSH | _ACK, framed(request_bytes(ApiVersionsRequest(), 3)))
    for _ in range(0, size, _MSS):
        yield talk.frame(_PSH | _ACK, bytes(_MSS))


def write_savefile(path: Path, frames: Iterator[bytes]) -> None:
    """Write frames, 20 us apart."""
    with path.open("wb") as file:
        file.write(_FILE)
        for number, frame in enumerate(frames):
            seconds, rest = divmod(number * 20, 10**6)
            file.write(_RECORD.pack(_START_S + seconds, rest, len(frame), len(frame)) + frame)


def write_sections(path: Path, count: int) -> None:
    """Write a pcapng file with sections of one packet each."""
    section = Section()
    start = section.start() + section.interface()
    frames = connections(count // 8 + 1)
    with path.open("wb") as file:
        for number, frame in zip(range(count), frames, strict=False):
            file.write(start + section.packet(frame, (_START_S * 10**6) + number * 20))


def measure(*command: str) -> tuple[float, int]:
    """Return the CPU time of a program, and how many lines it printed."""
    timed = ("/usr/bin/env", "bash", "-c", 'TIMEFORMAT="%U %S"; time "$@" 2>/dev/null', "time")
    done = subprocess.run(
        [*timed, *command],
        capture_output=True,
        check=False,
        env=ENVIRONMENT | {"PYTHONPATH": ":".join(sys.path[:2]) + ":cmd"},
        cwd=Path(__file__).parents[2],
    )
    seconds = done.stderr.decode().split()[-2:]
    return sum(map(float, seconds)), done.stdout.count(b"\n")


def report(name: str, seconds: list[float], rest: str = "") -> float:
    """Print what a program took, and return the median."""
    median = statistics.median(seconds)
    span = f"{min(seconds):.2f} to {max(seconds):.2f}"
    sys.stdout.write(f"{name:32} {median:7.2f} s CPU ({span}){rest}\n")
    return median


def main() -> int:
    """Measure, and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--connections", type=int, default=100_000)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        many, sections, zero = (
            Path(folder) / name for name in ("connections.pcap", "sections.pcapng", "zeros.pcap")
        )
        write_savefile(many, connections(arguments.connections))
        write_sections(sections, SECTIONS)
        write_savefile(zero, zeros(ZERO_BYTES))
        taken: list[list[float]] = [[], [], [], [], []]
        lines = 0
        for _ in range(arguments.rounds):
            taken[0].append(measure(*TSHARK, str(many))[0])
            taken[1].append(measure(*KDIAG, "--summary", str(many))[0])
            taken[2].append(measure(*KDIAG, "-o", "jsonl", str(many))[0])
            taken[3].append(measure(*KDIAG, "--summary", str(sections))[0])
            cpu_s, lines = measure(*KDIAG, str(zero))
            taken[4].append(cpu_s)
    rival = report("connections, tshark", taken[0])
    mine = report("connections, kdiag --summary", taken[1])
    report("connections, kdiag -o jsonl", taken[2])
    section_s = report("sections, kdiag --summary", taken[3])
    zeros_s = report("zeros, kdiag", taken[4], f", {lines} lines")
    is_good = mine < rival and section_s < MOST_SECTIONS_S and zeros_s < MOST_ZEROS_S
    return 0 if is_good and lines <= MOST_ZERO_LINES else 1


if __name__ == "__main__":
    sys.exit(main())
