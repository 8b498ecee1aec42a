"""The options that choose exchanges by time, outcome and condition, and what they are parsed to.

    --since 2026-01-15T10:30:00Z     a moment, as everywhere (`kdiag help quantities`)
    --since 10:30   --since +30s     a time of the capture's first day; so long after it begins
    --error NOT_LEADER_OR_FOLLOWER   names or numbers of error codes, several with commas
    --status unanswered,partial

The condition of `--where` stays a text here: to read it takes more than `--help` should load.
"""

import re
from difflib import get_close_matches
from typing import Annotated, Final, NamedTuple

import typer

from kdiag.clock import NS_PER_S, SystemClock
from kdiag.exchange.line.quantities import parse_duration_ns, parse_moment_ns
from kdiag.exchange.line.shown_time import offset_ns
from kdiag.exchange.model import Status
from kdiag.wire.error_code import CODE_BY_NAME
from kdiag_cli.options.capture_completion import (
    complete_condition,
    complete_error_list,
    complete_status_list,
)
from kdiag_cli.options.quantities import usage_errors

_NS_PER_DAY: Final = 86_400 * NS_PER_S
_TIME_OF_DAY: Final = re.compile(r"(\d\d?):(\d\d)(?::(\d\d)(?:\.(\d{1,9}))?)?", re.ASCII)
_NUMBER: Final = re.compile(r"-?\d{1,5}", re.ASCII)


class CaptureMoment(NamedTuple):
    """A moment that may be told by the capture's own time.

    Attributes:
        ns: since 1970, since the capture begins, or since midnight.
        is_from_start: whether it counts from the first packet.
        is_of_day: whether it counts from the midnight before the first packet.
    """

    ns: int
    is_from_start: bool = False
    is_of_day: bool = False

    def since_1970_ns(self, first_ns: int | None) -> int:
        """Return the moment since 1970; days begin at the midnight of the zone that is shown.

        Args:
            first_ns: the time of the capture's first packet; None if it is not known.

        Raises:
            typer.BadParameter: the moment needs what is not known.
        """
        if not self.is_from_start and not self.is_of_day:
            return self.ns
        if first_ns is None:
            why = (
                "a time of day, or one from the start on, needs a file; write 2026-01-15T10:30:00Z"
            )
            raise typer.BadParameter(why, param_hint="'--since' and '--until'")
        if self.is_from_start:
            return first_ns + self.ns
        return first_ns - (first_ns + offset_ns(first_ns)) % _NS_PER_DAY + self.ns


def read_moment(text: str) -> CaptureMoment:
    """Return the moment that somebody wrote.

    Raises:
        typer.BadParameter: it is none; says how to write one.
    """
    word = text.strip()
    day = _TIME_OF_DAY.fullmatch(word)
    with usage_errors():
        if day is not None:
            return CaptureMoment(_of_day_ns(text, day), is_of_day=True)
        if word.startswith("+"):
            return CaptureMoment(parse_duration_ns(word[1:]), is_from_start=True)
        try:
            return CaptureMoment(parse_moment_ns(word, SystemClock().epoch_ns()))
        except ValueError as error:
            also = "or 10:30 on the capture's first day, or +30s after its beginning"
            raise ValueError(f"{error}, {also}") from None


def _of_day_ns(text: str, match: re.Match[str]) -> int:
    """Return a time of day in nanoseconds since midnight.

    Raises:
        ValueError: no day has it.
    """
    hours, minutes, seconds = (int(match[group] or 0) for group in (1, 2, 3))
    if hours > 24 or minutes > 59 or seconds > 60:  # noqa: PLR2004 - the parts of a day
        raise ValueError(f"{text!r} is not a time of day; write one such as 10:30 or 10:30:00.250")
    whole = (hours * 60 + minutes) * 60 + seconds
    return whole * NS_PER_S + int((match[4] or "").ljust(9, "0"))


class ErrorCodes(frozenset[int]):
    """The error codes that one option names; typer knows no `frozenset[int]`."""


def read_error_codes(text: str) -> ErrorCodes:
    """Return the error codes of names, however they are written, or of numbers.

    Raises:
        typer.BadParameter: a name is unknown; the message names those that are near.
    """
    return ErrorCodes(map(_error_code, text.split(",")))


def _error_code(word: str) -> int:
    if _NUMBER.fullmatch(word.strip()):
        return int(word)
    name = word.strip().upper().replace("-", "_").replace(" ", "_")
    code = CODE_BY_NAME.get(name)
    if code is None:
        near = get_close_matches(name, CODE_BY_NAME)
        hint = f"did you mean {' or '.join(near)}?" if near else "`kdiag errcode` lists them"
        raise typer.BadParameter(f"no error is called {word!r}; {hint}")
    if not code:
        raise typer.BadParameter('NONE is not an error; write --where "error IS NULL"')
    return code


class Statuses(frozenset[Status]):
    """The statuses that one option names."""


def read_statuses(text: str) -> Statuses:
    """Return the statuses of their names.

    Raises:
        typer.BadParameter: a name is unknown; the message lists them.
    """
    known = {each.value: each for each in Status}
    words = [word.strip().lower().replace("-", "_") for word in text.split(",")]
    for word in words:
        if word not in known:
            raise typer.BadParameter(f"no status is called {word!r}; they are {', '.join(known)}")
    return Statuses(known[word] for word in words)


Since = Annotated[
    CaptureMoment | None,
    typer.Option(
        "--since",
        metavar="MOMENT",
        help="Only what began then or later: 2026-01-15T10:30:00Z, 10:30, +30s, -1h.",
        parser=read_moment,
    ),
]
Until = Annotated[
    CaptureMoment | None,
    typer.Option(
        "--until", metavar="MOMENT", help="Only what began before: as --since.", parser=read_moment
    ),
]
Brokers = Annotated[
    list[str] | None,
    typer.Option(
        "--broker", metavar="PATTERN", help="Only this broker: IP or IP:port. Repeatable."
    ),
]
ErrorNames = Annotated[
    list[ErrorCodes] | None,
    typer.Option(
        "--error",
        metavar="NAME",
        help="Only with this Kafka error, by name or code. Repeatable.",
        parser=read_error_codes,
        autocompletion=complete_error_list,
    ),
]
StatusNames = Annotated[
    list[Statuses] | None,
    typer.Option(
        "--status",
        metavar="NAME",
        help="Only in this status, such as unanswered or malformed. Repeatable.",
        parser=read_statuses,
        autocompletion=complete_status_list,
    ),
]
WhereText = Annotated[
    str | None,
    typer.Option(
        "--where",
        metavar="CONDITION",
        help='Only where this holds of the columns of the table exchanges: "latency_us > 50000".',
        autocompletion=complete_condition,
    ),
]
