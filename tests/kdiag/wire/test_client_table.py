import pytest

from kdiag.wire.catalog import API_BY_KEY, NEWEST_KAFKA
from kdiag.wire.client_release import client_release
from kdiag.wire.client_table import RELEASES, SPOKEN
from kdiag.wire.schema import NO_VERSIONS, Versions
from real_kafka.oracle_tables import api_table
from real_kafka.releases import VERSIONS
from tiers.cases import for_each


@pytest.mark.parametrize("version", VERSIONS)
def test_a_release_speaks_what_its_schemas_have(version: str) -> None:
    """Kafka's own table agrees, API by API, but for versions that may still change."""
    release = client_release(version)
    assert release is not None
    ranges = {
        row["api_key"]: Versions(row["min"], row["max"] - row["latest_unstable"])
        for row in api_table(version)
    }
    assert release.spoken == {key: each for key, each in ranges.items() if each.low <= each.high}


def test_the_newest_release_is_the_newest_kafka() -> None:
    """When a new one comes, its clients do, too."""
    assert NEWEST_KAFKA.startswith(f"{RELEASES[-1]}.")


@for_each("key", SPOKEN)
def test_an_entry_tells_changes_in_the_order_of_releases(key: int) -> None:
    """Each differs from the one before, and kdiag itself knows every version."""
    changes = [each.partition(":") for each in SPOKEN[key].split(", ")]
    places = [RELEASES.index(release) for release, _, _ in changes]
    ranges = [Versions.parse(text) for _, _, text in changes]
    assert places == sorted(set(places))
    before = [NO_VERSIONS, *ranges[:-1]]
    assert all(old != new for old, new in zip(before, ranges, strict=True))
    known = API_BY_KEY[key].versions
    assert all(each.low >= known.low and each.high <= known.high for each in ranges)
