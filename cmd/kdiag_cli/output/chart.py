"""Charts as values: what a terminal shows with characters and a page with pictures."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from kdiag_cli.output.terminal import BOLD, CYAN, Output, columns_of, harmless, padded


class Bar(NamedTuple):
    """One bar.

    Attributes:
        label: what it stands for.
        value: its length, from 0.
        low: the least that was measured; None where there is one value only.
        high: the most that was measured.
        note: stands behind the value.
    """

    label: str
    value: float
    low: float | None = None
    high: float | None = None
    note: str = ""


class BarChart(NamedTuple):
    """Values to compare with each other.

    Attributes:
        title: what is measured.
        unit: of the values.
        bars: from top to bottom.
    """

    title: str
    unit: str
    bars: Sequence[Bar]


class Stretch(NamedTuple):
    """A stretch of time.

    Attributes:
        label: whose it is; several stretches of one stand in one line.
        kind: what happened in it.
        start: its beginning.
        end: its end.
    """

    label: str
    kind: str
    start: float
    end: float


class SpanChart(NamedTuple):
    """Who did what when, beside each other; for pages only.

    Attributes:
        title: what is shown.
        unit: of the times.
        spans: from top to bottom.
    """

    title: str
    unit: str
    spans: Sequence[Stretch]


class Axis(NamedTuple):
    """One axis of a picture.

    Attributes:
        title: what it shows, with the unit.
        is_log: whether its scale is logarithmic; values are above 0 then.
        ticks: values to mark, with their labels; by default those that suit.
    """

    title: str
    is_log: bool = False
    ticks: Mapping[float, str] = {}


class LineChart(NamedTuple):
    """Curves in one picture; for pages only.

    Attributes:
        title: what is measured.
        x: the horizontal axis.
        y: the vertical axis.
        lines: points by the name of their curve, from left to right.
    """

    title: str
    x: Axis
    y: Axis
    lines: Mapping[str, Sequence[tuple[float, float]]]


class Grid(NamedTuple):
    """A table beside the pictures.

    Attributes:
        title: what it is about.
        headers: of the columns.
        rows: a cell for each header; None is shown as `-`.
    """

    title: str
    headers: Sequence[str]
    rows: Sequence[Sequence[object]]


_EIGHTHS: Final = " ▏▎▍▌▋▊▉█"
_FULL: Final = "█"
_GAP: Final = "  "
_LEAST_COLUMNS: Final = 10
_MOST_COLUMNS: Final = 60


def print_bars(output: Output, chart: BarChart) -> None:
    """Print a chart on a terminal; elsewhere print nothing, for a pipe has its table."""
    if not output.is_terminal or not chart.bars:
        return
    output.line(output.paint(harmless(f"{chart.title}, {chart.unit}"), BOLD))
    for line in _lines(output, chart):
        output.line(line)


def number(value: float) -> str:
    """Return a value with three digits, or all of those before its point."""
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.3g}"  # noqa: PLR2004 - three digits


def _lines(output: Output, chart: BarChart) -> Iterator[str]:
    labels = [harmless(bar.label) for bar in chart.bars]
    values = [number(bar.value) for bar in chart.bars]
    remarks = [_remark(bar) for bar in chart.bars]
    widths = [max(map(columns_of, column)) for column in (labels, values, remarks)]
    room = (output.width or _MOST_COLUMNS) - sum(widths) - 3 * len(_GAP)
    columns = max(_LEAST_COLUMNS, min(_MOST_COLUMNS, room))
    most = max(bar.value for bar in chart.bars)
    for bar, label, value, remark in zip(chart.bars, labels, values, remarks, strict=True):
        drawn = padded(_drawn(bar.value / most if most > 0 else 0.0, columns), columns)
        cells = (padded(label, widths[0]), output.paint(drawn, CYAN), value.ljust(widths[1]))
        yield _GAP.join((*cells, remark)).rstrip()


def _drawn(share: float, columns: int) -> str:
    """Return a bar; whatever is above 0 can be seen."""
    eighths = max(round(share * columns * 8), 1 if share > 0 else 0)
    full, rest = divmod(eighths, 8)
    return _FULL * full + (_EIGHTHS[rest] if rest else "")


def _remark(bar: Bar) -> str:
    spread = ""
    if bar.low is not None and bar.high is not None:
        spread = f"{number(bar.low)} to {number(bar.high)}"
    return _GAP.join(part for part in (spread, harmless(bar.note)) if part)
