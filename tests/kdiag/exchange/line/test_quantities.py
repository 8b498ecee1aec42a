from collections.abc import Callable

import pytest

from kdiag.exchange.line.quantities import (
    parse_bits_per_s,
    parse_duration_ns,
    parse_interval_ns,
    parse_moment_ns,
    parse_size_bytes,
    parse_zone,
)
from tiers.cases import for_each

S = 1_000_000_000
NOW_NS = 1_768_500_000 * S
JANUARY_15_NS = 1_768_435_200 * S


@for_each(
    ("text", "ns"),
    [
        ("5ns", 5),
        ("800us", 800_000),
        ("800 µs", 800_000),
        ("800μs", 800_000),
        ("500ms", S // 2),
        ("0.25s", S // 4),
        (" 10S ", 10 * S),
        ("2m", 120 * S),
        ("1.5h", 5_400 * S),
        ("1d12h", 129_600 * S),
        ("1h 30m", 5_400 * S),
        ("1w", 604_800 * S),
        ("0", 0),
        ("0.0", 0),
        ("0ms", 0),
        ("0.1ns", 0),
        ("36500d", 36_500 * 86_400 * S),
    ],
)
def test_a_duration_is_numbers_with_units(text: str, ns: int) -> None:
    """Several may stand together, in capitals or not; zero is zero in any unit."""
    assert parse_duration_ns(text) == ns


@for_each(
    ("text", "size_bytes"),
    [
        ("0", 0),
        ("4096", 4096),
        ("100B", 100),
        ("64K", 65_536),
        ("64k", 65_536),
        ("64KiB", 65_536),
        ("64kB", 64_000),
        ("64KB", 64_000),
        ("10MiB", 10 << 20),
        ("1.5MB", 1_500_000),
        ("1.5 M", 3 << 19),
        ("2G", 2 << 30),
        ("1t", 1 << 40),
    ],
)
def test_a_size_is_in_bytes_unless_a_unit_says_more(text: str, size_bytes: int) -> None:
    """As GNU's tools have it: K and KiB are 1024 bytes, KB is 1000."""
    assert parse_size_bytes(text) == size_bytes


@for_each(
    ("text", "ns"),
    [
        ("100/s", S // 100),
        ("100 / sec", S // 100),
        ("0.5/s", 2 * S),
        ("30/m", 2 * S),
        ("1/h", 3600 * S),
    ],
)
def test_a_rate_is_a_number_for_each_time(text: str, ns: int) -> None:
    """It says how long to wait between two requests."""
    assert parse_interval_ns(text) == ns


@for_each(
    ("text", "bits_per_s"),
    [
        ("1bit", 1),
        ("64kbit", 64_000),
        ("200Mbit", 200_000_000),
        ("2.5 mbit/s", 2_500_000),
        ("1Gbps", 10**9),
        ("10GBIT", 10**10),
        ("125MB/s", 10**9),
        ("10MiB/s", 83_886_080),
    ],
)
def test_the_rate_of_a_link_is_in_bits_or_bytes(text: str, bits_per_s: int) -> None:
    """As links are sold: k, M and G are powers of 1000."""
    assert parse_bits_per_s(text) == bits_per_s


@for_each(
    ("text", "ns"),
    [
        ("2026-01-15", JANUARY_15_NS),
        ("2026-01-15T00:00:00Z", JANUARY_15_NS),
        ("2026-01-15 00:00:00", JANUARY_15_NS),
        ("2026-01-15T01:00:00+01:00", JANUARY_15_NS),
        ("2026-01-15T00:00:00.25Z", JANUARY_15_NS + S // 4),
        ("2026-01-15T00:00:00.123456789", JANUARY_15_NS + 123_456_789),
        ("2026-01-15T00:00:00,5+00:00", JANUARY_15_NS + S // 2),
        ("1768435200", JANUARY_15_NS),
        ("1768435200000", JANUARY_15_NS),
        ("0", 0),
        ("now", NOW_NS),
        ("-1h", NOW_NS - 3600 * S),
        ("-1d12h", NOW_NS - 129_600 * S),
        ("-1.5s", NOW_NS - 3 * S // 2),
    ],
)
def test_a_moment_is_on_the_calendar_since_1970_or_ago(text: str, ns: int) -> None:
    """UTC where no zone is given; what kdiag prints can be pasted, to the nanosecond."""
    assert parse_moment_ns(text, NOW_NS) == ns


def moment_ns(text: str) -> int:
    """Parse a moment at a fixed time."""
    return parse_moment_ns(text, NOW_NS)


@for_each(
    ("parse", "text", "why"),
    [
        (parse_duration_ns, "5", "'5' has no unit; write 5ms or 5s"),
        (parse_duration_ns, "0.5", "'0.5' has no unit; write 0.5ms or 0.5s"),
        (parse_interval_ns, "100", "'100' has no unit; write 100/s"),
        (parse_bits_per_s, "10", "'10' has no unit; write 10Mbit or 10MB/s"),
    ],
)
def test_a_missing_unit_is_asked_for(parse: Callable[[str], int], text: str, why: str) -> None:
    """With both that may be meant."""
    with pytest.raises(ValueError, match=f"^{why}$"):
        parse(text)


@for_each(
    ("parse", "texts", "why"),
    [
        (parse_duration_ns, ["", "ms", "-5ms", "5 parsecs", "1e3s", "٣s", "1h5"], "not a duration"),
        (parse_duration_ns, ["36501d", "9999999999h"], "longer than a century"),
        (parse_size_bytes, ["", "K", "-1", "1.5", "10Mbit", "1KK", "0x10", "²"], "not a size"),
        (parse_size_bytes, ["9999999999T"], "more than Kafka can count"),
        (parse_interval_ns, ["", "fast", "0/s", "/s", "-1/s", "5/d"], "not a rate"),
        (parse_bits_per_s, ["", "1G", "10Mb/s", "10mb/s", "1GB", "-1Gbit"], "not a rate"),
        (moment_ns, ["", "yesterday", "-5", "-1y", "2026-13-01", "1" * 16, "@now"], "not a moment"),
        (moment_ns, ["1969-12-31", "-30000d"], "before 1970"),
    ],
)
def test_anything_else_is_refused(parse: Callable[[str], int], texts: list[str], why: str) -> None:
    """With a form that is right."""
    for text in texts:
        with pytest.raises(ValueError, match=why):
            parse(text)


def test_a_unit_may_be_stated_elsewhere() -> None:
    """By the name of an option or of a setting of Kafka's; other units stay possible."""
    assert parse_duration_ns("500", bare="ms") == parse_duration_ns("0.5s", bare="ms")
    assert parse_size_bytes("64", bare="M") == parse_size_bytes("64M")


@pytest.mark.thorough
@for_each(
    ("text", "why"),
    [
        ("Europe/Berln", "did you mean Europe/Berlin"),
        ("berlin", "did you mean Europe/Berlin"),
        ("Mars", "write utc, local, an offset such as"),
        ("../../etc/passwd", "unknown zone"),
        ("Europe", "unknown zone"),
        ("", "unknown zone"),
        ("+19:00", "unknown zone"),
    ],
)
def test_what_is_not_a_zone_is_refused_with_names_that_are_near(text: str, why: str) -> None:
    """No file outside of the database is looked at."""
    with pytest.raises(ValueError, match=why):
        parse_zone(text)


def test_a_system_without_a_time_zone_database_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """Offsets work without one."""
    monkeypatch.setattr("zoneinfo.available_timezones", set)
    with pytest.raises(
        ValueError, match=r"no time zone database \(the package tzdata has one\); write"
    ):
        parse_zone("Europe/Berlin")
    assert str(parse_zone("+02:00")) == "UTC+02:00"
