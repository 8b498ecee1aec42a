import pytest

from kdiag import __version__
from kdiag.client.network.api_versions import VersionNegotiation
from kdiag.errors import UnsupportedVersionError
from kdiag.wire.api.api_versions import ApiVersion, ApiVersionsRequest, ApiVersionsResponse
from scripted_kafka.scripted_broker import offering


def refusal(*newest: int) -> ApiVersionsResponse:
    """Return UNSUPPORTED_VERSION with the newest version of ApiVersions, if any."""
    keys = [ApiVersion(api_key=18, max_version=each) for each in newest]
    return ApiVersionsResponse(error_code=35, api_keys=keys)


def begun() -> VersionNegotiation:
    """Return a negotiation with one node, which was asked."""
    negotiation = VersionNegotiation()
    negotiation.begin("1")
    negotiation.ask("1")
    return negotiation


def test_a_node_is_asked_once_and_told_who_asks() -> None:
    """In version 4, which tells name and version of the software."""
    negotiation = VersionNegotiation()
    negotiation.begin("1")
    assert negotiation.to_ask() == ["1"]

    builder = negotiation.ask("1")
    assert negotiation.to_ask() == []
    assert builder.versions == (4, 4)
    assert builder.build(4) == ApiVersionsRequest(
        client_software_name="kdiag", client_software_version=__version__
    )
    assert negotiation.answered("1", 4, offering())
    assert negotiation.known("1") is not None


@pytest.mark.parametrize(
    ("response", "following"),
    [(refusal(2), 2), (refusal(), 0), (refusal(4), 0), (refusal(99), 0), (refusal(-1), 0)],
    ids=["lower", "not told", "the same", "higher", "nonsense"],
)
def test_a_refused_version_is_followed_by_a_lower_one(
    response: ApiVersionsResponse, following: int
) -> None:
    """The broker's newest if it is lower, else 0: so it ends, whatever a broker says."""
    negotiation = begun()

    assert not negotiation.answered("1", 4, response)
    assert negotiation.known("1") is None
    assert negotiation.ask("1").versions == (following, following)


def test_a_broker_that_refuses_version_0_is_given_up() -> None:
    """There is no lower one."""
    with pytest.raises(UnsupportedVersionError, match=r"version 0 .* UNSUPPORTED_VERSION"):
        begun().answered("1", 0, refusal())


def test_another_error_is_final() -> None:
    """It is named."""
    response = ApiVersionsResponse(error_code=42)
    with pytest.raises(UnsupportedVersionError, match=r"version 4 .* INVALID_REQUEST"):
        begun().answered("1", 4, response)


def test_a_node_is_forgotten_with_its_connection() -> None:
    """The next connection may be to another broker version."""
    negotiation = begun()
    negotiation.answered("1", 4, offering())
    negotiation.forget("1")
    assert negotiation.known("1") is None

    negotiation.begin("1")
    negotiation.forget("1")
    assert negotiation.to_ask() == []
