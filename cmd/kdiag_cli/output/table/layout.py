"""Which columns of a table a terminal has room for, and how wide each of them is.

Of a table that is too wide, columns without a value go first, and then those of the highest rank,
one by one. What remains is narrowed, bit by bit, where that makes the fewest lines more; further
where there are many rows. Where that is not enough, there is no layout, and the table becomes
blocks:

    NODE-ID  1
    ADDRESS  kafka-1.example.com:9092
"""

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from kdiag_cli.output.terminal import columns_of

GAP: Final = 2
"""Columns of the terminal between two of the table."""

NOTHING: Final = "-"
"""The cell of a value that is not known, or not there."""

_COMFORTABLE: Final = 40
"""How wide text gets before other columns are left out for more."""

_LEAST: Final = 20
"""How wide it must be: in less, blocks are easier to read."""

_TIGHT: Final = 13
"""How wide it must be in a table of many rows: dozens of blocks are not read."""

_MANY_ROWS: Final = 8
_SAMPLE: Final = 100
_CUT_WORD: Final = 3


class TableColumn(NamedTuple):
    """A column of a table.

    Attributes:
        header: in capitals, words joined with hyphens: `NODE-ID`.
        rank: 0 if it is always shown; else the higher, the sooner it makes room for others.
        unit: what its numbers count, a key of `UNITS`: people read `1.2 MB`, programs 1234567.
        colours: of cells, by their text.
    """

    header: str
    rank: int = 0
    unit: str = ""
    colours: Mapping[str, int] = {}


def headers_of(columns: Sequence[TableColumn | str]) -> list[str]:
    """Return the headers alone."""
    return [each if isinstance(each, str) else each.header for each in columns]


class TextTable(NamedTuple):
    """A table whose cells are texts already.

    Attributes:
        columns: what they are.
        rows: a harmless text for each column.
        numeric: for each column whether it holds numbers, which stand to the right.
        has_headers: whether the headers stand above the columns.
    """

    columns: Sequence[TableColumn]
    rows: Sequence[Sequence[str]]
    numeric: Sequence[bool]
    has_headers: bool = True

    def only(self, indexes: Sequence[int]) -> "TextTable":
        """Return the table with some of its columns."""
        return TextTable(
            [self.columns[each] for each in indexes],
            [[row[each] for each in indexes] for row in self.rows],
            [self.numeric[each] for each in indexes],
            self.has_headers,
        )


class TableLayout(NamedTuple):
    """What is shown of a table.

    Attributes:
        shown: the indexes of the columns.
        widths: of each of them; None if they do not fit side by side.
    """

    shown: Sequence[int]
    widths: Sequence[int] | None


class _Need(NamedTuple):
    """The widths that a column can have.

    Attributes:
        position: which one it is.
        rank: of the column.
        is_empty: whether no row has a value.
        natural: the width without which nothing is wrapped.
        comfortable: the width that it gets before others are left out for more.
        least: the width that it must have.
        tight: the width that it must have among many rows.
        lengths: of the first cells, by which the cost of narrowing is estimated.
        weight: what a line more costs: words that are cut in two are hard to read.
    """

    position: int
    rank: int
    is_empty: bool
    natural: int
    comfortable: int
    least: int
    tight: int
    lengths: Sequence[int]
    weight: int

    def cost(self, width: int) -> int:
        """Return how much worse the column is if it is one narrower than `width`."""
        lines = sum(-(-each // (width - 1)) - -(-each // width) for each in self.lengths)
        return lines * self.weight


def lay_out(table: TextTable, width: int, *, is_wide: bool = False) -> TableLayout:
    """Return what to show of a table on a terminal.

    Args:
        table: what there is.
        width: of the terminal.
        is_wide: whether all columns are shown, come what may.
    """
    needs = [_need(table, position, width) for position in range(len(table.columns))]
    if is_wide or _total([need.natural for need in needs]) <= width:
        return TableLayout(range(len(needs)), _narrowed(needs, width))
    filled = [need for need in needs if not need.is_empty] or needs
    chosen = _chosen(filled, width)
    widths = _narrowed(chosen, width)
    if widths is None and len(table.rows) >= _MANY_ROWS:
        widths = _narrowed([need._replace(least=need.tight) for need in chosen], width)
    shown = filled if widths is None else chosen
    return TableLayout([need.position for need in shown], widths)


def _need(table: TextTable, position: int, width: int) -> _Need:
    column = table.columns[position]
    cells = [row[position] for row in table.rows]
    lengths = list(map(columns_of, cells))
    header = columns_of(column.header) if table.has_headers else 1
    natural = min(max([header, *lengths]), width)
    is_numeric = table.numeric[position]
    comfortable = natural if is_numeric else min(natural, _COMFORTABLE)
    least, tight = (
        natural if is_numeric else min(natural, max(each, header)) for each in (_LEAST, _TIGHT)
    )
    return _Need(
        position=position,
        rank=column.rank,
        is_empty=bool(cells) and all(cell in {NOTHING, ""} for cell in cells),
        natural=natural,
        comfortable=comfortable,
        least=least,
        tight=tight,
        lengths=lengths[:_SAMPLE],
        weight=1 if any(" " in cell for cell in cells) else _CUT_WORD,
    )


def _chosen(needs: Sequence[_Need], width: int) -> list[_Need]:
    """Return the columns without those that make room for the others."""
    chosen = list(needs)
    while _total([need.comfortable for need in chosen]) > width:
        last = max(chosen, key=lambda need: (need.rank, need.position))
        if last.rank == 0:
            break
        chosen.remove(last)
    return chosen


def _narrowed(needs: Sequence[_Need], width: int) -> list[int] | None:
    """Return how wide columns are if they give way where it costs least; None if they cannot."""
    widths = [need.natural for need in needs]
    costs = [need.cost(need.natural) if need.natural > need.least else None for need in needs]
    while _total(widths) > width:
        options = [(cost, -widths[n], n) for n, cost in enumerate(costs) if cost is not None]
        if not options:
            return None
        _, _, cheapest = min(options)
        widths[cheapest] -= 1
        need = needs[cheapest]
        can_go_on = widths[cheapest] > need.least
        costs[cheapest] = need.cost(widths[cheapest]) if can_go_on else None
    return widths


def _total(widths: Sequence[int]) -> int:
    return sum(widths) + GAP * (len(widths) - 1)
