"""Times as people read them: in one zone, which a screen names once.

    2026-10-25 02:59:59.000   CEST
    2026-10-25 02:00:00.000   CET    a second later: whoever prints both names the zone again

The zone is UTC unless `times_shown_in` chose another. Documents for programs are not shown times:
they are in UTC always (`kdiag.exchange.documents.document.Clockface`).
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Final

from kdiag.clock import NS_PER_MS, NS_PER_S

_MS_DIGITS: Final = 3
_FIRST_NS: Final = -62_135_510_400 * NS_PER_S  # the second day of the year 1, in every zone
_END_NS: Final = 253_402_214_400 * NS_PER_S  # the last day of the year 9999
_shown_in: list[tzinfo | None] = [UTC]


@contextmanager
def times_shown_in(zone: tzinfo | None) -> Iterator[None]:
    """Show times in a zone in a block; None for the zone of this machine."""
    before = _shown_in[0]
    _shown_in[0] = zone
    try:
        yield
    finally:
        _shown_in[0] = before


def moment_of(second: int) -> datetime:
    """Return a second since 1970 in UTC; 1970 for one outside of the calendar."""
    try:
        return datetime.fromtimestamp(second, UTC)
    except (ValueError, OverflowError, OSError):
        return datetime.fromtimestamp(0, UTC)


def shown_moment(time_ns: int) -> datetime:
    """Return the second of a time since 1970, in the zone that is shown."""
    return in_shown_zone(moment_of(time_ns // NS_PER_S))


def in_shown_zone(moment: datetime) -> datetime:
    """Return a moment with a zone in the one that is shown."""
    try:
        return moment.astimezone(_shown_in[0])
    except OverflowError:  # the first or last day of the calendar
        return moment


def offset_ns(time_ns: int) -> int:
    """Return how far the shown zone was ahead of UTC at a time since 1970."""
    return int(_offset(shown_moment(time_ns)).total_seconds()) * NS_PER_S


def zone_label(time_ns: int) -> str:
    """Return what the shown zone is called at a time: `UTC`, `CET`, `UTC+05:30`."""
    moment = shown_moment(time_ns)
    name = moment.tzname() or ""
    return name if name.isalpha() else f"UTC{_signed(_offset(moment))}"


def zone_suffix(time_ns: int) -> str:
    """Return the shown zone as RFC 3339 has it behind a time: `Z`, `+01:00`."""
    offset = _offset(shown_moment(time_ns))
    return _signed(offset) if offset else "Z"


def date_and_time(time_ns: int, digits: int = _MS_DIGITS) -> str:
    """Return a time since 1970 with so many digits of its second: `2026-11-21 10:30:00.123`.

    One that no calendar has is a number of milliseconds.
    """
    if not _FIRST_NS <= time_ns < _END_NS:
        return f"{time_ns // NS_PER_MS} ms since 1970"
    return f"{shown_moment(time_ns):%Y-%m-%d %H:%M:%S}{_fraction(time_ns, digits)}"


def stamp(time_ns: int, digits: int = _MS_DIGITS) -> str:
    """Return a time that says its zone, for where no screen does: `2026-11-21T10:30:00.123Z`."""
    return f"{date_and_time(time_ns, digits).replace(' ', 'T', 1)}{zone_suffix(time_ns)}"


def time_of_day(time_ns: int, digits: int = _MS_DIGITS) -> str:
    """Return the time of day of a time since 1970: `10:30:00.123`."""
    return f"{shown_moment(time_ns):%H:%M:%S}{_fraction(time_ns, digits)}"


def span_of_day(first_ns: int, last_ns: int, digits: int = _MS_DIGITS) -> str:
    """Return `10:30:00.123 to 10:31:00.000 UTC`; one time where both are the same."""
    first, last = (time_of_day(each, digits) for each in (first_ns, last_ns))
    zones = [zone_label(each) for each in (first_ns, last_ns)]
    if zones[0] != zones[1]:
        first = f"{first} {zones[0]}"
    both = last if first == last else f"{first} to {last}"
    return f"{both} {zones[1]}"


def span_of_days(first_ns: int, last_ns: int) -> str:
    """Return `2026-11-21 10:30:00 to 10:31:00 UTC`, to the second."""
    first, last = (date_and_time(each, 0) for each in (first_ns, last_ns))
    zones = [zone_label(each) for each in (first_ns, last_ns)]
    if zones[0] != zones[1]:
        return f"{first} {zones[0]} to {last} {zones[1]}"
    day, _, of_day = last.partition(" ")
    return f"{first} to {of_day if first.startswith(day) else last} {zones[1]}"


def shared_zone(times_ns: Iterable[int | None]) -> str | None:
    """Return what the shown zone is called at all of these times; None if that changes."""
    labels = {zone_label(each) for each in times_ns if each is not None}
    return labels.pop() if len(labels) == 1 else None if labels else zone_label(0)


class ZoneNotice:
    """Names the zone on a screen of lines: before the first time, and where it changes."""

    def __init__(self) -> None:
        self._label = ""

    def due(self, time_ns: int) -> str:
        """Return what to print before a line with this time: `times are in UTC`; mostly nothing."""
        label = zone_label(time_ns)
        if label == self._label:
            return ""
        self._label = label
        return f"times are in {label}"


def _offset(moment: datetime) -> timedelta:
    return moment.utcoffset() or timedelta()


def _signed(offset: timedelta) -> str:
    minutes = int(offset.total_seconds()) // 60
    hours, rest = divmod(abs(minutes), 60)
    return f"{'-' if minutes < 0 else '+'}{hours:02}:{rest:02}"


def _fraction(time_ns: int, digits: int) -> str:
    return f".{time_ns % NS_PER_S:09}"[: digits + 1] if digits else ""
