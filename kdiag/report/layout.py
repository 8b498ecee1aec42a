"""How the files of a table lie in its folder, and which of them hold rows of some time.

    exchanges/date=2026-11-01/...                      by day
    exchanges/date=2026-11-01/hour=13/...              by hour
    exchanges/date=2026-11-01/broker=b%3A9092/...      by broker too, as older releases wrote them

Engines read such keys as columns, but not of files that lie in different ways. So a table is read
in groups of files that lie in the same way, and the groups are put together by the names of their
columns.
"""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Final

from kdiag.clock import ALWAYS, NS_PER_S, TimeRange

_DATE: Final = "date"
_HOUR: Final = "hour"


def by_keys(files: Iterable[str]) -> dict[tuple[str, ...], list[str]]:
    """Return files in groups by the keys in their paths."""
    groups: dict[tuple[str, ...], list[str]] = {}
    for file in files:
        groups.setdefault(tuple(_keys_of(file)), []).append(file)
    return groups


def files_during(files: Iterable[str], times: TimeRange) -> list[str]:
    """Return the files that may hold rows of some time; those without a date in their path, too."""
    return [file for file in files if times == ALWAYS or _may_hold(file, times)]


def _may_hold(file: str, times: TimeRange) -> bool:
    keys = _keys_of(file)
    try:
        start = datetime.fromisoformat(keys[_DATE]).replace(tzinfo=UTC)
        hours = int(keys[_HOUR]) if _HOUR in keys else None
    except (KeyError, ValueError):
        return True
    length = timedelta(days=1)
    if hours is not None:
        start, length = start + timedelta(hours=hours), timedelta(hours=1)
    first_ns = int(start.timestamp()) * NS_PER_S
    end_ns = int((start + length).timestamp()) * NS_PER_S
    is_before = times.from_ns is not None and end_ns <= times.from_ns
    is_after = times.to_ns is not None and first_ns >= times.to_ns
    return not (is_before or is_after)


def _keys_of(file: str) -> dict[str, str]:
    folders = file.split("/")[:-1]
    return dict(each.split("=", 1) for each in folders if "=" in each)
