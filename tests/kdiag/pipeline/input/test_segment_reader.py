from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from scapy.layers.inet import IP, fragment

from kdiag.clock import ALWAYS, TimeRange
from kdiag.pcap.packets.index import SegmentBatch
from kdiag.pcap.reader import CaptureReader
from kdiag.pipeline.input.segment_reader import SegmentReader, SplitRun
from kdiag.pipeline.input.split import Split, walk
from recordings.hard_captures import base, write

if TYPE_CHECKING:
    from scapy.packet import Packet


@pytest.fixture
def fragmented(tmp_path: Path) -> Path:
    """Return a capture in which every large packet comes in fragments."""
    packets: list[Packet] = []
    for packet in base():
        packet[IP].id = len(packets) + 1
        pieces: list[Packet] = fragment(packet, fragsize=400)  # type: ignore[no-untyped-call]
        for index, piece in enumerate(pieces):
            piece.time = float(packet.time) + index * 1e-5
            packets.append(piece)
    return write(packets, tmp_path / "fragments.pcap")


def rows_of(batches: list[SegmentBatch]) -> list[tuple[int, int, int]]:
    """Return number, time and size of segments."""
    return [
        (int(packet), int(time_ns), int(size))
        for batch in batches
        for packet, time_ns, size in zip(
            batch.packet, batch.time_ns, batch.payload_bytes, strict=True
        )
    ]


def read_all(splits: list[Split], times: TimeRange = ALWAYS) -> list[SegmentBatch]:
    """Return the segments of all splits."""
    return [
        batch
        for number in range(len(splits))
        for batch in SegmentReader(SplitRun(splits, number), times).read()
    ]


@pytest.mark.thorough
@pytest.mark.parametrize("split_bytes", [500, 2000, 1 << 20])
def test_fragments_are_joined_over_splits(fragmented: Path, split_bytes: int) -> None:
    """A datagram belongs to the split with its first fragment, and to no other."""
    splits = walk(str(fragmented), split_bytes).splits
    expected = rows_of(list(CaptureReader([fragmented]).read_segments()))

    assert len(splits) > 1 or split_bytes > 2000
    assert sorted(rows_of(read_all(splits))) == expected


@pytest.mark.thorough
def test_a_range_of_times_leaves_out_other_packets(tmp_path: Path) -> None:
    """From the first that is wanted to before the last."""
    file = write(base(), tmp_path / "a.pcap")
    splits = walk(str(file), 2000).splits
    times = np.concatenate([batch.time_ns for batch in read_all(splits)]).tolist()
    wanted = TimeRange(times[3], times[9])

    assert [row[1] for row in rows_of(read_all(splits, wanted))] == times[3:9]
    assert rows_of(read_all(splits, TimeRange(times[-1] + 1, None))) == []


def test_damage_is_told(tmp_path: Path) -> None:
    """What is before it was read."""
    file = write(base(), tmp_path / "cut.pcap")
    with file.open("r+b") as opened:
        opened.truncate(file.stat().st_size - 10)
    (split,) = walk(str(file)).splits
    reader = SegmentReader(SplitRun([split], 0))

    assert rows_of(list(reader.read()))
    assert "ends within a packet" in reader.warning
