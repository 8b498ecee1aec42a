import gc
import tracemalloc
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kdiag.errors import DecodeError
from kdiag.wire.records.record import (
    HEADER_COST_BYTES,
    RECORD_COST_BYTES,
    ControlType,
    Record,
    int64,
    read_control_type,
    write_control_key,
)
from tiers.cases import for_each


@for_each("control_type", list(ControlType))
def test_a_control_type_reads_back_from_its_key(control_type: ControlType) -> None:
    """Each type has a number, and -1 is what a number without a type reads as."""
    assert control_type == read_control_type(write_control_key(control_type))


def test_a_control_key_is_a_version_and_a_number() -> None:
    """Commit is 1 in version 0; later versions may add bytes, later types read as unknown."""
    assert write_control_key(ControlType.COMMIT) == bytes.fromhex("00000001")
    assert read_control_type(bytes.fromhex("00050003ff")) is ControlType.SNAPSHOT_HEADER
    assert read_control_type(bytes.fromhex("00000063")) is ControlType.UNKNOWN


@pytest.mark.parametrize(
    ("key", "why"), [(None, "null"), (b"\0\0\0", "3 bytes"), (b"\xff\xff\0\1", "version -1")]
)
def test_what_is_no_control_key_is_refused(key: bytes | None, why: str) -> None:
    """A key that is null or short, or of a negative version, is no control record's."""
    with pytest.raises(DecodeError, match=why):
        read_control_type(key)


@given(st.integers(-(2**70), 2**70))
def test_numbers_wrap_as_in_java(value: int) -> None:
    """A sum is taken modulo 2^64, into the range of a signed number of 64 bits."""
    assert -(2**63) <= int64(value) < 2**63
    assert (int64(value) - value) % 2**64 == 0


def memory_of(make: Callable[[int], object]) -> float:
    """Return how many bytes one of a thousand objects takes, its place in a list included."""
    count = 1000
    assert len([make(n) for n in range(count)]) == count  # what is made once is not counted
    gc.collect()
    tracemalloc.start()
    made = [make(n) for n in range(count)]
    size, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(made) == count
    return size / count


@pytest.mark.thorough
def test_records_take_the_memory_that_is_reckoned() -> None:
    """The costs that cap how many records are made are those of records with keys of 8 bytes."""
    record = memory_of(lambda n: Record(n + 2**40, n + 2**41, b"%8d" % n, b"%8d" % n))
    header = memory_of(lambda n: (b"%8d" % n, b"%8d" % n))

    assert 0.8 * RECORD_COST_BYTES < record - 16 < RECORD_COST_BYTES
    assert 0.8 * HEADER_COST_BYTES < header - 16 < HEADER_COST_BYTES
