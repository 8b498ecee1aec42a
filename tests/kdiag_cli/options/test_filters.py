import pytest
import typer

from kdiag.exchange.line.quantities import parse_zone
from kdiag.exchange.line.shown_time import times_shown_in
from kdiag.exchange.model import Status
from kdiag_cli.options.filters import (
    CaptureMoment,
    read_error_codes,
    read_moment,
    read_statuses,
)
from tiers.cases import for_each

DAY_NS = 1_767_312_000_000_000_000
"""2026-01-02T00:00:00Z."""

FIRST_NS = DAY_NS + 5_000_000_007


@for_each(
    ("text", "since_1970_ns"),
    [
        ("2026-01-02T00:00:01Z", DAY_NS + 1_000_000_000),
        ("10:30", DAY_NS + 37_800_000_000_000),
        ("9:30:05.25", DAY_NS + 34_205_250_000_000),
        ("+1m30s", FIRST_NS + 90_000_000_000),
    ],
)
def test_a_moment_may_be_told_by_the_captures_own_time(text: str, since_1970_ns: int) -> None:
    """As the lines show it, or from the first packet on."""
    assert read_moment(text).since_1970_ns(FIRST_NS) == since_1970_ns


def test_a_time_of_day_is_one_of_the_zone_that_is_shown() -> None:
    """Then the day before may be the capture's first one; dates stay what they are."""
    moments = [read_moment(text) for text in ("21:00", "2026-01-02T00:00:01Z", "+5s")]
    in_utc = [each.since_1970_ns(FIRST_NS) for each in moments]
    with times_shown_in(parse_zone("-03:30")):
        shown = [each.since_1970_ns(FIRST_NS) for each in moments]
    assert shown == [DAY_NS + 1_800_000_000_000, *in_utc[1:]]


@for_each("text", ["10:60", "25:00", "+", "soon", "+5", "10:30:00.1234567890"])
def test_what_is_no_moment_is_refused(text: str) -> None:
    """With a word on how to write one."""
    with pytest.raises(typer.BadParameter, match="write"):
        read_moment(text)


def test_a_pipe_does_not_tell_its_first_time_beforehand() -> None:
    """A date and a time of day do without it."""
    assert CaptureMoment(7).since_1970_ns(None) == 7
    for text in ("10:30", "+5s"):
        with pytest.raises(typer.BadParameter, match="needs a file"):
            read_moment(text).since_1970_ns(None)


def test_errors_are_named_as_people_write_them() -> None:
    """In any case, by number, several at once."""
    assert read_error_codes("member_id_required,not-controller, 3,999") == frozenset(
        {79, 41, 3, 999}
    )
    with pytest.raises(typer.BadParameter, match="did you mean MEMBER_ID_REQUIRED"):
        read_error_codes("MEMBERID_REQUIRED")
    with pytest.raises(typer.BadParameter, match="kdiag errcode"):
        read_error_codes("xyz")
    with pytest.raises(typer.BadParameter, match="IS NULL"):
        read_error_codes("none")


def test_statuses_are_those_of_exchanges() -> None:
    """A wrong one is answered with all there are."""
    both = frozenset({Status.UNANSWERED, Status.NO_RESPONSE})
    assert read_statuses("unanswered,No-Response") == both
    with pytest.raises(typer.BadParameter, match="malformed, partial"):
        read_statuses("bad")
