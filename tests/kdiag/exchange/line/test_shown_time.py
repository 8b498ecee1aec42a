from datetime import tzinfo
from time import tzset
from typing import Final
from zoneinfo import ZoneInfo

import pytest

from kdiag.exchange.line.quantities import parse_zone
from kdiag.exchange.line.shown_time import (
    ZoneNotice,
    date_and_time,
    shared_zone,
    span_of_day,
    span_of_days,
    stamp,
    times_shown_in,
    zone_label,
)
from tiers.cases import for_each

ENDS_NS: Final = 1_792_890_000 * 10**9 + 123_456_789
"""2026-10-25T01:00:00.123456789Z: summer time in Berlin has just ended."""
BEFORE_NS: Final = ENDS_NS - 10**9


@for_each(
    ("zone", "shown", "label"),
    [
        ("utc", "2026-10-25T01:00:00.123Z", "UTC"),
        ("europe/berlin", "2026-10-25T02:00:00.123+01:00", "CET"),
        ("+05:30", "2026-10-25T06:30:00.123+05:30", "UTC+05:30"),
        ("-0330", "2026-10-24T21:30:00.123-03:30", "UTC-03:30"),
        ("America/Sao_Paulo", "2026-10-24T22:00:00.123-03:00", "UTC-03:00"),
    ],
)
def test_times_are_shown_in_a_zone_that_has_a_name(zone: str, shown: str, label: str) -> None:
    """A name of letters where the zone has one, and its offset where it has none."""
    with times_shown_in(parse_zone(zone)):
        assert (stamp(ENDS_NS), zone_label(ENDS_NS)) == (shown, label)
    assert stamp(ENDS_NS) == "2026-10-25T01:00:00.123Z"


def test_times_may_be_those_of_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """By its rules of summer time."""
    monkeypatch.setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3")
    tzset()
    try:
        with times_shown_in(parse_zone("local")):
            shown = [f"{date_and_time(each)} {zone_label(each)}" for each in (BEFORE_NS, ENDS_NS)]
    finally:
        monkeypatch.undo()
        tzset()
    assert shown == ["2026-10-25 02:59:59.123 CEST", "2026-10-25 02:00:00.123 CET"]


@for_each(
    ("zone", "of_day", "of_days", "shared", "notices"),
    [
        (
            parse_zone("utc"),
            "00:59:59.123 to 01:00:00.123 UTC",
            "2026-10-25 00:59:59 to 01:00:00 UTC",
            "UTC",
            ["times are in UTC", ""],
        ),
        (
            ZoneInfo("Europe/Berlin"),
            "02:59:59.123 CEST to 02:00:00.123 CET",
            "2026-10-25 02:59:59 CEST to 2026-10-25 02:00:00 CET",
            None,
            ["times are in CEST", "times are in CET"],
        ),
    ],
)
def test_a_zone_is_named_once_unless_it_changes(
    zone: tzinfo, of_day: str, of_days: str, shared: str | None, notices: list[str]
) -> None:
    """Where summer time ends in between, both times name theirs."""
    with times_shown_in(zone):
        notice = ZoneNotice()
        assert [notice.due(BEFORE_NS), notice.due(ENDS_NS)] == notices
        assert (notice.due(ENDS_NS), span_of_day(BEFORE_NS, ENDS_NS)) == ("", of_day)
        assert span_of_days(BEFORE_NS, ENDS_NS) == of_days
        assert shared_zone([BEFORE_NS, None, ENDS_NS]) == shared


@for_each("time_ns", [1 << 80, -(1 << 80)])
def test_a_time_without_a_calendar_is_a_number(time_ns: int) -> None:
    """In every zone."""
    with times_shown_in(ZoneInfo("Europe/Berlin")):
        assert date_and_time(time_ns) == f"{time_ns // 10**6} ms since 1970"
        assert zone_label(time_ns)
