from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from kdiag.pcap.packet import SegmentBatch
from kdiag.pcap.reader import CaptureReader
from kdiag.pipeline.packet_rows import PACKETS, PacketRows, Segments

CAPTURES = Path(__file__).parents[3] / "captures"


def read(file: Path) -> tuple[CaptureReader, list[SegmentBatch]]:
    """Return the segments of a capture, and what read them."""
    reader = CaptureReader([file])
    return reader, list(reader.read_segments())


@pytest.mark.parametrize("cut", [1, 1000])
def test_segments_come_back_as_they_were(cut: int) -> None:
    """Also from slices of the rows, which begin somewhere in the buffers."""
    for file in sorted(CAPTURES.glob("*.pcap")):
        reader, batches = read(file)
        rows = PacketRows(reader.addresses)
        back = Segments()
        for batch in batches:
            table = rows.batch(batch)
            pieces = [table.slice(at, cut) for at in range(0, table.num_rows, cut)]
            found = [back.batch(piece) for piece in pieces]
            for name in ("packet", "time_ns", "sequence", "acknowledgment", "flags", "window"):
                column = np.concatenate([getattr(each, name) for each in found])
                assert np.array_equal(column, getattr(batch, name))
            for name in ("source", "destination"):
                texts = [
                    back.addresses.endpoint_text(end)
                    for each in found
                    for end in getattr(each, name).tolist()
                ]
                assert texts == [
                    reader.addresses.endpoint_text(e) for e in getattr(batch, name).tolist()
                ]
            assert [each for part in found for each in payloads(part)] == payloads(batch)


def payloads(batch: SegmentBatch) -> list[bytes]:
    """Return the payloads of segments."""
    view = memoryview(batch.data)
    places = zip(batch.payload_offset.tolist(), batch.payload_bytes.tolist(), strict=True)
    return [bytes(view[start : start + size]) for start, size in places]


def test_both_directions_have_the_same_key() -> None:
    """What is shuffled by it comes together."""
    reader, (batch, *_) = read(CAPTURES / "acks.pcap")
    rows = PacketRows(reader.addresses).batch(batch)
    ends = list(zip(rows["low"].to_pylist(), rows["high"].to_pylist(), strict=True))

    assert all(low <= high for low, high in ends)
    assert {True, False} == set(rows["is_high"].to_pylist())
    assert len(set(ends)) < len(set(zip(batch.source, batch.destination, strict=True)))


def test_only_the_columns_that_are_wanted_are_made() -> None:
    """In the order of the schema."""
    reader, (batch, *_) = read(CAPTURES / "acks.pcap")
    rows = PacketRows(reader.addresses, ["packet", "is_high"]).batch(batch)

    assert rows.schema == pa.schema([PACKETS.field("packet"), PACKETS.field("is_high")])
