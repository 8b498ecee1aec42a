"""Bars for a terminal.

    produce, MB/s
    64K   ████▍                                     3.5  3.4 to 3.6
    100K  █████▋                                    4.4  4.2 to 4.4
    auto  ████████████████████████████████████████  37   31 to 37.5

A bar is as long as its value, to an eighth of a column; all of a chart have one scale.
"""

from collections.abc import Iterator
from typing import Final

from kdiag_cli.output.chart import Bar, BarChart
from kdiag_cli.output.terminal import BOLD, CYAN, Output, columns_of, harmless, padded

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
