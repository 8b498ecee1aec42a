"""The document of a live command in the forms that people and programs ask for beside JSON.

    jsonl        each element of `data` in a line of JSON, with `schema` and `command`
    yaml         the document as YAML
    csv, tsv     each element of `data` in a row: nested objects become columns `a.b`, lists JSON

A row or a line has no place for warnings and findings, which go to stderr then.
"""

import io
import re
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


_PLAIN: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")
_WORDS: Final = frozenset(["true", "false", "yes", "no", "on", "off", "null", "y", "n"])
"""What YAML reads as something else than text; in capitals as well."""

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
        return "\n".join(_yaml(document)) + "\n"
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


def _yaml(value: Any, indent: str = "") -> Iterator[str]:
    """Yield the lines of an object or a list that is not empty."""
    if isinstance(value, Mapping):
        for key, each in value.items():
            yield from _yaml_entry(f"{indent}{_yaml_text(str(key))}:", each, indent)
    else:
        for each in value:
            lines = list(_yaml(each, f"{indent}  ")) if each and _is_nested(each) else []
            if not lines:
                yield f"{indent}- {_yaml_scalar(each)}"
                continue
            yield f"{indent}- {lines[0].strip(' ')}"
            yield from lines[1:]


def _yaml_entry(head: str, value: Any, indent: str) -> Iterator[str]:
    if value and _is_nested(value):
        yield head
        yield from _yaml(value, f"{indent}  ")
    else:
        yield f"{head} {_yaml_scalar(value)}"


def _is_nested(value: Any) -> bool:
    return isinstance(value, Mapping | list)


def _yaml_scalar(value: Any) -> str:
    """Return what holds nothing else; numbers and the like are written as in JSON."""
    return _yaml_text(value) if isinstance(value, str) else _json(value)


def _yaml_text(text: str) -> str:
    """Return text, in quotation marks where YAML would take it for something else."""
    if _PLAIN.fullmatch(text) and text.lower() not in _WORDS:
        return text
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{harmless(escaped)}"'
