import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kdiag.pcap.writer.packet import (
    ACK,
    MAX_PAYLOAD_BYTES,
    PSH,
    SYN,
    Endpoint,
    Segment,
    tcp_packet,
)
from tiers.cases import for_each

CLIENT, BROKER = Endpoint.of_text("10.0.0.1:40000"), Endpoint.of_text("10.0.0.2:9092")
CLIENT_6, BROKER_6 = Endpoint.of_text("[fe80::1]:40000"), Endpoint.of_text("[::1]:9092")


def word_sum(data: bytes) -> int:
    """Return the sum of 16-bit words as RFC 1071 describes it, one after the other."""
    total = 0
    for (word,) in struct.iter_unpack(">H", data + bytes(len(data) % 2)):
        total += word
        total = (total & 0xFFFF) + (total >> 16)
    return total


def test_an_endpoint_is_read_from_text() -> None:
    """An IPv6 address stands in brackets; a zone is of this machine only and is left out."""
    assert Endpoint(b"\x0a\0\0\x01", 40000) == CLIENT
    assert Endpoint.of_text("[fe80::1%eth0]:40000") == CLIENT_6
    assert Endpoint(bytes(15) + b"\x01", 9092) == BROKER_6


@for_each("text", ["", "localhost:9092", "10.0.0.1", "10.0.0.1:http"])
def test_what_is_no_endpoint_is_refused(text: str) -> None:
    """Names are not resolved here."""
    with pytest.raises(ValueError, match=r"IPv4|invalid literal"):
        Endpoint.of_text(text)


def test_a_packet_of_ipv4_has_the_fields_of_its_headers() -> None:
    """Byte by byte, as in the RFCs."""
    packet = tcp_packet(CLIENT, BROKER, Segment(1 << 32, 7, PSH | ACK, b"kafka"))

    assert len(packet) == 45
    assert packet[:10].hex() == "4500002d000040004006"
    assert packet[12:20].hex() == "0a0000010a000002"
    assert packet[20:36].hex() == "9c402384" + "00000000" + "00000007" + "5018ffff"
    assert packet[38:] == b"\0\0kafka"


def test_a_packet_of_ipv6_has_the_fields_of_its_headers() -> None:
    """The length counts what follows the header."""
    packet = tcp_packet(CLIENT_6, BROKER_6, Segment(9, 7, ACK, b"kafka"))

    assert packet[:8].hex() == "6000000000190640"
    assert packet[8:40] == CLIENT_6.address + BROKER_6.address
    assert packet[40:44].hex() == "9c402384"
    assert packet[60:] == b"kafka"


def test_the_largest_payload_fits_into_the_length_fields() -> None:
    """One byte more than IPv6 needs would not fit either."""
    segment = Segment(0, 0, ACK, bytes(MAX_PAYLOAD_BYTES))

    assert len(tcp_packet(CLIENT, BROKER, segment)) <= 65_535
    assert len(tcp_packet(CLIENT_6, BROKER_6, segment)) == 65_535


def test_a_syn_tells_segment_size_and_window_scale() -> None:
    """They are its options, before any data."""
    packet = tcp_packet(CLIENT, BROKER, Segment(0, 0, SYN))

    assert packet[32] >> 4 == 7
    assert packet[40:].hex() == "0204ffc3" + "01" + "03030e"


@pytest.mark.thorough
@given(payload=st.binary(max_size=64), flags=st.sampled_from([SYN, ACK]), is_new=st.booleans())
def test_checksums_come_out_right(payload: bytes, flags: int, is_new: bool) -> None:  # noqa: FBT001 - drawn
    """Summed with its pseudo header, every packet gives the number that RFC 1071 asks for."""
    ends = (CLIENT_6, BROKER_6) if is_new else (CLIENT, BROKER)
    packet = tcp_packet(*ends, Segment(5, 6, flags, payload))
    ip_bytes = 40 if is_new else 20
    tcp = packet[ip_bytes:]
    addresses = ends[0].address + ends[1].address

    assert word_sum(addresses + struct.pack(">IHH", len(tcp), 0, 6) + tcp) == 0xFFFF
    assert is_new or word_sum(packet[:20]) == 0xFFFF
