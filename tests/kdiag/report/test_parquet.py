import os
import resource
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from pyarrow import parquet

from kdiag.errors import ReportError
from kdiag.exchange.context.topic_names import TopicNames
from kdiag.exchange.dissection import Dissection
from kdiag.report.arrow import arrow_schema
from kdiag.report.parquet import ParquetTables, table_file
from kdiag.report.tables.catalog import DEFAULT_CHOICE, TABLES, TableChoice
from kdiag.wire.api.heartbeat import HeartbeatRequest, HeartbeatResponse
from recordings.exchange_maker import make_connection, make_exchange


def heartbeat() -> Dissection:
    """Return an exchange."""
    request = HeartbeatRequest(group_id="billing")
    return Dissection(make_exchange(request, HeartbeatResponse(), version=4))


def names_in(folder: Path) -> list[str]:
    """Return the names of the files in a folder."""
    return sorted(path.name for path in folder.iterdir())


def test_a_table_is_a_file_when_it_is_complete(tmp_path: Path) -> None:
    """Until then its rows are hidden; a table without rows is a file too."""
    folder = tmp_path / "new" / "tables"
    tables = ParquetTables(folder, TopicNames())
    tables.exchange(heartbeat())
    tables.connection(make_connection())
    assert all(name.startswith(".") for name in names_in(folder))
    tables.finish()

    expected = [
        *("batches", "captures", "connections", "exchanges", "gaps", "latency_minutes"),
        *("members", "not_understood", "rebalances"),
    ]
    assert names_in(folder) == [f"{name}.parquet" for name in expected]
    counts = [parquet.read_metadata(table_file(folder, name)).num_rows for name in expected]
    assert counts == [0, 0, 1, 1, 0, 1, 1, 0, 0]
    for name in expected:
        assert parquet.read_schema(table_file(folder, name)).equals(arrow_schema(TABLES[name]))


def test_the_tables_of_an_earlier_run_stay_until_the_new_ones_are_complete(tmp_path: Path) -> None:
    """What was given up leaves nothing behind."""
    first = ParquetTables(tmp_path, TopicNames(), TableChoice(records=True))
    first.exchange(heartbeat())
    first.finish()
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    second = ParquetTables(tmp_path, TopicNames())
    second.exchange(heartbeat())
    second.discard()
    second.discard()

    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_records_of_an_earlier_run_do_not_stay_beside_new_tables(tmp_path: Path) -> None:
    """They would belong to other exchanges."""
    ParquetTables(tmp_path, TopicNames(), TableChoice(records=True)).finish()
    assert "records.parquet" in names_in(tmp_path)
    ParquetTables(tmp_path, TopicNames()).finish()

    assert "records.parquet" not in names_in(tmp_path)


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    """A file is in its place."""
    (tmp_path / "file").write_text("")

    with pytest.raises(ReportError, match="file/tables: cannot be written"):
        ParquetTables(tmp_path / "file" / "tables", TopicNames())


@contextmanager
def largest_file(size: int) -> Iterator[None]:
    """Let no file grow beyond a size."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_disk_that_is_full_at_once_is_one_error(tmp_path: Path) -> None:
    """The first bytes of a table say so."""
    with largest_file(2), pytest.raises(ReportError, match="cannot be written"):
        ParquetTables(tmp_path, TopicNames())


@pytest.mark.parametrize(
    ("choice", "mode"), [(DEFAULT_CHOICE, 0o644), (TableChoice(show_secrets=True), 0o600)]
)
def test_tables_with_secrets_are_their_owners_alone(
    tmp_path: Path, choice: TableChoice, mode: int
) -> None:
    """A link that somebody has put in their place, or in that of a part, is not followed."""
    target = tmp_path / "target"
    target.write_text("precious")
    for name in ("gaps.parquet", ".gaps.parquet.partial"):
        (tmp_path / name).symlink_to(target)
    before = os.umask(0o022)
    try:
        ParquetTables(tmp_path, TopicNames(), choice).finish()
    finally:
        os.umask(before)

    modes = {stat.S_IMODE(each.lstat().st_mode) for each in tmp_path.glob("*.parquet")}
    assert modes == {mode}
    assert not (tmp_path / "gaps.parquet").is_symlink()
    assert target.read_text() == "precious"


def test_a_disk_that_becomes_full_is_one_error(tmp_path: Path) -> None:
    """What was written until then is removed."""
    tables = ParquetTables(tmp_path, TopicNames())
    for _ in range(100):
        tables.exchange(heartbeat())

    with largest_file(1_000):
        with pytest.raises(ReportError, match="cannot be written"):
            tables.finish()
        tables.discard()
    assert names_in(tmp_path) == []
