import contextlib
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kdiag.errors import DecodeError
from kdiag.pcap.tls.handshake import (
    MAX_MESSAGE_BYTES,
    TLS12,
    TLS13,
    HandshakeReader,
    Message,
    client_randoms_in,
    name_version,
    read_client_hello,
    read_encrypted_extensions,
    read_server_hello,
)
from tiers.cases import for_each

RANDOM = bytes(range(32))
CERTIFICATE, FINISHED = 11, 20


def sized(data: bytes, length_bytes: int) -> bytes:
    """Return data behind its length."""
    return len(data).to_bytes(length_bytes) + data


def extensions(**bodies: bytes) -> bytes:
    """Return extensions by their names."""
    numbers = {
        "server_name": 0,
        "alpn": 16,
        "encrypt_then_mac": 22,
        "pre_shared_key": 41,
        "early_data": 42,
        "supported_versions": 43,
    }
    return sized(b"".join(numbers[name].to_bytes(2) + sized(bodies[name], 2) for name in bodies), 2)


def client_hello(tail: bytes, *, session_id: bytes = b"") -> bytes:
    """Return the body of a ClientHello that ends with some extensions."""
    return b"\x03\x03" + RANDOM + sized(session_id, 1) + sized(b"\x13\x01", 2) + b"\1\0" + tail


def server_hello(tail: bytes, *, random: bytes = RANDOM, version: int = TLS12) -> bytes:
    """Return the body of a ServerHello that ends with some extensions."""
    return version.to_bytes(2) + random + sized(b"id", 1) + b"\x13\x02\0" + tail


def message(kind: int, body: bytes) -> bytes:
    """Return a handshake message."""
    return bytes([kind]) + sized(body, 3)


def test_a_client_hello_tells_host_versions_and_early_data() -> None:
    """Versions come from the extension, without the reserved ones that only test servers."""
    hello = read_client_hello(
        client_hello(
            extensions(
                server_name=sized(b"\0" + sized(b"broker.example.test", 2), 2),
                supported_versions=sized(bytes.fromhex("3a3a03040303"), 1),
                early_data=b"",
            ),
            session_id=b"session",
        )
    )

    assert hello.random == RANDOM
    assert hello.session_id == b"session"
    assert hello.versions == ("TLS 1.3", "TLS 1.2")
    assert hello.sni == "broker.example.test"
    assert hello.offers_early_data


def test_an_old_client_hello_may_end_without_extensions() -> None:
    """Then the version is that of the message itself, and no host is named."""
    hello = read_client_hello(client_hello(b""))

    assert (hello.versions, hello.sni, hello.offers_early_data) == (("TLS 1.2",), None, False)


def test_a_host_name_of_wild_bytes_is_written_out() -> None:
    """Bytes that are no ASCII are shown as such, and no name is longer than DNS allows."""
    name = b"\xff" + b"a" * 300
    hello = read_client_hello(
        client_hello(extensions(server_name=sized(b"\0" + sized(name, 2), 2)))
    )

    assert hello.sni == r"\xff" + "a" * 254


def test_a_server_hello_of_tls_1_3_tells_its_version_in_an_extension() -> None:
    """The version field says 1.2 for the sake of middleboxes."""
    hello = read_server_hello(
        server_hello(extensions(supported_versions=b"\x03\x04", pre_shared_key=b"\0\0"))
    )

    assert (hello.version, hello.suite, hello.chose_session) == (TLS13, 0x1302, True)
    assert not hello.is_retry


def test_a_server_hello_of_tls_1_2_tells_what_was_agreed_on() -> None:
    """Session, application protocol and the order of encryption and MAC are in the clear."""
    hello = read_server_hello(
        server_hello(extensions(alpn=sized(sized(b"kafka", 1), 2), encrypt_then_mac=b""))
    )

    assert (hello.version, hello.session_id, hello.alpn) == (TLS12, b"id", "kafka")
    assert hello.macs_ciphertext
    assert not hello.chose_session


def test_a_request_to_begin_again_is_told_by_its_random() -> None:
    """HelloRetryRequest is a ServerHello with the SHA-256 of its own name."""
    retry = bytes.fromhex("cf21ad74e59a6111be1d8c021e65b891c2a211167abb8c5e079e09e2c8a8339c")

    assert read_server_hello(server_hello(b"", random=retry)).is_retry


def test_encrypted_extensions_tell_the_application_protocol() -> None:
    """In TLS 1.3 it is not in the clear."""
    assert read_encrypted_extensions(extensions(alpn=sized(sized(b"h2", 1), 2))) == "h2"
    assert read_encrypted_extensions(extensions()) is None


def test_versions_have_the_names_that_people_use() -> None:
    """A version that nobody has heard of is shown as its number."""
    assert name_version(0x0301) == "TLS 1.0"
    assert name_version(0x7F1C) == "0x7F1C"


@pytest.mark.parametrize("read", [read_client_hello, read_server_hello, read_encrypted_extensions])
@given(data=st.binary(max_size=200))
def test_a_malformed_message_raises_a_decode_error_alone(
    read: Callable[[bytes], object], data: bytes
) -> None:
    """Whatever the bytes are, they are a message or they are refused."""
    with contextlib.suppress(DecodeError):
        read(data)


@for_each("cut", range(50))
def test_a_hello_that_ends_early_says_where(cut: int) -> None:
    """Each field is checked against the bytes that are left."""
    whole = client_hello(extensions(server_name=sized(b"\0" + sized(b"host", 2), 2)))

    if cut == 41:  # where an old ClientHello may end
        assert read_client_hello(whole[:cut]).sni is None
    else:
        with pytest.raises(DecodeError, match="should follow"):
            read_client_hello(whole[:cut])


@given(st.lists(st.integers(1, 400), max_size=30))
def test_messages_are_the_same_however_records_split_them(pieces: list[int]) -> None:
    """Messages that are read keep their bodies; of the others only the arrival counts."""
    hello = client_hello(b"", session_id=bytes(32))
    data = (
        message(1, hello) + message(CERTIFICATE, bytes(3000)) + message(14, b"") + message(20, b"x")
    )
    reader = HandshakeReader()
    found = []
    position = 0
    for piece in [*pieces, len(data)]:
        found += reader.feed(data[position : position + piece])
        position += piece

    assert found == [Message(1, hello), Message(11, b""), Message(14, b""), Message(20, b"")]


def test_a_chain_of_certificates_is_passed_over_without_being_held() -> None:
    """Of a message of 16 MB that nobody reads, nothing is kept."""
    size = (1 << 24) - 1
    reader = HandshakeReader()

    found = reader.feed(bytes([CERTIFICATE]) + size.to_bytes(3))
    held = 0
    for _ in range(size // 10_000 + 1):
        found += reader.feed(bytes(min(10_000, size)))
        size -= 10_000
        held = max(held, len(reader._buffer))

    assert found == [Message(CERTIFICATE, b"")]
    assert held == 0


def test_a_hello_of_impossible_size_is_passed_over() -> None:
    """A message that would be read is held up to a limit."""
    reader = HandshakeReader()

    assert reader.feed(message(1, bytes(MAX_MESSAGE_BYTES))) == [
        Message(1, bytes(MAX_MESSAGE_BYTES))
    ]
    assert reader.feed(b"\1" + (MAX_MESSAGE_BYTES + 1).to_bytes(3)) == []
    assert len(reader._buffer) == 0
    assert reader.feed(bytes(MAX_MESSAGE_BYTES + 1)) == [Message(1, b"")]


def test_after_a_loss_only_messages_within_one_record_count() -> None:
    """What a record begins with is then a message, or the middle of one, which makes no sense."""
    reader = HandshakeReader()
    reader.feed(message(CERTIFICATE, bytes(100))[:50])

    reader.lose_track()

    assert reader.feed(message(FINISHED, bytes(12))) == [Message(FINISHED, b"")]
    assert reader.feed(message(CERTIFICATE, bytes(100))[:50]) == []
    assert reader.feed(message(14, b"") + b"\xff" * 9) == [Message(14, b"")]
    assert reader.feed(message(FINISHED, bytes(12))) == [Message(FINISHED, b"")]


def test_an_unknown_message_ends_what_can_be_made_of_its_record() -> None:
    """Encrypted bytes taken for a message do not swallow the records that follow."""
    reader = HandshakeReader()

    assert reader.feed(b"\x99\xff\xff\xff" + bytes(10)) == []
    assert reader.feed(message(FINISHED, bytes(12))) == [Message(FINISHED, b"")]


def test_client_randoms_are_found_in_any_bytes() -> None:
    """A record with a ClientHello is enough; a ServerHello, or one that is cut, is none."""
    hello = b"\x16\x03\x01" + sized(message(1, client_hello(b"")), 2)
    server = b"\x16\x03\x03" + sized(message(2, server_hello(b"")), 2)
    assert list(client_randoms_in(b"\x16\x03" + hello + server + hello)) == [RANDOM, RANDOM]
    assert list(client_randoms_in(server + hello[:42])) == []
    assert list(client_randoms_in(hello[:43])) == [RANDOM]
