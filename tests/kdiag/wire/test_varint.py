import pytest
from hypothesis import given
from hypothesis import strategies as st

from kdiag.wire.varint import VarintError, read_unsigned, signed, unfold, unsigned


@given(st.integers(-(2**63), 2**63 - 1))
def test_a_signed_number_reads_back(value: int) -> None:
    """Any number of 64 bits survives, and the position moves behind it."""
    data = signed(value)
    folded, position = read_unsigned(b"\xff" + data + b"\xff", 1, 64)

    assert (value, 1 + len(data)) == (unfold(folded), position)


@given(st.integers(0, 2**32 - 1))
def test_an_unsigned_number_reads_back(value: int) -> None:
    """Any number of 32 bits survives."""
    data = unsigned(value)

    assert (value, len(data)) == read_unsigned(data, 0)


@pytest.mark.parametrize(
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
    assert encoded == signed(value).hex()


def test_a_varint_may_be_longer_than_need_be() -> None:
    """Kafka reads padded varints up to the length that their bits may take."""
    assert read_unsigned(bytes.fromhex("8180808000"), 0) == (1, 5)
    assert read_unsigned(bytes.fromhex("81808080808080808000"), 0, 64) == (1, 10)


@pytest.mark.parametrize(
    ("data", "bits"),
    [("808080808000", 32), ("ffffffff10", 32), ("80" * 10 + "00", 64), ("ff" * 9 + "02", 64)],
)
def test_a_varint_of_too_many_bytes_or_bits_is_refused(data: str, bits: int) -> None:
    """Five bytes hold 32 bits, ten hold 64, and no bit may be left over."""
    with pytest.raises(VarintError):
        read_unsigned(bytes.fromhex(data), 0, bits)


def test_a_varint_without_an_end_is_an_index_error() -> None:
    """The bytes end before the varint does."""
    with pytest.raises(IndexError):
        read_unsigned(b"\x80\x80", 0)
