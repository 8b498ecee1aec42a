"""Test intents of Kafka's OffsetMapTest."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kdiag.lab.log.cleaning.key_offsets import KeyOffsets


@pytest.mark.thorough
@settings(max_examples=30)
@given(st.lists(st.binary(max_size=40), max_size=50))
def test_the_last_offset_of_a_key_is_found(keys: list[bytes]) -> None:
    """However long the key is; one that was never put is nowhere."""
    offsets = KeyOffsets()
    for at, key in enumerate(keys):
        assert offsets.put(key, at)
    assert len(offsets) == len({*keys})
    expected = {key: at for at, key in enumerate(keys)}
    assert {key: offsets.get(key) for key in keys} == expected
    assert offsets.get(b"never put, and not random") == -1


def test_a_full_map_takes_only_keys_that_it_has() -> None:
    """The rest is for the next cleaning."""
    offsets = KeyOffsets(max_keys=2)
    assert [offsets.put(key, at) for at, key in enumerate((b"a", b"b", b"c", b"a"))] == [
        True,
        True,
        False,
        True,
    ]
    assert (offsets.get(b"a"), offsets.get(b"c"), offsets.latest_offset) == (3, -1, -1)
