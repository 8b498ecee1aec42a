from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from folders import CAPTURES
from kdiag.pcap.packets.index import SegmentBatch
from kdiag.pcap.reader import CaptureReader
from kdiag.pipeline.input.segment_reader import SegmentReader, SplitRun
from kdiag.pipeline.input.split import walk
from kdiag.pipeline.rows.packets import PACKETS, PacketRows, RowSegments
from recordings.wrapped_captures import TENANTS
from tiers.cases import for_each


def read(file: Path) -> tuple[CaptureReader, list[SegmentBatch]]:
    """Return the segments of a capture, and what read them."""
    reader = CaptureReader([file])
    return reader, list(reader.read_segments())


@pytest.mark.thorough
@pytest.mark.parametrize("cut", [1, 1000])
def test_segments_come_back_as_they_were(cut: int) -> None:
    """Also from slices of the rows, which begin somewhere in the buffers."""
    for file in sorted(CAPTURES.glob("*.pcap")):
        reader, batches = read(file)
        rows = PacketRows(reader.addresses)
        back = RowSegments()
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
    positions = zip(batch.payload_offset.tolist(), batch.payload_bytes.tolist(), strict=True)
    return [bytes(view[start : start + size]) for start, size in positions]


def test_both_directions_have_the_same_key() -> None:
    """What is shuffled by it comes together."""
    reader, (batch, *_) = read(CAPTURES / "acks.pcap")
    rows = PacketRows(reader.addresses).batch(batch)
    ends = list(zip(rows["low"].to_pylist(), rows["high"].to_pylist(), strict=True))

    assert all(low <= high for low, high in ends)
    assert {True, False} == set(rows["is_high"].to_pylist())
    assert len(set(ends)) < len(set(zip(batch.source, batch.destination, strict=True)))


@pytest.mark.thorough
@for_each("tenants", TENANTS)
def test_networks_that_are_told_apart_stay_apart(tenants: str, tmp_path: Path) -> None:
    """The keys of tenants' connections differ, also where the rows are read again."""
    file = tmp_path / "tenants.pcap"
    file.write_bytes(TENANTS[tenants]())
    ends = []
    for apart in (False, True):
        split_run = SplitRun(walk(str(file)).splits, 0)
        reader = SegmentReader(split_run, separates_networks=apart)
        (batch,) = reader.read()
        rows, back = PacketRows(reader.index.addresses).batch(batch), RowSegments()
        found = {*back.batch(rows).source.tolist()}
        ends.append(len(found))
        assert len({*rows["low"].to_pylist()}) == len(found) / 2
        assert len({back.addresses.endpoint_text(end) for end in found}) == 2

    assert ends == [2, 4]


def test_only_the_columns_that_are_wanted_are_made() -> None:
    """In the order of the schema."""
    reader, (batch, *_) = read(CAPTURES / "acks.pcap")
    rows = PacketRows(reader.addresses, ["packet", "is_high"]).batch(batch)

    assert rows.schema == pa.schema([PACKETS.field("packet"), PACKETS.field("is_high")])


def test_rows_of_a_connection_have_the_same_part() -> None:
    """It is told by the key, which is the ends as the rows have them."""
    reader, (batch, *_) = read(CAPTURES / "acks.pcap")
    packet_rows = PacketRows(reader.addresses, ["low", "high"])
    ends = (column.to_pylist() for column in packet_rows.batch(batch).columns)
    parts = packet_rows.parts(batch, lambda key: key[-1]).tolist()

    for low, high, part in zip(*ends, parts, strict=True):
        assert part == (low + high)[-1]
