"""The document of a live command in the forms that people and programs ask for beside JSON.

    jsonl        each element of `data` in a line of JSON, with `schema` and `command`
    yaml         the document as YAML
    csv, tsv     each element of `data` in a row: nested objects become columns `a.b`, lists JSON

A row or a line has no place for warnings and findings, which go to stderr then.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from enum import StrEnum
from typing import Any, Final

import msgspec

from kdiag_cli.output.json_text import escaped


class DocumentForm(StrEnum):
    """How a document is written."""

    JSON = "json"
    JSONL = "jsonl"
    YAML = "yaml"
    CSV = "csv"
    TSV = "tsv"


_NO_BREAK: Final = 1 << 30
"""Columns: a line of YAML holds a value, however long."""

_chosen = [DocumentForm.JSON]
_is_csv_safe = [False]


def choose_form(form: DocumentForm) -> None:
    """Decide how documents are written from now on."""
    _chosen[0] = form


def choose_csv_safety(*, is_csv_safe: bool) -> None:
    """Decide whether no cell of CSV and TSV may begin like a formula, from now on."""
    _is_csv_safe[0] = is_csv_safe


@contextmanager
def form_chosen(form: DocumentForm, *, is_csv_safe: bool = False) -> Iterator[None]:
    """Choose how documents are written in a block."""
    choose_form(form)
    choose_csv_safety(is_csv_safe=is_csv_safe)
    try:
        yield
    finally:
        choose_form(DocumentForm.JSON)
        choose_csv_safety(is_csv_safe=False)


def chosen_form() -> DocumentForm:
    """Return how documents are written."""
    return _chosen[0]


def in_form(document: Mapping[str, Any], form: DocumentForm) -> bytes:
    """Return a document of plain values in a form, with the end of its last line.

    Args:
        document: with `schema`, `command` and a list as `data`.
        form: any but JSON.
    """
    if form is DocumentForm.YAML:
        return _yaml(document)
    if form is DocumentForm.JSONL:
        head = {key: document[key] for key in ("schema", "command")}
        lines = (msgspec.json.encode(head | _as_object(each)) for each in document["data"])
        return b"".join(escaped(line) + b"\n" for line in lines)
    return _rows_text(document["data"], form)


def _as_object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {"value": value}


def _rows_text(data: Sequence[Any], form: DocumentForm) -> bytes:
    """Return rows below the names of their columns; nothing without rows."""
    from kdiag_cli.output.table.delimited import COMMA, TAB, DelimitedRows  # noqa: PLC0415 - 1 ms, rows only

    objects = [dict(_flat(_as_object(each))) for each in data]
    names = list(dict.fromkeys(name for each in objects for name in each))
    lines: list[bytes] = []
    delimiter = COMMA if form is DocumentForm.CSV else TAB
    rows = DelimitedRows(lines.append, delimiter, is_safe=_is_csv_safe[0])
    rows.row(names)
    for each in objects:
        rows.row(map(each.get, names))
    return b"".join(lines) if objects else b""


def _flat(value: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the columns of an object."""
    for key, each in value.items():
        name = f"{prefix}{key}"
        if isinstance(each, dict) and each:
            yield from _flat(each, f"{name}.")
        else:
            yield name, each


def _yaml(document: Mapping[str, Any]) -> bytes:
    """Return a document as YAML in ASCII; what is not printable is escaped in quotation marks."""
    import yaml  # noqa: PLC0415 - 10 ms, YAML only

    plain = msgspec.to_builtins(document)
    dumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)  # in C where libyaml is there
    return str(yaml.dump(plain, Dumper=dumper, sort_keys=False, width=_NO_BREAK)).encode()
