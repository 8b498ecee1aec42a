"""Captures as other recorders would have written them: packets late, one direction alone."""

from pathlib import Path
from typing import Any

import pytest

from folders import CAPTURES
from kdiag.clock import NS_PER_MS
from kdiag.exchange.model import Exchange, Gap
from kdiag.pcap.decoder import decode_capture
from kdiag.pcap.reader import CaptureReader
from recordings.capture_writer import NANOSECONDS, Packet, savefile

FILES = sorted(CAPTURES.glob("*.pcap"))


def read(source: Path) -> list[tuple[Any, ...]]:
    """Return the exchanges, gaps and connections of a capture as plain values, in an order."""
    found: list[tuple[Any, ...]] = []
    for item in decode_capture([source]):
        if isinstance(item, Exchange):
            frames = (item.request, item.response)
            sizes = [
                frame and (frame.data, frame.first_byte_ns, frame.segments) for frame in frames
            ]
            kind = (item.api_key, item.version, item.correlation_id, item.client_id)
            found.append((item.number, *kind, item.pairing, item.latency_ns, *sizes))
        elif isinstance(item, Gap):
            found.append(("gap", item.direction, item.size, item.is_missing))
        else:
            counts = (item.requests, item.responses, item.duplicates, item.close_reason)
            found.append((item.connection_id, *counts))
    return sorted(found, key=repr)


def packets_of(source: Path) -> tuple[list[Packet], int]:
    """Return the packets of a capture, and its link type."""
    packets, link_type = [], 0
    for block, _ in CaptureReader([source]).read_blocks():
        link_type = int(block.link_type[0])
        columns = (block.offset, block.captured, block.original, block.time_ns)
        for start, captured, original, time_ns in zip(
            *(column.tolist() for column in columns), strict=True
        ):
            data = block.data[start : start + captured].tobytes()
            packets.append(Packet(data, time_ns, original))
    return packets, link_type


def write_late(source: Path, target: Path, late_ns: int) -> Path:
    """Write a capture as a recorder would that gets each second packet late."""
    packets, link_type = packets_of(source)
    written = sorted(
        enumerate(packets), key=lambda each: (each[1].time_ns + late_ns * (each[0] % 2), each[0])
    )
    ordered = [packet for _, packet in written]
    assert ordered != packets
    target.write_bytes(savefile(ordered, magic=NANOSECONDS, link_type=link_type))
    return target


def check_late(source: Path, folder: Path) -> None:
    """Check that a capture reads alike where each second packet is late."""
    expected = read(source)
    for late_ns in (NS_PER_MS, 10 * NS_PER_MS):
        assert read(write_late(source, folder / "late.pcap", late_ns)) == expected


def test_a_capture_with_late_packets_reads_like_the_one_in_order(tmp_path: Path) -> None:
    """Two ports of a bond, or several queues: nothing is lost, and no broker is accused."""
    check_late(CAPTURES / "acks.pcap", tmp_path)


@pytest.mark.thorough
@pytest.mark.parametrize("source", FILES, ids=lambda each: each.stem)
def test_every_capture_with_late_packets_reads_like_the_one_in_order(
    source: Path, tmp_path: Path
) -> None:
    """1 and 10 ms late."""
    check_late(source, tmp_path)
