"""Captures of groups whose coordinator's log was kept, whole and with packets taken out."""

import gzip
import json
import os
import random
import struct
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, NamedTuple

from folders import DATA
from kdiag.diagnosis.rebalance.capture.capture_events import CaptureEvents
from kdiag.diagnosis.rebalance.histories import histories_of
from kdiag.diagnosis.rebalance.log_histories import histories_of_log
from kdiag.diagnosis.rebalance.log_lines import read_lines
from kdiag.diagnosis.rebalance.model import GroupHistory
from kdiag.exchange.dissection import Dissection
from kdiag.exchange.model import Connection, Gap
from kdiag_cli.captures.reading import CaptureReading
from kdiag_cli.options.captures import CaptureInputs

FOLDER: Final = DATA / "rebalances"
NAMES: Final = sorted(path.name.removesuffix(".log.gz") for path in FOLDER.glob("*.log.gz"))
_IP_AT: Final = {1: 14, 101: 0, 113: 16, 276: 20}
"""Where IP begins in a packet, by link type."""
_LOST: Final = 0.02


class RecordedGroup(NamedTuple):
    """A capture and the log of the coordinator.

    Attributes:
        name: of the recording.
        capture: the bytes of its savefile.
        log: its lines about groups.
    """

    name: str
    capture: bytes
    log: list[str]


def recorded_group(name: str) -> RecordedGroup:
    """Return one of the recordings that are kept."""
    capture = gzip.decompress((FOLDER / f"{name}.pcap.gz").read_bytes())
    log = gzip.decompress((FOLDER / f"{name}.log.gz").read_bytes()).decode().splitlines()
    return RecordedGroup(name, capture, log)


def further_groups() -> Iterator[RecordedGroup]:
    """Yield the recordings that are too large to be kept, from the place that is set for them."""
    folder = Path(os.environ.get("KDIAG_REFERENCE", "nowhere")) / "captures"
    for path in sorted(folder.glob("*.json")):
        lines = json.loads(path.read_text(encoding="utf-8")).get("broker_log") or []
        if lines and path.stem not in NAMES:
            log = [f"[{_log_time(each['t'])}] INFO {each['line']} (kafka.Log)" for each in lines]
            yield RecordedGroup(path.stem, path.with_suffix(".pcap").read_bytes(), log)


def _log_time(seconds: float) -> str:
    moment = datetime.fromtimestamp(seconds, UTC)
    return f"{moment:%Y-%m-%d %H:%M:%S},{moment.microsecond // 1000:03}"


def histories_of_capture(capture: bytes, folder: Path) -> list[GroupHistory]:
    """Return what a capture tells."""
    return histories_of(events_of_capture(capture, folder).in_order(), "capture")


def events_of_capture(capture: bytes, folder: Path) -> CaptureEvents:
    """Return the events of a capture."""
    path = folder / "traffic.pcap"
    path.write_bytes(capture)
    reading = CaptureReading(CaptureInputs(files=[str(path)]))
    events = CaptureEvents(reading.names.name)
    reading.read(_EventPrinter(events), shows_progress=False)
    return events


def histories_of_lines(log: list[str]) -> list[GroupHistory]:
    """Return what a log tells."""
    return histories_of_log(read_lines("server.log", log))


class _EventPrinter:
    def __init__(self, events: CaptureEvents) -> None:
        self._events = events

    def exchange(self, dissection: Dissection) -> None:
        """Take an exchange."""
        self._events.add(dissection)

    def gap(self, _: Gap) -> None:
        """Take a gap."""

    def connection(self, _: Connection) -> None:
        """Take a connection."""

    def finish(self) -> None:
        """Take the end."""


def cuts(capture: bytes, seed: str) -> Iterator[tuple[str, bytes]]:
    """Yield a capture with packets missing: how, and the bytes that are left.

    The first third, one direction, packets drawn by the seed, and each client's connections in
    turn.
    """
    head, packets = _packets(capture)
    at = _IP_AT[struct.unpack_from("<I", head, 20)[0]]
    ports = [_ports(packet, at) for packet in packets]
    brokers = _broker_ports(ports)
    draw = random.Random(seed)
    kept = {
        "late": [index >= len(packets) // 3 for index in range(len(packets))],
        "requests": [target in brokers for _, target in ports],
        "responses": [source in brokers for source, _ in ports],
        "loss": [draw.random() >= _LOST for _ in packets],
    }
    for port in sorted({port for pair in ports for port in pair} - brokers):
        kept[f"without {port}"] = [port not in pair for pair in ports]
    for name, stays in kept.items():
        left = [packet for packet, is_kept in zip(packets, stays, strict=True) if is_kept]
        yield name, head + b"".join(left)


def _packets(capture: bytes) -> tuple[bytes, list[bytes]]:
    packets, place = [], 24
    while place < len(capture):
        end = place + 16 + int(struct.unpack_from("<I", capture, place + 8)[0])
        packets.append(capture[place:end])
        place = end
    return capture[:24], packets


def _ports(packet: bytes, ip_at: int) -> tuple[int, int]:
    ip = packet[16 + ip_at :]
    header_bytes = (ip[0] & 15) * 4 if ip[0] >> 4 == 4 else 40
    source, target = struct.unpack_from(">HH", ip, header_bytes)
    return source, target


def _broker_ports(pairs: list[tuple[int, int]]) -> set[int]:
    """Return the ports below those that systems give to clients."""
    return {port for pair in pairs for port in pair if port < 30_000}


def write_group(name: str, folder: Path) -> tuple[Path, Path]:
    """Write a recording as files; return the capture and the log."""
    recorded = recorded_group(name)
    capture, log = folder / f"{name}.pcap", folder / f"{name}.log"
    capture.write_bytes(recorded.capture)
    log.write_text("\n".join(recorded.log) + "\n", encoding="utf-8")
    return capture, log
