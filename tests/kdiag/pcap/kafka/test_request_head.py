import gzip
import json
import struct

from hypothesis import given
from hypothesis import strategies as st

from folders import ORACLE
from kdiag.pcap.kafka.request_head import (
    RequestLikeness,
    is_request,
    note_client,
    read_acks,
    read_client_software,
    request_likeness,
)
from kdiag.wire.api.api_versions import ApiVersionsRequest
from kdiag.wire.api.produce import ProduceRequest
from kdiag.wire.api.sasl_authenticate import SaslAuthenticateRequest
from kdiag.wire.api.sasl_handshake import SaslHandshakeRequest
from kdiag.wire.codec.messages import encode
from kdiag.wire.frame import Frame
from real_kafka.releases import USUAL
from recordings.exchange_maker import make_connection
from recordings.segment_tape import request
from tiers.cases import for_each

_HEADERS = ORACLE / f"headers-{USUAL}.jsonl.gz"


def test_every_request_header_of_kafka_is_plausible() -> None:
    """No API, version, client id or correlation id that Kafka writes is turned away."""
    lines = map(json.loads, gzip.decompress(_HEADERS.read_bytes()).splitlines())
    requests = [line for line in lines if line["kind"] == "request_header"]

    for line in requests:
        client_id = line["json"].get("clientId")
        if client_id is None or client_id.isprintable():
            head = bytes.fromhex(line["hex"]) + b"\0\0\0\0"
            expected = RequestLikeness.STRONG if client_id else RequestLikeness.WEAK
            assert request_likeness(head, len(head)) is expected, line
    assert len(requests) > 500


@for_each(
    ("fields", "client_id", "likeness"),
    [
        ((18, 12, 1), b"new-client", RequestLikeness.STRONG),
        ((0, 22, 1), b"producer", RequestLikeness.STRANGE),
        ((3, -1, 1), b"client", RequestLikeness.NO),
        ((-3, 1, 1), b"client", RequestLikeness.NO),
        ((18, 99, 1), b"client", RequestLikeness.STRANGE),
        ((18, -9, 1), b"client", RequestLikeness.STRANGE),
        ((500, 3, 1), b"future", RequestLikeness.STRONG),
        ((500, 3, 1), b"ab", RequestLikeness.WEAK),
        ((10_001, 3, 1), b"client", RequestLikeness.STRANGE),
        ((500, 99, 1), b"client", RequestLikeness.STRANGE),
        ((3, 9, 1), b"", RequestLikeness.WEAK),
        ((3, 9, 1), b"\0\1", RequestLikeness.NO),
        ((3, 9, 1), b"\xff\xfe", RequestLikeness.NO),
        ((3, 9, -5), "día".encode(), RequestLikeness.STRONG),
        ((18, 0, 1), b"esc\x1b[31m", RequestLikeness.ODD),
        ((18, 0, 1), b"\x1b", RequestLikeness.ODD),
        ((18, 0, 1), b"caf\xe9", RequestLikeness.ODD),
        ((18, 0, 1), "bidi\u202e".encode(), RequestLikeness.ODD),
        ((500, 3, 1), b"esc\x1b[31m", RequestLikeness.NO),
        ((16, 0, 1), b"tab\tweb", RequestLikeness.ODD),
    ],
)
def test_key_version_and_client_id_decide(
    fields: tuple[int, int, int], client_id: bytes, likeness: RequestLikeness
) -> None:
    """Unknown keys need a printable name; what is far from all that is known is strange.

    A name that is not printable wants a body behind it, unless the API has none.
    """
    head = struct.pack(">hhih", *fields, len(client_id)) + client_id

    assert request_likeness(head, len(head)) is likeness


def test_too_few_bytes_decide_nothing() -> None:
    """More may come, unless the frame is too short for a header."""
    head = request(1)[4:]

    assert request_likeness(head[:9], len(head)) is RequestLikeness.UNCLEAR
    assert request_likeness(head[:10], len(head)) is RequestLikeness.UNCLEAR
    assert request_likeness(head[:11], len(head)) is RequestLikeness.STRONG
    assert request_likeness(head[:9], 9) is RequestLikeness.NO


def test_controlled_shutdown_v0_has_no_client_id_but_a_least_size() -> None:
    """Its header is the only one of version 0."""
    head = struct.pack(">hhii", 7, 0, 1, 5)

    assert request_likeness(head, 12) is RequestLikeness.WEAK
    assert request_likeness(head + b"\0", 13) is RequestLikeness.WEAK
    assert request_likeness(head[:11], 11) is RequestLikeness.NO


def test_a_negative_length_is_that_of_no_client_id() -> None:
    """Kafka reads each of them as null."""
    for length in (-1, -2, -(1 << 15)):
        head = struct.pack(">hhih", 3, 9, 1, length)
        assert request_likeness(head, len(head)) is RequestLikeness.WEAK


@for_each("token", [b"\0alice\0secret", b"n,,n=alice,r=fyko", b"", b"\x60\x82\x02\x5a"])
def test_sasl_tokens_are_no_requests(token: bytes) -> None:
    """They have no header that makes sense, or no name that does."""
    assert not is_request(token, len(token))
    token = struct.pack(">hhih", 3, 0, 1, 13) + b"\0alice\0secret!"
    assert not is_request(token, len(token))


@given(st.binary(max_size=40), st.integers(-5, 100))
def test_any_bytes_get_a_verdict(head: bytes, size: int) -> None:
    """Nothing escapes."""
    assert request_likeness(head, size) in set(RequestLikeness)


def produce(
    correlation_id: int, acks: int, version: int, transactional_id: str | None = None
) -> bytes:
    """Return a Produce request."""
    body = ProduceRequest(acks=acks, transactional_id=transactional_id)
    tags = b"\0" if version >= 9 else b""
    return request(correlation_id, tags + encode(body, version), api_key=0, version=version)


@for_each("version", range(14))
@for_each("acks", [0, 1, -1])
def test_acks_are_read_in_every_version(version: int, acks: int) -> None:
    """They follow the transactional id, which is absent, nullable or compact."""
    names = [None] if version < 3 else [None, "", "my-transaction" * 20]

    assert [read_acks(produce(1, acks, version, name)[4:], version) for name in names] == [
        acks
    ] * len(names)


def test_acks_that_were_lost_are_unknown() -> None:
    """A cut request waits for its response like any other."""
    data = produce(1, 0, 7)
    assert [read_acks(data[4:size], 7) for size in (10, 20, 23)] == [None, None, None]


def test_software_is_told_from_version_3_on() -> None:
    """What is cut, older or newer tells none."""
    body = encode(ApiVersionsRequest(client_software_name="me", client_software_version="1"), 3)
    whole = request(1, b"\0" + body, api_key=18, version=3)[4:]

    assert read_client_software(whole) == ("me", "1")
    assert read_client_software(whole[:-3]) is None
    assert read_client_software(request(1, api_key=18, version=2)[4:]) is None
    assert read_client_software(request(1, b"\0", api_key=18, version=99)[4:]) is None
    assert read_client_software(b"\0") is None


def test_a_connection_learns_mechanism_and_user_from_requests_alone() -> None:
    """Of versions that exist, with all their bytes; anything else tells nothing."""
    connection = make_connection()

    def note(data: bytes, api_key: int, last_packet: int = 1) -> tuple[str | None, str | None]:
        frame = Frame(data[4:], len(data) - 4, 1, 1, 1, last_packet)
        note_client(connection, api_key, frame)
        return connection.sasl_mechanism, connection.sasl_user

    handshake = request(
        1, encode(SaslHandshakeRequest(mechanism="PLAIN"), 1), api_key=17, version=1
    )
    token = SaslAuthenticateRequest(auth_bytes=b"\0alice\0pw")
    authenticate = request(2, b"\0" + encode(token, 2), api_key=36, version=2)
    assert note(request(1, b"\0\5PLAIN", api_key=17, version=9), 17) == (None, None)
    assert note(handshake[:-2], 17) == (None, None)
    assert note(handshake, 17, last_packet=0) == (None, None)
    assert note(handshake, 17) == ("PLAIN", None)
    assert note(handshake, 3) == ("PLAIN", None)
    assert note(authenticate, 36) == ("PLAIN", "alice")
    assert note(authenticate, 36) == ("PLAIN", "alice")
