from kdiag_cli.output.units import UNITS, age, duration, header_of, with_unit
from tiers.cases import for_each


@for_each(
    ("time_ns", "text"),
    [
        (0, "0 µs"),
        (49_600, "50 µs"),
        (999_499, "999 µs"),
        (999_500, "1.00 ms"),
        (12_340_000, "12.3 ms"),
        (999_400_000, "999 ms"),
        (999_500_000, "1.00 s"),
        (71_000_000_000, "71.0 s"),
        (3_600_000_000_000, "3600 s"),
    ],
)
def test_times_have_three_digits(time_ns: int, text: str) -> None:
    """In the unit in which they are read at once."""
    assert duration(time_ns) == text


@for_each(
    ("seconds", "text"),
    [(0.5, "500 ms"), (119, "119 s"), (600, "10 min"), (9_000, "2.5 h"), (259_200, "3.0 d")],
)
def test_long_times_are_in_minutes_hours_and_days(seconds: float, text: str) -> None:
    """Nobody divides by 3600 in the head."""
    assert age(seconds * 1e9) == text


@for_each(
    ("value", "unit", "text"),
    [
        (1_500, "us", "1.50 ms"),
        (0.05, "ms", "50 µs"),
        (1_234_567, "bytes", "1.2 MB"),
        (-1, "bytes", "-1"),
        (7_545.0, "bytes/s", "7.5 kB/s"),
        (98, "percent", "98 %"),
        ("1.45-1.66", "ms", "1.45-1.66 ms"),
        ("0.8-1.25", "ms", "800 µs-1.25 ms"),
        ("lost", "bytes", "lost"),
        (None, "ms", None),
        (1_234_567, "", 1_234_567),
    ],
)
def test_cells_have_the_unit_of_their_column(value: object, unit: str, text: object) -> None:
    """What is no number stays as it is."""
    assert with_unit(value, unit) == text


def test_people_see_no_unit_in_the_header() -> None:
    """It is in every cell; a column without a unit keeps its header."""
    assert header_of("P99-US", "us") == "P99"
    assert header_of("BDP-BYTES", "bytes") == "BDP"
    assert header_of("WINDOW", "bytes") == "WINDOW"
    assert header_of("RTT-MS", "") == "RTT-MS"
    assert header_of("EMPTY-PCT", "percent", {"EMPTY"}) == "EMPTY-PCT"
    assert {"us", "ms", "age", "bytes", "bytes/s", "percent"} == set(UNITS)
