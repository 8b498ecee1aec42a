"""A page with charts and tables: one file that needs nothing else, no script and no network.

The pictures are SVG, drawn when the page is written. All texts are escaped.
"""

import html
import json
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from kdiag.errors import ConfigError, install_command
from kdiag.exchange.secrets.new_file import open_new
from kdiag_cli.output.chart import Axis, Bar, BarChart, Grid, LineChart, SpanChart, number
from kdiag_cli.output.pages.policy import policy_element
from kdiag_cli.output.terminal import harmless

if TYPE_CHECKING:
    from types import ModuleType

Part: TypeAlias = str | BarChart | LineChart | SpanChart | Grid
"""A paragraph, a chart or a table."""

_NOTHING: Final = "-"
_NUMBERS: Final = ' class="number"'
_SHORT: Final = ' class="short"'
_SHORT_LETTERS: Final = 24
"""So many stay in one line: a time does, and no column is so wide that others have no room."""
_SCHEMA: Final = "https://vega.github.io/schema/vega-lite/v5.json"
_WIDTH: Final = 640
_BAR_HEIGHT: Final = 22
_LINE_HEIGHT: Final = 320
_COLOURS: Final = ("#3366aa", "#c2571a", "#2e8b57", "#8e44ad", "#a0522d", "#444444")
_CONFIG: Final[dict[str, Any]] = {
    "background": "white",
    "padding": {"left": 24, "right": 24, "top": 8, "bottom": 8},
    "font": "sans-serif",
    "view": {"stroke": None},
    "axis": {"labelFontSize": 12, "titleFontSize": 12, "titleFontWeight": "normal"},
    "legend": {
        "labelFontSize": 12,
        "labelLimit": 320,
        "title": None,
        "orient": "bottom",
        "columns": 3,
        "columnPadding": 32,  # the browser's letters may be wider than those of who draws
    },
    "range": {"category": list(_COLOURS)},
}
_STYLE: Final = """
body { font: 15px/1.5 sans-serif; color: #222; max-width: 76rem;
       margin: 2rem auto; padding: 0 1rem }
h1 { font-size: 1.5rem } h2 { font-size: 1.1rem; margin-top: 2rem }
svg { max-width: 100%; height: auto; overflow: visible }
.wide { overflow-x: auto }
p { max-width: 60rem }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: 0.8rem }
th, td { text-align: left; padding: 0.2rem 0.6rem 0.2rem 0; border-bottom: 1px solid #ddd }
td { overflow-wrap: break-word }
.number { text-align: right }
td.short { white-space: nowrap }
@media (max-width: 45rem) {
  tr { display: block; padding: 0.4rem 0; border-bottom: 1px solid #ddd }
  tr.head { display: none }
  td, td.number, td.short { display: flex; padding: 0.1rem 0; border: 0; text-align: left;
                            white-space: normal; overflow-wrap: anywhere }
  td::before { content: attr(data-name); flex: 0 0 7.5rem; color: #666 }
}
"""
"""A narrow window has a block for each row, a line for each cell, with the name of its column."""


def write_page(file: Path, title: str, parts: Iterable[Part]) -> None:
    """Write a page.

    Args:
        file: it is replaced if it exists.
        title: the page's heading.
        parts: what stands below it, in this order.

    Raises:
        ConfigError: if the file cannot be written, or the library that draws is missing.
    """
    drawer = require_drawer()
    body = "\n".join(_part(drawer, part) for part in parts)
    heading = _text(title)
    page = (
        f'<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f"{policy_element([_STYLE])}\n"
        f'<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{heading}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n"
        f"<h1>{heading}</h1>\n{body}\n</body>\n</html>\n"
    )
    try:
        with open_new(file, is_private=False) as stream:
            stream.write(page.encode(errors="replace"))
    except OSError as error:
        why = os.strerror(error.errno) if error.errno else str(error)
        raise ConfigError("--html", str(file), f"cannot be written: {why}") from None


def require_drawer() -> "ModuleType":
    """Return the library that draws; to be called before a long measurement, not after it.

    Raises:
        ConfigError: if it is not installed; says how to install it.
    """
    try:
        import vl_convert  # noqa: PLC0415 - it is an extra
    except ImportError:
        raise ConfigError(
            "--html", "option", f"pages need a library: {install_command('html')}"
        ) from None
    return vl_convert


def _part(drawer: "ModuleType", part: Part) -> str:
    if isinstance(part, str):
        return f"<p>{_text(part)}</p>"
    section = f"<h2>{_text(part.title)}</h2>\n"
    if isinstance(part, Grid):
        return section + _table(part)
    drawing = _drawing_of(part) | {"$schema": _SCHEMA}
    return f"{section}<div>{drawer.vegalite_to_svg(drawing)}</div>"


def _drawing_of(chart: BarChart | LineChart | SpanChart) -> dict[str, Any]:
    if isinstance(chart, BarChart):
        return _bars(chart)
    return _lines(chart) if isinstance(chart, LineChart) else _spans(chart)


def _text(text: str) -> str:
    return html.escape(harmless(text))


def _table(grid: Grid) -> str:
    columns = zip(*grid.rows, strict=True) if grid.rows else [()] * len(grid.headers)
    kinds = [_kind(column) for column in columns]
    names = [_text(each) for each in grid.headers]
    cells = zip(kinds, names, strict=True)
    head = "".join(f"<th{kind}>{name}</th>" for kind, name in cells)
    rows = "\n".join(_row(row, kinds, names) for row in grid.rows)
    return f'<div class="wide"><table>\n<tr class="head">{head}</tr>\n{rows}\n</table></div>'


def _kind(column: Sequence[object]) -> str:
    """Return the class of a column: numbers stand to the right, short texts in one line."""
    if all(each is None or type(each) in {int, float} for each in column):
        return _NUMBERS
    return _SHORT if max(len(str(each)) for each in column) <= _SHORT_LETTERS else ""


def _row(cells: Sequence[object], kinds: Sequence[str], names: Sequence[str]) -> str:
    texts = (_NOTHING if cell is None else _text(str(cell)) for cell in cells)
    columns = zip(texts, kinds, names, strict=True)
    filled = (f'<td{kind} data-name="{name}">{text}</td>' for text, kind, name in columns)
    return f"<tr>{''.join(filled)}</tr>"


def _bars(chart: BarChart) -> dict[str, Any]:
    """Return what draws a bar chart."""
    rows = [_bar_row(bar) for bar in chart.bars]
    label = _labels()
    value: dict[str, Any] = {"field": "value", "type": "quantitative", "title": chart.unit}
    value["axis"] = {"tickCount": 6}
    layers: list[dict[str, Any]] = [
        {"mark": {"type": "bar", "color": _COLOURS[0]}, "encoding": {"y": label, "x": value}}
    ]
    if any(bar.low is not None for bar in chart.bars):
        spread = {
            "y": label,
            "x": {"field": "low", "type": "quantitative"},
            "x2": {"field": "high"},
        }
        layers.append({"mark": {"type": "rule", "strokeWidth": 2}, "encoding": spread})
    text = {"y": label, "x": {"field": "end", "type": "quantitative"}, "text": {"field": "text"}}
    layers.append({"mark": {"type": "text", "align": "left", "dx": 6}, "encoding": text})
    return _drawing(rows, layer=layers, height=_BAR_HEIGHT * len(rows))


def _labels() -> dict[str, Any]:
    """Return the axis of what lies below each other, in the order in which it is given."""
    label: dict[str, Any] = {"field": "label", "type": "nominal", "sort": None, "title": None}
    label["axis"] = {"ticks": False, "domain": False, "labelPadding": 8, "labelLimit": 240}
    return label


def _spans(chart: SpanChart) -> dict[str, Any]:
    """Return what draws stretches of time."""
    rows = [
        {"label": harmless(each.label), "kind": each.kind, "start": each.start, "end": each.end}
        for each in chart.spans
    ]
    encoding = {
        "y": _labels(),
        "x": {
            "field": "start",
            "type": "quantitative",
            "title": chart.unit,
            "axis": {"tickCount": 6},
        },
        "x2": {"field": "end"},
        "color": {"field": "kind", "type": "nominal", "sort": None},
    }
    lines = len({each.label for each in chart.spans})
    return _drawing(rows, mark={"type": "bar"}, encoding=encoding, height=_BAR_HEIGHT * lines)


def _bar_row(bar: Bar) -> dict[str, Any]:
    row: dict[str, Any] = {"label": harmless(bar.label), "value": bar.value}
    row["end"] = bar.value if bar.high is None else max(bar.value, bar.high)
    row["text"] = " ".join(part for part in (number(bar.value), harmless(bar.note)) if part)
    if bar.low is not None and bar.high is not None:
        row |= {"low": bar.low, "high": bar.high}
    return row


def _lines(chart: LineChart) -> dict[str, Any]:
    """Return what draws curves."""
    rows = [
        {"line": harmless(name), "x": x, "y": y}
        for name, points in chart.lines.items()
        for x, y in points
    ]
    names = [harmless(name) for name in chart.lines]
    encoding = {
        "x": _axis("x", chart.x),
        "y": _axis("y", chart.y),
        "color": {"field": "line", "type": "nominal", "sort": names},
    }
    mark = {"type": "line", "strokeWidth": 2, "interpolate": "linear"}
    return _drawing(rows, mark=mark, encoding=encoding, height=_LINE_HEIGHT)


def _axis(field: str, axis: Axis) -> dict[str, Any]:
    drawn: dict[str, Any] = {"field": field, "type": "quantitative", "title": harmless(axis.title)}
    drawn["scale"] = {"type": "log"} if axis.is_log else {"zero": True}
    if axis.ticks:
        labels = json.dumps({_number(value): label for value, label in axis.ticks.items()})
        drawn["axis"] = {"values": list(axis.ticks), "labelExpr": f"{labels}[datum.value]"}
    return drawn


def _number(value: float) -> str:
    """Return a number as JavaScript writes it."""
    return str(int(value)) if value == int(value) else repr(value)


def _drawing(rows: Sequence[dict[str, Any]], **how: Any) -> dict[str, Any]:
    return {"data": {"values": rows}, "width": _WIDTH, "config": _CONFIG, **how}
