import re
from pathlib import Path

import duckdb

from kdiag.pipeline.output.partitions import TableFiles
from spark_runs.written_tables import connections, write

DAY_NS = 86_400_000_000_000


def test_rows_lie_by_date_and_broker(tmp_path: Path) -> None:
    """Whatever characters a broker's address has."""
    files = write(
        tmp_path, "r", (1, "[::1]:9092", "a"), (DAY_NS, "b:1", "b"), (DAY_NS + 1, "b:1", "c")
    )

    assert [str(Path(file).parent) for file in files] == [
        "connections/date=1970-01-01/broker=%5B%3A%3A1%5D%3A9092",
        "connections/date=1970-01-02/broker=b%3A1",
    ]
    assert all(re.fullmatch(r"r-c0-[0-9a-f]{12}-0\.parquet", Path(file).name) for file in files)


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


def test_many_brokers_need_not_many_open_files(tmp_path: Path) -> None:
    """The one that was opened first is closed, and goes on in another."""
    files = TableFiles(str(tmp_path), "r", "c0")
    rows = [(1, f"b:{port}", "a") for port in range(100)]
    for _ in range(2):
        files.write("connections", connections(*rows))
    written = files.close()

    assert sum(each.rows for each in written) == 200
    assert len({each.target for each in written}) == 200
