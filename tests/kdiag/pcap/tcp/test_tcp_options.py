import pytest
from hypothesis import given
from hypothesis import strategies as st

from kdiag.pcap.tcp.tcp_options import SynOptions, read_syn_options

LINUX = bytes.fromhex("020405b4 0402 080a0000000100000000 01 03 03 07")


def test_the_options_of_linux_are_read() -> None:
    """A SYN of Linux offers a segment size, SACK, timestamps and a window scale."""
    assert read_syn_options(LINUX) == SynOptions(1460, 7, sack_permitted=True, timestamps=True)


def test_no_options_offer_nothing() -> None:
    """An end that sends none takes segments of any size and scales nothing."""
    assert read_syn_options(b"") == SynOptions()


def test_the_largest_shift_is_fourteen() -> None:
    """RFC 7323 has a larger one treated as 14."""
    assert read_syn_options(b"\x03\x03\xff").window_scale == 14


@pytest.mark.parametrize("bad", ["0304", "03", "0300", "030100", "02ff05b4"])
def test_an_option_that_makes_no_sense_ends_the_list(bad: str) -> None:
    """What was read before it counts."""
    assert read_syn_options(b"\x04\x02" + bytes.fromhex(bad)) == SynOptions(sack_permitted=True)


def test_what_follows_the_end_is_padding() -> None:
    """An option behind the end of the list is none."""
    assert read_syn_options(b"\0" + LINUX) == SynOptions()


def test_an_option_of_a_wrong_size_is_passed_over() -> None:
    """A window scale of two bytes says nothing; the next option does."""
    assert read_syn_options(b"\x03\x04\x07\x07\x04\x02") == SynOptions(sack_permitted=True)


@given(st.binary(max_size=40))
def test_any_bytes_are_options(options: bytes) -> None:
    """Nothing on the wire makes reading fail, and a shift is never too large."""
    assert (read_syn_options(options).window_scale or 0) <= 14
