from pathlib import Path

from pyarrow import parquet

from kdiag.wire.records.record import Record
from kdiag_cli.commands.tail.parquet import ParquetPrinter
from made_values.record_run_maker import marker, run_of


def test_runs_become_rows(tmp_path: Path) -> None:
    """With what is the same for all of a run in each."""
    file = tmp_path / "orders.parquet"
    printer = ParquetPrinter(file)
    printer.write(run_of([Record(n, n, b"k", b"v", ((b"h", b"1"),)) for n in range(200)]))
    printer.write(run_of([Record(200, 0)], "payments", 4, is_aborted=True))
    printer.write(marker())
    printer.finish()

    rows = parquet.read_table(file).to_pylist()

    assert [row["offset"] for row in rows] == [*range(200), 200, 9]
    assert rows[0]["headers"] == [{"key": "h", "value": b"1"}]
    assert [
        (row["topic"], row["partition"], row["aborted"], row["control"]) for row in rows[199:]
    ] == [
        ("orders", 0, False, None),
        ("payments", 4, True, None),
        ("orders", 0, False, "COMMIT"),
    ]
