"""Reports: questions that users ask, each with its answer as a file of SQL.

They lie in folders by what they are about, which is no part of their names.

A file begins with comments: the question, notes on the answer, and the parameters.

    -- Which clients break on Kafka 4?
    --
    -- By the final table of KIP-896 ...
    --
    -- parameter target (version) = 4.0: the release that the brokers are to have.
    -- wide: software_version, client_host
    SELECT ... WHERE since <= $target

What is `wide` makes room for the other columns on a narrow terminal, the first of them first. A
line `-- more: ...` says where people find what the answer does not have.

The dialect is DuckDB's. `Query.text` translates it to Spark's, in which `$target` is `:target`.
Reports use only what both compute alike: integers, exact percentiles by rank, one order of rows.
"""

import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any, Final, NamedTuple

from kdiag.errors import ReportError

DUCKDB: Final = "duckdb"
SPARK: Final = "spark"

_FOLDER: Final = files("kdiag.report") / "sql"
_ENDING: Final = ".sql"
_PARAMETER: Final = re.compile(r"parameter (\w+) \((string|bigint|version)\) = (\S*): (.+)")
_WIDE: Final = "wide:"
_MORE: Final = "more:"
_VERSION: Final = re.compile(r"(\d{1,4})\.(\d{1,4})(?:\.\d{1,4})?")
_BIGINT: Final = re.compile(r"-?\d{1,18}")
_VERSION_STEP: Final = 10_000
_WORD: Final = re.compile(r"\w+")
_ONE_SELECT: Final = "expected one SELECT: a query reads the tables and changes nothing"


class Parameter(NamedTuple):
    """A parameter of a report.

    Attributes:
        name: of the parameter.
        type: `string`, `bigint`, or `version`: `4.1`, which becomes the number 40001.
        default: its value if none is given, as text.
        meaning: its effect.
    """

    name: str
    type: str
    default: str
    meaning: str

    def read(self, text: str) -> str | int:
        """Return the value of a text.

        Raises:
            ReportError: if the text is not of the type.
        """
        if self.type == "bigint" and _BIGINT.fullmatch(text):
            return int(text)
        if self.type == "version" and (found := _VERSION.fullmatch(text)):
            return int(found[1]) * _VERSION_STEP + int(found[2])
        if self.type == "string":
            return text
        like = {"bigint": "a whole number", "version": "a version such as 4.1"}[self.type]
        raise ReportError(f"parameter {self.name}", f"expected {like}, not {text!r}")


class Query(NamedTuple):
    """A question in SQL.

    Attributes:
        sql: one SELECT.
        values: of its parameters, by name.
        wide: columns of the answer that make room for others, the first of them first.
        dialect: of the statement, `duckdb` or `spark`.
        more: where people find what the answer does not have; empty for nowhere.
    """

    sql: str
    values: dict[str, Any]
    wide: tuple[str, ...] = ()
    dialect: str = DUCKDB
    more: str = ""

    def text(self, dialect: str) -> str:
        """Return the statement in a dialect: `duckdb` or `spark`; Spark takes `values` as `args`.

        Raises:
            ReportError: if it cannot be translated, or is not one SELECT.
        """
        return self.sql if dialect == DUCKDB == self.dialect else transpile(self.sql, self.dialect)

    def tables(self) -> set[str]:
        """Return the names of the tables that the statement reads.

        Raises:
            ReportError: if it is not one SELECT.
        """
        return _tables_of(self.sql, self.dialect)

    def may_name(self, table: str) -> bool:
        """Return whether the statement has the name of a table somewhere."""
        return table in _WORD.findall(self.sql.lower())


class Report(NamedTuple):
    """A question with its answer.

    Attributes:
        name: of the report and its file.
        question: what it answers, one sentence.
        notes: on the answer.
        parameters: in their order.
        sql: the answer.
        wide: columns of the answer that make room for others, the first of them first.
        more: where people find what the answer does not have; empty for nowhere.
    """

    name: str
    question: str
    notes: str
    parameters: tuple[Parameter, ...]
    sql: str
    wide: tuple[str, ...] = ()
    more: str = ""

    def query(self, values: Mapping[str, str] | None = None) -> Query:
        """Return the report with values for its parameters.

        Args:
            values: texts by name of the parameter; the others have their defaults.

        Raises:
            ReportError: if a parameter is unknown, or a value is not of its type.
        """
        values = values or {}
        known = {parameter.name for parameter in self.parameters}
        unknown = sorted(set(values) - known)
        if unknown:
            has = ", ".join(sorted(known)) or "none"
            raise ReportError(f"report {self.name}", f"has no parameter {unknown[0]} (has {has})")
        read = {
            each.name: each.read(values.get(each.name, each.default)) for each in self.parameters
        }
        return Query(self.sql, read, self.wide, more=self.more)


@cache
def _report_files() -> dict[str, Traversable]:
    """Return the files of all reports by the name of the report."""
    found = [file for folder in _FOLDER.iterdir() for file in folder.iterdir()]
    sql = [file for file in found if file.name.endswith(_ENDING)]
    by_name = {file.name.removesuffix(_ENDING): file for file in sql}
    return {name: by_name[name] for name in sorted(by_name)}


def report_names() -> list[str]:
    """Return the names of all reports."""
    return list(_report_files())


@cache
def load_report(name: str) -> Report:
    """Return a report.

    Raises:
        ReportError: if the name is unknown.
    """
    file = _report_files().get(name)
    if file is None:
        why = f"there is no such report; there are {', '.join(report_names())}"
        raise ReportError(f"report {name}", why)
    return parse_report(name, file.read_text(encoding="utf-8"))


def parse_report(name: str, text: str) -> Report:
    """Return the report in a file.

    Raises:
        ReportError: if the file does not begin with a question.
    """
    lines = text.splitlines()
    count = next((n for n, line in enumerate(lines) if not line.startswith("--")), len(lines))
    comment = [line.removeprefix("--").strip() for line in lines[:count]]
    question, *rest = [*comment, ""]
    if not question:
        raise ReportError(f"report {name}", "begins with no question")
    parameters = [Parameter(*found.groups()) for found in map(_PARAMETER.fullmatch, rest) if found]
    wide = [name for line in rest if line.startswith(_WIDE) for name in line[len(_WIDE) :].split()]
    more = [line[len(_MORE) :].strip() for line in rest if line.startswith(_MORE)]
    marked = (_WIDE, _MORE)
    told = [line for line in rest if not (_PARAMETER.fullmatch(line) or line.startswith(marked))]
    notes = "\n".join(told).strip()
    sql = "\n".join(lines[count:]).strip().removesuffix(";")
    columns = tuple(column.strip(",") for column in wide)
    return Report(name, question, notes, tuple(parameters), sql, columns, " ".join(more))


@cache
def _tables_of(sql: str, dialect: str) -> set[str]:
    import sqlglot  # noqa: PLC0415 - 70 ms that most queries do without
    from sqlglot import expressions  # noqa: PLC0415 - as above
    from sqlglot.errors import SqlglotError  # noqa: PLC0415 - as above

    try:
        statement = sqlglot.parse_one(sql, read=dialect)
    except SqlglotError as error:
        raise ReportError("query", f"cannot be read: {error}") from error
    own = {each.alias.lower() for each in statement.find_all(expressions.CTE)}
    return {each.name.lower() for each in statement.find_all(expressions.Table)} - own


def transpile(sql: str, dialect: str = DUCKDB) -> str:
    """Translate a statement to Spark's dialect, unless it is in that.

    Raises:
        ReportError: if it is not one SELECT, or Spark has no equivalent.
    """
    import sqlglot  # noqa: PLC0415 - 70 ms that reports on DuckDB do without
    from sqlglot import expressions  # noqa: PLC0415 - as above
    from sqlglot.errors import SqlglotError  # noqa: PLC0415 - as above

    try:
        statements = [each for each in sqlglot.parse(sql, read=dialect) if each is not None]
        if len(statements) != 1 or not isinstance(statements[0], expressions.Query):
            raise ReportError("query", _ONE_SELECT)
        if dialect == SPARK:
            return sql
        return statements[0].sql(SPARK, unsupported_level=sqlglot.ErrorLevel.RAISE, pretty=True)
    except SqlglotError as error:
        raise ReportError("query", f"cannot be said in Spark SQL: {error}") from error
