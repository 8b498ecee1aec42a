"""Quantities as people write them: durations, sizes, rates and moments, with one grammar for each.

    duration   500ms   10s   1.5h   1d12h            ns us µs ms s m h d w
    size       4096    64K   10MiB  1.5MB            K = KiB = 1024 bytes, kB = 1000; as M, G, T
    rate       100/s   30/m                          of requests: s m h
    bit rate   1Gbit   200Mbit/s    1Gbps   125MB/s  k, M, G and T are powers of 1000, Ki of 1024
    moment     2026-01-15   2026-01-15T10:30:00Z   -1h   now   1768473000   1768473000250
    zone       utc   local   Europe/Berlin   +02:00  names of the IANA time zone database

A number without a unit is refused where a reader could take it for two things: 5 is neither 5 ms
nor 5 s. Bytes need no unit, nor does zero. Units may be written in capitals or not, but for the B
of bytes in a rate: 10 Mb/s are either, and refused.

Everything here raises ValueError, with what to write instead.
"""

import re
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from difflib import get_close_matches
from typing import Final

from kdiag.clock import NS_PER_MS, NS_PER_S, NS_PER_US

_NS_PER_DAY: Final = 86_400 * NS_PER_S
_NS: Final = {
    "ns": 1,
    "us": NS_PER_US,
    "\u00b5s": NS_PER_US,  # the micro sign
    "\u03bcs": NS_PER_US,  # the Greek letter
    "ms": NS_PER_MS,
    "s": NS_PER_S,
    "m": 60 * NS_PER_S,
    "h": 3_600 * NS_PER_S,
    "d": _NS_PER_DAY,
    "w": 7 * _NS_PER_DAY,
}
_PERIODS_S: Final = {"s": 1, "sec": 1, "m": 60, "min": 60, "h": 3_600}
_MOST_NS: Final = 36_500 * _NS_PER_DAY  # a century: no clock of the system counts much further
_MOST_BYTES: Final = 1 << 63
_POWERS: Final = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4}
_BITS_PER_BYTE: Final = 8

_NUMBER: Final = r"(\d{1,18}(?:\.\d{1,18})?)"
_BARE: Final = re.compile(_NUMBER, re.ASCII)
_PART: Final = re.compile(rf"{_NUMBER}\s*(ns|us|µs|μs|ms|[smhdw])", re.ASCII | re.IGNORECASE)
_DURATION: Final = re.compile(rf"(?:{_PART.pattern}\s*)+", re.ASCII | re.IGNORECASE)
_SIZE: Final = re.compile(rf"{_NUMBER}\s*([kmgt]?)(i?b)?", re.ASCII | re.IGNORECASE)
_RATE: Final = re.compile(rf"{_NUMBER}\s*/\s*(s|sec|m|min|h)", re.ASCII | re.IGNORECASE)
_BIT_RATE: Final = re.compile(
    rf"{_NUMBER}\s*(?:([kmgt]?)(?i:(bit(?:/s)?|bps))|([kmgt]?)(i?)B/s)".replace("kmgt", "kmgtKMGT"),
    re.ASCII,
)
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_SINCE_EPOCH: Final = re.compile(r"\d{1,15}", re.ASCII)
_SECONDS_DIGITS: Final = 10
"""Numbers up to this long are seconds: as milliseconds they would lie before May 1970."""
_OFFSET: Final = re.compile(r"([+-])(\d\d):?([0-5]\d)", re.ASCII)
_MOST_OFFSET_H: Final = 18  # as ISO 8601's of Java; in use are -12:00 to +14:00
_FRACTION: Final = re.compile(r"[.,](\d{1,9})(?!\d)", re.ASCII)


def parse_duration_ns(text: str, bare: str = "") -> int:
    """Return a duration such as `500ms`, `1.5h` or `1d12h` in nanoseconds; it may be zero.

    Args:
        text: as somebody wrote it.
        bare: the unit of a number without one, where the name of an option or setting states it.

    Raises:
        ValueError: it is not a duration, or has no unit.
    """
    word = text.strip()
    if _BARE.fullmatch(word):
        if not bare and float(word):
            raise ValueError(f"{text!r} has no unit; write {word}ms or {word}s")
        word += bare or "s"
    if _DURATION.fullmatch(word) is None:
        raise ValueError(f"{text!r} is not a duration; write one such as 500ms, 10s or 1h30m")
    ns = sum(_scaled(number, _NS[unit.lower()]) for number, unit in _PART.findall(word))
    if ns > _MOST_NS:
        raise ValueError(f"{text!r} is longer than a century")
    return ns


def parse_size_bytes(text: str, bare: str = "") -> int:
    """Return a size such as `64K`, `10MiB`, `1.5MB` or `4096` in bytes.

    Args:
        text: as somebody wrote it.
        bare: the unit of a number without one; bytes by default.

    Raises:
        ValueError: it is not a size.
    """
    word = text.strip()
    match = _SIZE.fullmatch(word + bare if _BARE.fullmatch(word) else word)
    if match is None or (match[2] == "" and "." in match[1]):
        raise ValueError(f"{text!r} is not a size; write one such as 4096, 64K, 10MiB or 1.5MB")
    base = 1000 if (match[3] or "").lower() == "b" else 1024
    size_bytes = _scaled(match[1], base ** _POWERS[match[2].lower()])
    if size_bytes >= _MOST_BYTES:
        raise ValueError(f"{text!r} is more than Kafka can count")
    return size_bytes


def parse_interval_ns(text: str) -> int:
    """Return the time between two requests at a rate such as `100/s` or `30/m`.

    Raises:
        ValueError: it is not a rate, is zero, or has no unit.
    """
    word = text.strip()
    if _BARE.fullmatch(word):
        raise ValueError(f"{text!r} has no unit; write {word}/s")
    match = _RATE.fullmatch(word)
    if match is None or not float(match[1]):
        raise ValueError(f"{text!r} is not a rate; write one such as 100/s or 30/m")
    return round(_PERIODS_S[match[2].lower()] * NS_PER_S / float(match[1]))


def parse_bits_per_s(text: str) -> int:
    """Return a rate such as `1Gbit`, `200Mbit/s`, `1Gbps` or `125MB/s` in bits per second.

    Raises:
        ValueError: it is not such a rate, or has no unit.
    """
    word = text.strip()
    if _BARE.fullmatch(word):
        raise ValueError(f"{text!r} has no unit; write {word}Mbit or {word}MB/s")
    match = _BIT_RATE.fullmatch(word)
    if match is None:
        raise ValueError(f"{text!r} is not a rate; write one such as 1Gbit, 200Mbit or 125MB/s")
    number, bits, is_bits, size, binary = match.groups()
    if is_bits:
        return _scaled(number, 1000 ** _POWERS[bits.lower()])
    base = 1024 if binary else 1000
    return _scaled(number, _BITS_PER_BYTE * base ** _POWERS[size.lower()])


def parse_moment_ns(text: str, now_ns: int) -> int:
    """Return a moment in nanoseconds since 1970.

    Args:
        text: a date, a moment of RFC 3339 (UTC where no zone is given), a number of seconds or
            milliseconds since 1970, `now`, or a duration ago such as `-1h`.
        now_ns: the present.

    Raises:
        ValueError: it is not a moment, or one before 1970.
    """
    word = text.strip()
    if word == "now":
        return now_ns
    if _SINCE_EPOCH.fullmatch(word):
        return int(word) * (NS_PER_S if len(word) <= _SECONDS_DIGITS else NS_PER_MS)
    try:
        ns = now_ns - parse_duration_ns(word[1:]) if word[:1] == "-" else _calendar_ns(word)
    except ValueError:
        expected = "2026-01-15, 2026-01-15T10:30:00Z, seconds or ms since 1970, or -1h"
        raise ValueError(f"{text!r} is not a moment; write {expected}") from None
    if ns < 0:
        raise ValueError(f"{text!r} is before 1970")
    return ns


def parse_zone(text: str) -> tzinfo | None:
    """Return a time zone: `utc`, an offset such as `+02:00`, a name such as `Europe/Berlin`.

    None stands for `local`, the zone of this machine.

    Raises:
        ValueError: it is not a zone, or this system has no time zone database.
    """
    word = text.strip()
    if word.lower() in {"utc", "z"}:
        return UTC
    if word.lower() == "local":
        return None
    offset = _OFFSET.fullmatch(word)
    if offset is not None and int(offset[2]) <= _MOST_OFFSET_H:
        ahead = timedelta(hours=int(offset[2]), minutes=int(offset[3]))
        return timezone(-ahead if offset[1] == "-" else ahead)
    return _named_zone(word)


def _named_zone(text: str) -> tzinfo:
    """Return a zone of the database; capitals make no difference.

    Source: IANA time zone database, of the system or of the package tzdata (PEP 615).
    """
    from zoneinfo import ZoneInfo, available_timezones  # noqa: PLC0415 - 4 ms, named zones only

    names = {each.lower(): each for each in available_timezones()}
    name = names.get(text.lower())
    expected = "write utc, local, an offset such as +02:00 or a name such as Europe/Berlin"
    if name is not None:
        return ZoneInfo(name)
    if not names:
        why = "this system has no time zone database (the package tzdata has one)"
        raise ValueError(f"unknown zone {text!r}: {why}; write utc, local or +02:00")
    places = [each for each in names.values() if each.lower().rpartition("/")[2] == text.lower()]
    near = places or [names[each] for each in get_close_matches(text.lower(), names)]
    hint = f"did you mean {' or '.join(near[:3])}? Or " if near else ""
    raise ValueError(f"unknown zone {text!r}: {hint}{expected}")


def _calendar_ns(text: str) -> int:
    """Return a moment of a calendar; fractions of a second have up to nine digits."""
    fraction = _FRACTION.search(text)
    if fraction is not None:
        text = text[: fraction.start()] + text[fraction.end() :]
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    since = moment - _EPOCH
    seconds_ns = (since.days * 86_400 + since.seconds) * NS_PER_S
    return seconds_ns + (int(fraction[1].ljust(9, "0")) if fraction else 0)


def _scaled(number: str, unit: int) -> int:
    """Return a decimal number of units, rounded, without the loss of floating point."""
    whole, _, fraction = number.partition(".")
    parts: int = 10 ** len(fraction)
    return (2 * int(whole + fraction) * unit + parts) // (2 * parts)
