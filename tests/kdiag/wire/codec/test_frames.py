import pytest

from kdiag.errors import DecodeError, EncodeError
from kdiag.wire.api.api_versions import ApiVersionsRequest, ApiVersionsResponse
from kdiag.wire.api.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from kdiag.wire.codec.frames import decode_request, decode_response, encode_request
from kdiag.wire.codec.messages import encode
from tiers.cases import for_each

QUESTION = FindCoordinatorRequest(coordinator_keys=["orders"])
OLD_QUESTION = FindCoordinatorRequest(key="orders")


def with_length(data: bytes) -> bytes:
    """Return bytes as a frame."""
    return len(data).to_bytes(4) + data


def test_a_request_is_read_back() -> None:
    """With everything that its header says."""
    frame = encode_request(QUESTION, 4, correlation_id=7, client_id="me")
    read = decode_request(frame)

    assert frame == bytes.fromhex("00000017000a00040000000700026d6500") + encode(QUESTION, 4)
    assert (read.api.name, read.version, read.correlation_id) == ("FindCoordinator", 4, 7)
    assert (read.client_id, read.message) == ("me", QUESTION)


def test_a_response_is_read_by_its_request() -> None:
    """It says itself nothing but the number."""
    request = decode_request(encode_request(OLD_QUESTION, 3, correlation_id=7))
    answer = FindCoordinatorResponse(node_id=2, host="b", port=9092)
    frame = with_length((7).to_bytes(4) + b"\0" + encode(answer, 3))

    read = decode_response(frame, request)

    assert (read.api.name, read.version, read.correlation_id) == ("FindCoordinator", 3, 7)
    assert read.message == answer


def test_a_broker_refuses_a_version_in_version_0() -> None:
    """It cannot answer in one that it does not know (KIP-511)."""
    request = decode_request(encode_request(ApiVersionsRequest(), 4, correlation_id=1))
    answer = ApiVersionsResponse(error_code=35)

    read = decode_response(with_length((1).to_bytes(4) + encode(answer, 0)), request)

    assert (read.version, read.message) == (0, answer)


@for_each(
    ("frame", "why"),
    [
        (b"\0\0", "a length takes 4 bytes, 2 are here"),
        (b"\0\0\0\x09abc", "9 bytes are announced, 3 are here"),
        (b"\xff\xff\xff\xffabc", "-1 bytes are announced"),
        (with_length(b"\0\x03"), "a request header takes 8 bytes"),
        (with_length(b"\x7f\0\0\0\0\0\0\7\xff\xff"), "32512 is not a known API"),
        (with_length(b"\0\x0a\0\x63\0\0\0\7\xff\xff\0"), "FindCoordinator has the versions 0-6"),
        (with_length(encode_request(QUESTION, 4)[4:-2]), "coordinatorKeys"),
    ],
)
def test_bytes_that_are_no_request_are_refused_with_the_reason(frame: bytes, why: str) -> None:
    """Nothing but DecodeError is raised."""
    with pytest.raises(DecodeError, match=why):
        decode_request(frame)


def test_the_answer_to_another_request_is_refused() -> None:
    """Its number tells."""
    request = decode_request(encode_request(OLD_QUESTION, 3, correlation_id=7))
    with pytest.raises(DecodeError, match="7 is expected, 8 is here"):
        decode_response(with_length((8).to_bytes(4) + b"\0"), request)


def test_what_cannot_be_a_request_is_not_written() -> None:
    """A response, a number or a name that is too large, a version that does not exist."""
    with pytest.raises(ValueError, match="FindCoordinatorResponse is not a request"):
        encode_request(FindCoordinatorResponse(), 4)
    with pytest.raises(EncodeError, match="header"):
        encode_request(QUESTION, 4, correlation_id=1 << 31)
    with pytest.raises(EncodeError, match="header"):
        encode_request(QUESTION, 4, client_id="x" * 40_000)
    with pytest.raises(ValueError, match="version"):
        encode_request(QUESTION, 99)
