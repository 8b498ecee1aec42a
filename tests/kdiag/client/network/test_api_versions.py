import pytest

from kdiag import __version__
from kdiag.client.network.api_versions import (
    NodeApiVersions,
    VersionNegotiation,
    intersection,
    wanted_versions,
)
from kdiag.client.network.request import builder_of
from kdiag.errors import UnsupportedVersionError
from kdiag.wire.api.api_versions import ApiVersion, ApiVersionsRequest, ApiVersionsResponse
from kdiag.wire.api.describe_cluster import DescribeClusterRequest
from kdiag.wire.api.fetch import FetchRequest
from kdiag.wire.api.metadata import MetadataRequest
from kdiag.wire.api.produce import ProduceRequest
from kdiag.wire.catalog import API_BY_KEY
from kdiag.wire.client_release import client_release
from kdiag.wire.schema import ALL_VERSIONS, Versions
from scripted_kafka.scripted_broker import offering
from tiers.cases import for_each


def refusal(*newest: int) -> ApiVersionsResponse:
    """Return UNSUPPORTED_VERSION with the newest version of ApiVersions, if any."""
    keys = [ApiVersion(api_key=18, max_version=each) for each in newest]
    return ApiVersionsResponse(error_code=35, api_keys=keys)


def begun() -> VersionNegotiation:
    """Return a negotiation with one node, which was asked."""
    negotiation = VersionNegotiation()
    negotiation.begin("1")
    negotiation.next_request("1")
    return negotiation


def test_a_node_is_asked_once_and_told_who_asks() -> None:
    """In version 4, which tells name and version of the software."""
    negotiation = VersionNegotiation()
    negotiation.begin("1")
    assert negotiation.pending() == ["1"]

    builder = negotiation.next_request("1")
    assert negotiation.pending() == []
    assert builder.versions == (4, 4)
    assert builder.build(4) == ApiVersionsRequest(
        client_software_name="kdiag", client_software_version=__version__
    )
    assert negotiation.handle_response("1", 4, offering())
    assert negotiation.known("1") is not None


@for_each(
    ("response", "following"),
    [(refusal(2), 2), (refusal(), 0), (refusal(4), 0), (refusal(99), 0), (refusal(-1), 0)],
    ids=["lower", "not told", "the same", "higher", "nonsense"],
)
def test_a_refused_version_is_followed_by_a_lower_one(
    response: ApiVersionsResponse, following: int
) -> None:
    """The broker's newest if it is lower, else 0: so it ends, whatever a broker says."""
    negotiation = begun()

    assert not negotiation.handle_response("1", 4, response)
    assert negotiation.known("1") is None
    assert negotiation.next_request("1").versions == (following, following)


def test_a_broker_that_refuses_version_0_is_given_up() -> None:
    """There is no lower one."""
    with pytest.raises(UnsupportedVersionError, match=r"version 0 .* UNSUPPORTED_VERSION"):
        begun().handle_response("1", 0, refusal())


def test_another_error_is_final() -> None:
    """It is named."""
    response = ApiVersionsResponse(error_code=42)
    with pytest.raises(UnsupportedVersionError, match=r"version 4 .* INVALID_REQUEST"):
        begun().handle_response("1", 4, response)


def test_a_node_is_forgotten_with_its_connection() -> None:
    """The next connection may be to another broker version."""
    negotiation = begun()
    negotiation.handle_response("1", 4, offering())
    negotiation.forget("1")
    assert negotiation.known("1") is None

    negotiation.begin("1")
    negotiation.forget("1")
    assert negotiation.pending() == []


METADATA = builder_of(MetadataRequest())


def test_the_newest_version_that_all_know_is_used() -> None:
    """The broker, kdiag, and the request each set a limit."""
    assert NodeApiVersions(offering(Metadata=(0, 9))).usable_version(METADATA) == 9
    assert NodeApiVersions(offering(Metadata=(0, 999))).usable_version(METADATA) == 13
    limited = METADATA._replace(versions=Versions(1, 4))
    assert NodeApiVersions(offering(Metadata=(0, 9))).usable_version(limited) == 4


def test_versions_that_nobody_shares_are_named() -> None:
    """What the broker speaks and what was wanted."""
    versions = NodeApiVersions(offering(Metadata=(5, 9)))
    with pytest.raises(
        UnsupportedVersionError, match="speaks versions 5-9 of Metadata, versions 0-3 are wanted"
    ):
        versions.usable_version(METADATA._replace(versions=Versions(0, 3)))


def test_an_api_that_the_broker_lacks_is_named() -> None:
    """As those of features that are switched off."""
    versions = NodeApiVersions(offering(Metadata=(0, -1)))

    assert versions.range(API_BY_KEY[3]) is None
    with pytest.raises(UnsupportedVersionError, match="does not offer Metadata"):
        versions.usable_version(METADATA)


def test_versions_that_kafka_4_advertises_and_refuses_are_not_chosen() -> None:
    """Produce 0-2 are advertised for librdkafka's sake: the newest is never one of them."""
    produce = builder_of(ProduceRequest())
    versions = NodeApiVersions(offering(Produce=(0, 13)))

    assert versions.range(API_BY_KEY[0]) == Versions(0, 13)
    assert versions.usable_version(produce) == 13
    assert versions.usable_version(builder_of(ProduceRequest(), 2)) == 2


def test_without_an_answer_the_newest_that_kdiag_knows_is_used() -> None:
    """Of those that the request allows."""
    assert wanted_versions(API_BY_KEY[3], ALL_VERSIONS).high == 13
    assert wanted_versions(API_BY_KEY[3], Versions(0, 3)).high == 3
    with pytest.raises(UnsupportedVersionError, match="kdiag knows versions 0-13 of Metadata"):
        wanted_versions(API_BY_KEY[3], Versions(14, 20))


def test_an_intersection_may_be_empty() -> None:
    """Its low end is then above its high end."""
    assert intersection(Versions(0, 5), Versions(3, 9)) == Versions(3, 5)
    nothing = intersection(Versions(0, 2), Versions(3, 9))
    assert nothing.low > nothing.high


OLD = client_release("2.3")
"""Its clients know Metadata 0 to 8 and ApiVersions 0 to 2."""


def test_who_speaks_as_old_clients_uses_no_newer_version() -> None:
    """Whatever the broker offers, and also before that is known."""
    assert NodeApiVersions(offering(), OLD).usable_version(METADATA) == 8
    assert NodeApiVersions(offering(Metadata=(0, 7)), OLD).usable_version(METADATA) == 7
    assert VersionNegotiation(OLD).version_for("1", METADATA) == 8


def test_old_clients_ask_for_versions_in_one_that_they_know() -> None:
    """And learn what the broker offers."""
    negotiation = VersionNegotiation(OLD)
    negotiation.begin("1")
    assert negotiation.next_request("1").versions == (2, 2)
    assert negotiation.handle_response("1", 2, offering())
    assert negotiation.version_for("1", METADATA) == 8


@pytest.mark.parametrize("offer", [None, offering()], ids=["not asked yet", "offered"])
def test_what_old_clients_do_not_know_is_named(offer: ApiVersionsResponse | None) -> None:
    """The API, or the versions that were wanted."""
    negotiation = VersionNegotiation(OLD)
    if offer is not None:
        negotiation.handle_response("1", 2, offer)
    unknown = builder_of(DescribeClusterRequest())
    with pytest.raises(UnsupportedVersionError) as error:
        negotiation.version_for("1", unknown)
    assert str(error.value) == "a client of Kafka 2.3 does not know DescribeCluster"
    with pytest.raises(UnsupportedVersionError) as error:
        negotiation.version_for("1", builder_of(MetadataRequest(), 9))
    why = "a client of Kafka 2.3 knows versions 0-8 of Metadata, 9 are wanted"
    assert str(error.value) == why


def test_a_broker_that_left_old_clients_behind_is_told_apart() -> None:
    """As Kafka 4 did (KIP-896)."""
    fetch = NodeApiVersions(offering(Fetch=(4, 18)), client_release("0.10.2"))
    with pytest.raises(UnsupportedVersionError) as error:
        fetch.usable_version(builder_of(FetchRequest()))
    why = "the broker speaks versions 4-18 of Fetch, a client of Kafka 0.10.2 wants versions 0-3"
    assert str(error.value) == why
