"""Numbers as people read them: `812 µs`, `13 MB`, `98 %`. Programs read them as they are."""

import re
from collections.abc import Callable, Container
from typing import Final, NamedTuple

from kdiag.clock import NS_PER_MS, NS_PER_S, NS_PER_US
from kdiag.exchange.line.phrase import size

_RANGE: Final = re.compile(r"([0-9.]+)-([0-9.]+)")
_BOUND: Final = re.compile(r">=([0-9.]+)")


class Unit(NamedTuple):
    """How the numbers of a column are shown.

    Attributes:
        ending: of the column's header, for programs; people see the unit in each cell.
        text: returns a number with its unit.
    """

    ending: str
    text: Callable[[float], str]


def duration(time_ns: float) -> str:
    """Return a time with three digits: `812 µs`, `3.21 ms`, `1.50 s`."""
    if time_ns < 999_500:  # noqa: PLR2004 - three digits
        return f"{time_ns / 1000:.0f} µs"
    value, unit = time_ns / 1_000_000, "ms"
    if value >= 999.5:  # noqa: PLR2004 - as above
        value, unit = value / 1000, "s"
    digits = 2 if value < 9.995 else 1 if value < 99.95 else 0  # noqa: PLR2004 - as above
    return f"{value:.{digits}f} {unit}"


def age(time_ns: float) -> str:
    """Return a time that may be long: `812 ms`, `45.0 s`, `17 min`, `5.2 h`, `3.1 d`."""
    minutes = time_ns / NS_PER_S / 60
    if minutes < 2:  # noqa: PLR2004 - of what follows, two at least
        return duration(time_ns)
    if minutes < 120:  # noqa: PLR2004 - as above
        return f"{minutes:.0f} min"
    hours = minutes / 60
    return f"{hours:.1f} h" if hours < 48 else f"{hours / 24:.1f} d"  # noqa: PLR2004 - as above


def with_unit(value: object, unit: str) -> object:
    """Return a cell as people read it: a number, `>=812` or `1.45-1.66`, with its unit.

    Args:
        value: whatever is in the cell.
        unit: a key of `UNITS`; empty for none.
    """
    if not unit:
        return value
    text = UNITS[unit].text
    if isinstance(value, str) and (ends := _RANGE.fullmatch(value)):
        low, high = (text(float(each)) for each in ends.groups())
        return f"{low.removesuffix(high[high.index(' ') :])}-{high}"
    if isinstance(value, str) and (bound := _BOUND.fullmatch(value)):
        return f">={text(float(bound[1]))}"
    return text(value) if isinstance(value, int | float) else value


def header_of(header: str, unit: str, others: Container[str] = ()) -> str:
    """Return what people see above a column: `P99-US` is `P99` where cells have their unit.

    Args:
        header: for programs.
        unit: a key of `UNITS`; empty for none.
        others: the headers of the table; of `EMPTY` and `EMPTY-PCT` both stay what they are.
    """
    short = header.removesuffix(UNITS[unit].ending) if unit else header
    return header if short in others else short


def _size(value: float) -> str:
    """Return a number of bytes; -1, with which Kafka leaves it to the kernel, is none."""
    return size(int(value)) if value >= 0 else str(value)


UNITS: Final = {
    "us": Unit("-US", lambda value: duration(value * NS_PER_US)),
    "ms": Unit("-MS", lambda value: duration(value * NS_PER_MS)),
    "age": Unit("-MS", lambda value: age(value * NS_PER_MS)),
    "bytes": Unit("-BYTES", _size),
    "bytes/s": Unit("", lambda value: f"{_size(value)}/s"),
    "percent": Unit("-PCT", lambda value: f"{value:g} %"),
}
