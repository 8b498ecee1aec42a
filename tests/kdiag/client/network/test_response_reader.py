import pytest

from kdiag.client.network.in_flight import InFlightRequest
from kdiag.client.network.request import ClientRequest, builder_of
from kdiag.client.network.response_reader import read_response
from kdiag.errors import DecodeError
from kdiag.net.send import NetworkSend
from kdiag.wire.api.api_versions import ApiVersionsRequest, ApiVersionsResponse
from kdiag.wire.api.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from kdiag.wire.codec.messages import encode
from kdiag.wire.header import RESERVED_FOR_SASL
from kdiag.wire.schema import Struct


def asked(message: Struct, version: int) -> InFlightRequest:
    """Return a request in flight with correlation id 7."""
    request = ClientRequest(
        node_id="1", builder=builder_of(message), correlation_id=7, created_ns=0, timeout_ns=0
    )
    send = NetworkSend("1", [b""])
    return InFlightRequest(
        request=request, version=version, expects_response=True, send=send, sent_ns=0
    )


def test_a_response_is_read_in_the_version_of_its_request() -> None:
    """With the header that belongs to it."""
    answer = FindCoordinatorResponse(node_id=3, host="a", port=9092)
    for version, header in ((0, b"\0\0\0\7"), (3, b"\0\0\0\7\0")):
        frame = header + encode(answer, version)
        assert read_response(asked(FindCoordinatorRequest(), version), frame) == answer


def test_the_refusal_of_a_version_of_api_versions_is_read_in_version_0() -> None:
    """The broker does not know the one that it was asked in (KIP-511)."""
    refusal = ApiVersionsResponse(error_code=35)
    frame = b"\0\0\0\7" + encode(refusal, 0)

    assert read_response(asked(ApiVersionsRequest(), 4), frame) == refusal


def test_another_correlation_id_is_told() -> None:
    """What was expected, for which API, and what came."""
    with pytest.raises(DecodeError, match=r"7 was expected for ApiVersions, not 8$"):
        read_response(asked(ApiVersionsRequest(), 0), b"\0\0\0\x08" + bytes(20))


def test_a_correlation_id_of_sasl_is_told_as_such() -> None:
    """An authenticator has not waited for its answer."""
    assert min(RESERVED_FOR_SASL) == (1 << 31) - 8
    assert max(RESERVED_FOR_SASL) == (1 << 31) - 1
    late = min(RESERVED_FOR_SASL).to_bytes(4)
    with pytest.raises(DecodeError, match="the answer to a SASL request, which came late"):
        read_response(asked(ApiVersionsRequest(), 0), late + bytes(20))


@pytest.mark.parametrize("frame", [b"", b"\0\0\0", b"\0\0\0\7", b"\0\0\0\7\0\0\0\0\0\1"])
def test_a_frame_that_ends_early_is_told(frame: bytes) -> None:
    """Nothing else is raised."""
    with pytest.raises(DecodeError):
        read_response(asked(ApiVersionsRequest(), 0), frame)
