import pytest

from kdiag.client.network.node_api_versions import NodeApiVersions, intersection, newest_version
from kdiag.client.network.request import builder_of
from kdiag.errors import UnsupportedVersionError
from kdiag.wire.api.metadata import MetadataRequest
from kdiag.wire.api.produce import ProduceRequest
from kdiag.wire.catalog import API_BY_KEY
from kdiag.wire.schema import Versions
from scripted_kafka.scripted_broker import offering

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
    assert newest_version(METADATA) == 13
    assert newest_version(METADATA._replace(versions=Versions(0, 3))) == 3
    with pytest.raises(UnsupportedVersionError, match="kdiag knows versions 0-13 of Metadata"):
        newest_version(METADATA._replace(versions=Versions(14, 20)))


def test_an_intersection_may_be_empty() -> None:
    """Its low end is then above its high end."""
    assert intersection(Versions(0, 5), Versions(3, 9)) == Versions(3, 5)
    nothing = intersection(Versions(0, 2), Versions(3, 9))
    assert nothing.low > nothing.high
