r"""The format strings of `kdiag tail -f`: kcat's and kcl's verbs, in one language.

%s %v   value            %S %V   its length, -1 for null    %R   the same in four bytes
%k      key              %K      its length, -1 for null
%t      topic            %p      partition                  %o   offset
%T %d   timestamp in ms  %d{strftime[%F %T]}   the same in UTC, or in --time ZONE
%h      headers, k=v with commas                            %H   how many there are
%e      leader epoch     %a      aborted, COMMIT, ABORT and so on; - for any other
%%      a percent sign   \n \t \r \\ \xHH      bytes

`%k{hex}`, `%s{base64}` and so on write a key or a value in any format of `--key-format`.

Source: the manual page of kcat, `kcl consume --help`.
"""

import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Final

from kdiag.errors import ConfigError
from kdiag.exchange.line.shown_time import in_shown_zone
from kdiag.probe.tail.record_runs import RecordRun
from kdiag_cli.commands.tail.line_template import (
    Column,
    LineTemplate,
    Piece,
    leader_epoch,
    numbers,
    offset,
    partition,
    timestamp,
    topic,
)
from kdiag_cli.commands.tail.text_columns import TextColumns
from kdiag_cli.commands.tail.value_format import ValueFormat

ORIGIN: Final = "--format"

_TOKEN: Final = re.compile(
    r"%(?P<verb>.)(?:\{(?P<argument>[^}]*)\})?|\\x(?P<hex>[0-9a-fA-F]{2})|\\(?P<escape>.)"
    r"|(?P<text>[^%\\]+)|(?P<rest>.)",
    re.DOTALL,
)
_ESCAPES: Final = {"n": b"\n", "t": b"\t", "r": b"\r", "\\": b"\\", "%": b"%"}
_STRFTIME: Final = re.compile(r"strftime\[(.*)\]", re.DOTALL)
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_VALUES: Final = frozenset("svk")


def parse_format(text: str, columns: TextColumns) -> LineTemplate:
    """Return the template that a format string describes.

    Args:
        text: the format string.
        columns: make keys and values, as the other options say.

    Raises:
        ConfigError: at which character there is not a verb or escape of this language.
    """
    verbs = _verbs(columns)
    parts: list[bytes | Column] = []
    for match in _TOKEN.finditer(text):
        if (plain := match["text"]) is not None:
            parts.append(plain.encode("utf-8", "surrogateescape"))
        elif (digits := match["hex"]) is not None:
            parts.append(bytes.fromhex(digits))
        elif match["escape"] in _ESCAPES:
            parts.append(_ESCAPES[match["escape"]])
        elif match["verb"] == "%" and match["argument"] is None:
            parts.append(b"%")
        elif match["verb"] in verbs and match["argument"] is None:
            parts.append(verbs[match["verb"]])
        elif match["argument"] is not None:
            parts.append(_with_argument(match, columns))
        else:
            raise _refusal(match, "is not a verb or escape; `kdiag help tail` lists them")
    return LineTemplate(parts)


def _refusal(match: re.Match[str], why: str) -> ConfigError:
    return ConfigError(match.string, ORIGIN, f"{match[0]!r} at character {match.start() + 1} {why}")


def _verbs(columns: TextColumns) -> dict[str, Column]:
    """Return the column of each verb."""
    return {
        "s": columns.value,
        "v": columns.value,
        "S": _value_bytes,
        "V": _value_bytes,
        "R": _value_size,
        "k": columns.key,
        "K": _key_bytes,
        "t": topic,
        "p": partition,
        "o": offset,
        "T": timestamp,
        "d": timestamp,
        "h": columns.headers,
        "H": _header_count,
        "e": leader_epoch,
        "a": columns.mark,
    }


def _with_argument(match: re.Match[str], columns: TextColumns) -> Column:
    """Return the column of a verb that has braces."""
    verb, argument = match["verb"], match["argument"]
    if verb == "d" and (form := _STRFTIME.fullmatch(argument)):
        return _strftime(form[1])
    if verb in _VALUES and argument in set(ValueFormat):
        form_of_it = ValueFormat(argument)
        of_it = columns.with_formats(form_of_it, form_of_it)
        return of_it.key if verb == "k" else of_it.value
    forms = ", ".join(ValueFormat)
    raise _refusal(match, f"takes strftime[...] after %d, or after %k, %s and %v one of {forms}")


def _length(value: bytes | None) -> int:
    return -1 if value is None else len(value)


def _lengths(values: Sequence[bytes | None]) -> Sequence[Piece]:
    return (numbers(list(map(_length, values))),)


def _value_bytes(run: RecordRun) -> Sequence[Piece]:
    return _lengths(run.columns.values())


def _key_bytes(run: RecordRun) -> Sequence[Piece]:
    return _lengths(run.columns.keys())


def _value_size(run: RecordRun) -> Sequence[Piece]:
    values = run.columns.values()
    return ([_length(each).to_bytes(4, "big", signed=True) for each in values],)


def _header_count(run: RecordRun) -> Sequence[Piece]:
    return (numbers([len(each) for each in run.columns.headers()]),)


def _strftime(form: str) -> Column:
    """Return the column of timestamps in a form of `strftime`; `-` for none."""

    def moment(timestamp_ms: int) -> bytes:
        if timestamp_ms < 0:
            return b"-"
        try:
            time = _EPOCH + timedelta(milliseconds=timestamp_ms)
        except OverflowError:
            return b"%d" % timestamp_ms
        return in_shown_zone(time).strftime(form).encode("utf-8", "surrogateescape")

    return lambda run: ([moment(each) for each in run.columns.timestamps()],)
