from kdiag.wire import api_keys
from kdiag.wire.catalog import API_BY_KEY
from kdiag.wire.client_release import CLIENT_RELEASES, client_release, spoken_versions
from kdiag.wire.schema import NO_VERSIONS, Versions
from tiers.cases import for_each

FETCH = API_BY_KEY[api_keys.FETCH]
TOPIC_PARTITIONS = API_BY_KEY[api_keys.DESCRIBE_TOPIC_PARTITIONS]


@for_each(
    ("release", "fetch"),
    [
        ("0.10.1", (0, 3)),  # KIP-74
        ("0.11.0", (0, 5)),  # KIP-98
        ("1.1", (0, 7)),  # KIP-227
        ("2.6", (0, 11)),
        ("2.7", (0, 12)),  # KIP-595
        ("3.0", (0, 12)),
        ("3.1", (0, 13)),  # KIP-516
        ("3.9", (0, 17)),  # KIP-853
        ("4.0", (4, 17)),  # KIP-896
        ("4.1", (4, 18)),  # KIP-1166
    ],
)
def test_a_version_belongs_to_the_release_of_its_proposal(
    release: str, fetch: tuple[int, int]
) -> None:
    """And to those after it, until it is removed."""
    found = client_release(release)
    assert found is not None
    assert found.versions(FETCH) == Versions(*fetch)


@for_each(
    ("text", "name"),
    [
        ("2.8", "2.8"),
        ("2.8.0", "2.8"),
        ("2.8.1", "2.8"),
        ("0.10.2", "0.10.2"),
        ("0.10.2.1", "0.10.2"),
        ("4.4.0", "4.4"),
    ],
)
def test_a_patch_release_speaks_like_its_minor_one(text: str, name: str) -> None:
    """Whoever runs 2.8.1 need not know that."""
    release = client_release(text)
    assert release is not None
    assert (release.name, repr(release)) == (name, f"<ClientRelease {name}>")
    assert release == client_release(name)


@for_each(
    "text",
    ["", "2", "2.", "2.9", "9.9", "0.10", "0.9.0", "2.8.1.1", "v2.8", "2.8 ", "2.8.\u0661"],
)
def test_what_is_not_a_known_release_is_none(text: str) -> None:
    """Clients before 0.10.0 could not ask for versions."""
    assert client_release(text) is None


def test_an_api_of_a_later_release_is_not_known() -> None:
    """DescribeTopicPartitions came with 3.8; versions that may still change do not count."""
    found = {name: client_release(name) for name in CLIENT_RELEASES}
    known = {name: spoken_versions(TOPIC_PARTITIONS, each) for name, each in found.items()}
    knowing = [name for name, versions in known.items() if versions != NO_VERSIONS]
    assert knowing == ["3.8", "3.9", "4.0", "4.1", "4.2", "4.3", "4.4"]
    share_fetch = API_BY_KEY[api_keys.SHARE_FETCH]
    assert spoken_versions(share_fetch, found["4.0"]) == NO_VERSIONS


def test_an_api_that_was_removed_is_not_known_any_more() -> None:
    """The requests of ZooKeeper's time went with 4.0."""
    stop_replica = API_BY_KEY[api_keys.STOP_REPLICA]
    assert spoken_versions(stop_replica, client_release("3.9")) == Versions(0, 4)
    assert spoken_versions(stop_replica, client_release("4.0")) == NO_VERSIONS


def test_without_a_release_kdiag_speaks_all_that_it_knows() -> None:
    """Whatever release that is from."""
    assert spoken_versions(FETCH, None) == FETCH.versions
