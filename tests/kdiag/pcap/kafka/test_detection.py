from hypothesis import given
from hypothesis import strategies as st

from kdiag.exchange.model import Protocol
from kdiag.pcap.kafka.detection import ENOUGH_BYTES, detect, is_bare_token
from kdiag.wire.frame import DEFAULT_MAX_FRAME_BYTES
from recordings.segment_tape import request, sized
from tiers.cases import for_each

KERBEROS = sized(bytes.fromhex("6082025a06092a864886f71201020201006e82") + bytes(100))
STARTS = [
    (request(1), Protocol.KAFKA),
    (request(1, bytes(4000), api_key=0, version=7), Protocol.KAFKA),
    (request(1, b"\xff" * 4, version=1, client_id=None), Protocol.KAFKA),
    (request(1, bytes(4000), api_key=0, version=7, client_id=None), Protocol.KAFKA),
    (KERBEROS, Protocol.KAFKA),
    (bytes.fromhex("16030100f8010000f40303"), Protocol.TLS),
    (bytes.fromhex("1703030020"), Protocol.TLS),
    (b"GET / HTTP/1.1\r\n", Protocol.HTTP),
    (b"OPTIONS * HTTP/1.1\r\n", Protocol.HTTP),
    (b"GET http://a/ HTTP/1.1\r\n", Protocol.HTTP),
    (b"CONNECT kafka-1.example:9092 HTTP/1.1\r\n", Protocol.HTTP),
    (b"CONNECT [::1]:9092 HTTP/1.1\r\n", Protocol.HTTP),
    (b'CONNECT {"verbose":false,"name":"nats"}\r\n', Protocol.UNKNOWN),
    (b"OPTIONS rtsp://camera/ RTSP/1.0\r\n", Protocol.UNKNOWN),
    (b"HTTP/1.1 200 OK\r\n", Protocol.HTTP),
    (b"*1\r\n$4\r\nPING\r\n", Protocol.REDIS),
    (b"+PONG\r\n", Protocol.REDIS),
    (b"SSH-2.0-OpenSSH_9.2\r\n", Protocol.UNKNOWN),
    # the first message of a ZooKeeper client looks like Produce v0 without a client id
    (
        sized(bytes(12) + bytes.fromhex("00007530") + bytes(8) + sized(bytes(16)) + b"\0"),
        Protocol.KAFKA,
    ),
    # that of a PostgreSQL client looks like Metadata v0
    (bytes.fromhex("0000001e00030000") + b"user\0me\0database\0db\0\0\0", Protocol.UNKNOWN),
    (b"\0\0\0\0\0\0\0\0\0\0\0\0", Protocol.UNKNOWN),
    (b"\x7f\xff\xff\xff\0\x03\0\0\0\0\0\1\0\1a", Protocol.KAFKA),
    (b"\x7f\xff\xff\xff\0\x03\0\0\0\0\0\1\xff\xff", Protocol.UNKNOWN),
]


@for_each(("data", "protocol"), STARTS)
def test_the_first_bytes_tell_the_protocol_and_never_change_their_mind(
    data: bytes, protocol: Protocol
) -> None:
    """However few bytes come first, the verdict is the same or not given yet."""
    verdicts = [detect(data[:size], DEFAULT_MAX_FRAME_BYTES) for size in range(len(data) + 1)]

    assert verdicts[-1] is protocol
    assert set(verdicts) <= {None, protocol}


@given(st.binary(min_size=ENOUGH_BYTES, max_size=ENOUGH_BYTES))
def test_there_is_a_verdict_on_enough_bytes_whatever_they_are(data: bytes) -> None:
    """Nobody waits for ever."""
    assert detect(data, DEFAULT_MAX_FRAME_BYTES) is not None


@given(st.binary(max_size=60))
def test_at_the_end_there_is_a_verdict_on_any_bytes(data: bytes) -> None:
    """What cannot be told is unknown."""
    assert detect(data, DEFAULT_MAX_FRAME_BYTES, is_all=True) is not None


def test_a_gssapi_token_before_any_request_is_recognised() -> None:
    """Kafka 0.9 began with it."""
    assert is_bare_token(KERBEROS)
    assert not is_bare_token(request(1))
