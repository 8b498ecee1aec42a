import json

import pytest

from kdiag.report.sql_report import report_names
from kdiag_cli.commands.report.listing import print_reports, print_sql
from kdiag_cli.options.report import read_query
from kdiag_cli.output.answer import AnswerFormat


def test_reports_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    """Name, parameters with their defaults, question."""
    print_reports(AnswerFormat.TABLE, has_headers=True)
    head, *rows = [line.split("\t") for line in capsys.readouterr().out.splitlines()]

    assert head == ["REPORT", "PARAMETERS", "QUESTION"]
    assert [row[0] for row in rows] == ["findings", *report_names()]
    assert ["compat", "target=4.0"] in [row[:2] for row in rows]


def test_reports_are_listed_for_programs(capsys: pytest.CaptureFixture[str]) -> None:
    """With what their parameters mean."""
    print_reports(AnswerFormat.JSON, has_headers=True)
    document = json.loads(capsys.readouterr().out)

    assert [each["report"] for each in document["data"]] == ["findings", *report_names()]
    (compat,) = (each for each in document["data"] if each["report"] == "compat")
    assert compat["parameters"] == [
        {
            "name": "target",
            "type": "version",
            "default": "4.0",
            "meaning": "the release that the brokers are to have.",
        }
    ]


@pytest.mark.parametrize(("dialect", "marker"), [("duckdb", "$target"), ("spark", ":target")])
def test_the_sql_can_be_taken_elsewhere(
    dialect: str, marker: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """With the values of its parameters above it."""
    print_sql(read_query("compat", []), dialect)
    out = capsys.readouterr().out

    assert out.startswith("-- target = 40000\nWITH ")
    assert marker in out
