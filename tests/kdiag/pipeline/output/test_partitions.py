import re
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest
from pyarrow import parquet

from kdiag.pipeline.output.partitions import added_up, plan_files
from kdiag.pipeline.output.staging import Staged, Staging
from kdiag.report.arrow import CAPTURE_FILE, extended
from kdiag.report.tables.catalog import TABLES
from spark_runs.written_tables import connections, files_in, write

DAY_NS = 86_400_000_000_000
HOUR_NS = DAY_NS // 24
MB = 1 << 20


def test_rows_lie_by_date(tmp_path: Path) -> None:
    """However many brokers there are."""
    rows = [(number % 2 * DAY_NS + number, f"b:{number}", "a") for number in range(1_000)]
    files = write(tmp_path, "r", *rows)

    assert [str(Path(file).parent) for file in files] == [
        "connections/date=1970-01-01",
        "connections/date=1970-01-02",
    ]
    assert all(re.fullmatch(r"r-t\d-[0-9a-f]{12}\.parquet", Path(file).name) for file in files)


def test_rows_lie_by_hour_on_request(tmp_path: Path) -> None:
    """Before 1970, too."""
    times = (-1, 0, HOUR_NS - 1, 23 * HOUR_NS, DAY_NS)
    files = write(tmp_path, "r", *((time_ns, "b:1", "a") for time_ns in times), is_hourly=True)

    assert [str(Path(file).parent) for file in files] == [
        "connections/date=1969-12-31/hour=23",
        "connections/date=1970-01-01/hour=0",
        "connections/date=1970-01-01/hour=23",
        "connections/date=1970-01-02/hour=0",
    ]


def test_a_file_is_sorted_by_broker_and_time_and_says_whose_run_it_is(tmp_path: Path) -> None:
    """So that statistics tell a reader what it need not read."""
    (file,) = write(tmp_path, "r", (3, "b:2", "a"), (2, "b:1", "b"), (1, "b:2", "c"))
    rows = parquet.read_table(tmp_path / file, partitioning=None)

    assert rows["client"].to_pylist() == ["b", "c", "a"]
    assert set(rows["run"].to_pylist()) == {"r"}
    assert "capture_file" in rows.schema.names


def test_duckdb_reads_what_was_written(tmp_path: Path) -> None:
    """The date comes from the path."""
    write(tmp_path, "r", (1, "[::1]:9092", "a"), (DAY_NS, "b:1", "b"))
    path = f"{tmp_path}/connections/**/*.parquet"
    found = duckdb.execute(
        "SELECT client, broker, CAST(date AS VARCHAR) FROM read_parquet($path, "
        "hive_partitioning = true) ORDER BY client",
        {"path": path},
    ).fetchall()

    assert found == [("a", "[::1]:9092", "1970-01-01"), ("b", "b:1", "1970-01-02")]


@pytest.mark.thorough
def test_many_days_need_not_many_open_files(tmp_path: Path) -> None:
    """A file that was opened first is completed, and goes on in another."""
    staging = Staging(str(tmp_path), 0)
    for _ in range(2):
        for day in range(100):
            staging.write(f"connections/day-{day}", connections((1, "b:1", "a")))
    staged = staging.close()

    assert sum(each.rows for each in staged) == 200
    assert len({each.uri for each in staged}) == len(staged) == 200


def staged(name: str, size: int, batches: int) -> Staged:
    """Return a staged file, which nobody reads."""
    return Staged(name, 0, "/nowhere", batches, batches, size)


def test_there_are_as_many_files_as_cores_are_busy_with_or_memory_holds() -> None:
    """Little things lie in one file; no file is of more rows than fit into memory."""
    few = [staged("gaps/date=1970-01-01", 1 * MB, 1)] * 40
    one_day = [staged("exchanges/date=1970-01-01", 100 * MB, 50)] * 2
    long = [staged("exchanges/date=1970-01-01", 1000 * MB, 100)] * 2

    assert [len(plan_files(files, 2)) for files in ([], few, one_day)] == [0, 2, 2]
    assert len(plan_files(one_day, 1000)) == 10
    batches = [
        sum(len(range(*each.batches)) for each in plan.pieces) for plan in plan_files(long, 2)
    ]
    assert max(batches) <= 16, "of 10 MB each"
    assert len(batches) < 20
    for files in (few, one_day, long):
        pieces = [piece for plan in plan_files(files, 2) for piece in plan.pieces]
        assert sum(piece.last - piece.first for piece in pieces) == sum(
            each.batches for each in files
        )


def test_rows_that_add_up_are_one_in_a_file() -> None:
    """Each task has counted its own; nulls are values like others."""
    schema = extended(TABLES["latency_minutes"], [CAPTURE_FILE])
    rows = pa.Table.from_pylist(
        [{"time_ns": 0, "client_id": name, "answers": 2} for name in ("a", None, "a")], schema
    )
    found = added_up(TABLES["latency_minutes"], rows)

    assert found.schema == schema
    assert {row["client_id"]: row["answers"] for row in found.to_pylist()} == {"a": 4, None: 2}
    assert added_up(TABLES["exchanges"], rows) is rows


def test_what_is_repeated_is_written_once(tmp_path: Path) -> None:
    """Also from a layout of an older release."""
    old = tmp_path / "connections/date=1970-01-01/broker=b%3A1/r-c0-0123456789ab-0.parquet"
    old.parent.mkdir(parents=True)
    parquet.write_table(pa.table({"client": ["old"]}), old)
    write(tmp_path, "r", (1, "b:1", "a"))

    assert len(files_in(tmp_path)) == 2, "a file that no entry names is not removed by others"
