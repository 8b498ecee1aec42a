"""Brokers side by side: the versions of each API that they speak, and the finalized features.

A rolling upgrade shows as an API whose range differs between brokers: clients then settle on a
different version with each broker.

Source: KIP-35 and KIP-584 (ApiVersions), KIP-896 (versions that 4.0 removed); levels of
`metadata.version` from Kafka 4.4.0's `MetadataVersion`.
"""

from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from kdiag.findings.finding import Finding, found
from kdiag.wire import api_keys
from kdiag.wire.api.api_versions import ApiVersionsResponse
from kdiag.wire.catalog import API_BY_KEY
from kdiag.wire.client_release import ClientRelease, spoken_versions
from kdiag.wire.schema import NO_VERSIONS, Versions

METADATA_VERSION: Final = "metadata.version"
_PRODUCE_SINCE_4_0: Final = Versions(0, 2)
"""The versions of Produce that brokers from 4.0 on advertise and refuse: without them librdkafka
would silently send uncompressed."""

_FETCH_LEAST_SINCE_4_0: Final = 4
_NEWEST_METADATA_LEVEL: Final = 34
_FIRST_LEVELS: Final = {
    7: ("3.3", 3),
    8: ("3.4", 0),
    9: ("3.5", 0),
    12: ("3.6", 0),
    15: ("3.7", 0),
    20: ("3.8", 0),
    21: ("3.9", 0),
    22: ("4.0", 0),
    26: ("4.1", 0),
    28: ("4.2", 0),
    30: ("4.3", 0),
    31: ("4.4", 0),
    34: ("4.5", 0),
}
"""The release and IV number of the first level of `metadata.version` in each release since 3.3."""


class ApiRow(msgspec.Struct, kw_only=True):
    """One API across the brokers.

    Attributes:
        api: Kafka's name; None for a key that kdiag does not know.
        known: the versions that kdiag speaks; None for an unknown key, and where the clients as
            which it speaks do not know the API.
        brokers: the versions that each broker advertises, by its id; None if it lacks the API.
        refused: the versions among them that brokers advertise but refuse; None if none.
    """

    api_key: int
    api: str | None
    known: Versions | None
    brokers: Mapping[int, Versions | None]
    refused: Versions | None = None

    @property
    def is_mixed(self) -> bool:
        """Return whether the brokers differ."""
        return len(set(self.brokers.values())) > 1

    @property
    def usable(self) -> Versions:
        """Return the versions that every broker and kdiag speak; empty if there are none."""
        ranges = [NO_VERSIONS if each is None else each for each in self.brokers.values()]
        ranges.append(self.known or NO_VERSIONS)
        low = max(each.low for each in ranges)
        if self.refused is not None:
            low = max(low, self.refused.high + 1)
        return Versions(low, min(each.high for each in ranges))


class FeatureRow(msgspec.Struct, kw_only=True):
    """One feature across the brokers.

    Attributes:
        name: such as `metadata.version`.
        finalized: the level in use by the cluster; None if brokers do not report it.
        release: the name of that level of `metadata.version`.
        brokers: the levels that each broker supports, by its id; None if it lacks the feature.
    """

    name: str
    finalized: int | None
    release: str | None
    brokers: Mapping[int, Versions | None]


def api_rows(
    answers: Mapping[int, ApiVersionsResponse], release: ClientRelease | None = None
) -> list[ApiRow]:
    """Return a row for each API that any broker speaks, in the order of keys.

    Args:
        answers: of the brokers, by their ids.
        release: kdiag speaks as its clients; None for itself.
    """
    spoken = {node: _spoken(answer) for node, answer in sorted(answers.items())}
    keys = sorted({key for ranges in spoken.values() for key in ranges})
    return [_api_row(key, spoken, release) for key in keys]


def feature_rows(answers: Mapping[int, ApiVersionsResponse]) -> list[FeatureRow]:
    """Return a row for each feature that any broker supports, by name.

    Brokers learn finalized levels one after the other; the newest epoch counts.
    """
    newest = max(answers.values(), key=lambda each: each.finalized_features_epoch, default=None)
    finalized = (
        {each.name: each.max_version_level for each in newest.finalized_features} if newest else {}
    )
    supported = {
        node: {
            each.name: Versions(each.min_version, each.max_version)
            for each in answer.supported_features
        }
        for node, answer in sorted(answers.items())
    }
    names = sorted({name for features in supported.values() for name in features} | set(finalized))
    return [
        FeatureRow(
            name=name,
            finalized=finalized.get(name),
            release=_release(name, finalized.get(name)),
            brokers={node: features.get(name) for node, features in supported.items()},
        )
        for name in names
    ]


def newest_release(answer: ApiVersionsResponse) -> str | None:
    """Return the release, such as `4.3`, whose `metadata.version` is the newest of a broker.

    That is the release of its software; None for a broker without that feature (before 3.3, or on
    ZooKeeper), and for one newer than kdiag.
    """
    levels = (e.max_version for e in answer.supported_features if e.name == METADATA_VERSION)
    release = _release(METADATA_VERSION, next(levels, None))
    return None if release is None else release.partition("-")[0]


def find(rows: Sequence[ApiRow]) -> list[Finding]:
    """Return the findings on versions that are mixed or refused."""
    mixed = [row for row in rows if row.is_mixed]
    findings = []
    if mixed:
        names = ", ".join(row.api or str(row.api_key) for row in mixed)
        findings.append(found("KD5001", count=len(mixed), apis=names))
    findings += [
        found("KD5002", api=row.api, refused=str(row.refused), least=row.refused.high + 1)
        for row in rows
        if row.refused is not None
    ]
    return findings


def _spoken(answer: ApiVersionsResponse) -> dict[int, Versions]:
    return {each.api_key: Versions(each.min_version, each.max_version) for each in answer.api_keys}


def _api_row(
    key: int, spoken: Mapping[int, Mapping[int, Versions]], release: ClientRelease | None
) -> ApiRow:
    api = API_BY_KEY.get(key)
    known = NO_VERSIONS if api is None else spoken_versions(api, release)
    return ApiRow(
        api_key=key,
        api=None if api is None else api.name,
        known=None if known == NO_VERSIONS else known,
        brokers={node: ranges.get(key) for node, ranges in spoken.items()},
        refused=_PRODUCE_SINCE_4_0 if key == api_keys.PRODUCE and _hides_produce(spoken) else None,
    )


def _hides_produce(spoken: Mapping[int, Mapping[int, Versions]]) -> bool:
    """Return whether a broker from 4.0 on advertises Produce from version 0."""
    return any(
        ranges.get(api_keys.PRODUCE, NO_VERSIONS).covers(0)
        and ranges.get(api_keys.FETCH, NO_VERSIONS).low >= _FETCH_LEAST_SINCE_4_0
        for ranges in spoken.values()
    )


def _release(name: str, level: int | None) -> str | None:
    """Return Kafka's name of a level of `metadata.version`."""
    if name != METADATA_VERSION or level is None:
        return None
    first = max((each for each in _FIRST_LEVELS if each <= level), default=None)
    if first is None or level > _NEWEST_METADATA_LEVEL:
        return None
    release, number = _FIRST_LEVELS[first]
    return f"{release}-IV{number + level - first}"
