from datetime import UTC, datetime
from pathlib import Path

import pytest
from pyarrow import parquet

from kdiag.errors import ReportError
from kdiag.report import record_file
from kdiag.report.record_file import SCHEMA, RecordFile, RecordRows

ROWS = RecordRows(
    topic="orders",
    partition=3,
    timestamp_type="CreateTime",
    leader_epoch=5,
    is_aborted=True,
    offsets=[7, 9],
    timestamps=[1_700_000_000_123, -1],
    keys=[b"\xff", None],
    values=[None, b""],
    headers=[((b"h", b"\xff"), (b"n", None)), ()],
    controls=[None, "COMMIT"],
)


def test_a_record_is_a_row(tmp_path: Path) -> None:
    """Bytes are bytes, and null is null."""
    file = tmp_path / "orders.parquet"
    records = RecordFile(file)
    records.write(ROWS)
    assert not file.exists()
    records.close()

    table = parquet.read_table(file)

    assert table.schema.equals(SCHEMA)
    first, second = table.to_pylist()
    moment = datetime(2023, 11, 14, 22, 13, 20, 123_000, UTC)
    assert first == {
        "topic": "orders",
        "partition": 3,
        "offset": 7,
        "timestamp": moment,
        "timestamp_type": "CreateTime",
        "key": b"\xff",
        "value": None,
        "headers": [{"key": "h", "value": b"\xff"}, {"key": "n", "value": None}],
        "leader_epoch": 5,
        "aborted": True,
        "control": None,
    }
    assert (second["timestamp"], second["key"], second["value"]) == (None, None, b"")
    assert second["control"] == "COMMIT"


def test_many_records_make_several_groups(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """So that memory does not grow with the file."""
    monkeypatch.setattr(record_file, "_GROUP_ROWS", 1000)
    file = tmp_path / "orders.parquet"
    records = RecordFile(file)
    many = ROWS._replace(
        leader_epoch=-1,
        offsets=range(600),
        timestamps=range(600),
        keys=[None] * 600,
        values=[b"v"] * 600,
        headers=[()] * 600,
        controls=[None] * 600,
    )
    for _ in range(3):
        records.write(many)
    records.close()

    written = parquet.ParquetFile(file)

    assert written.metadata.num_rows == 1800
    assert written.metadata.num_row_groups == 2
    assert written.read().column("leader_epoch").null_count == 1800


def test_nothing_is_left_behind_when_it_is_given_up(tmp_path: Path) -> None:
    """An older file of that name stays."""
    file = tmp_path / "orders.parquet"
    file.write_bytes(b"older")
    records = RecordFile(file)
    records.write(ROWS)
    records.discard()
    assert [each.name for each in tmp_path.iterdir()] == ["orders.parquet"]
    assert file.read_bytes() == b"older"


def test_an_empty_file_has_the_columns(tmp_path: Path) -> None:
    """No records are an answer, too."""
    file = tmp_path / "none.parquet"
    RecordFile(file).close()
    assert parquet.read_table(file).schema.equals(SCHEMA)


def test_a_file_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    """At once, and not after an hour of reading."""
    with pytest.raises(ReportError, match=r"no/such\.parquet: No such file or directory"):
        RecordFile(tmp_path / "no" / "such.parquet")
