import pytest

from kdiag.client.network.request import (
    ClientRequest,
    ClientResponse,
    RequestBuilder,
    builder_of,
    expects_response,
    request_parts,
)
from kdiag.errors import EncodeError
from kdiag.wire.api.api_versions import ApiVersionsResponse
from kdiag.wire.api.controlled_shutdown import ControlledShutdownRequest
from kdiag.wire.api.find_coordinator import FindCoordinatorRequest
from kdiag.wire.api.produce import ProduceRequest
from kdiag.wire.api.request_header import RequestHeader
from kdiag.wire.catalog import API_BY_KEY, APIS
from kdiag.wire.codec.messages import encode
from kdiag.wire.header import read_request_header
from kdiag.wire.schema import ALL_VERSIONS, Struct, Versions
from tiers.cases import for_each


def test_a_message_is_its_own_builder_in_every_version() -> None:
    """Unless one version is asked for."""
    message = FindCoordinatorRequest(key="orders")
    builder = builder_of(message)

    assert builder.api is API_BY_KEY[10]
    assert builder.versions == ALL_VERSIONS
    assert builder.build(3) is message
    assert builder_of(message, 2).versions == Versions(2, 2)


def test_a_builder_stays_what_it_is() -> None:
    """Unless one version is asked for: then that is all it allows."""
    builder = RequestBuilder(API_BY_KEY[10], Versions(0, 3), lambda _: FindCoordinatorRequest())

    assert builder_of(builder) is builder
    assert builder_of(builder, 2).versions == Versions(2, 2)
    assert builder_of(builder, 2).build is builder.build


@pytest.mark.parametrize("message", [ApiVersionsResponse(), RequestHeader()], ids=repr)
def test_only_requests_can_be_asked(message: Struct) -> None:
    """A response is none, nor is a header."""
    with pytest.raises(ValueError, match="is not a request"):
        builder_of(message)


def test_only_produce_with_no_acks_is_not_answered() -> None:
    """Everything else is."""
    produce = API_BY_KEY[0]

    assert not expects_response(produce, ProduceRequest(acks=0))
    assert expects_response(produce, ProduceRequest(acks=1))
    assert expects_response(API_BY_KEY[10], FindCoordinatorRequest())


def test_a_response_calls_back_whoever_asked() -> None:
    """Or nobody, if nobody wants to know."""
    taken: list[ClientResponse] = []
    for on_complete in (taken.append, None):
        request = ClientRequest(
            node_id="1",
            builder=builder_of(FindCoordinatorRequest()),
            correlation_id=0,
            created_ns=0,
            timeout_ns=0,
            on_complete=on_complete,
        )
        response = ClientResponse(request=request, version=None, body=None, received_ns=0)
        response.call_back()

    assert len(taken) == 1
    assert taken[0].request.api.name == "FindCoordinator"


@pytest.mark.thorough
@for_each("client_id", ["kdiag", "", "früh", None])
def test_the_header_is_what_the_schema_says(client_id: str | None) -> None:
    """In each version of each API, with the client's name and without."""
    for api in APIS:
        message = api.request_class()()
        for version in range(api.versions.low, api.versions.high + 1):
            try:
                header, body = request_parts(message, api, version, 7, client_id)
            except EncodeError:
                continue  # a default that is not allowed in that version
            expected = RequestHeader(
                request_api_key=api.key,
                request_api_version=version,
                correlation_id=7,
                client_id=client_id,
            )
            assert header == encode(expected, api.request_header_version(version))
            assert body == encode(message, version)


def test_a_request_is_header_and_body() -> None:
    """What was written is read back."""
    api = API_BY_KEY[10]
    message = FindCoordinatorRequest(coordinator_keys=["orders"])
    frame = b"".join(request_parts(message, api, 4, 99, "kdiag"))
    header = read_request_header(frame)

    assert (header.api_key, header.version, header.correlation_id) == (10, 4, 99)
    assert header.client_id == "kdiag"
    assert frame[header.body_offset :] == encode(message, 4)


def test_the_oldest_header_has_no_client_id() -> None:
    """That of ControlledShutdown in version 0."""
    header, _ = request_parts(ControlledShutdownRequest(), API_BY_KEY[7], 0, 1, "kdiag")

    assert len(header) == 8


def test_what_a_version_cannot_say_is_refused() -> None:
    """Several keys came with version 4."""
    message = FindCoordinatorRequest(coordinator_keys=["a", "b"])
    with pytest.raises(EncodeError, match="coordinatorKeys"):
        request_parts(message, API_BY_KEY[10], 3, 1, "kdiag")
