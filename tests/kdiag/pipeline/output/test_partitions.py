from pathlib import Path

import duckdb
import pyarrow as pa
import pytest

from kdiag.pipeline.output.partitions import TableFiles, commit, read_manifest
from kdiag.report.arrow import arrow_schema
from kdiag.report.engine import open_folder
from kdiag.report.sql_report import Query
from kdiag.report.tables.catalog import TABLES

DAY_NS = 86_400_000_000_000


def connections(*rows: tuple[int, str, str]) -> pa.RecordBatch:
    """Return rows of `connections`: first time, broker, client."""
    schema = arrow_schema(TABLES["connections"])
    given = {"first_ns": 0, "broker": 1, "client": 2}
    columns = {
        field.name: pa.array(
            [row[given[field.name]] if field.name in given else None for row in rows], field.type
        )
        for field in schema
    }
    return pa.record_batch(columns, schema=schema)


def write(folder: Path, run: str, *rows: tuple[int, str, str]) -> list[str]:
    """Write rows as a run, and commit it; return the files that are there then."""
    files = TableFiles(f"{folder}/_runs/{run}.staging", run, "0")
    files.write("connections", connections(*rows))
    commit(str(folder), run, files.close(), ["a warning"])
    return sorted(str(path.relative_to(folder)) for path in folder.glob("connections/**/*.parquet"))


def test_rows_lie_by_date_and_broker(tmp_path: Path) -> None:
    """Whatever characters a broker's address has."""
    files = write(
        tmp_path, "r", (1, "[::1]:9092", "a"), (DAY_NS, "b:1", "b"), (DAY_NS + 1, "b:1", "c")
    )

    assert files == [
        "connections/date=1970-01-01/broker=%5B%3A%3A1%5D%3A9092/r-0-0.parquet",
        "connections/date=1970-01-02/broker=b%3A1/r-0-0.parquet",
    ]


def test_duckdb_reads_what_was_written(tmp_path: Path) -> None:
    """The broker comes from the path, as it was."""
    write(tmp_path, "r", (1, "[::1]:9092", "a"), (DAY_NS, "b:1", "b"))
    path = f"{tmp_path}/connections/**/*.parquet"
    found = duckdb.execute(
        "SELECT client, broker, CAST(date AS VARCHAR) FROM read_parquet($path, "
        "hive_partitioning = true) ORDER BY client",
        {"path": path},
    ).fetchall()

    assert found == [("a", "[::1]:9092", "1970-01-01"), ("b", "b:1", "1970-01-02")]


def test_a_run_replaces_itself_and_no_other(tmp_path: Path) -> None:
    """Also where it has less to say than before."""
    write(tmp_path, "one", (1, "b:1", "a"), (DAY_NS, "b:1", "b"))
    write(tmp_path, "two", (1, "b:1", "c"))
    files = write(tmp_path, "one", (1, "b:1", "d"))

    assert [Path(file).name for file in files] == ["one-0-0.parquet", "two-0-0.parquet"]
    manifest = read_manifest(str(tmp_path), "one")
    assert manifest is not None
    assert (manifest.rows, manifest.is_complete) == ({"connections": 1}, True)
    assert manifest.warnings == ["a warning"]
    assert read_manifest(str(tmp_path), "three") is None


def test_a_commit_that_broke_off_is_repeated(tmp_path: Path) -> None:
    """Whatever was in place by then belongs to the run."""
    files = TableFiles(f"{tmp_path}/_runs/r.staging", "r", "0")
    files.write("connections", connections((1, "b:1", "a"), (DAY_NS, "b:1", "b")))
    written = files.close()
    Path(written[1].uri).rename(tmp_path / "elsewhere")
    with pytest.raises(OSError, match="No such file"):
        commit(str(tmp_path), "r", written, [])
    broken = read_manifest(str(tmp_path), "r")
    assert broken is not None
    assert not broken.is_complete

    assert len(write(tmp_path, "r", (1, "b:1", "d"))) == 1


def test_reports_find_the_tables(tmp_path: Path) -> None:
    """As they find those of one file each."""
    write(tmp_path, "r", (1, "b:1", "a"))
    (tmp_path / "connections").rename(tmp_path / "exchanges")
    with open_folder(tmp_path) as database:
        (answer,) = database.ask(Query("SELECT broker, client FROM exchanges", {}))

    assert answer.to_pylist() == [{"broker": "b:1", "client": "a"}]


def test_many_brokers_need_not_many_open_files(tmp_path: Path) -> None:
    """The one that was opened first is closed, and goes on in another."""
    files = TableFiles(f"{tmp_path}/_runs/r.staging", "r", "0")
    rows = [(1, f"b:{port}", "a") for port in range(100)]
    for _ in range(2):
        files.write("connections", connections(*rows))
    manifest = commit(str(tmp_path), "r", files.close(), [])

    assert manifest.rows == {"connections": 200}
    assert len(manifest.files) == len(set(manifest.files)) == 200
