import signal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet

from folders import CAPTURES
from kdiag.errors import ReportError
from kdiag.report.engine import Database, ask_spark, holds_tables, open_folder, open_tables, rows_of
from kdiag.report.sql_report import Query, load_report
from recordings.capture_tables import tables_of
from tiers.cases import for_each

TABLES = tables_of([CAPTURES / "produce_consume_group.pcap"])


def write(folder: Path) -> Path:
    """Write the tables of a capture into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, table in TABLES.items():
        parquet.write_table(table, folder / f"{name}.parquet")
    return folder


def ask(database: Database, sql: str, **values: Any) -> list[tuple[Any, ...]]:
    """Return the rows of an answer."""
    batches = rows_of(database.ask(Query(sql, values)))
    return [tuple(row.values()) for batch in batches for row in batch.to_pylist()]


def test_tables_in_memory_are_asked() -> None:
    """By their names, with parameters."""
    with open_tables(TABLES) as database:
        assert ask(database, "SELECT count(*) FROM exchanges") == [(32,)]
        rows = ask(database, "SELECT DISTINCT topic FROM batches WHERE partition = $p", p=1)
        assert rows == [("orders",)]


@pytest.mark.thorough
def test_tables_in_a_folder_are_asked(tmp_path: Path) -> None:
    """Whatever the folder is called."""
    folder = write(tmp_path / "it's [1] * 2?")
    assert holds_tables(folder)
    with open_folder(folder, memory_limit="500MB") as database:
        assert ask(database, "SELECT count(*) FROM exchanges") == [(32,)]


@pytest.mark.thorough
def test_a_table_that_nobody_has_asked_for_is_empty() -> None:
    """A report joins it, and says so."""
    with open_tables(TABLES) as database:
        assert ask(database, "SELECT count(*) FROM tcp") == [(0,)]
        assert database.unmade == ["tcp"]
    with open_tables(TABLES | {"tcp": pa.table({"bytes": [1]})}) as database:
        assert ask(database, "SELECT bytes FROM tcp") == [(1,)]
        assert database.unmade == []


@pytest.mark.thorough
def test_a_relative_folder_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As it is given on a command line."""
    write(tmp_path / "tables")
    monkeypatch.chdir(tmp_path)
    with open_folder(Path("tables")) as database:
        assert ask(database, "SELECT count(*) FROM gaps") == [(0,)]


@pytest.mark.thorough
def test_partitioned_tables_are_asked(tmp_path: Path) -> None:
    """As a cluster writes them: what the names of folders say is a column."""
    for day, part in (("2026-11-20", 0), ("2026-11-21", 1)):
        for name, table in TABLES.items():
            folder = tmp_path / name / f"date={day}"
            folder.mkdir(parents=True)
            half = table.num_rows // 2
            piece = table.slice(0, half) if part else table.slice(half)
            parquet.write_table(piece, folder / "part-0.parquet")
    with open_folder(tmp_path) as database:
        rows = ask(database, "SELECT CAST(date AS VARCHAR), count(*) FROM exchanges GROUP BY 1")
        assert sorted(rows) == [("2026-11-20", 16), ("2026-11-21", 16)]


def test_a_folder_without_tables_is_refused(tmp_path: Path) -> None:
    """Also one that does not exist, and one whose files are no Parquet."""
    with pytest.raises(ReportError, match="holds no tables"):
        open_folder(tmp_path)
    assert not holds_tables(tmp_path / "nowhere")
    (tmp_path / "exchanges.parquet").write_text("no Parquet")
    with pytest.raises(ReportError, match="cannot be read"):
        open_folder(tmp_path)


@pytest.mark.thorough
@for_each(
    ("sql", "why"),
    [
        ("SELEC 1", "syntax error"),
        ("SELECT nothing FROM exchanges", "nothing"),
        ("SELECT 1; SELECT 2", "expected one SELECT"),
        ("", "expected one SELECT"),
        ("SELECT $who", "parameter"),
        ("SELECT * FROM records", "written only when asked for"),
        ("SELECT CAST(api AS INT) FROM exchanges", "Conversion Error"),
    ],
)
def test_a_wrong_question_is_one_error(sql: str, why: str) -> None:
    """It says what DuckDB says."""
    with open_tables(TABLES) as database, pytest.raises(ReportError, match=why):
        ask(database, sql)


@pytest.mark.thorough
def test_a_table_of_an_earlier_release_lacks_columns() -> None:
    """The answer says what to do, where DuckDB guesses at names."""
    older = TABLES | {"exchanges": TABLES["exchanges"].drop_columns(["allowed_wait_ms"])}
    with open_tables(older) as database:
        with pytest.raises(
            ReportError, match=r"no column allowed_wait_ms here: another .* earlier"
        ):
            database.ask(load_report("waits").query())
        with pytest.raises(
            ReportError, match=r"no column allowed_wait_ms here: another .* earlier"
        ):
            ask(database, "SELECT e.allowed_wait_ms FROM exchanges AS e")
        with pytest.raises(ReportError, match="no column topic here: another table has it"):
            ask(database, "SELECT topic FROM exchanges")


SECRET = "nobody may read this"


def refusal(database: Database, sql: str) -> str | None:
    """Return why a question is refused; None if it is not."""
    try:
        ask(database, sql)
    except ReportError as error:
        return str(error)
    return None


FORBIDDEN = (
    "SELECT * FROM read_text('{file}')",
    "SELECT * FROM read_csv('{file}')",
    "SELECT * FROM '{file}'",
    "SELECT * FROM glob('{parent}/*')",
    "SELECT * FROM read_blob('{tables}/../secret.csv')",
    "SELECT * FROM read_csv('{tables}/secret.csv')",
    "SELECT * FROM read_csv('{tables}/*.csv')",
    "SELECT * FROM enable_logging(storage = 'file', storage_config = {{'path': '{parent}'}})",
    "SELECT * FROM local_variable",
    "COPY exchanges TO '{parent}/out.csv'",
    "COPY exchanges TO '{tables}/exchanges.parquet'",
    "EXPORT DATABASE '{parent}/out'",
    "ATTACH '{parent}/out.db'",
    "INSTALL httpfs",
    "LOAD httpfs",
    "SET enable_external_access = true",
    "RESET lock_configuration",
    "DROP VIEW exchanges",
    "CREATE TABLE mine AS SELECT 1",
    "CALL pragma_version()",
)


@pytest.mark.thorough
@pytest.mark.parametrize("is_folder", [False, True])
def test_a_question_reads_the_tables_and_nothing_else(tmp_path: Path, *, is_folder: bool) -> None:
    """No file, no variable of the program, no extension, no setting; and it writes nothing."""
    local_variable = pa.table({"secret": [SECRET]})
    tables = write(tmp_path / "tables")
    file = tmp_path / "secret.csv"
    for each in (file, tables / "secret.csv"):
        each.write_text(SECRET)
    before = sorted(tmp_path.rglob("*")), (tables / "exchanges.parquet").read_bytes()
    with open_folder(tables) if is_folder else open_tables(TABLES) as database:
        for sql in FORBIDDEN:
            why = refusal(database, sql.format(file=file, parent=tmp_path, tables=tables))
            assert why is not None, sql
            assert SECRET not in why, sql
            assert ask(database, "SELECT count(*) FROM exchanges") == [(32,)], sql
            after = sorted(tmp_path.rglob("*")), (tables / "exchanges.parquet").read_bytes()
            assert after == before, sql

    assert local_variable.num_rows == 1


@pytest.mark.thorough
def test_what_does_not_fit_into_memory_goes_to_disk(tmp_path: Path) -> None:
    """A sort of more than the limit succeeds."""
    folder = write(tmp_path)
    with open_folder(folder, memory_limit="64MB") as database:
        sql = (
            "WITH many AS (SELECT hash(n) AS h, repeat('x', 100) AS t FROM range(1000000) AS r(n)),"
            " placed AS (SELECT t, row_number() OVER (ORDER BY h) AS place FROM many)"
            " SELECT max(place) FROM placed"
        )
        assert ask(database, sql) == [(1_000_000,)]


@pytest.mark.thorough
def test_what_goes_wrong_while_the_answer_is_read_is_the_same_error() -> None:
    """The last row may be the first that has no such form."""
    with open_tables(TABLES) as database, pytest.raises(ReportError, match="query: "):
        ask(database, "SELECT CAST(if(n = 99999, 'x', '1') AS INT) FROM range(100000) AS r(n)")


class Session:
    """A Spark session that remembers what it was asked."""

    def sql(self, sqlQuery: str, args: dict[str, Any]) -> object:  # noqa: N803 - PySpark's name
        """Return the question."""
        return sqlQuery, args


@pytest.mark.thorough
def test_spark_is_asked_in_its_own_words() -> None:
    """Parameters go with the question."""
    text, values = ask_spark(Session(), load_report("compat").query({"target": "4.1"}))

    assert ":target" in text
    assert values == {"target": 40_001}


@pytest.mark.thorough
def test_one_exchange_may_be_asked_for_in_full() -> None:
    """Lists and structs come as they are."""
    with open_tables(TABLES) as database:
        sql = "SELECT topics, broker_versions[1] FROM exchanges WHERE api = 'ApiVersions' LIMIT 1"
        ((topics, versions),) = ask(database, sql)
        assert topics == []
        assert set(versions) == {"api_key", "min_version", "max_version"}


def interrupt(*_: object) -> None:
    """Interrupt the main thread, as Ctrl-C does."""
    raise KeyboardInterrupt


@pytest.mark.thorough
@pytest.mark.parametrize(
    "sql",
    [
        "SELECT count(*) FROM range(100000000) a, range(100000) b WHERE hash(a.range, b.range) = 1",
        "SELECT a.range FROM range(10000000000) a WHERE hash(a.range) = 1 AND a.range > 5",
    ],
    ids=["at once", "bit by bit"],
)
def test_an_interrupt_ends_a_query_that_runs(sql: str) -> None:
    """The database can be asked again; nothing is left that goes on computing."""
    before = signal.signal(signal.SIGALRM, interrupt)
    with open_tables(TABLES) as database:
        try:
            signal.setitimer(signal.ITIMER_REAL, 0.2)
            with pytest.raises(KeyboardInterrupt):
                list(database.rows_of(database.ask(Query(sql, {}))))
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)
        answer = database.ask(Query("SELECT 1 AS one", {}))
        assert [each.to_pydict() for each in database.rows_of(answer)] == [{"one": [1]}]
