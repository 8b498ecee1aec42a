import pytest

from kdiag.client.network.request_frame import request_parts
from kdiag.errors import EncodeError
from kdiag.wire.api.controlled_shutdown import ControlledShutdownRequest
from kdiag.wire.api.find_coordinator import FindCoordinatorRequest
from kdiag.wire.api.request_header import RequestHeader
from kdiag.wire.catalog import API_BY_KEY, APIS
from kdiag.wire.codec.messages import encode
from kdiag.wire.header import read_request_header


@pytest.mark.parametrize("client_id", ["kdiag", "", "früh", None])
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
