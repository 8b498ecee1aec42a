from typing import Any

import pytest

from kdiag.lab.fault.fault_key import FAULT_KEYS, MATCH, parse_apis, parse_range
from kdiag.lab.fault.rule import FaultEffect, FaultMatch
from kdiag.wire.schema import Versions
from tiers.cases import for_each


@for_each("name", FAULT_KEYS)
def test_every_key_reads_its_own_example(name: str) -> None:
    """Into an attribute that is there, and that it changes."""
    key = FAULT_KEYS[name]
    values: dict[str, Any] = {key.attribute: key.parse(key.example)}
    if key.part == MATCH:
        assert FaultMatch(**values) != FaultMatch()
    else:
        assert FaultEffect(**values) != FaultEffect()


def test_every_matcher_and_every_effect_has_a_key() -> None:
    """Nothing is in Python alone."""
    attributes = {key.attribute for key in FAULT_KEYS.values()}
    assert attributes == {*FaultMatch.__struct_fields__, *FaultEffect.__struct_fields__}


def test_apis_and_ranges_are_read_as_people_write_them() -> None:
    """In any case, and with commas."""
    assert parse_apis("fetch, PRODUCE") == ("Fetch", "Produce")
    assert parse_apis("any") == ()
    assert parse_range("3") == Versions(3, 3)
    assert parse_range("4+").low == 4


@for_each(
    ("name", "value"),
    [
        ("api", "Fetchh"),
        ("nth", "5-3"),
        ("nth", "3-5+"),
        ("nth", "99999"),
        ("p", "2"),
        ("p", "nan"),
        ("partition", "-1"),
        ("every", "0"),
        ("corrupt", "x"),
        ("delay", "5"),
        ("bandwidth", "1bit"),
        ("split", "0"),
        ("drop", "both"),
        ("error", "NOPE"),
        ("advertise", "host"),
        ("advertise", "host:99999"),
        ("api_versions", "Fetch"),
        ("api_versions", "any:1"),
        ("handled", "yes"),
        ("topic", ""),
    ],
)
def test_a_wrong_value_says_what_was_expected(name: str, value: str) -> None:
    """As a ValueError, which the grammar gives a place."""
    with pytest.raises(ValueError, match=r"write|expected|none of|not|less|neither"):
        FAULT_KEYS[name].parse(value)
