"""Durations, sizes, rates, moments and zones as options: the grammar of the library, for typer.

    interval_ns: Annotated[
        int, typer.Option("--interval", metavar="TIME", parser=positive_ns, help="How often.")
    ] = OptionDefault(positive_ns, "1s")

A wrong value is a usage error that names the option, as typer knows whose parser it calls. typer
parses defaults as well, and shows them in `--help`: hence `OptionDefault`, which looks as typed.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, tzinfo
from typing import Annotated, Final, Self

import typer

from kdiag.clock import SystemClock
from kdiag.exchange.line.quantities import (
    parse_bits_per_s,
    parse_duration_ns,
    parse_interval_ns,
    parse_moment_ns,
    parse_size_bytes,
    parse_zone,
)
from kdiag_cli.output.terminal import TimeStyle

Parser = Callable[[str | int], int]


class OptionDefault(int):
    """The default of an option: a number that `--help` shows as people type it."""

    def __new__(cls, parse: Parser, text: str) -> Self:
        """Return what a parser makes of a text."""
        default = super().__new__(cls, parse(text))
        default._text = text
        return default

    _text: str

    def __str__(self) -> str:
        return self._text


@contextmanager
def usage_errors(option: str | None = None) -> Iterator[None]:
    """Turn every ValueError of the block into a usage error.

    Args:
        option: the option at fault; None inside a parser, where typer knows it.

    Raises:
        typer.BadParameter: in place of the ValueError.
    """
    try:
        yield
    except ValueError as error:
        hint = None if option is None else f"'{option}'"
        raise typer.BadParameter(str(error), param_hint=hint) from None


def duration_ns(given: str | int) -> int:
    """Parse a duration, which may be zero."""
    return parsed(parse_duration_ns, given)


def positive_ns(given: str | int) -> int:
    """Parse a duration that is longer than zero."""
    ns = duration_ns(given)
    if not ns:
        raise typer.BadParameter(f"{given!r} is not longer than zero; write 500ms or 10s")
    return ns


def size_bytes(given: str | int) -> int:
    """Parse a size."""
    return parsed(parse_size_bytes, given)


def interval_ns(given: str | int) -> int:
    """Parse a rate of requests, as the time between two of them."""
    return parsed(parse_interval_ns, given)


def bits_per_s(given: str | int) -> int:
    """Parse the rate of a link."""
    return parsed(parse_bits_per_s, given)


def moment_ns(given: str | int) -> int:
    """Parse a moment; those ago count from now."""
    return parsed(lambda text: parse_moment_ns(text, SystemClock().epoch_ns()), given)


class ShownTimes(str):
    """How texts show times, as typed.

    Attributes:
        zone: of times of the day; None for that of this machine.
        style: what lines show instead of times of the day.
    """

    __slots__ = ("style", "zone")

    zone: tzinfo | None
    style: TimeStyle

    def __new__(
        cls, text: str = "utc", zone: tzinfo | None = UTC, style: TimeStyle = TimeStyle.OF_DAY
    ) -> Self:
        """Return what was typed, with what it means."""
        times = super().__new__(cls, text)
        times.zone, times.style = zone, style
        return times


UTC_TIMES: Final = ShownTimes()
"""The default of `--time`."""


def shown_times(given: str | ShownTimes) -> ShownTimes:
    """Parse the zone of times that are shown."""
    if isinstance(given, ShownTimes):
        return given
    with usage_errors():
        return ShownTimes(given, parse_zone(given))


def line_times(given: str | ShownTimes) -> ShownTimes:
    """Parse the zone of times that are shown, or what lines show instead of the time of day."""
    styles = {each.value: each for each in TimeStyle if each is not TimeStyle.OF_DAY}
    if given in styles:
        return ShownTimes(given, style=styles[given])
    try:
        return shown_times(given)
    except typer.BadParameter as error:
        raise typer.BadParameter(f"{error.message}, or relative or delta") from None


_TIME_VARIABLE: Final = "KDIAG_TIME"
TimeZoneShown = Annotated[
    ShownTimes,
    typer.Option(
        "--time",
        metavar="ZONE",
        envvar=_TIME_VARIABLE,
        parser=shown_times,
        help="Zone of times in texts: utc, local, Europe/Berlin, +02:00. JSON and CSV have UTC.",
    ),
]
LineTimesShown = Annotated[
    ShownTimes,
    typer.Option(
        "--time",
        metavar="ZONE",
        envvar=_TIME_VARIABLE,
        parser=line_times,
        help="Zone of times in texts: utc, local, Europe/Berlin, +02:00. JSON and CSV have UTC. "
        "In lines also relative: since the start, or delta: since the line before.",
    ),
]


def parsed(parse: Callable[[str], int], given: str | int) -> int:
    """Parse what was typed; a default, which typer parses as well, is there already.

    Raises:
        typer.BadParameter: in place of the ValueError of `parse`.
    """
    if not isinstance(given, str):
        return int(given)
    with usage_errors():
        return parse(given)
