"""Charts as values."""

from kdiag_cli.output.chart import Axis, Bar, BarChart, number, print_bars
from kdiag_cli.output.terminal import columns_of
from programs.kdiag_program import Printed
from tiers.cases import for_each


def test_a_bar_needs_no_more_than_a_label_and_a_value() -> None:
    """What was measured once has no spread."""
    assert Bar("64K", 3.5) == ("64K", 3.5, None, None, "")


def test_an_axis_is_linear_and_finds_its_own_ticks() -> None:
    """Both can be told otherwise."""
    assert Axis("ms") == ("ms", False, {})


CHART = BarChart(
    "produce",
    "MB/s",
    [Bar("64K", 3.5, 3.4, 3.6), Bar("1M", 32), Bar("auto", 35, 31, 37.5, "best"), Bar("off", 0)],
)


def lines_of(chart: BarChart, width: int | None = 60) -> list[str]:
    """Return the lines of a chart on a terminal of this width, or in a pipe."""
    output = Printed(width)
    print_bars(output, chart)
    return output.lines


def test_bars_are_as_long_as_their_values() -> None:
    """The longest has the room that labels, values and remarks leave."""
    title, *bars = lines_of(CHART)
    lengths = [bar.count("█") for bar in bars]

    assert title == "produce, MB/s"
    assert lengths == [3, 28, 31, 0]
    assert bars[2].split() == ["auto", "█" * 31, "35", "31", "to", "37.5", "best"]
    assert max(map(columns_of, bars)) <= 60


def test_what_is_nothing_has_no_bar_and_what_is_little_has_one() -> None:
    """An eighth of a column is the least that can be seen."""
    _, little, much, nothing = lines_of(
        BarChart("x", "y", [Bar("a", 0.001), Bar("b", 9), Bar("c", 0)])
    )

    assert "▏" in little
    assert "█" in much
    assert nothing.split() == ["c", "0"]


def test_a_pipe_gets_no_bars() -> None:
    """Its reader has the table."""
    assert lines_of(CHART, width=None) == []


def test_a_chart_without_bars_is_not_there() -> None:
    """Neither is its title."""
    assert lines_of(BarChart("produce", "MB/s", [])) == []


def test_labels_are_made_harmless() -> None:
    """They may come from the wire."""
    _, line = lines_of(BarChart("x", "y", [Bar("\x1b[2J", 1)]))

    assert line.startswith("\\x1b[2J")


@for_each(
    ("value", "text"),
    [(0, "0"), (0.1234, "0.123"), (3.456, "3.46"), (99.96, "100"), (1234, "1234")],
)
def test_values_have_three_digits(value: float, text: str) -> None:
    """But no digit before the point is left out."""
    assert number(value) == text


def test_an_encoding_without_blocks_gets_other_characters() -> None:
    """A bar can be read in ASCII."""
    output = Printed(40, encoding="ascii")
    print_bars(output, BarChart("x", "y", [Bar("a", 1), Bar("b", 0.001)]))

    assert output.lines[1].split() == ["a", "#" * 28, "1"]
    assert output.lines[2].split() == ["b", ".", "0.001"]
