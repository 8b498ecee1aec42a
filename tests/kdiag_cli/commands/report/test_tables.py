import json

import pytest

from kdiag.report.tables.catalog import TABLES
from kdiag_cli.commands.report.tables import EXAMPLES
from programs.kdiag_program import kdiag


def test_every_column_is_a_line() -> None:
    """With type, unit and meaning, in a pipe with tabs."""
    head, *rows = [line.split("\t") for line in kdiag("tables").out.splitlines()]

    assert head == ["TABLE", "COLUMN", "TYPE", "UNIT", "MEANING"]
    assert [tuple(row[:2]) for row in rows] == [
        (table.name, column.name) for table in TABLES.values() for column in table.columns
    ]
    assert kdiag("tables", "--no-headers").out.splitlines()[0].startswith("exchanges\tnumber\t")


def test_one_table_may_be_asked_for() -> None:
    """By its name."""
    rows = kdiag("tables", "gaps", "--no-headers").out.splitlines()

    assert len(rows) == len(TABLES["gaps"].columns)


def test_programs_get_one_document() -> None:
    """With what a row is, and the key that tells rows apart."""
    document = json.loads(kdiag("tables", "-o", "json").out)

    assert document["command"] == "tables"
    assert [each["table"] for each in document["data"]] == list(TABLES)
    first = document["data"][0]
    assert first["key"] == ["connection_id", "time_ns", "correlation_id"]
    assert list(first["columns"][0]) == ["name", "type", "unit", "meaning"]


def test_an_unknown_table_is_wrong_usage() -> None:
    """Those that there are are named."""
    done = kdiag("tables", "exchange")

    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("kdiag: unknown table 'exchange'; there are exchanges, batches")


@pytest.mark.parametrize("line", [line for line in EXAMPLES.splitlines() if "kdiag " in line])
def test_the_examples_in_the_help_run(line: str) -> None:
    """They are typed as they stand."""
    done = kdiag(*line.split()[1:])

    assert (done.code, done.err) == (0, "")
