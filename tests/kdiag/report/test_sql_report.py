import re

import pytest
import sqlglot

from kdiag.errors import ReportError
from kdiag.report.sql_report import (
    DUCKDB,
    SPARK,
    Parameter,
    Query,
    load_report,
    parse_report,
    report_names,
    transpile,
)
from tiers.cases import for_each

TEXT = """\
-- How many?
--
-- More than one thinks.
--
-- parameter least (bigint) = 5: no fewer than these.
-- parameter since (version) = 4.1: as of this release.
-- wide: last, first
-- wide: host
SELECT $least, $since;
"""


def test_a_report_begins_with_its_question() -> None:
    """Then come notes and parameters, then the SQL."""
    report = parse_report("count", TEXT)

    assert report.question == "How many?"
    assert report.notes == "More than one thinks."
    assert report.parameters == (
        Parameter("least", "bigint", "5", "no fewer than these."),
        Parameter("since", "version", "4.1", "as of this release."),
    )
    assert report.wide == ("last", "first", "host")
    assert report.sql == "SELECT $least, $since"


@pytest.mark.thorough
@for_each("name", report_names())
def test_what_is_wide_is_a_column_of_the_report(name: str) -> None:
    """Some of them, and the query knows them too."""
    report = load_report(name)
    select = sqlglot.parse_one(report.sql, read="duckdb")

    assert isinstance(select, sqlglot.exp.Query)
    assert set(report.wide) < set(select.named_selects)
    assert report.query().wide == report.wide != ()


def test_parameters_have_defaults_and_types() -> None:
    """A version is a number that can be compared."""
    report = parse_report("count", TEXT)

    assert report.query().values == {"least": 5, "since": 40_001}
    assert report.query({"least": "-7", "since": "3.9.1"}).values == {"least": -7, "since": 30_009}


@pytest.mark.parametrize(
    ("values", "why"),
    [
        ({"least": "many"}, "parameter least: expected a whole number, not 'many'"),
        ({"since": "four"}, "parameter since: expected a version such as 4.1, not 'four'"),
        ({"most": "1"}, r"report count: has no parameter most \(has least, since\)"),
    ],
)
def test_a_wrong_parameter_is_refused(values: dict[str, str], why: str) -> None:
    """With what it should be."""
    with pytest.raises(ReportError, match=why):
        parse_report("count", TEXT).query(values)


def test_a_report_needs_a_question() -> None:
    """SQL alone does not say what it is for."""
    with pytest.raises(ReportError, match="report mute: begins with no question"):
        parse_report("mute", "SELECT 1")


def test_there_is_a_report_for_each_question() -> None:
    """And an error that lists them for any other."""
    names = [
        *("clients", "commits", "compat", "errors", "hot", "hot_keys", "latency"),
        *(
            "latency_over_time",
            "metadata",
            "rebalances",
            "retries",
            "slow",
            "splits",
            "tcp",
            "throughput",
        ),
        *("topology", "waits"),
    ]

    assert report_names() == names
    with pytest.raises(
        ReportError, match="report none: there is no such report; there are clients"
    ):
        load_report("none")


@for_each("name", report_names())
def test_every_report_declares_what_it_is_told(name: str) -> None:
    """Each parameter is used, each that is used is declared, and the question is one."""
    report = load_report(name)

    assert report.question.endswith("?")
    assert report.notes
    for parameter in report.parameters:
        parameter.read(parameter.default)
    used = set(re.findall(r"\$(\w+)", report.sql))
    assert used == {parameter.name for parameter in report.parameters}
    assert report.query().text(DUCKDB) == report.sql
    assert "\nORDER BY" in report.sql


@pytest.mark.thorough
@for_each("name", report_names())
def test_every_report_can_be_said_in_spark_sql(name: str) -> None:
    """In functions that Spark has, with integer division and parameters of its own."""
    text = load_report(name).query().text(SPARK)

    assert "$" not in text
    assert "//" not in text
    for foreign in ("STRING_AGG", "UNNEST(", "VARCHAR"):
        assert foreign not in text.upper()


def test_what_duckdb_and_spark_write_differently_is_translated() -> None:
    """The places where reports rely on it."""
    spoken = " ".join(
        transpile(
            "SELECT a // 2, string_agg(b, ', ' ORDER BY b), CAST(c AS VARCHAR) FROM t,"
            " UNNEST(d) AS u(e) WHERE f = $g GROUP BY ALL"
        ).split()
    )

    assert "a DIV 2" in spoken
    assert "LISTAGG(b, ', ') WITHIN GROUP (ORDER BY b NULLS LAST)" in spoken
    assert "CAST(c AS STRING)" in spoken
    assert "LATERAL VIEW EXPLODE(d) u AS e" in spoken
    assert "f = :g" in spoken


@pytest.mark.parametrize("sql", ["SELEC 1 FRO", "SELECT 1; SELECT 2"])
def test_what_is_no_single_statement_cannot_be_translated(sql: str) -> None:
    """One error says so."""
    with pytest.raises(ReportError, match="query: "):
        Query(sql, {}).text(SPARK)
