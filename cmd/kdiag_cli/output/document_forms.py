"""The document of a live command in the forms that people and programs ask for beside JSON.

    jsonl        each element of `data` in a line of JSON, with `schema` and `command`
    yaml         the document as YAML
    csv, tsv     each element of `data` in a row: nested objects become columns `a.b`, lists JSON

A row or a line has no place for warnings and findings, which go to stderr then.
"""

import io
from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Any, Final

import msgspec

from kdiag_cli.output.terminal import harmless


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


def choose_form(form: DocumentForm) -> None:
    """Decide how documents are written from now on."""
    _chosen[0] = form


def chosen_form() -> DocumentForm:
    """Return how documents are written."""
    return _chosen[0]


def in_form(document: Mapping[str, Any], form: DocumentForm) -> str:
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
        return "".join(f"{line.decode()}\n" for line in lines)
    return _rows_text(document["data"], "," if form is DocumentForm.CSV else "\t")


def _as_object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {"value": value}


def _rows_text(data: Sequence[Any], separator: str) -> str:
    """Return rows below the names of their columns; nothing without rows."""
    import csv  # noqa: PLC0415 - 1 ms, rows only

    rows = [dict(_flat(_as_object(each))) for each in data]
    names = list(dict.fromkeys(name for row in rows for name in row))
    text = io.StringIO()
    if separator == ",":
        writer = csv.writer(text, lineterminator="\n")
        writer.writerows([names, *([row.get(name, "") for name in names] for row in rows)])
    else:
        for cells in (names, *([row.get(name, "") for name in names] for row in rows)):
            text.write("\t".join(map(harmless, cells)) + "\n")
    return text.getvalue() if rows else ""


def _flat(value: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    """Yield the columns of an object."""
    for key, each in value.items():
        name = f"{prefix}{key}"
        if isinstance(each, dict) and each:
            yield from _flat(each, f"{name}.")
        elif each is None:
            yield name, ""
        else:
            yield name, harmless(each) if isinstance(each, str) else _json(each)


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()


def _yaml(document: Mapping[str, Any]) -> str:
    """Return a document as YAML in ASCII; what is not printable is escaped in quotation marks."""
    import yaml  # noqa: PLC0415 - 10 ms, YAML only

    plain = msgspec.to_builtins(document)
    dumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)  # in C where libyaml is there
    return str(yaml.dump(plain, Dumper=dumper, sort_keys=False, width=_NO_BREAK))
