from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kdiag.errors import DecodeError
from kdiag.wire.records.body import read_records, write_records
from kdiag.wire.records.record import Record
from kdiag.wire.records.values import read_values

byte_strings = st.none() | st.binary(max_size=80) | st.sampled_from([b"x" * 64, b"x" * 9_000])
records = st.builds(
    Record,
    st.integers(0, 2**31 - 1),
    st.integers(-(2**63), 2**63 - 1),
    byte_strings,
    byte_strings,
    st.lists(st.tuples(st.binary(max_size=5), byte_strings), max_size=3).map(tuple),
)


def fault_of(read: Callable[[], object]) -> tuple[str, str] | None:
    """Return the path and the reason of a refusal."""
    try:
        read()
    except DecodeError as error:
        return error.path, error.why
    return None


@given(st.lists(records, max_size=5), st.integers(-(2**63), 2**63 - 1))
def test_values_are_those_of_the_records(given_records: list[Record], base: int) -> None:
    """Whatever stands before and behind them, at any length."""
    body = write_records(given_records, 0, base)

    assert read_values(body, len(given_records)) == [each.value for each in given_records]


@pytest.mark.thorough
@given(st.lists(records, min_size=1, max_size=3), st.data())
def test_it_refuses_what_the_reader_of_records_refuses(
    given_records: list[Record], data: st.DataObject
) -> None:
    """Of changed bytes the two readers say the same."""
    count = len(given_records)
    body = bytearray(write_records(given_records, 0, 0))
    for _ in range(data.draw(st.integers(1, 2))):
        body[data.draw(st.integers(0, len(body) - 1))] = data.draw(st.integers(0, 255))

    fault = fault_of(lambda: read_records(bytes(body), count, 0, 0, 10**6))

    assert fault == fault_of(lambda: read_values(bytes(body), count))


@pytest.mark.parametrize("count", [0, 2])
def test_another_count_than_stated_is_refused(count: int) -> None:
    """One record is neither none nor two."""
    with pytest.raises(DecodeError):
        read_values(write_records([Record(0, 0, None, b"v")], 0, 0), count)


alike = st.builds(
    lambda count, length, time, step: [
        Record(offset, time + step * offset, None, b"%0*d" % (length, offset))
        for offset in range(count)
    ],
    st.integers(1, 70),
    st.sampled_from([1, 56, 57, 64, 1000, 8184, 8185]),
    st.integers(0, 70),
    st.integers(0, 2),
)


@given(alike)
def test_values_of_one_length_are_those_of_the_records(given_records: list[Record]) -> None:
    """These are read at once where each record has the same form."""
    body = write_records(given_records, 0, 0)

    assert read_values(body, len(given_records)) == [each.value for each in given_records]


@pytest.mark.thorough
@given(alike, st.data())
def test_records_that_are_alike_are_refused_as_others_are(
    given_records: list[Record], data: st.DataObject
) -> None:
    """Where a byte of the form was changed, the reader of records decides."""
    count = len(given_records)
    body = bytearray(write_records(given_records, 0, 0))
    start = data.draw(st.integers(0, count - 1)) * (len(body) // count)
    place = start + data.draw(st.integers(-1, 8))
    body[max(0, min(len(body) - 1, place))] = data.draw(st.integers(0, 255))
    changed = bytes(body)

    fault = fault_of(lambda: read_records(changed, count, 0, 0, 10**6))

    assert fault == fault_of(lambda: read_values(changed, count))
    if fault is None:
        values = [each.value for each in read_records(changed, count, 0, 0, 10**6)]
        assert read_values(changed, count) == values
