"""Where to start reading a partition and where to stop, as people write it."""

import pytest

from kdiag.errors import ConfigError
from kdiag.probe.tail.offset_spec import At, OffsetSpec, Position, parse_offsets, timestamp
from tiers.cases import for_each

NOW_MS = 1_768_500_000_000
HOUR_MS = 3_600_000
BEGINNING = Position(At.BEGINNING)
JANUARY_15 = Position(At.TIMESTAMP, 1_768_435_200_000)


@for_each(
    ("text", "start", "stop"),
    [
        ("beginning", BEGINNING, None),
        ("start", BEGINNING, None),
        ("end", Position(At.END), None),
        ("42", Position(At.OFFSET, 42), None),
        ("+42", Position(At.AFTER_BEGINNING, 42), None),
        ("-42", Position(At.LAST, 42), None),
        ("0:100", Position(At.OFFSET, 0), Position(At.OFFSET, 100)),
        (":100", BEGINNING, Position(At.OFFSET, 100)),
        (":end", BEGINNING, Position(At.END)),
        ("7:", Position(At.OFFSET, 7), None),
        ("@2026-01-15", JANUARY_15, None),
        ("@2026-01-15T00:00:00Z", JANUARY_15, None),
        ("@2026-01-15T01:00:00+01:00", JANUARY_15, None),
        ("@-1h", Position(At.TIMESTAMP, NOW_MS - HOUR_MS), None),
        ("@-1d12h", Position(At.TIMESTAMP, NOW_MS - 36 * HOUR_MS), None),
        ("s@1768435200000", JANUARY_15, None),
        ("s@1768435200", JANUARY_15, None),
        ("e@1768435200000", None, JANUARY_15),
        (
            "@-1h:@-30m",
            Position(At.TIMESTAMP, NOW_MS - HOUR_MS),
            Position(At.TIMESTAMP, NOW_MS - HOUR_MS // 2),
        ),
        ("@2026-01-15:now", JANUARY_15, Position(At.TIMESTAMP, NOW_MS)),
        ("@2026-01-15:end", JANUARY_15, Position(At.END)),
        ("@2026-01-15T00:00:00:2026-01-15T00:00:00", JANUARY_15, JANUARY_15),
    ],
)
def test_every_way_to_write_an_offset_is_understood(
    text: str, start: Position | None, stop: Position | None
) -> None:
    """What kcat's, kcl's and rpk's users have in their fingers means the same here."""
    assert parse_offsets([text], NOW_MS) == OffsetSpec(start, stop)


def test_start_and_stop_may_come_apart() -> None:
    """Two options make one span, as with kcat."""
    spec = parse_offsets(["s@2026-01-15", "e@now"], NOW_MS)
    assert spec == OffsetSpec(JANUARY_15, Position(At.TIMESTAMP, NOW_MS))


def test_nothing_says_nothing() -> None:
    """The reader has its own default."""
    assert parse_offsets([], NOW_MS) == OffsetSpec()


@for_each(
    ("texts", "why"),
    [
        (["5", "6"], "the start was given before"),
        (["e@5", ":6"], "the stop was given before"),
        (["-5", "e@now"], "no stop can be given"),
        (["-5:end"], "no stop can be given"),
        (["5:2"], "offset to stop before is lower than the one to start at"),
        (["s@2026-01-15", "e@2026-01-14"], "time to stop before is lower"),
        (["stored"], "kdiag tail TOPIC -g GROUP"),
        (["committed"], "kdiag tail TOPIC -g GROUP"),
        (["x"], "no offset; write"),
        ([""], "no offset; write"),
        (["²"], "no offset; write"),
        (["9223372036854775808"], "no offset; write"),
        (["0:-5"], "after the colon"),
        (["@yesterday"], "'yesterday' is not a moment; write"),
        (["@-1y"], "'-1y' is not a moment; write"),
        (["@"], "'' is not a moment; write"),
    ],
)
def test_what_is_no_offset_is_refused_with_what_would_be(texts: list[str], why: str) -> None:
    """The message says how to write it."""
    with pytest.raises(ConfigError, match=why):
        parse_offsets(texts, NOW_MS)


def test_fractions_of_a_second_count_in_milliseconds() -> None:
    """A moment of a log line can be pasted; a record of the millisecond before it is older."""
    spec = parse_offsets(["@2026-01-15T00:00:00.250Z"], NOW_MS)
    assert spec.start == Position(At.TIMESTAMP, JANUARY_15.value + 250)
    assert timestamp(250_000_001).value == 251


def test_another_option_may_say_where_to_stop() -> None:
    """Then no text may."""
    assert parse_offsets(["42"], NOW_MS, JANUARY_15).stop == JANUARY_15
    for text in ("0:100", "-5"):
        with pytest.raises(ConfigError):
            parse_offsets([text], NOW_MS, JANUARY_15)
