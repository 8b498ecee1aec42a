import itertools
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kdiag.pcap.tls.record import MAX_PAYLOAD_BYTES, RecordReader, TlsRecord
from tiers.cases import for_each

# Random bytes hold no header by chance: the seed has been tried.
NOISE = random.Random(7).randbytes(60_000)


def sealed(size: int, kind: int = 23) -> bytes:
    """Return a record of some size without its header."""
    return bytes([kind, 3, 3]) + size.to_bytes(2) + NOISE[:size]


def offsets(records: list[TlsRecord]) -> list[tuple[int, int]]:
    """Return where records start and end."""
    return [(record.start, record.end) for record in records]


@given(
    st.lists(st.integers(0, 3000), max_size=8),
    st.lists(st.integers(1, 4000), max_size=20),
)
def test_records_are_the_same_however_the_bytes_are_split(
    sizes: list[int], pieces: list[int]
) -> None:
    """A record comes out when its last byte goes in, with its place in the stream."""
    data = b"".join(map(sealed, sizes))
    reader = RecordReader()
    records = []
    position = 0
    for piece in [*pieces, len(data)]:
        records += reader.feed(data[position : position + piece])
        position += piece

    assert b"".join(record.header + record.payload for record in records) == data
    assert [record.end - record.start - 5 for record in records] == sizes
    assert [record.start for record in records[1:]] == [record.end for record in records[:-1]]
    assert all(record.is_whole and not record.skipped_bytes for record in records)


def test_a_direction_that_does_not_begin_with_a_record_is_no_tls() -> None:
    """The first five bytes tell; nothing more is read if they are no record header."""
    reader = RecordReader()

    verdicts = []
    for part in (b"GET ", b"/", sealed(100)):
        assert reader.feed(part) == []
        verdicts.append(reader.is_tls)

    assert verdicts == [None, False, False]


def test_a_length_that_no_record_may_have_is_no_header() -> None:
    """A payload is at most 2**14 bytes and what encryption adds."""
    header = bytes([23, 3, 3])

    longest, longer = RecordReader(), RecordReader()
    longest.feed(header + MAX_PAYLOAD_BYTES.to_bytes(2))
    longer.feed(header + (MAX_PAYLOAD_BYTES + 1).to_bytes(2))

    assert (longest.is_tls, longer.is_tls) == (True, False)


@for_each("missing", range(1, 96))
def test_a_record_that_loses_bytes_behind_its_header_ends_where_the_header_says(
    missing: int,
) -> None:
    """The next record is found by arithmetic, up to a hole that ends with the record itself."""
    data = sealed(200) + sealed(100) + sealed(50)
    reader = RecordReader()

    before = reader.feed(data[:215])
    lost = reader.gap(missing_bytes=missing)
    after = reader.feed(data[215 + missing :])

    assert offsets(before) == [(0, 205)]
    assert lost == TlsRecord(data[205:210], b"", 205, 310, is_whole=False)
    assert offsets(after) == [(310, 365)]
    assert after[0].skipped_bytes == 0


@for_each("seen_of_header", range(5))
def test_a_header_that_is_lost_makes_the_next_record_be_searched_by_content(
    seen_of_header: int,
) -> None:
    """Behind the hole, ciphertext is passed over up to a header that leads to another one."""
    data = sealed(200) + sealed(300) + sealed(50) + sealed(60)
    reader = RecordReader()

    reader.feed(data[: 205 + seen_of_header])
    lost = reader.gap(missing_bytes=100)
    after = reader.feed(data[305 + seen_of_header :])

    assert lost is None
    assert offsets(after) == [(510, 565), (565, 630)]
    assert [record.skipped_bytes for record in after] == [305, 0]


def test_a_hole_over_several_records_says_how_many_bytes_held_unknown_records() -> None:
    """The record whose header was seen is lost for sure; what follows it is of unknown shape."""
    data = sealed(200) + sealed(300) + sealed(50) + sealed(60)
    reader = RecordReader()

    reader.feed(data[:20])
    lost = reader.gap(missing_bytes=480)
    after = reader.feed(data[500:])

    assert lost is not None
    assert (lost.start, lost.end) == (0, 205)
    assert offsets(after) == [(510, 565), (565, 630)]
    assert after[0].skipped_bytes == 510 - 205


def test_holes_in_a_row_add_up() -> None:
    """Whether a hole is told in one go or in pieces, the same records are found behind it."""
    data = sealed(2000) + sealed(300) + sealed(50)
    reader = RecordReader()

    reader.feed(data[:100])
    lost = [reader.gap(missing_bytes=100)]
    reader.feed(data[200:300])
    lost.append(reader.gap(missing_bytes=500))
    reader.feed(data[800:1500])
    lost.append(reader.gap(missing_bytes=505))
    after = reader.feed(data[2005:])

    assert [None if record is None else record.end for record in lost] == [2005, None, None]
    assert offsets(after) == [(2005, 2310), (2310, 2365)]


def test_a_capture_that_begins_inside_a_record_finds_the_next_one() -> None:
    """A gap before the first byte says that the stream is older than the capture."""
    data = sealed(300) + sealed(50) + sealed(60)
    reader = RecordReader()

    assert reader.gap(missing_bytes=0) is None
    records = reader.feed(data[100:])

    assert reader.is_tls is True
    assert offsets(records) == [(205, 260), (260, 325)]
    assert records[0].skipped_bytes == 205


def test_a_last_record_is_taken_when_it_ends_with_the_bytes_at_hand() -> None:
    """No second header confirms the only record behind a hole; that it ends just there does."""
    reader = RecordReader()

    reader.feed(sealed(200))
    reader.gap(missing_bytes=1000)
    cut = reader.feed(NOISE[:500] + sealed(70)[:-1])
    whole = reader.feed(sealed(70)[-1:])

    assert cut == []
    assert offsets(whole) == [(1705, 1780)]


def test_bytes_that_break_the_chain_of_records_are_named_and_passed_over() -> None:
    """Where a header should be and is not, the first place is kept and the search begins."""
    reader = RecordReader()

    reader.feed(sealed(200) + NOISE[:40] + sealed(30) + sealed(20))
    records = reader.feed(sealed(10))

    assert reader.broken_at == 205
    assert offsets(records) == [(305, 320)]


def test_a_false_header_in_ciphertext_is_not_followed() -> None:
    """Three bytes that look like a header lead nowhere, and the search goes on behind them."""
    noise = NOISE[:30] + bytes([23, 3, 3, 0, 90]) + NOISE[:30]
    reader = RecordReader()

    reader.feed(sealed(10))
    reader.gap(missing_bytes=100)
    records = reader.feed(noise + sealed(40) + sealed(50))

    assert offsets(records) == [(180, 225), (225, 280)]


@for_each("false_headers", [1, 5, 15])
def test_a_false_header_whose_end_never_comes_costs_no_record(false_headers: int) -> None:
    """Records behind it that confirm each other are taken at once, not when its end has come."""
    false = bytes([23, 3, 3]) + (16_000).to_bytes(2)
    reader = RecordReader()

    reader.feed(sealed(10))
    reader.gap(missing_bytes=100)
    before = reader.feed(NOISE[:30] + false * false_headers + NOISE[:30])
    records = reader.feed(sealed(40)) + reader.feed(sealed(50))

    start = 115 + 60 + 5 * false_headers
    assert before == []
    assert offsets(records) == [(start, start + 45), (start + 45, start + 100)]
    assert records[0].skipped_bytes == start - 15


@pytest.mark.thorough
def test_few_headers_at_a_time_wait_for_their_end() -> None:
    """Of bytes made to look like headers everywhere, few are looked at with each that comes."""
    hostile = (bytes([23, 3, 3]) + (18_000).to_bytes(2)) * 3000
    reader = RecordReader()
    reader.gap(missing_bytes=0)

    records = [record for byte in hostile for record in reader.feed(bytes([byte]))]

    assert offsets(records) == []
    assert len(reader._undecided) <= 16


@given(
    st.lists(
        st.one_of(st.binary(max_size=60), st.integers(0, 300).map(sealed), st.integers(0, 500)),
        max_size=12,
    )
)
def test_whatever_comes_the_reader_holds_little_and_never_raises(parts: list[bytes | int]) -> None:
    """Any bytes and any holes give records in ascending order, and at most one waits."""
    reader = RecordReader()
    records: list[TlsRecord] = []
    for part in parts:
        if isinstance(part, int):
            lost = reader.gap(missing_bytes=part)
            records += [lost] if lost else []
        else:
            records += reader.feed(part)

    assert all(first.end <= second.start for first, second in itertools.pairwise(records))
    assert len(reader._buffer) < 2 * 5 + MAX_PAYLOAD_BYTES
