"""What is said of each API and record, and by which proposal."""

import re

from kdiag.wire.catalog import API_BY_KEY
from kdiag.wire.record_catalog import MODULE_BY_NAME
from kdiag_schema.api_kips import API_KIPS
from kdiag_schema.api_purpose import API_PURPOSE
from kdiag_schema.record_purpose import RECORD_PURPOSE


def test_every_api_has_a_sentence_that_fits_a_line() -> None:
    """It opens the module as the first line of its docstring."""
    assert API_PURPOSE.keys() == API_BY_KEY.keys()
    assert [key for key, text in API_PURPOSE.items() if len(text) > 97 or text[-1] != "."] == []


def test_no_two_apis_have_the_same_sentence() -> None:
    """A sentence says what is special about its API."""
    assert len(set(API_PURPOSE.values())) == len(API_PURPOSE)


def test_every_internal_module_has_a_sentence_that_fits_a_line() -> None:
    """It opens the module as the first line of its docstring."""
    assert RECORD_PURPOSE.keys() == set(MODULE_BY_NAME.values())
    assert [key for key, text in RECORD_PURPOSE.items() if len(text) > 97 or text[-1] != "."] == []


def test_a_kip_explains_a_version_that_its_api_has() -> None:
    """`KIP-516 (v13 topic ids)` needs a version 13."""
    for key, text in API_KIPS.items():
        for version in re.findall(r"\bv(\d+)", text):
            assert API_BY_KEY[key].versions.covers(int(version)), f"{key}: {text}"


def test_every_source_is_a_kip() -> None:
    """Its number leads to the proposal."""
    assert all(re.match(r"KIP-\d+\b", text) for text in API_KIPS.values())
