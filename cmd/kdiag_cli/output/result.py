"""How results are written: one JSON document, or text with findings and warnings on stderr."""

from collections.abc import Callable, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec

from kdiag.clock import NS_PER_MS
from kdiag_cli.output.document_forms import DocumentForm, chosen_form, in_form
from kdiag_cli.output.findings import say_findings
from kdiag_cli.output.json_text import print_json
from kdiag_cli.output.terminal import Output

if TYPE_CHECKING:
    from kdiag.findings.finding import Finding  # which loads all rules

SCHEMA: Final = 1


class ResultFormat(StrEnum):
    """How a result is written: a table for people, a JSON document for programs."""

    TABLE = "table"
    JSON = "json"


class CommandResult(NamedTuple):
    """What a live command has found.

    Attributes:
        command: its name, such as `find-coordinator`.
        documents: returns the data of the document.
        print_text: prints the text for people.
        warnings: what made the result less than it could be.
        findings: what is wrong.
    """

    command: str
    documents: Callable[[], Sequence[Any]]
    print_text: Callable[[Output], None]
    warnings: Sequence[str] = ()
    findings: "Sequence[Finding]" = ()


def print_document(
    output: Output,
    command: str,
    data: Sequence[Any],
    *,
    warnings: Sequence[str] = (),
    findings: "Sequence[Finding]" = (),
) -> None:
    """Print the one document of a live command: JSON, or what `choose_form` has chosen.

    Args:
        output: where to.
        command: its name, such as `find-coordinator`.
        data: dictionaries or msgspec structs, in the shape that the command documents.
        warnings: what made the result less than it could be.
        findings: what is wrong.
    """
    document = {
        "schema": SCHEMA,
        "command": command,
        "data": data,
        "warnings": warnings,
        "findings": findings,
    }
    form = chosen_form()
    if form is DocumentForm.JSON:
        print_json(output, encode(document))
        return
    output.write(in_form(msgspec.json.decode(encode(document)), form))
    if form is not DocumentForm.YAML:
        output.flush()
        say_findings(findings, warnings)


def print_result(result: CommandResult, form: ResultFormat, *, is_wide: bool = False) -> None:
    """Print what a live command has found; warnings go to stderr in either form."""
    output = Output(is_wide=is_wide)
    if form is ResultFormat.JSON:
        warnings, findings = result.warnings, result.findings
        data = result.documents()
        print_document(output, result.command, data, warnings=warnings, findings=findings)
    else:
        result.print_text(output)
    output.flush()
    if form is ResultFormat.TABLE or chosen_form() in {DocumentForm.JSON, DocumentForm.YAML}:
        say_findings(result.findings if form is ResultFormat.TABLE else (), result.warnings)


def encode(document: dict[str, Any]) -> bytes:
    """Return a document as JSON in one line."""
    try:
        return msgspec.json.encode(document)
    except UnicodeEncodeError:
        # Names that are not UTF-8 are rare, and what replaces them costs a longer start.
        from kdiag.exchange.documents.document import DocumentEncoder  # noqa: PLC0415 - 10 ms

        return DocumentEncoder().encode(document)


def milliseconds(time_ns: int | None) -> float | None:
    """Return a time as tables and documents have it: milliseconds, to the hundredth."""
    return None if time_ns is None else round(time_ns / NS_PER_MS, 2)
