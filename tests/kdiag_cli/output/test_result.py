import json

import msgspec
import pytest

from kdiag.findings.finding import found
from kdiag_cli.output.result import (
    CommandResult,
    ResultFormat,
    milliseconds,
    print_document,
    print_result,
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


def test_times_are_milliseconds_to_the_hundredth() -> None:
    """What was not measured has none."""
    assert milliseconds(1_234_567) == 1.23
    assert milliseconds(None) is None


@pytest.mark.parametrize("form", ResultFormat)
def test_a_result_is_printed_in_either_form(
    form: ResultFormat, capsys: pytest.CaptureFixture[str]
) -> None:
    """Warnings are told beside both; findings are in the document, or told beside the text."""
    result = CommandResult(
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
