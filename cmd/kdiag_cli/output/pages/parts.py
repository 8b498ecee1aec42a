"""The parts of a page with a script: values that know nothing of HTML.

    PageSection("latency", "Latency", [Plot(...), SortableTable(...)])

Texts are raw, as they came from the wire: whoever writes the page escapes them.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias


class PageLink(NamedTuple):
    """A text that leads to another place of the page.

    Attributes:
        text: what is read.
        anchor: the place; empty if there is none, and the text leads nowhere.
    """

    text: str
    anchor: str


class Quantity(NamedTuple):
    """A number with its unit.

    Attributes:
        value: what rows are sorted by.
        text: what is read, such as `1.2 MB`.
    """

    value: float
    text: str


Cell: TypeAlias = str | int | float | PageLink | Quantity | None


class SortableTable(NamedTuple):
    """A table that is sorted by a click on a header, and filtered by words.

    Attributes:
        title: what it is about.
        headers: of the columns.
        rows: a cell for each header; None is shown as `-`.
        note: what to know about it; empty for nothing.
        left_out: how many rows there are more.
        more: the command that shows all; empty if there is none.
        anchor: its place; empty if nothing leads to it.
    """

    title: str
    headers: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    note: str = ""
    left_out: int = 0
    more: str = ""
    anchor: str = ""


class Choice(NamedTuple):
    """What the reader of a plot can choose.

    Attributes:
        signal: the parameter of the plot that has the value.
        label: what stands before it.
        options: the values, with the texts that are read; the first is chosen at first.
    """

    signal: str
    label: str
    options: Mapping[str, str]


class Plot(NamedTuple):
    """A chart that is drawn where it is read, and can be hovered and zoomed.

    Attributes:
        title: what it shows.
        drawing: in Vega-Lite, without its data.
        columns: the data: values of equal number by the names that the drawing uses.
        choices: what the reader can choose.
        note: what to know about it.
        is_over_time: whether it is zoomed together with the others over time.
    """

    title: str
    drawing: dict[str, Any]
    columns: Mapping[str, Sequence[Any]]
    choices: Sequence[Choice] = ()
    note: str = ""
    is_over_time: bool = False


class Remark(NamedTuple):
    """A finding, or another sentence that stands out.

    Attributes:
        kind: `error`, `warning`, `info` or `note`, which colours it.
        title: the sentence.
        lines: what is below it.
        links: where it leads.
        command: what prints its evidence; empty for nothing.
    """

    kind: str
    title: str
    lines: Sequence[str] = ()
    links: Sequence[PageLink] = ()
    command: str = ""


class Heading(NamedTuple):
    """The title of what follows it in a section."""

    text: str


class Note(NamedTuple):
    """A line that is less important than what is around it."""

    text: str


class Tile(NamedTuple):
    """A count that leads to the part of the page that has what it counts.

    Attributes:
        number: how many.
        noun: of what.
        anchor: the place; empty if there is none.
        kind: `error` or `warning` if it is one, which colours it; empty for neither.
    """

    number: int
    noun: str
    anchor: str = ""
    kind: str = ""


class Tiles(NamedTuple):
    """Counts beside each other."""

    tiles: Sequence[Tile]


class Detail(NamedTuple):
    """What is folded until somebody wants to read it.

    Attributes:
        anchor: its place.
        summary: the line that is read while it is folded.
        facts: names and values.
        texts: longer texts with their headings, shown as they are.
    """

    anchor: str
    summary: str
    facts: Sequence[tuple[str, str]]
    texts: Sequence[tuple[str, str]]


PagePart: TypeAlias = str | Plot | SortableTable | Remark | Detail | Heading | Note | Tiles
"""A paragraph, or one of the above."""


class PageSection(NamedTuple):
    """A part of a page that has a name in its table of contents.

    Attributes:
        anchor: its place.
        title: its name.
        parts: from top to bottom.
    """

    anchor: str
    title: str
    parts: Sequence[PagePart]
