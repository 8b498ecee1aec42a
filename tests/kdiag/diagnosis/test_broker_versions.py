"""Brokers side by side."""

from collections.abc import Mapping

import pytest

from kdiag.diagnosis.broker_versions import api_rows, feature_rows, find, newest_release
from kdiag.wire.api.api_versions import (
    ApiVersion,
    ApiVersionsResponse,
    FinalizedFeatureKey,
    SupportedFeatureKey,
)
from kdiag.wire.schema import Versions
from tiers.cases import for_each


def speaks(**ranges: tuple[int, int]) -> ApiVersionsResponse:
    """Return the answer of a broker; `k3=(0, 13)` is API key 3."""
    keys = [ApiVersion(int(key[1:]), low, high) for key, (low, high) in ranges.items()]
    return ApiVersionsResponse(api_keys=keys)


def test_each_api_is_one_row_over_all_brokers() -> None:
    """A broker that lacks an API has no range there."""
    rows = api_rows({2: speaks(k3=(0, 13)), 1: speaks(k3=(0, 13), k18=(0, 4))})
    assert [(row.api_key, row.api) for row in rows] == [(3, "Metadata"), (18, "ApiVersions")]
    assert list(rows[0].brokers) == [1, 2]
    assert rows[1].brokers == {1: Versions(0, 4), 2: None}
    assert [row.is_mixed for row in rows] == [False, True]


def test_usable_is_what_every_broker_and_kdiag_speak() -> None:
    """The range that remains may be empty."""
    (row,) = api_rows({1: speaks(k3=(0, 9)), 2: speaks(k3=(4, 99))})
    assert row.usable == Versions(4, 9)
    (row,) = api_rows({1: speaks(k3=(90, 99))})
    assert str(row.usable) == "none"


def test_an_unknown_key_keeps_its_ranges() -> None:
    """A newer broker's APIs are listed without a name."""
    (row,) = api_rows({1: speaks(k32000=(0, 1))})
    assert (row.api, row.known, str(row.usable)) == (None, None, "none")


@pytest.mark.parametrize(("fetch_least", "refused"), [(4, Versions(0, 2)), (0, None)])
def test_produce_below_3_is_advertised_but_refused_since_4_0(
    fetch_least: int, refused: Versions | None
) -> None:
    """A broker of 4.0 is known by the oldest Fetch that it takes."""
    rows = api_rows({1: speaks(k0=(0, 13), k1=(fetch_least, 17))})
    assert rows[0].refused == refused
    assert rows[0].usable.low == (0 if refused is None else 3)


def test_mixed_versions_and_the_refused_ones_are_found() -> None:
    """One finding tells all APIs that differ."""
    answers = {1: speaks(k0=(0, 13), k1=(4, 17)), 2: speaks(k0=(0, 12), k1=(4, 18))}
    mixed, refused = find(api_rows(answers))
    assert (mixed.id, mixed.evidence["apis"]) == ("KD5001", "Produce, Fetch")
    assert (refused.id, refused.evidence["refused"]) == ("KD5002", "0-2")
    assert find(api_rows({1: speaks(k3=(0, 13))})) == []


def features(
    epoch: int, levels: Mapping[str, int], supported: Mapping[str, tuple[int, int]]
) -> ApiVersionsResponse:
    """Return the answer of a broker with features."""
    return ApiVersionsResponse(
        finalized_features_epoch=epoch,
        finalized_features=[FinalizedFeatureKey(name, level, 1) for name, level in levels.items()],
        supported_features=[SupportedFeatureKey(name, *span) for name, span in supported.items()],
    )


def test_the_newest_epoch_says_which_features_are_on() -> None:
    """A broker that lags behind does not decide."""
    rows = feature_rows(
        {
            1: features(3, {"metadata.version": 25}, {"metadata.version": (7, 34)}),
            2: features(9, {"metadata.version": 30}, {"group.version": (0, 1)}),
        }
    )
    assert [(row.name, row.finalized, row.release) for row in rows] == [
        ("group.version", None, None),
        ("metadata.version", 30, "4.3-IV0"),
    ]
    assert rows[1].brokers == {1: Versions(7, 34), 2: None}


@for_each(("level", "release"), [(7, "3.3-IV3"), (11, "3.5-IV2"), (25, "4.0-IV3"), (34, "4.5-IV0")])
def test_a_level_is_called_as_kafka_calls_it(level: int, release: str) -> None:
    """The names are those of Kafka's MetadataVersion."""
    (row,) = feature_rows({1: features(1, {"metadata.version": level}, {})})
    assert row.release == release


@pytest.mark.parametrize("level", [6, 35])
def test_a_level_without_a_known_name_has_none(level: int) -> None:
    """A cluster newer than kdiag is not called something it is not."""
    (row,) = feature_rows({1: features(1, {"metadata.version": level}, {})})
    assert (row.finalized, row.release) == (level, None)


def test_no_brokers_make_no_rows() -> None:
    """An empty cluster is no error here."""
    assert (api_rows({}), feature_rows({})) == ([], [])


@for_each(("level", "release"), [(21, "3.9"), (25, "4.0"), (30, "4.3"), (None, None), (999, None)])
def test_the_newest_metadata_version_of_a_broker_tells_its_release(
    level: int | None, release: str | None
) -> None:
    """Brokers before 3.3 name none, those newer than kdiag an unknown one."""
    features = [SupportedFeatureKey("kraft.version", 0, 1)]
    if level is not None:
        features.append(SupportedFeatureKey("metadata.version", 7, level))
    assert newest_release(ApiVersionsResponse(supported_features=features)) == release
