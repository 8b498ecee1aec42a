import json

import msgspec
import pytest

from kdiag.findings.finding import found
from kdiag_cli.output.result import (
    Result,
    ResultFormat,
    milliseconds,
    print_document,
    print_result,
    print_table,
    say_findings,
)
from programs.kdiag_program import Printed

ERROR = found("KD1101", address="10.0.0.7:9092")
WARNING = found("KD1206", address="10.0.0.7:9093", not_after="2026-12-01")


class Broker(msgspec.Struct):
    """A row of a result."""

    node_id: int
    rack: str | None = None


def test_the_document_of_a_live_command_is_one_line_with_five_keys() -> None:
    """The keys are always there, and in this order."""
    output = Printed()

    print_document(output, "check", [Broker(1), {"node_id": 2}], findings=[ERROR])

    [line] = output.lines
    assert line.startswith('{"schema":1,"command":"check","data":[{"node_id":1,"rack":null},')
    document = json.loads(line)
    assert list(document) == ["schema", "command", "data", "warnings", "findings"]
    assert document["warnings"] == []
    assert document["findings"][0]["id"] == "KD1101"


def test_a_name_that_is_not_utf_8_does_not_break_the_document() -> None:
    """A replacement character stands for what cannot be written."""
    output = Printed()

    print_document(output, "check", [Broker(1, "r\udcff")], warnings=["odd"])

    assert json.loads(output.text)["data"] == [{"node_id": 1, "rack": "r\ufffd"}]


def test_a_table_on_a_terminal_is_aligned_with_numbers_to_the_right() -> None:
    """What is not known is a dash, in a column of numbers too."""
    output = Printed(80, has_colour=True)

    print_table(output, ("NODE-ID", "RACK", "RTT-MS"), [(1, "a", 12.5), (10, None, None)])

    assert output.lines == [
        "\x1b[1mNODE-ID  RACK  RTT-MS\x1b[0m",
        "      1  a       12.5",
        "     10  -          -",
    ]


def test_a_table_in_a_pipe_has_tabs_and_nothing_in_a_cell_breaks_it() -> None:
    """A tab or a line feed in a name becomes an escape."""
    output = Printed()

    print_table(output, ("TOPIC", "PARTITION"), [("a\tb\n", 3), ("c", None)])

    assert output.lines == ["TOPIC\tPARTITION", r"a\x09b\x0a" + "\t3", "c\t-"]


@pytest.mark.parametrize("width", [None, 80])
def test_headers_can_be_left_out(width: int | None) -> None:
    """Without rows nothing is printed then; with headers they stand alone."""
    output = Printed(width)
    print_table(output, ("A", "B"), [], has_headers=False)
    assert output.text == ""
    print_table(output, ("A", "B"), [("x", 1)], has_headers=False)
    assert output.text.split() == ["x", "1"]

    alone = Printed(width)
    print_table(alone, ("A", "B"), [])
    assert alone.text.split() == ["A", "B"]


def test_findings_are_told_on_stderr_with_their_fix(capsys: pytest.CaptureFixture[str]) -> None:
    """Warnings come first; control characters are made harmless."""
    say_findings([found("KD1101", address="\x1b[2J:1")], ["broker 3 did not answer"])

    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.splitlines() == [
        "kdiag: broker 3 did not answer",
        r"kdiag: error KD1101: nothing listens on \x1b[2J:1",
        f"kdiag:   {ERROR.fix}",
    ]


def test_times_are_milliseconds_to_the_hundredth() -> None:
    """What was not measured has none."""
    assert milliseconds(1_234_567) == 1.23
    assert milliseconds(None) is None


@pytest.mark.parametrize("form", ResultFormat)
def test_a_result_is_printed_in_either_form(
    form: ResultFormat, capsys: pytest.CaptureFixture[str]
) -> None:
    """Warnings are told beside both; findings are in the document, or told beside the text."""
    result = Result(
        "check", lambda: [Broker(1)], lambda output: output.line("broker 1"), ["odd"], [ERROR]
    )
    print_result(result, form)
    printed = capsys.readouterr()

    assert "kdiag: odd\n" in printed.err
    assert (ERROR.title in printed.err) is (form is ResultFormat.TABLE)
    if form is ResultFormat.TABLE:
        assert printed.out == "broker 1\n"
    else:
        assert json.loads(printed.out)["findings"][0]["id"] == ERROR.id
