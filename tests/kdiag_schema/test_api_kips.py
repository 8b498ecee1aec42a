import re

from kdiag.wire.catalog import API_BY_KEY
from kdiag_schema.api_kips import API_KIPS


def test_a_kip_explains_a_version_that_its_api_has() -> None:
    """`KIP-516 (v13 topic ids)` needs a version 13."""
    for key, text in API_KIPS.items():
        for version in re.findall(r"\bv(\d+)", text):
            assert API_BY_KEY[key].versions.covers(int(version)), f"{key}: {text}"


def test_every_source_is_a_kip() -> None:
    """Its number leads to the proposal."""
    assert all(re.match(r"KIP-\d+\b", text) for text in API_KIPS.values())
