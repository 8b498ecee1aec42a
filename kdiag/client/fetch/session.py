"""Fetch sessions: a broker remembers our last Fetch, so that the next one holds only changes.

    request  full: session 0, epoch 0, all partitions    response  session 42
    request  session 42, epoch 1: partitions that moved   response  partitions with news
    ...
    error, or a broken connection                         start again with a full request

`record_versions` are the versions that a Fetch may have, and Produce and OffsetCommit with it;
`require_record_batches` is for clients and brokers that have none of them.

Source: KIP-227, KIP-516 (topic ids); Kafka's `FetchSessionHandler`.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from kdiag.client.cluster_client import ClusterClient
from kdiag.client.fetch.position import UNKNOWN_EPOCH, FetchPosition, PartitionKey
from kdiag.client.network.api_versions import wanted_versions
from kdiag.errors import UnsupportedVersionError
from kdiag.wire import api_keys
from kdiag.wire.api.fetch import FetchPartition, FetchRequest, FetchTopic, ForgottenTopic
from kdiag.wire.catalog import API_BY_KEY
from kdiag.wire.schema import Versions

_NO_SESSION: Final = 0
_FIRST_EPOCH: Final = 0
_FINAL_EPOCH: Final = -1
_FIRST_WITH_SESSIONS: Final = 7
_FIRST_WITH_DIVERGENCE: Final = 12
_MAX_EPOCH: Final = (1 << 31) - 1
_OLDEST: Final = {0: 3, 1: 4, 8: 2}  # Produce, Fetch, OffsetCommit
_NEWEST_BY_NAME: Final = {0: 12, 1: 12, 8: 9}


class FetchLimits(NamedTuple):
    """The limits of a Fetch request.

    Attributes:
        max_bytes: of one response, more only if its first batch is larger.
        partition_max_bytes: of one partition in it; the same.
        max_wait_ms: how long the broker may wait for records.
        min_bytes: how many bytes make it answer at once.
        is_committed_only: `read_committed`.
        rack: our rack, to be referred to a near follower; empty for the leader.
    """

    max_bytes: int = 8 << 20
    partition_max_bytes: int = 1 << 20
    max_wait_ms: int = 500
    min_bytes: int = 1
    is_committed_only: bool = True
    rack: str = ""


class _Remembered(NamedTuple):
    """One partition of our session, as the broker remembers it."""

    topic_id: bytes
    offset: int
    leader_epoch: int
    fetched_epoch: int
    max_bytes: int


class FetchSession:
    """Our session with one broker."""

    def __init__(self) -> None:
        self._session_id = _NO_SESSION
        self._epoch = _FIRST_EPOCH
        self._remembered: dict[PartitionKey, _Remembered] = {}

    def request(
        self, positions: Iterable[FetchPosition], limits: FetchLimits, version: int
    ) -> FetchRequest:
        """Return the next request; its response or failure must be handled before another."""
        wanted = {each.key: (each, _remembered(each, limits)) for each in positions}
        known = self._remembered if self._epoch > _FIRST_EPOCH else {}
        changed = [each for key, (each, now) in wanted.items() if known.get(key) != now]
        forgotten = {
            key: before
            for key, before in known.items()
            if key not in wanted or wanted[key][1].topic_id != before.topic_id
        }
        self._remembered = {key: now for key, (_, now) in wanted.items()}
        has_sessions = version >= _FIRST_WITH_SESSIONS
        return FetchRequest(
            max_wait_ms=limits.max_wait_ms,
            min_bytes=limits.min_bytes,
            max_bytes=max([limits.max_bytes, *(each.least_bytes for each, _ in wanted.values())]),
            isolation_level=int(limits.is_committed_only),
            session_id=self._session_id if has_sessions else _NO_SESSION,
            session_epoch=self._epoch if has_sessions else _FINAL_EPOCH,
            topics=_topics(changed, limits, version),
            forgotten_topics_data=_forgotten(forgotten),
            rack_id=limits.rack,
        )

    def handle_response(self, session_id: int, version: int) -> None:
        """Handle a response without an error for the session."""
        if version < _FIRST_WITH_SESSIONS or session_id == _NO_SESSION:
            self.reset()
            return
        self._session_id = session_id
        self._epoch = 1 if self._epoch == _MAX_EPOCH else self._epoch + 1

    def reset(self) -> None:
        """Start again: the broker remembers nothing, or not the same as we do."""
        self._session_id = _NO_SESSION
        self._epoch = _FIRST_EPOCH
        self._remembered = {}


def _remembered(position: FetchPosition, limits: FetchLimits) -> _Remembered:
    return _Remembered(
        position.topic_id,
        position.offset,
        position.leader_epoch,
        position.fetched_epoch,
        max(limits.partition_max_bytes, position.least_bytes),
    )


def _topics(
    positions: Iterable[FetchPosition], limits: FetchLimits, version: int
) -> list[FetchTopic]:
    has_epoch = version >= _FIRST_WITH_DIVERGENCE
    topics: dict[tuple[str, bytes], FetchTopic] = {}
    for each in positions:
        name = (each.key.topic, each.topic_id)
        topic = topics.setdefault(name, FetchTopic(*name, partitions=[]))
        topic.partitions.append(
            FetchPartition(
                partition=each.key.partition,
                current_leader_epoch=each.leader_epoch,
                fetch_offset=each.offset,
                last_fetched_epoch=each.fetched_epoch if has_epoch else UNKNOWN_EPOCH,
                partition_max_bytes=max(limits.partition_max_bytes, each.least_bytes),
            )
        )
    return list(topics.values())


def _forgotten(keys: Mapping[PartitionKey, _Remembered]) -> list[ForgottenTopic]:
    partitions: dict[tuple[str, bytes], list[int]] = defaultdict(list)
    for key, before in keys.items():
        partitions[key.topic, before.topic_id].append(key.partition)
    return [ForgottenTopic(*name, partitions=each) for name, each in partitions.items()]


def record_versions(api_key: int, *, has_topic_ids: bool) -> Versions:
    """Return the versions to use of an API that names topics by id in its newest versions.

    The oldest are those of Kafka 0.11, with record batches as they are today; without topic ids the
    newest is the last that names topics.

    Args:
        api_key: of Produce, Fetch or OffsetCommit.
        has_topic_ids: whether the ids of all topics are known.
    """
    newest = API_BY_KEY[api_key].versions.high if has_topic_ids else _NEWEST_BY_NAME[api_key]
    return Versions(_OLDEST[api_key], newest)


def require_record_batches(client: ClusterClient) -> None:
    """Check that a client and its brokers know record batches as they are today.

    Args:
        client: connected.

    Raises:
        UnsupportedVersionError: if they do not: before Kafka 0.11.
    """
    by_name = record_versions(api_keys.FETCH, has_topic_ids=False)
    wanted = wanted_versions(API_BY_KEY[api_keys.FETCH], by_name, client.settings.network.release)
    versions = client.api_versions(client.any_node())
    offered = None if versions is None else versions.range(API_BY_KEY[api_keys.FETCH])
    if offered is not None and offered.high < wanted.low:
        raise UnsupportedVersionError(
            "the brokers are older than Kafka 0.11, whose records have another form: they speak "
            f"versions {offered} of Fetch, and {wanted} are wanted"
        )
