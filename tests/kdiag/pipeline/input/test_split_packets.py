from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from folders import CAPTURES
from kdiag.clock import TimeRange
from kdiag.errors import CaptureError
from kdiag.pipeline.input.split import Split, in_order, walk
from kdiag.pipeline.input.split_packets import (
    FAILFAST,
    BundleWork,
    Reading,
    bundle_groups,
    bundle_packets,
    read_packets,
    split_groups,
)
from kdiag.pipeline.rows.packets import NO_FILE, PACKETS, POSITIONS
from kdiag.pipeline.rows.partitioner import partition_evenly
from kdiag.pipeline.shared import Shared, share
from spark_runs.pipeline_parts import read_packets as read_here

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FILES = [CAPTURES / name for name in ("acks.pcap", "transaction.pcap")]
PARTS = 3


def splits_of(split_bytes: int = 16 << 10) -> list[Split]:
    """Return the splits of all files."""
    return in_order([walk(str(file), split_bytes) for file in FILES])


def shared(folder: Path, splits: list[Split]) -> tuple[Shared[list[Split]], Shared[BundleWork]]:
    """Return splits, and the work of eight tasks on them, as tasks get them."""
    work = BundleWork([*split_groups(splits, tasks=8)], partition_evenly(PARTS))
    return share(str(folder), splits, list[Split]), share(str(folder), work, BundleWork)


def rows_of(batches: list[pa.RecordBatch]) -> list[dict[str, Any]]:
    """Return the rows in some batches."""
    return [row for batch in batches for row in batch.to_pylist()]


def test_the_wanted_columns_of_all_packets_are_read() -> None:
    """Those of several files, numbered through; a payload of a plain file may stay there."""
    splits = splits_of()
    positions = (*PACKETS.names, *POSITIONS.names)
    rows = rows_of([*read_packets(splits, Reading(positions))])

    assert rows_of([*read_packets(splits, Reading(("packet", "flags")))]) == [
        {"packet": row["packet"], "flags": row["flags"]} for row in rows
    ]
    assert [row["packet"] for row in rows][:3] == [1, 2, 3]
    assert {row["file"] for row in rows} - {NO_FILE} == {0, 1}


def test_splits_outside_of_the_wanted_times_are_not_read() -> None:
    """They are in no group; those that are, are in one group each."""
    splits = splits_of(4096)
    times = TimeRange(splits[-1].first_ns, None)
    groups = [*split_groups(splits, times, tasks=8)]
    numbers = [number for group in groups for number in group.numbers]

    assert numbers == [at for at, split in enumerate(splits) if split.overlaps(*times)]
    assert 0 < len(numbers) < len(splits)
    packets = rows_of([*read_packets(splits, Reading(("time_ns",), times))])
    assert packets == [
        {"time_ns": row["time_ns"]}
        for row in rows_of([*read_packets(splits, Reading())])
        if row["time_ns"] >= splits[-1].first_ns
    ]


@pytest.mark.thorough
def test_a_task_bundles_the_packets_of_its_groups(tmp_path: Path) -> None:
    """All of them, for the parts that their connections are in."""
    splits, work = shared(tmp_path, splits_of())
    tasks = range(len(work.value.groups))
    bundles = [
        row
        for number in tasks
        for row in rows_of(
            [*bundle_groups(splits, Reading(), work, [pa.record_batch({"id": [number]})])]
        )
    ]
    packets = [
        packet
        for bundle in bundles
        for packet in pa.ipc.read_record_batch(bundle["rows"], PACKETS)["packet"].to_pylist()
    ]

    assert len(tasks) > 1
    assert {bundle["part"] for bundle in bundles} == set(range(PARTS))
    assert sorted(packets) == [
        row["packet"] for row in rows_of([*read_packets(splits.value, Reading(("packet",)))])
    ]


def test_damage_ends_a_file_or_fails_the_job(tmp_path: Path) -> None:
    """As the mode says."""
    file = tmp_path / "cut.pcap"
    file.write_bytes(FILES[0].read_bytes()[:-10])
    splits = walk(str(file), 1 << 20).splits

    assert rows_of([*read_packets(splits, Reading())])
    with pytest.raises(CaptureError, match="ends within a packet"):
        list(read_packets(splits, Reading(mode=FAILFAST)))


@pytest.mark.soak
def test_spark_reads_what_is_read_here(spark: "SparkSession", tmp_path: Path) -> None:
    """All packets of all splits, though tasks read them wherever they run."""
    splits, work = shared(tmp_path, splits_of())
    found = bundle_packets(spark, splits, Reading(), work).collect()
    rows = [
        packet
        for bundle in found
        for packet in pa.ipc.read_record_batch(pa.py_buffer(bundle["rows"]), PACKETS).to_pylist()
    ]
    here = rows_of(
        [each.select(PACKETS.names) for each in read_here(splits.value, list(map(str, FILES)))]
    )

    assert sorted(rows, key=lambda row: row["packet"]) == here
