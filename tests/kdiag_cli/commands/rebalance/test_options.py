from datetime import UTC, timedelta, timezone

import pytest
import typer

from kdiag_cli.commands.rebalance.options import read_zone


@pytest.mark.parametrize(
    ("text", "zone"),
    [
        ("Z", UTC),
        ("UTC", UTC),
        ("+02:00", timezone(timedelta(hours=2))),
        ("-0330", timezone(-timedelta(hours=3, minutes=30))),
        ("+00:00", timezone(timedelta(0))),
    ],
)
def test_a_zone_is_an_offset(text: str, zone: timezone) -> None:
    """With or without a colon."""
    assert read_zone(text).utcoffset(None) == zone.utcoffset(None)


@pytest.mark.parametrize("text", ["", "2", "+2:00", "+19:00", "+01:60", "Europe/Berlin"])
def test_what_is_no_offset_is_said(text: str) -> None:
    """With what one may write."""
    with pytest.raises(typer.BadParameter, match=r"is no offset from UTC, such as \+02:00 or Z"):
        read_zone(text)
