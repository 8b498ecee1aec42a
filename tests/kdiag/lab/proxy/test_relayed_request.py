from hypothesis import given
from hypothesis.strategies import binary

from kdiag.lab.proxy.relayed_request import OPAQUE, RequestReader, is_whole_request
from kdiag.wire import api_keys
from kdiag.wire.api.metadata import MetadataRequest
from kdiag.wire.api.produce import ProduceRequest
from kdiag.wire.api.sasl_authenticate import SaslAuthenticateRequest
from kdiag.wire.api.sasl_handshake import SaslHandshakeRequest
from kdiag.wire.catalog import API_BY_KEY
from kdiag.wire.codec.messages import encode
from kdiag.wire.header import request_header_bytes
from kdiag.wire.schema import Struct, info_of


def frame_of(request: Struct, version: int) -> bytes:
    """Return the frame of a request."""
    key = info_of(type(request)).api_key
    assert key is not None
    return request_header_bytes(API_BY_KEY[key], version, 7, "me") + encode(request, version)


def test_a_request_is_read_as_far_as_needed() -> None:
    """What it asks is read only if faults may want that."""
    frame = frame_of(MetadataRequest(topics=None), 12)
    read = RequestReader(is_decoding=True).read(frame)
    assert read.api is API_BY_KEY[api_keys.METADATA]
    assert read.message == MetadataRequest(topics=None)
    assert RequestReader(is_decoding=False).read(frame).message is None


def test_only_a_produce_without_acks_has_no_answer() -> None:
    """In every layout of its first fields."""
    for version in (1, 3, 8, 9, 13):
        for acks in (-1, 0, 1):
            for transactional_id in (None, "t") if version > 2 else (None,):
                request = ProduceRequest(transactional_id=transactional_id, acks=acks)
                read = RequestReader(is_decoding=False).read(frame_of(request, version))
                assert read.expects_answer == (acks != 0)
    assert RequestReader(is_decoding=False).read(frame_of(ProduceRequest(), 9)[:-9]).expects_answer


def test_what_is_not_understood_is_not_guessed() -> None:
    """Frames without a header, APIs and versions that nobody knows, and bytes that are wrong."""
    reader = RequestReader(is_decoding=True)
    assert reader.read(b"x") == OPAQUE
    assert reader.read(b"\x7f\x00" + bytes(10)).api is None
    assert reader.read(b"\x00\x03\x7f\x00" + bytes(10)).api is None
    broken = reader.read(frame_of(MetadataRequest(topics=None), 12)[:-3])
    assert (broken.api is not None, broken.message) == (True, None)


@given(binary(max_size=200))
def test_no_frame_is_too_wrong_to_pass(frame: bytes) -> None:
    """Whatever a client sends."""
    reader = RequestReader(is_decoding=True)
    reader.read(frame)
    assert len(reader.masked(frame)) == len(frame)
    is_whole_request(frame)


def test_tokens_are_not_requests() -> None:
    """After SaslHandshake version 0, until a whole request comes."""
    reader = RequestReader(is_decoding=True)
    reader.read(frame_of(SaslHandshakeRequest(mechanism="PLAIN"), 0))
    assert reader.is_logging_in
    token = b"\0\x03\0\x01secret and more of it"
    assert reader.masked(token) == b"x" * len(token)
    assert reader.read(token) == OPAQUE
    request = frame_of(MetadataRequest(topics=None), 12)
    assert is_whole_request(request)
    assert reader.masked(request) == request
    assert reader.read(request).api is not None
    assert not reader.is_logging_in


def test_a_token_with_a_header_is_masked() -> None:
    """And nothing else of the client that logs in."""
    reader = RequestReader(is_decoding=True)
    handshake = frame_of(SaslHandshakeRequest(mechanism="PLAIN"), 1)
    assert reader.masked(handshake) == handshake
    reader.read(handshake)
    frame = frame_of(SaslAuthenticateRequest(auth_bytes=b"secret"), 2)
    masked = reader.masked(frame)
    assert masked == frame.replace(b"secret", b"xxxxxx")
    assert reader.read(frame).message is None
    assert reader.masked(b"?") == b"x"
