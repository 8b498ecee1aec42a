"""The options of `kdiag request`, validated, and the JSON of its body."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, NamedTuple

import typer

from kdiag.findings.rule import Severity
from kdiag.wire.catalog import Api

_JSON_HINT: Final = "'JSON'"


class RequestOptions(NamedTuple):
    """The options of `kdiag request`.

    Attributes:
        api: which API.
        body: the JSON, `@FILE` or `-`; None for a request with its defaults.
        to: where it goes.
        version: the only version to use; None for the newest that fits.
        lists_fields: whether to list the fields of the request instead of sending one.
        is_template: whether to print the JSON of the request instead of sending one.
        is_confirmed: whether it may change something.
        is_dry_run: whether it is only shown.
        raw: whether bodies are Kafka's exact JSON.
        with_bytes: whether its frame is shown.
        show_secrets: whether passwords and tokens are shown.
        fail_on: the least severity of a finding that makes the exit code 1.
    """

    api: Api
    body: str | None
    to: str
    version: int | None
    lists_fields: bool
    is_template: bool
    is_confirmed: bool
    is_dry_run: bool
    raw: bool
    with_bytes: bool
    show_secrets: bool
    fail_on: Severity


def check_version(api: Api, version: int | None) -> None:
    """Refuse a version that does not exist; None stands for the newest.

    Raises:
        typer.BadParameter: if no release of Kafka has it.
    """
    if version is not None and not api.versions.covers(version):
        why = f"{api.name} has versions {api.versions}, not {version}"
        raise typer.BadParameter(why, param_hint="'--api-version'")


def read_json(text: str | None) -> dict[str, Any]:
    """Read the JSON object in an argument, in a file (`@FILE`) or on stdin (`-`).

    Raises:
        typer.BadParameter: if it is not a JSON object, or the file cannot be read.
    """
    if text is None:
        return {}
    source, read = _source(text)
    try:
        form = json.loads(read())
    except json.JSONDecodeError as error:
        why = f"{source} is not JSON: line {error.lineno}, column {error.colno}: {error.msg}"
        raise typer.BadParameter(why, param_hint=_JSON_HINT) from None
    except OSError as error:
        why = f"{source} cannot be read: {error.strerror}"
        raise typer.BadParameter(why, param_hint=_JSON_HINT) from None
    except (ValueError, RecursionError) as error:  # not UTF-8, a number without end, too deep
        raise typer.BadParameter(f"{source} is not JSON: {error}", param_hint=_JSON_HINT) from None
    if not isinstance(form, dict):
        why = f"{source} must be an object with the fields of the request, such as {{}}"
        raise typer.BadParameter(why, param_hint=_JSON_HINT)
    return form


def _source(text: str) -> tuple[str, Callable[[], str | bytes]]:
    """Return the name of a source, and the function that reads it."""
    if text == "-":
        return "stdin", sys.stdin.buffer.read
    if text.startswith("@"):
        return text[1:], Path(text[1:]).read_bytes
    return "the argument", lambda: text
