"""Charts as values: what a terminal shows with characters and a page with pictures."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple


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
