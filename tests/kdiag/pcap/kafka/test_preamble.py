import pytest
from hypothesis import given
from hypothesis import strategies as st

from kdiag.pcap.kafka.preamble import UNDECIDED, Preamble, read_preamble
from recordings.segment_tape import request
from tiers.cases import for_each

V2 = b"\r\n\r\n\0\r\nQUIT\n"
PREAMBLES = {
    "PROXY v1 from 10.1.2.3:51000": (b"PROXY TCP4 10.1.2.3 10.9.8.7 51000 9092\r\n", b""),
    "PROXY v1 from 2001:db8::1:51000": (b"PROXY TCP6 2001:db8::1 2001:db8::2 51000 9092\r\n", b""),
    "PROXY v1 from unknown": (b"PROXY UNKNOWN\r\n", b""),
    "PROXY v2 from 10.1.2.3:51000": (
        V2 + bytes.fromhex("2111000c0a0102030a090807c7382384"),
        b"",
    ),
    "PROXY v2 from 2001:db8::1:51000": (
        V2
        + bytes.fromhex("21210027" + "20010db8" + "00" * 11 + "01" + "ff" * 16 + "c7382384")
        + b"tlv",
        b"",
    ),
    "PROXY v2": (V2 + bytes.fromhex("20000000"), b""),
    "SOCKS5 to broker-1:9092": (
        b"\5\1\0" + b"\5\1\0\3\x08broker-1" + (9092).to_bytes(2),
        b"\5\0" + b"\5\0\0\1\0\0\0\0\0\0",
    ),
    "SOCKS5 to 10.9.8.7:9092": (
        b"\5\2\0\2" + b"\1\5alice\6secret" + b"\5\1\0\1\x0a\x09\x08\x07" + (9092).to_bytes(2),
        b"\5\2" + b"\1\0" + b"\5\0\0\3\4host\0\1",
    ),
    "HTTP CONNECT to broker-1:9092": (
        b"CONNECT broker-1:9092 HTTP/1.1\r\nHost: broker-1\r\n\r\n",
        b"HTTP/1.1 200 Connection established\r\nVia: proxy\r\n\r\n",
    ),
}


@for_each("name", PREAMBLES)
def test_a_preamble_is_named_and_measured(name: str) -> None:
    """As soon as all of it is here, whatever follows."""
    client, server = PREAMBLES[name]
    at = client.find(b"secret")
    secrets = ((at, at + len(b"secret")),) if at >= 0 else ()
    expected = Preamble(name, len(client), len(server), secrets)

    assert read_preamble(client, server) == expected
    assert read_preamble(client + request(1), server + b"answer") == expected
    sooner = {read_preamble(client[:n], b"") for n in range(8, len(client))}
    assert sooner <= {UNDECIDED, expected}
    for size in range(len(server)):
        assert read_preamble(client, server[:size]) == UNDECIDED


@for_each(
    ("client", "server"),
    [
        (request(1), b""),
        (b"POST / HTTP/1.1\r\n", b""),
        (b"PROXY of something\r\n", b""),
        (b"PROXY " + b"x" * 200, b""),
        (b"CONNECT broker:9092 HTTP/1.1\r\n\r\n", b"HTTP/1.1 403 Forbidden\r\n\r\n"),
        (b"\5\1\0", b"HTTP/1.1 400"),
        (b"\5\xff\xff", b""),
    ],
)
def test_other_bytes_are_not_a_preamble(client: bytes, server: bytes) -> None:
    """Nor is one that the proxy has refused."""
    assert read_preamble(client, server) is None


@pytest.mark.thorough
@given(st.sampled_from([b"", b"\5", b"PROXY ", V2, b"CONNECT "]), st.binary(), st.binary())
def test_any_bytes_can_be_read(start: bytes, client: bytes, server: bytes) -> None:
    """Nothing escapes."""
    found = read_preamble(start + client, server)
    assert found is None or found.client_bytes >= 0
