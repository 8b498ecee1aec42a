"""How results are written: one JSON document, or text with findings and warnings on stderr."""

from collections.abc import Callable, Iterable, Sequence
from enum import StrEnum
from typing import Any, Final, NamedTuple

import msgspec

from kdiag.clock import NS_PER_MS
from kdiag.findings.finding import Finding
from kdiag_cli.output.terminal import BOLD, Output, harmless, say, table

SCHEMA: Final = 1

_NOTHING: Final = "-"


class ResultFormat(StrEnum):
    """How a result is written: a table for people, a JSON document for programs."""

    TABLE = "table"
    JSON = "json"


class Result(NamedTuple):
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
    findings: Sequence[Finding] = ()


def print_document(
    output: Output,
    command: str,
    data: Sequence[Any],
    *,
    warnings: Sequence[str] = (),
    findings: Sequence[Finding] = (),
) -> None:
    """Print the one JSON document of a live command.

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
    output.write(encode(document) + b"\n")


def print_result(result: Result, form: ResultFormat) -> None:
    """Print what a live command has found; warnings go to stderr in either form."""
    output = Output()
    if form is ResultFormat.JSON:
        warnings, findings = result.warnings, result.findings
        data = result.documents()
        print_document(output, result.command, data, warnings=warnings, findings=findings)
    else:
        result.print_text(output)
    output.flush()
    say_findings(result.findings if form is ResultFormat.TABLE else (), result.warnings)


def encode(document: dict[str, Any]) -> bytes:
    """Return a document as JSON in one line."""
    try:
        return msgspec.json.encode(document)
    except UnicodeEncodeError:
        # Names that are not UTF-8 are rare, and what replaces them costs a longer start.
        from kdiag.exchange.documents.document import DocumentEncoder  # noqa: PLC0415 - as above

        return DocumentEncoder().encode(document)


def print_table(
    output: Output,
    headers: Sequence[str],
    rows: Iterable[Sequence[object]],
    *,
    has_headers: bool = True,
) -> None:
    """Print rows: aligned on a terminal, with a tab between cells anywhere else.

    Args:
        output: where to.
        headers: in capitals, words joined with hyphens: `NODE-ID`.
        rows: a cell for each header; None is shown as `-`, numbers stand to the right.
        has_headers: whether the headers are printed.
    """
    rows = list(rows)
    texts = [tuple(map(_cell, row)) for row in rows]
    if has_headers:
        texts.insert(0, tuple(headers))
    if not texts:
        return
    if not output.is_terminal:
        for row in texts:
            output.line("\t".join(row))
        return
    for number, line in enumerate(table(_aligned(texts, rows))):
        is_head = has_headers and number == 0
        output.line(output.paint(line, BOLD) if is_head else line)


def _cell(value: object) -> str:
    return _NOTHING if value is None else harmless(str(value))


def _aligned(
    texts: list[tuple[str, ...]], rows: list[Sequence[object]]
) -> Iterable[tuple[str, ...]]:
    """Return the texts with the columns that hold numbers moved to the right."""
    columns = []
    for column, values in zip(zip(*texts, strict=True), zip(*rows, strict=True), strict=False):
        is_number = all(each is None or type(each) in {int, float} for each in values)
        width = max(map(len, column)) if is_number else 0
        columns.append([text.rjust(width) for text in column])
    return zip(*columns, strict=True) if columns else texts


def milliseconds(time_ns: int | None) -> float | None:
    """Return a time as tables and documents have it: milliseconds, to the hundredth."""
    return None if time_ns is None else round(time_ns / NS_PER_MS, 2)


def say_findings(findings: Iterable[Finding], warnings: Iterable[str] = ()) -> None:
    """Tell on stderr, beside a table, what is wrong and what to do about it."""
    say(*warnings)
    for finding in findings:
        say(f"{finding.severity} {finding.id}: {finding.title}")
        say(f"  {finding.fix}")
