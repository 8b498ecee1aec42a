from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kdiag.errors import DecodeError
from kdiag.wire.records.body import read_records, write_records
from kdiag.wire.records.columns import (
    PackedRecords,
    RecordColumns,
    columns_of,
    read_columns,
    read_joined_columns,
)
from kdiag.wire.records.record import Record
from tiers.cases import for_each

byte_strings = st.none() | st.binary(max_size=80) | st.sampled_from([b"x" * 64, b"x" * 9_000])
records = st.builds(
    Record,
    st.integers(0, 2**31 - 1),
    st.integers(-(2**63), 2**63 - 1),
    byte_strings,
    byte_strings,
    st.lists(st.tuples(st.binary(max_size=5), byte_strings), max_size=3).map(tuple),
)


def cut(body: bytes, start: int, size: int) -> bytes | None:
    """Return a key or a value by its columns."""
    return None if size < 0 else body[start : start + size]


def rows_of(columns: RecordColumns) -> list[tuple[int, int, bytes | None, bytes | None, int]]:
    """Return what the columns say of each record."""
    return [
        (
            offset,
            timestamp,
            cut(columns.body, key_start, key_bytes),
            cut(columns.body, value_start, value_bytes),
            header_count,
        )
        for offset, timestamp, key_start, key_bytes, value_start, value_bytes, header_count in zip(
            *(column.tolist() for column in columns[1:]), strict=True
        )
    ]


def fault_of(read: Callable[[], object]) -> tuple[str, str] | None:
    """Return the path and the reason of a refusal."""
    try:
        read()
    except DecodeError as error:
        return error.path, error.why
    return None


@pytest.mark.thorough
@given(
    st.lists(records, max_size=5), st.sampled_from([1, 2, 150]), st.integers(-(2**63), 2**63 - 1)
)
def test_columns_hold_what_the_records_hold(different: list[Record], times: int, base: int) -> None:
    """Read from the bytes or made from records, few or many, the columns say the same as these."""
    given_records = different * times
    body = write_records(given_records, 0, base)
    expected = [
        (each.offset, each.timestamp, each.key, each.value, len(each.headers))
        for each in given_records
    ]

    assert expected == rows_of(read_columns(body, len(given_records), 0, base))
    assert expected == rows_of(columns_of(given_records))
    packed = PackedRecords(body, len(given_records), 0, base)
    assert expected * 2 == rows_of(read_joined_columns([packed, packed]))


@pytest.mark.thorough
@given(st.lists(records, min_size=1, max_size=3), st.sampled_from([1, 2, 150]), st.data())
def test_columns_refuse_what_the_reader_of_records_refuses(
    given_records: list[Record], times: int, data: st.DataObject
) -> None:
    """Of changed bytes the two readers say the same, few records or many."""
    count = len(given_records) * times
    body = bytearray(write_records(given_records * times, 0, 0))
    for _ in range(data.draw(st.integers(1, 2))):
        body[data.draw(st.integers(0, len(body) - 1))] = data.draw(st.integers(0, 255))
    fault = fault_of(lambda: read_records(bytes(body), count, 0, 0, 10**6))

    assert fault == fault_of(lambda: read_columns(bytes(body), count, 0, 0))


@for_each("times", [1, 150])
@for_each(
    ("record", "path"),
    [
        ("0b 00 00 00 01 01 00", "records[0]"),
        ("0c 00 00 00 03 01 00", "records[0].key"),
        ("0c 00 00 00 01 01 01", "records[0].headers"),
        ("10 00 00 00 01 01 02 01 01", "records[0].headers[0].key"),
        ("10 00 00 00 01 01 02 00 03", "records[0].headers[0].value"),
        ("16 00 00 808080808000 01 01 00", "records[0].offset_delta"),
        ("16 00 00 ffffffff10 01 01 00 00", "records[0].offset_delta"),
    ],
)
def test_a_fault_is_named_as_by_the_reader_of_records(record: str, path: str, times: int) -> None:
    """The first wrong record is found among few and among many."""
    body = bytes.fromhex(record) * times
    with pytest.raises(DecodeError) as caught:
        read_columns(body, times, 0, 0)

    assert path == caught.value.path


def test_a_cut_anywhere_has_a_path() -> None:
    """Records that end early are refused with what could not be read."""
    body = write_records([Record(5, 6, b"key", b"value"), Record(6, 7, None, b"v" * 70)], 0, 0)
    for end in range(len(body)):
        with pytest.raises(DecodeError) as caught:
            read_columns(body[:end], 2, 0, 0)
        assert caught.value.path


def test_records_that_run_from_one_batch_into_the_next_are_refused() -> None:
    """Two batches that are right together are wrong when each says something else of itself."""
    one, two = write_records([Record(5)], 0, 0), write_records([Record(6), Record(7)], 0, 0)
    together = one + two
    good = read_joined_columns([PackedRecords(one, 1, 0, 0), PackedRecords(two, 2, 10, 0)])
    assert good.offset.tolist() == [5, 16, 17]
    for bodies, counts in [
        ((together[:-4], together[-4:]), (2, 1)),
        ((one, two), (2, 1)),
        ((one, two), (1, -2)),
    ]:
        packed = [PackedRecords(*each, 0, 0) for each in zip(bodies, counts, strict=True)]
        with pytest.raises(DecodeError):
            read_joined_columns(packed)
