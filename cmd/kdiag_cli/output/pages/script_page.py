"""A page whose charts can be zoomed and whose tables can be sorted: one file, without network.

    header      the title, what it is about, the table of contents
    sections    paragraphs, remarks, plots, tables, details
    data        of the plots, as JSON that a browser does not run
    scripts     Vega-Lite, and `page.js`, which draws the plots and sorts the tables

Every text is escaped where it is written, control characters included: a client id with `<script>`
in it is read as such.
"""

import html
import json
import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from importlib.resources import files
from pathlib import Path
from typing import Final

import msgspec

from kdiag.errors import ConfigError
from kdiag.exchange.line.phrase import count
from kdiag.exchange.secrets.new_file import open_new
from kdiag_cli.output.json_text import escaped
from kdiag_cli.output.pages.parts import (
    Cell,
    Detail,
    Heading,
    Note,
    PageLink,
    PagePart,
    PageSection,
    Plot,
    Quantity,
    Remark,
    SortableTable,
    Tile,
    Tiles,
)
from kdiag_cli.output.pages.policy import policy_element
from kdiag_cli.output.terminal import harmless

_FOLDER: Final = files("kdiag_cli.output.pages")
_NOTHING: Final = "-"
_LONG_LETTERS: Final = 60
"""A text of more letters has a wider column."""

_IN_JSON: Final = str.maketrans({"<": "\\u003c", ">": "\\u003e", "&": "\\u0026"})
_NO_SCRIPT: Final = "Charts, sorting and filters need JavaScript; the tables are complete without."


def write_script_page(
    file: Path, title: str, lines: Sequence[str], sections: Sequence[PageSection], script: str
) -> int:
    """Write a page; return how many bytes it has.

    Args:
        file: it is replaced if it exists.
        title: the heading.
        lines: what stands below it.
        sections: the rest; those without parts are left out.
        script: that draws charts, as `ChartScript` has it.

    Raises:
        ConfigError: if the file cannot be written.
    """
    filled = [each for each in sections if each.parts]
    page = "\n".join(_page(title, lines, filled, script)).encode("utf-8", "replace")
    part = file.with_name(f".{file.name}.partial")
    try:
        with open_new(part, is_private=False) as stream:
            stream.write(page)
        part.replace(file)
    except OSError as error:
        with suppress(OSError):
            part.unlink()
        why = os.strerror(error.errno) if error.errno else str(error)
        raise ConfigError("--html", str(file), f"cannot be written: {why}") from None
    return len(page)


def _page(
    title: str, lines: Sequence[str], sections: Sequence[PageSection], script: str
) -> Iterator[str]:
    heading = _text(title)
    yield '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">'
    style, scripts = _asset("page.css"), (script, _asset("page.js"))
    yield policy_element([style], scripts)
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">'
    yield '<meta name="color-scheme" content="light dark">'
    yield f"<title>{heading}</title>\n<style>{style}</style>\n</head>\n<body>"
    yield f"<header>\n<h1>{heading}</h1>"
    yield from (f"<p>{_text(line)}</p>" for line in lines)
    links = "".join(f'<a href="#{each.anchor}">{_text(each.title)}</a>' for each in sections)
    yield f"<nav>{links}</nav>\n<noscript><p>{_NO_SCRIPT}</p></noscript>\n</header>\n<main>"
    plots: list[Plot] = []
    for section in sections:
        yield f'<section id="{section.anchor}">\n<h2>{_text(section.title)}</h2>'
        for part in section.parts:
            yield from _part(part, plots)
        yield "</section>"
    yield "</main>"
    yield from (_data(number, plot) for number, plot in enumerate(plots))
    yield from (f"<script>{each}</script>" for each in scripts)
    yield "</body>\n</html>"


def _part(part: PagePart, plots: list[Plot]) -> Iterator[str]:
    if isinstance(part, str):
        yield f"<p>{_text(part)}</p>"
    elif isinstance(part, Plot):
        yield from _plot(part, len(plots))
        plots.append(part)
    elif isinstance(part, SortableTable):
        yield from _table(part)
    elif isinstance(part, Remark):
        yield from _remark(part)
    elif isinstance(part, Heading):
        yield f"<h3>{_text(part.text)}</h3>"
    elif isinstance(part, Note):
        yield f'<p class="note">{_text(part.text)}</p>'
    elif isinstance(part, Tiles):
        yield f'<p class="tiles">{" ".join(map(_tile, part.tiles))}</p>'
    else:
        yield from _detail(part)


def _plot(plot: Plot, number: int) -> Iterator[str]:
    kind = "plot over-time" if plot.is_over_time else "plot"
    yield f'<figure class="{kind}" id="plot-{number}">\n<h3>{_text(plot.title)}</h3>'
    yield '<div class="controls">'
    for choice in plot.choices:
        options = "".join(
            f'<option value="{_text(value)}">{_text(text)}</option>'
            for value, text in choice.options.items()
        )
        label, signal = _text(choice.label), _text(choice.signal)
        yield f'<label>{label} <select data-signal="{signal}">{options}</select></label>'
    if plot.is_over_time:
        yield (
            '<span class="zoom"><button type="button" data-zoom="0.5" title="zoom in">+</button>'
            '<button type="button" data-zoom="2" title="zoom out">&minus;</button>'
            '<button type="button" data-zoom="0" title="show all">all</button></span>'
        )
    yield '</div>\n<div class="drawing" role="img"></div>'
    if plot.note:
        yield f"<figcaption>{_text(plot.note)}</figcaption>"
    yield "</figure>"


def _data(number: int, plot: Plot) -> str:
    """Return the drawing and the data of a plot, as a block that is not run."""
    document = {"drawing": plot.drawing, "columns": dict(plot.columns)}
    try:
        text = escaped(msgspec.json.encode(document)).decode()
    except UnicodeEncodeError:  # names that are not UTF-8
        text = json.dumps(document)
    return f'<script type="application/json" id="data-{number}">{text.translate(_IN_JSON)}</script>'


def _table(table: SortableTable) -> Iterator[str]:
    place = f' id="{_text(table.anchor)}"' if table.anchor else ""
    yield f'<div class="table"{place}>\n<h3>{_text(table.title)}</h3>'
    if table.note:
        yield f'<p class="note">{_text(table.note)}</p>'
    yield '<div class="controls"><label>Filter <input type="search"></label><output></output></div>'
    numeric = [_is_numeric(column) for column in zip(*table.rows, strict=True)]
    numeric = numeric or [False] * len(table.headers)
    yield '<div class="wide"><table>\n<thead><tr>'
    for header, is_number in zip(table.headers, numeric, strict=True):
        kind = ' class="number"' if is_number else ""
        yield f'<th{kind} aria-sort="none"><button type="button">{_text(header)}</button></th>'
    yield "</tr></thead>\n<tbody>"
    for row in table.rows:
        cells = zip(row, numeric, strict=True)
        yield f"<tr>{''.join(_cell(cell, is_number=number) for cell, number in cells)}</tr>"
    yield "</tbody></table></div>"
    if table.left_out:
        more = f": {table.more} shows all" if table.more else ""
        left_out = _text(f"{count(table.left_out, 'row')} more{more}")
        yield f'<p class="note">{left_out}</p>'
    yield "</div>"


def _is_numeric(column: Sequence[Cell]) -> bool:
    known = [each for each in column if each is not None]
    return bool(known) and all(isinstance(each, int | float | Quantity) for each in known)


def _cell(cell: Cell, *, is_number: bool) -> str:
    kind = ' class="number"' if is_number else ""
    if cell is None:
        return f"<td{kind}>{_NOTHING}</td>"
    if isinstance(cell, Quantity):
        return f'<td{kind} data-value="{cell.value}">{_text(cell.text)}</td>'
    if isinstance(cell, PageLink):
        return f"<td{kind}>{_link(cell)}</td>"
    if isinstance(cell, str) and len(cell) > _LONG_LETTERS:
        return f'<td class="long">{_text(cell)}</td>'
    value = f' data-value="{cell}"' if isinstance(cell, int | float) else ""
    text = f"{cell:,}" if isinstance(cell, int | float) and not isinstance(cell, bool) else cell
    return f"<td{kind}{value}>{_text(str(text))}</td>"


def _link(link: PageLink) -> str:
    text = _text(link.text)
    return f'<a href="#{_text(link.anchor)}">{text}</a>' if link.anchor else text


def _remark(remark: Remark) -> Iterator[str]:
    yield f'<div class="remark {_text(remark.kind)}">\n<p class="title">{_text(remark.title)}</p>'
    yield from (f"<p>{_text(line)}</p>" for line in remark.lines)
    if remark.links:
        yield f"<p>{' '.join(map(_link, remark.links))}</p>"
    if remark.command:
        yield f'<p class="command"><code>{_text(remark.command)}</code></p>'
    yield "</div>"


def _tile(tile: Tile) -> str:
    kind = f"tile {tile.kind}" if tile.kind else "tile"
    inside = f"<b>{tile.number:,}</b> {_text(tile.noun)}"
    if not tile.anchor:
        return f'<span class="{kind}">{inside}</span>'
    return f'<a class="{kind}" href="#{_text(tile.anchor)}">{inside}</a>'


def _detail(detail: Detail) -> Iterator[str]:
    anchor = _text(detail.anchor)
    yield f'<details id="{anchor}"><summary>{_text(detail.summary)}</summary>'
    facts = "".join(
        f"<dt>{_text(name)}</dt><dd>{_text(value)}</dd>" for name, value in detail.facts
    )
    yield f"<dl>{facts}</dl>"
    for heading, text in detail.texts:
        lines = "\n".join(harmless(line) for line in text.split("\n"))
        yield f"<h4>{_text(heading)}</h4>\n<pre>{html.escape(lines)}</pre>"
    yield "</details>"


def _text(text: str) -> str:
    return html.escape(harmless(text))


def _asset(name: str) -> str:
    return (_FOLDER / name).read_text(encoding="utf-8")
