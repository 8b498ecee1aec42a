"""The times of lines: of day, since the first line, or since the one before."""

from typing import Final

from kdiag.clock import NS_PER_S, NS_PER_US
from kdiag.exchange.line.shown_time import (
    date_and_time,
    shown_moment,
    span_of_day,
    time_of_day,
    zone_label,
    zone_suffix,
)
from kdiag_cli.output.terminal import Output, TimeStyle

WIDE_COLUMNS: Final = 130
"""From here on a terminal has room for whole times."""

_HALF_YEAR_NS: Final = 182 * 86_400 * NS_PER_S


class LineTimes:
    """Writes the times of lines; the text of the last second is kept."""

    def __init__(
        self, output: Output, style: TimeStyle = TimeStyle.OF_DAY, first_ns: int | None = None
    ) -> None:
        """Write for an output; relative times count from `first_ns`, None for the first line."""
        self._style = style
        self._is_dated = not output.is_terminal
        self._is_short = output.is_terminal and (output.width or 0) < WIDE_COLUMNS
        self._origin_ns = first_ns
        self._second = -1
        self._text = self._zone = self._day = ""
        # In January and in July: the names of a zone in winter and summer differ in length.
        days = (
            [len(self.day(month_ns)) for month_ns in (0, _HALF_YEAR_NS)] if self.is_of_day else []
        )
        self.width = max(len(self.text(0)), *days, 0)
        self._origin_ns = first_ns

    @property
    def is_of_day(self) -> bool:
        """Return whether times need a date and a zone."""
        return self._style is TimeStyle.OF_DAY

    def day(self, time_ns: int) -> str:
        """Return the day of a time, with its zone."""
        self._find_second(time_ns // NS_PER_S)
        return self._day

    def text(self, time_ns: int) -> str:
        """Return a time; what it is counted from is the first, or the one before."""
        if not self.is_of_day:
            return self._since(time_ns)
        second, rest = divmod(time_ns, NS_PER_S)
        if second != self._second:
            self._find_second(second)
        if self._is_short:
            return f"{self._text}.{rest // 1_000_000:03}"
        return f"{self._text}.{rest // NS_PER_US:06}{self._zone}"

    def _find_second(self, second: int) -> None:
        """Keep the texts of a second."""
        time_ns = second * NS_PER_S
        self._second = second
        self._text = (date_and_time if self._is_dated else time_of_day)(time_ns, 0)
        if self._is_dated:
            self._zone = zone_suffix(time_ns)
        else:
            self._day = f"{shown_moment(time_ns):%Y-%m-%d} {zone_label(time_ns)}"

    def span(self, first_ns: int, last_ns: int) -> str:
        """Return from when to when, or at which time; empty where times count from each other."""
        if self._style is TimeStyle.DELTA:
            return ""
        if self.is_of_day and not self._is_dated:
            span = span_of_day(first_ns, last_ns)
            return f" from {span}" if " to " in span else f" at {span}"
        first, last = (self.text(each).strip() for each in (first_ns, last_ns))
        return f" at {first}" if first == last else f" from {first} to {last}"

    def _since(self, time_ns: int) -> str:
        origin_ns = time_ns if self._origin_ns is None else self._origin_ns
        if self._origin_ns is None or self._style is TimeStyle.DELTA:
            self._origin_ns = time_ns
        return f"{(time_ns - origin_ns) / NS_PER_S:{12 if self._is_short else 15}.6f}"
