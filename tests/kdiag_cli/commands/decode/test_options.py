import pytest
import typer

from kdiag_cli.commands.decode.options import (
    read_bits_per_s,
    read_duration_ns,
)


@pytest.mark.parametrize(
    ("text", "bits_per_s"), [("1Gbit", 10**9), ("2.5 mbit/s", 2_500_000), ("64kbit", 64_000)]
)
def test_rates_are_in_bits(text: str, bits_per_s: int) -> None:
    """As links are sold; k, M and G are powers of 1000."""
    assert read_bits_per_s(text) == bits_per_s


@pytest.mark.parametrize(
    ("text", "expected_ns"),
    [
        ("50ms", 50_000_000),
        ("50", 50_000_000),
        ("1.5s", 1_500_000_000),
        ("800us", 800_000),
        ("800 µs", 800_000),
        ("5NS", 5),
        ("2m", 120_000_000_000),
        (None, None),
    ],
)
def test_durations_have_units(text: str | None, expected_ns: int | None) -> None:
    """A bare number is milliseconds."""
    assert read_duration_ns(text) == expected_ns


@pytest.mark.parametrize("text", ["", "ms", "-5ms", "5 parsecs", "1e3"])
def test_other_durations_are_refused(text: str) -> None:
    """The message shows what one looks like."""
    with pytest.raises(typer.BadParameter, match="give one such as 50ms"):
        read_duration_ns(text)
