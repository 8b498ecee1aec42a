from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from pyspark.errors import PySparkException

from folders import CAPTURES
from kdiag.clock import TimeRange
from kdiag.errors import CaptureError
from kdiag.pipeline.input.source import (
    FAILFAST,
    CaptureSource,
    CaptureSourceReader,
    ReadOptions,
    read_packets,
)
from kdiag.pipeline.input.split import in_order, splits_text, walk
from kdiag.pipeline.rows.packets import PACKETS
from spark_runs.pipeline_parts import read_packets as read_here

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FILES = [CAPTURES / name for name in ("acks.pcap", "transaction.pcap")]


def reader(columns: list[str], **options: str) -> CaptureSourceReader:
    """Return a reader of some columns."""
    return CaptureSourceReader(columns, options)


def test_a_reader_yields_the_columns_that_it_is_asked_for() -> None:
    """Without splits, a partition is a file."""
    source = CaptureSource({"path": str(FILES[0])})
    assert source.schema().split(", ")[0] == "packet bigint"
    found = reader(["packet", "flags"], path=str(FILES[0]))
    (partition,) = found.partitions()
    batches = list(found.read(partition))

    assert {tuple(batch.schema.names) for batch in batches} == {("packet", "flags")}
    assert batches[0]["packet"].to_pylist()[:3] == [1, 2, 3]


def test_splits_outside_of_the_wanted_times_are_not_read() -> None:
    """They are no partitions at all."""
    splits = in_order([walk(str(file), 4096) for file in FILES])
    found = reader(["packet"], splits=splits_text(splits), **{"from": str(splits[-1].first_ns)})

    assert 0 < len(found.partitions()) < len(splits)


def test_what_is_wrong_with_the_options_is_said() -> None:
    """A column, a mode, a file."""
    with pytest.raises(ValueError, match="no such column: nothing"):
        reader(["nothing"])
    with pytest.raises(ValueError, match="mode is permissive or failfast"):
        reader(["packet"], mode="other")
    with pytest.raises(CaptureError, match="cannot be opened"):
        reader(["packet"], path='["/nowhere"]').partitions()


def test_damage_ends_a_file_or_fails_the_job(tmp_path: Path) -> None:
    """As the mode says."""
    file = tmp_path / "cut.pcap"
    file.write_bytes(FILES[0].read_bytes()[:-10])
    permissive = reader(["packet"], path=str(file))
    (partition,) = permissive.partitions()
    assert sum(batch.num_rows for batch in permissive.read(partition)) > 0
    with pytest.raises(CaptureError, match="ends within a packet"):
        list(reader(["packet"], path=str(file), mode=FAILFAST).read(partition))


@pytest.mark.real
def test_spark_reads_what_is_read_here(spark: "SparkSession") -> None:
    """All columns of all splits, or some of some times; a column that is not there fails."""
    splits = in_order([walk(str(file), 16 << 10) for file in FILES])
    here = read_here(splits, list(map(str, FILES)))
    rows = [row for batch in here for row in batch.select(PACKETS.names).to_pylist()]
    found = read_packets(spark, splits).orderBy("packet").collect()
    assert [row.asDict() for row in found] == rows
    assert list(found[0].asDict()) == PACKETS.names
    times = TimeRange(rows[5]["time_ns"], rows[-5]["time_ns"])
    some = read_packets(spark, splits, ReadOptions(("packet",), times)).collect()
    wanted = [row["packet"] for row in rows if times[0] <= row["time_ns"] < times[1]]
    assert sorted(row["packet"] for row in some) == wanted
    with pytest.raises(PySparkException, match="no such column"):
        spark.read.format("kdiag_packets").schema("other long").load(str(FILES[0])).collect()
