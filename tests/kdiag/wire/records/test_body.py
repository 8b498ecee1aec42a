import pytest

from kdiag.errors import DecodeError, EncodeError
from kdiag.wire.records.body import read_records, write_records
from kdiag.wire.records.record import Record
from tiers.cases import for_each

RECORDS = [
    Record(100, 1_000, None, b"\1\2\3"),
    Record(101, 999, b"key", b"v" * 70, ((b"h", b"1"), (b"", None))),
    Record(40_000, 1_000_000, b"k" * 64, b"v" * 9_000),
]


def test_the_worked_example_reads_as_it_says() -> None:
    """The record in the module's theory of operation is that record."""
    body = bytes.fromhex("12 00 00 00 01 06 010203 00")

    assert read_records(body, 1, 100, 1_000, 0) == RECORDS[:1]
    assert write_records(RECORDS[:1], 100, 1_000) == body


def test_a_cut_anywhere_has_a_path_and_a_place() -> None:
    """Records that end early are refused with what could not be read."""
    body = write_records(RECORDS[:2], 100, 1_000)
    for cut in range(len(body)):
        with pytest.raises(DecodeError) as caught:
            read_records(body[:cut], 2, 100, 1_000, 10)
        assert caught.value.path.startswith(("records[0]", "records[1]"))
        assert 0 <= caught.value.offset <= cut


@for_each(
    ("body", "path", "offset", "why"),
    [
        ("0c 00 00 00 01 01 00 00", "records", 7, "1 bytes after the last record"),
        ("0b 00 00 00 01 01 00", "records[0]", 0, "a record of -6 bytes"),
        ("10 00 00 00 01 01 00", "records[0]", 0, "a record of 8 bytes, where 6 remain"),
        ("0e 00 00 00 01 01 00 00", "records[0]", 0, "take -1 bytes against the size"),
        ("0c 00 00 00 03 01 00", "records[0].key", 4, "a length of -2"),
        ("0c 00 00 00 01 05 00", "records[0].value", 5, "a length of -3"),
        ("0c 00 00 00 01 06 00", "records[0].value", 5, "a length of 3, where 1 bytes remain"),
        ("0c 00 00 00 01 01 03", "records[0].headers", 6, "-2 headers"),
        ("0c 00 00 00 01 01 02", "records[0].headers", 6, "1 headers, where 0 bytes remain"),
        ("10 00 00 00 01 01 02 01 01", "records[0].headers[0].key", 7, "a length of -1"),
        ("10 00 00 00 01 01 02 00 03", "records[0].headers[0].value", 8, "a length of -2"),
        ("12 00 00 808080808001 01 01", "records[0].offset_delta", 3, "at most 5 bytes"),
        ("20 00 ffffffffffffffffff02 00 01 01 00 00", "records[0].timestamp_delta", 2, "64 bits"),
        ("0e 00 00 00 01 02 ff 80", "records[0].headers", 7, "end inside a varint"),
    ],
)
def test_a_fault_is_named_with_its_place(body: str, path: str, offset: int, why: str) -> None:
    """The path says which field of which record, the reason what was found there."""
    with pytest.raises(DecodeError) as caught:
        read_records(bytes.fromhex(body), 1, 0, 0, 10)

    assert (path, offset) == (caught.value.path, caught.value.offset)
    assert why in caught.value.why


def test_more_headers_than_allowed_are_refused_before_they_are_made() -> None:
    """The allowance holds for all records of the batch together."""
    body = write_records([Record(0, 0, headers=((b"a", b""), (b"b", b"")))] * 2, 0, 0)

    assert len(read_records(body, 2, 0, 0, 4)) == 2
    with pytest.raises(DecodeError, match=r"records\[1\]\.headers.*more memory than allowed"):
        read_records(body, 2, 0, 0, 3)


def test_timestamps_and_offsets_wrap_as_in_java() -> None:
    """A delta of more than 63 bits is written modulo 2^64, and read back so."""
    records = [Record(0, 2**63 - 1), Record(1, -(2**63))]

    assert read_records(write_records(records, 0, -2), 2, 0, -2, 0) == records
    assert read_records(write_records(records[:1], 0, 2**63 - 1), 1, 2**63 - 1, 0, 0) == [
        Record(2**63 - 1, 0)
    ]


def test_an_offset_far_from_the_base_cannot_be_written() -> None:
    """The distance from the batch's base offset has 32 bits."""
    with pytest.raises(EncodeError, match=r"records\[1\]\.offset"):
        write_records([Record(0), Record(2**31)], 0, 0)
