"""The options of `kdiag rebalance explain`, validated."""

import re
from collections.abc import Sequence
from datetime import UTC, timedelta, timezone
from pathlib import Path
from typing import NamedTuple

import typer

from kdiag.findings.rule import Severity
from kdiag_cli.options.captures import CaptureInputs
from kdiag_cli.output.result import ResultFormat

COMMAND = "rebalance explain"
_OFFSET = re.compile(r"([+-])([0-9]{2}):?([0-9]{2})")


class ExplainOptions(NamedTuple):
    """What to explain, and how.

    Attributes:
        inputs: captures and how they are read; no files if only logs are.
        logs: of brokers.
        log_zone: of their times.
        groups: those to tell of; all if there are none.
        generation: the one to show in full; None for all in a table.
        output: the form.
        fail_on: the least severity of a finding that makes the exit code 1.
        has_headers: whether tables have lines of column names.
        is_wide: whether tables show all columns.
    """

    inputs: CaptureInputs
    logs: Sequence[Path]
    log_zone: timezone
    groups: frozenset[str]
    generation: int | None
    output: ResultFormat
    fail_on: Severity
    has_headers: bool
    is_wide: bool


def read_zone(text: str) -> timezone:
    """Return a zone, given as `Z` or `+02:00`.

    Raises:
        typer.BadParameter: it is neither.
    """
    if text in {"Z", "UTC"}:
        return UTC
    found = _OFFSET.fullmatch(text)
    if found is None or int(found[2]) > 18 or int(found[3]) > 59:  # noqa: PLR2004 - hours, minutes
        raise typer.BadParameter(f"{text!r} is no offset from UTC, such as +02:00 or Z")
    offset = timedelta(hours=int(found[2]), minutes=int(found[3]))
    return timezone(-offset if found[1] == "-" else offset)
