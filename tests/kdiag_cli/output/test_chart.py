"""Charts as values."""

from kdiag_cli.output.chart import Axis, Bar


def test_a_bar_needs_no_more_than_a_label_and_a_value() -> None:
    """What was measured once has no spread."""
    assert Bar("64K", 3.5) == ("64K", 3.5, None, None, "")


def test_an_axis_is_linear_and_finds_its_own_ticks() -> None:
    """Both can be told otherwise."""
    assert Axis("ms") == ("ms", False, {})
