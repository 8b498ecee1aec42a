import json

import msgspec
import pytest

from kdiag import errors
from kdiag.findings.finding import Severity, found
from kdiag_cli.exit_code import ExitCode
from kdiag_cli.live.result import (
    Result,
    exit_code_of,
    milliseconds,
    print_document,
    print_result,
    print_table,
    say_findings,
)
from kdiag_cli.options.results import ResultFormat
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


@pytest.mark.parametrize(
    ("problem", "code"),
    [
        (errors.ConnectError("b:1", errors.Layer.DNS, "no such name"), 3),
        (errors.ConnectError("b:1", errors.Layer.KAFKA, "HTTP"), 3),
        (errors.AuthenticationError("b:1", errors.Layer.TLS, "expired"), 3),
        (errors.AuthenticationError("b:1", errors.Layer.SASL, "refused"), 4),
        (errors.DisconnectedError("gone"), 3),
        (errors.RequestTimeoutError("late"), 6),
        (errors.UnsupportedVersionError("old"), 7),
        (errors.DecodeError("topics", 7, "too short"), 8),
        (errors.EncodeError("key", "null"), 2),
        (errors.ConfigError("x", "-X", "unknown"), 2),
        (errors.WakeupError("stop"), 130),
        ("GROUP_AUTHORIZATION_FAILED", 5),
        ("SASL_AUTHENTICATION_FAILED", 4),
        ("REQUEST_TIMED_OUT", 6),
        ("UNSUPPORTED_VERSION", 7),
        ("NOT_COORDINATOR", 0),
        (ExitCode.PARTIAL, 8),
    ],
)
def test_every_problem_has_its_exit_code(
    problem: errors.KdiagError | str | ExitCode, code: int
) -> None:
    """What the broker says of rights and logins counts as what kdiag found itself."""
    assert exit_code_of([problem]) == code


def test_of_several_codes_the_lowest_of_3_to_7_wins_then_8_then_1() -> None:
    """Wrong usage and an interrupt stand above all: nothing else was found out."""
    order = [130, 2, 3, 4, 5, 6, 7, 8, 1, 0]

    for place, code in enumerate(order):
        assert exit_code_of([ExitCode(each) for each in reversed(order[place:])]) == code


def test_findings_fail_a_command_from_the_severity_that_was_asked_for() -> None:
    """An error does by default; a partial result counts more."""
    assert exit_code_of([]) == 0
    assert exit_code_of([], [ERROR]) == 1
    assert exit_code_of([], [WARNING]) == 0
    assert exit_code_of([], [WARNING], Severity.WARNING) == 1
    assert exit_code_of([], [ERROR], is_partial=True) == 8


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
