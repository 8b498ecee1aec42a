from importlib.resources import files
from typing import Any

import pyarrow as pa
import pytest

from folders import CAPTURES
from kdiag.report.engine import open_tables
from kdiag.report.overview.questions import ask, ask_report, question
from recordings.capture_tables import report_rows, tables_of

NAMES = sorted(
    each.name.removesuffix(".sql") for each in (files("kdiag.report.overview") / "sql").iterdir()
)


LISTS: dict[str, Any] = {
    "health": {"may_wait": [1]},
    "kept_exchanges": {"numbers": [1, 3], "packets": []},
}
"""Parameters that are lists, which have no default."""


@pytest.fixture(scope="module")
def tables() -> dict[str, pa.Table]:
    """Return the tables of a capture with rebalances and errors."""
    return tables_of([CAPTURES / "rebalance.pcap", CAPTURES / "old_versions.pcap"])


@pytest.mark.thorough
@pytest.mark.parametrize("name", NAMES)
def test_every_question_is_answered(tables: dict[str, pa.Table], name: str) -> None:
    """It says what it answers, and there is something in these captures."""
    assert question(name).question.endswith("?")
    with open_tables(tables) as database:
        assert ask(database, name, **LISTS.get(name, {}))


@pytest.mark.thorough
def test_a_parameter_has_its_default_or_what_is_given(tables: dict[str, pa.Table]) -> None:
    """Of many conversations the first are told, and how many there are."""
    with open_tables(tables) as database:
        every = ask(database, "conversations")
        first = ask(database, "conversations", most=2)

    assert first == every[:2]
    assert {row["all_rows"] for row in every} == {len(every)}


@pytest.mark.thorough
def test_percentiles_over_time_are_those_of_the_report(tables: dict[str, pa.Table]) -> None:
    """Of one bin over all time; a bucket is at most 1.1 % wide, so its middle is 0.6 % off."""
    with open_tables(tables) as database:
        rows = ask(database, "latency_bins", width_ns=10**18, most=50)
    found = {row["api"]: row for row in rows if row["dimension"] == "api"}
    by_client = [row for row in rows if row["dimension"] == "client"]

    expected = report_rows(tables, "latency", client="reader-0.9")
    for row in expected:
        one = next(
            each
            for each in by_client
            if (each["api"], each["name"]) == (row["api"], row["client_id"])
        )
        assert one["answers"] == row["answers"]
        assert one["p50_us"] == pytest.approx(row["p50_us"], rel=0.006)
        assert one["most_us"] == row["most_us"]
    assert {row["api"] for row in expected} <= set(found)


@pytest.mark.thorough
def test_what_is_rare_counts_as_others(tables: dict[str, pa.Table]) -> None:
    """Nothing is lost: the answers of all lines are those of the capture."""
    with open_tables(tables) as database:
        few = ask(database, "latency_bins", most=2)
        every = ask(database, "latency_bins", most=50)

    for dimension in ("api", "broker", "client"):
        sums = [
            sum(row["answers"] for row in rows if row["dimension"] == dimension)
            for rows in (few, every)
        ]
        assert sums[0] == sums[1] > 0
    assert "(others)" in {row["api"] for row in few}
    assert "(others)" not in {row["api"] for row in every}


@pytest.mark.thorough
def test_a_report_is_cut_and_the_rest_counted(tables: dict[str, pa.Table]) -> None:
    """Its columns are those of the report."""
    rows = report_rows(tables, "latency")
    with open_tables(tables) as database:
        answer = ask_report(database, "latency", 3)

    assert answer.rows == rows[:3]
    assert answer.left_out == len(rows) - 3
    assert answer.columns == tuple(rows[0])
