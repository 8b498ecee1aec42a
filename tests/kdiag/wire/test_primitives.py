import pytest
from hypothesis import given
from hypothesis import strategies as st

from kdiag.wire.primitives import (
    PACKERS,
    UNPACKERS,
    RefusedError,
    merge_tags,
    read_tag_count,
    read_tag_head,
    read_unknown_tags,
    read_uvarint,
    tag_section,
    unfold,
    uuid_bytes,
    uuid_text,
    uvarint,
    zigzag,
)
from kdiag.wire.schema import Kind
from tiers.cases import for_each


@given(st.integers(0, 2**32 - 1))
def test_a_varint_reads_back(value: int) -> None:
    """Any number of 32 bits survives, and the position moves behind it."""
    data = uvarint(value)

    assert (value, 1 + len(data)) == read_uvarint(b"\0" + data + b"\1", 1)


@given(st.integers(-(2**63), 2**63 - 1))
def test_a_signed_number_reads_back(value: int) -> None:
    """Any number of 64 bits survives, and the position moves behind it."""
    data = zigzag(value)
    folded, position = read_uvarint(b"\xff" + data + b"\xff", 1, 64)

    assert (value, 1 + len(data)) == (unfold(folded), position)


@for_each(("value", "encoded"), [(0, "00"), (127, "7f"), (128, "8001"), (300, "ac02")])
def test_a_varint_has_seven_bits_a_byte(value: int, encoded: str) -> None:
    """Low bits come first, the high bit of a byte says that more follow."""
    assert encoded == uvarint(value).hex()


@for_each(
    ("value", "encoded"),
    [
        (0, "00"),
        (-1, "01"),
        (63, "7e"),
        (64, "8001"),
        (-64, "7f"),
        (8191, "fe7f"),
        (8192, "808001"),
        (2**31 - 1, "feffffff0f"),
        (-(2**31), "ffffffff0f"),
        (-(2**63), "ffffffffffffffffff01"),
    ],
)
def test_zigzag_keeps_small_numbers_of_either_sign_short(value: int, encoded: str) -> None:
    """A byte holds -64 to 63, two bytes hold -8192 to 8191, as in Kafka's ByteUtils."""
    assert encoded == zigzag(value).hex()


def test_a_padded_varint_may_be_as_long_as_its_bits_allow() -> None:
    """Kafka reads padded varints up to the length that their bits may take."""
    assert read_uvarint(bytes.fromhex("8180808000"), 0) == (1, 5)
    assert read_uvarint(bytes.fromhex("81808080808080808000"), 0, 64) == (1, 10)


@for_each(
    ("data", "bits"),
    [
        ("808080808000", 32),
        ("ffffffff7f", 32),
        ("ffffffff10", 32),
        ("80" * 10 + "00", 64),
        ("ff" * 9 + "02", 64),
    ],
)
def test_a_varint_of_too_many_bytes_or_bits_is_refused(data: str, bits: int) -> None:
    """Five bytes hold 32 bits, ten hold 64, and no bit may be left over."""
    with pytest.raises(RefusedError):
        read_uvarint(bytes.fromhex(data), 0, bits)


@pytest.mark.parametrize("data", [b"\x80", b"\x80\x80"])
def test_a_varint_cut_short_is_an_index_error(data: bytes) -> None:
    """The end of the bytes shows as IndexError, which the codec translates."""
    with pytest.raises(IndexError):
        read_uvarint(data, 0)


@pytest.mark.parametrize("value", [-1, 2**32])
def test_a_number_beyond_32_bits_is_not_written(value: int) -> None:
    """Only numbers of 32 bits have a varint."""
    with pytest.raises(OverflowError):
        uvarint(value)


def test_a_tag_section_ascends() -> None:
    """Tags are written in ascending order whatever the order of the dictionary."""
    section = tag_section({300: b"x", 2: b"yz"})

    assert bytes.fromhex("02") + b"\2\2yz" + bytes.fromhex("ac0201") + b"x" == section
    assert ({2: b"yz", 300: b"x"}, len(section)) == read_unknown_tags(section, 1, section[0])


def test_known_and_unknown_tags_share_one_section() -> None:
    """Both kinds are merged by tag; an unknown tag may not be a known one's number."""
    assert tag_section({1: b"a", 5: b"b"}) == merge_tags({5: b"b"}, {1: b"a"}, {5, 6})
    with pytest.raises(RefusedError):
        merge_tags({5: b"b"}, {6: b"a"}, {5, 6})


def test_a_tag_count_is_checked_against_the_bytes_that_remain() -> None:
    """A tagged field takes two bytes at least."""
    with pytest.raises(RefusedError):
        read_tag_count(b"\5\0\0\0", 1, 5)
    assert read_tag_count(bytes.fromhex("c801") + bytes(400), 1, 0xC8) == (200, 2)


def test_a_tagged_value_longer_than_the_bytes_is_refused() -> None:
    """The size of a tagged value is checked before it is sliced."""
    with pytest.raises(RefusedError):
        read_tag_head(b"\1\4abc", 0)


def test_arrays_of_numbers_are_packed_in_one_call() -> None:
    """The packers put the count first; long arrays work but are not kept."""
    assert bytes.fromhex("00000002 0001 0002") == PACKERS[Kind.INT16][2](2, 1, 2)
    numbers = tuple(range(1000))
    assert numbers == UNPACKERS[Kind.INT32][1000](PACKERS[Kind.INT32][1000](1000, *numbers), 4)
    assert 1000 not in UNPACKERS[Kind.INT32]


def test_a_uuid_has_kafkas_text() -> None:
    """Twenty-two characters of URL-safe base64 without padding."""
    assert uuid_text(bytes(16)) == "A" * 22
    assert uuid_text(b"\xff" * 16) == "_" * 21 + "w"
    assert bytes(range(16)) == uuid_bytes(uuid_text(bytes(range(16))))


@pytest.mark.parametrize("text", ["", "AAAA", "!" * 22])
def test_a_text_that_is_no_uuid_is_a_value_error(text: str) -> None:
    """Sixteen bytes of base64 or nothing."""
    with pytest.raises(ValueError, match=r"16 bytes|base64"):
        uuid_bytes(text)
