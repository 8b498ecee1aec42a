import json
from typing import Any

import pytest

from kdiag.findings.finding import found
from kdiag_cli.output.document_forms import DocumentForm, form_chosen, in_form
from kdiag_cli.output.result import print_document
from programs.kdiag_program import Printed

ROW = {"node": 1, "rack": None, "at": {"host": "b,1", "ports": [9092, 9093]}, "ok": True}
DOCUMENT: dict[str, Any] = {
    "schema": 1,
    "command": "check",
    "data": [ROW, {"node": 2, "note": "tab\tand\nline"}],
    "warnings": [],
}


def test_lines_hold_the_elements_with_the_number_of_the_schema() -> None:
    """One for each; what is no object becomes one."""
    assert in_form(DOCUMENT | {"data": [{"a": 1}, 7]}, DocumentForm.JSONL) == (
        b'{"schema":1,"command":"check","a":1}\n{"schema":1,"command":"check","value":7}\n'
    )


def test_lines_end_where_their_elements_end_to_every_reader() -> None:
    """Some end a line at U+2028, too."""
    data = [{"name": "a\u2028b\x85c"}, {"name": "Ω"}]
    lines = in_form(DOCUMENT | {"data": data}, DocumentForm.JSONL).decode().splitlines()

    assert [json.loads(line)["name"] for line in lines] == ["a\u2028b\x85c", "Ω"]


def test_rows_have_a_column_for_each_value_that_any_of_them_has() -> None:
    """Nested objects are joined with dots, lists are JSON, and nothing breaks a line."""
    assert in_form(DOCUMENT, DocumentForm.CSV) == (
        b"node,rack,at.host,at.ports,ok,note\n"
        b'1,,"b,1","[9092,9093]",true,\n'
        b"2,,,,,tab\\x09and\\x0aline\n"
    )
    assert in_form(DOCUMENT, DocumentForm.TSV).splitlines()[1] == b"1\t\tb,1\t[9092,9093]\ttrue\t"
    assert in_form(DOCUMENT | {"data": []}, DocumentForm.CSV) == b""


@pytest.mark.parametrize("form", [DocumentForm.CSV, DocumentForm.TSV])
def test_rows_begin_no_formula_where_that_was_chosen(form: DocumentForm) -> None:
    """Afterwards they are as before."""
    document = DOCUMENT | {"data": [{"client": "=1+1"}]}

    with form_chosen(form, is_csv_safe=True):
        safe = in_form(document, form)

    assert safe == b"client\n'=1+1\n"
    assert in_form(document, form) == b"client\n=1+1\n"


def test_yaml_nests_by_indentation() -> None:
    """Text that YAML would read as something else stands in quotation marks."""
    document = {"schema": 1, "data": [ROW, ["no", "10", "\x1b[2J\u202e\u00e9"], []], "none": {}}

    assert in_form(document, DocumentForm.YAML).decode().splitlines() == [
        "schema: 1",
        "data:",
        "- node: 1",
        "  rack: null",
        "  at:",
        "    host: b,1",
        "    ports:",
        "    - 9092",
        "    - 9093",
        "  ok: true",
        "- - 'no'",
        "  - '10'",
        '  - "\\e[2J\\u202E\\xE9"',
        "- []",
        "none: {}",
    ]


@pytest.mark.parametrize("form", [DocumentForm.CSV, DocumentForm.YAML])
def test_rows_leave_findings_to_stderr(
    form: DocumentForm, capsys: pytest.CaptureFixture[str]
) -> None:
    """A document of YAML holds them."""
    finding = found("KD1101", address="a:1", host="a", layer="TCP", why="refused")
    with form_chosen(form):
        print_document(screen := Printed(), "check", [ROW], warnings=["slow"], findings=[finding])

    is_yaml = form is DocumentForm.YAML
    assert ("KD1101" in screen.text, "slow" in screen.text) == (is_yaml, is_yaml)
    told = capsys.readouterr().err
    assert ("KD1101" in told, "slow" in told) == (not is_yaml, not is_yaml)
