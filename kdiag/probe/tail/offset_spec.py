"""The grammar of `-o`: where to start reading a partition and where to stop.

    beginning, start          the oldest record
    end                       records from now on
    42                        offset 42
    +42                       42 offsets after the oldest
    -42                       the last 42 records of the whole topic
    @TIME, s@TIME             the first record that is not older
    e@TIME                    stop before the first record that is not older
    A:B                       from A (the oldest, if empty) up to but not including B

A TIME is a moment as all of kdiag reads them: a date, a moment of RFC 3339, a number of seconds or
milliseconds since 1970, or a duration ago (`-1h`). Several specs are put together from several
texts: `s@... e@...`.

Source: the `-o` options of kcat, kcl and rpk, whose union this is.
"""

import re
from collections.abc import Iterable
from enum import Enum
from typing import Final, NamedTuple

from kdiag.clock import NS_PER_MS
from kdiag.errors import ConfigError
from kdiag.exchange.line.quantities import parse_moment_ns

_OPTION: Final = "--offset"
_MAX_OFFSET: Final = (1 << 63) - 1


class At(Enum):
    """The kind of a position."""

    BEGINNING = "beginning"
    END = "end"
    OFFSET = "offset"
    AFTER_BEGINNING = "after the beginning"
    LAST = "last"
    TIMESTAMP = "timestamp"


class Position(NamedTuple):
    """A position in a partition.

    Attributes:
        at: its kind.
        value: an offset, a number of offsets or records, or milliseconds since 1970.
        epoch: the leader epoch of the record before an offset; -1 if unknown.
    """

    at: At
    value: int = 0
    epoch: int = -1


class OffsetSpec(NamedTuple):
    """Where to start and where to stop; None if not given."""

    start: Position | None = None
    stop: Position | None = None


def parse_offsets(texts: Iterable[str], now_ms: int, stop: Position | None = None) -> OffsetSpec:
    """Return what some texts say together.

    Args:
        texts: the values of `-o`.
        now_ms: the present, for times ago.
        stop: where to stop, if another option says so.

    Raises:
        ConfigError: if a text is not an offset, or two give a start, or two a stop.
    """
    spec = OffsetSpec(stop=stop)
    for text in texts:
        for end, position in zip(OffsetSpec._fields, _parse(text, now_ms), strict=True):
            if position is None:
                continue
            if getattr(spec, end) is not None:
                raise ConfigError(text, _OPTION, f"the {end} was given before")
            spec = spec._replace(**{end: position})
    _check_order(spec)
    return spec


def parse_position(text: str) -> Position:
    """Return the position of one partition: what `text_of` returns, or `beginning`, `end`, `+42`.

    Raises:
        ConfigError: if it is none.
    """
    if text.startswith("@") and text[1:].isascii() and text[1:].isdigit():
        return Position(At.TIMESTAMP, min(int(text[1:]), _MAX_OFFSET))
    position = _position(text)
    if position.at is At.LAST:
        raise ConfigError(text, _OPTION, "the last records are counted over all partitions")
    return position


def text_of(position: Position) -> str:
    """Return a position of one partition as `parse_position` reads it."""
    match position.at:
        case At.BEGINNING | At.END:
            return str(position.at.value)
        case At.OFFSET:
            return str(position.value)
        case At.AFTER_BEGINNING:
            return f"+{position.value}"
        case At.TIMESTAMP:
            return f"@{position.value}"
        case At.LAST:
            raise ValueError("the last records are counted over all partitions")


def _check_order(spec: OffsetSpec) -> None:
    """Refuse a stop that no record lies before.

    Raises:
        ConfigError: if the stop is not behind the start.
    """
    start, stop = spec
    if start is None or stop is None:
        return
    if start.at is At.LAST:
        raise ConfigError("-N", _OPTION, "the last N records end at the end: no stop can be given")
    if start.at is stop.at and start.value > stop.value:
        what = "offset" if start.at is At.OFFSET else "time"
        why = f"the {what} to stop before is lower than the one to start at: nothing is in between"
        raise ConfigError(f"{start.value}:{stop.value}", _OPTION, why)


def _parse(text: str, now_ms: int) -> OffsetSpec:
    """Return the spec of one text."""
    if text.startswith("s@"):
        return OffsetSpec(start=_timestamp(text[2:], now_ms))
    if text.startswith("e@"):
        return OffsetSpec(stop=_timestamp(text[2:], now_ms))
    if text.startswith("@"):
        return _times(text[1:], now_ms)
    first, colon, second = text.partition(":")
    if not colon:
        return OffsetSpec(start=_position(text))
    start = _position(first) if first else Position(At.BEGINNING)
    stop = _position(second) if second else None
    if stop is not None and stop.at not in {At.OFFSET, At.END}:
        raise ConfigError(text, _OPTION, "after the colon stands an offset or `end`")
    return OffsetSpec(start, stop)


def _times(text: str, now_ms: int) -> OffsetSpec:
    """Return the spec `TIME`, `TIME:TIME` or `TIME:@TIME`; a TIME may contain colons itself."""
    try:
        return OffsetSpec(start=_timestamp(text, now_ms))
    except ConfigError as error:
        refusal = error
    for colon in (match.start() for match in re.finditer(":", text)):
        first, second = text[:colon], text[colon + 1 :].removeprefix("@")
        try:
            start = _timestamp(first, now_ms)
            stop = Position(At.END) if second in {"", "end"} else _timestamp(second, now_ms)
        except ConfigError:
            continue
        return OffsetSpec(start, stop)
    raise refusal


def timestamp(moment_ns: int) -> Position:
    """Return the position of the first record that is not older than a moment."""
    return Position(At.TIMESTAMP, -(-moment_ns // NS_PER_MS))  # records have milliseconds


def _timestamp(text: str, now_ms: int) -> Position:
    try:
        return timestamp(parse_moment_ns(text, now_ms * NS_PER_MS))
    except ValueError as error:
        raise ConfigError("", _OPTION, str(error)) from None


def _position(text: str) -> Position:
    """Return a position that is not a time."""
    if text in {"beginning", "start", "earliest", "oldest"}:
        return Position(At.BEGINNING)
    if text in {"end", "latest", "newest"}:
        return Position(At.END)
    if text in {"stored", "committed"}:
        why = "a group has committed offsets: kdiag tail TOPIC -g GROUP reads from its commits"
        raise ConfigError(text, _OPTION, why)
    sign, digits = (text[0], text[1:]) if text[:1] in {"+", "-"} else ("", text)
    if not (digits.isascii() and digits.isdigit()) or int(digits) > _MAX_OFFSET:
        expected = "beginning, end, 42, +42, -42, 0:100, @TIME, s@TIME or e@TIME"
        raise ConfigError(text, _OPTION, f"no offset; write {expected}")
    kinds = {"": At.OFFSET, "+": At.AFTER_BEGINNING, "-": At.LAST}
    return Position(kinds[sign], int(digits))
