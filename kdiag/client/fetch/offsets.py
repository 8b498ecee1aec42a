"""Offset look-ups: the first, the last, the one at a timestamp, and the end of an epoch.

Source: Kafka's `OffsetFetcher`; ListOffsets, OffsetForLeaderEpoch (KIP-320).
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from kdiag.client.cluster_client import ClusterClient
from kdiag.client.fetch.position import FetchPosition, PartitionKey
from kdiag.client.network.request import RequestBuilder
from kdiag.wire import api_keys
from kdiag.wire.api.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)
from kdiag.wire.api.offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from kdiag.wire.catalog import API_BY_KEY
from kdiag.wire.error_code import error_name
from kdiag.wire.schema import Versions

LATEST: Final = -1
EARLIEST: Final = -2
EARLIEST_LOCAL: Final = -4
"""The first offset on the broker's disk: what is before it is in remote storage (KIP-405)."""

NO_OFFSET: Final = -1
_CONSUMER: Final = -1
_FIRST_WITH_TIMES: Final = 1
_FIRST_WITH_ISOLATION: Final = 2
_FIRST_WITH_LOCAL: Final = 8
_FIRST_WITH_EPOCH: Final = 1
_NO_LEADER: Final = "LEADER_NOT_AVAILABLE"


class FoundOffset(NamedTuple):
    """The offset of a partition that was looked up.

    Attributes:
        offset: -1 if there is no such record, or with an error.
        error: Kafka's error name, or why nobody answered; None if all is well.
    """

    offset: int
    error: str | None = None


class EndOfEpoch(NamedTuple):
    """The end of an epoch, or of the last one before it.

    Attributes:
        epoch, offset: -1 if the log does not know the epoch, or with an error.
        error: Kafka's error name; None if all is well.
    """

    epoch: int
    offset: int
    error: str | None = None


def look_up(
    client: ClusterClient,
    timestamps: Mapping[PartitionKey, int],
    leaders: Mapping[PartitionKey, int | None],
    *,
    is_committed_only: bool,
    timeout_ns: int | None = None,
) -> dict[PartitionKey, FoundOffset]:
    """Ask the leaders for offsets, all at once.

    Args:
        client: connected.
        timestamps: partition -> milliseconds since 1970, LATEST, EARLIEST or EARLIEST_LOCAL.
        leaders: partition -> the broker to ask.
        is_committed_only: whether LATEST is the last stable offset, not the high watermark.
        timeout_ns: how long all of it may take.
    """
    found = {key: FoundOffset(NO_OFFSET, _why_leaderless(client, key)) for key in timestamps}
    by_leader: dict[int, list[PartitionKey]] = defaultdict(list)
    for key in timestamps:
        leader = leaders.get(key)
        if leader is not None:
            by_leader[leader].append(key)
    questions = {
        node_id: _list_offsets(_topics(keys, timestamps), is_committed_only=is_committed_only)
        for node_id, keys in by_leader.items()
    }
    answers = client.ask_all(questions, ListOffsetsResponse, timeout_ns=timeout_ns)
    for node_id, answer in answers.items():
        if answer.body is None:
            failure = FoundOffset(NO_OFFSET, str(answer.error))
            found.update(dict.fromkeys(by_leader[node_id], failure))
            continue
        for topic in answer.body.topics:
            for each in topic.partitions:
                error = error_name(each.error_code) if each.error_code else None
                offset = each.old_style_offsets[0] if each.old_style_offsets else each.offset
                found[PartitionKey(topic.name, each.partition_index)] = FoundOffset(offset, error)
    return found


def _why_leaderless(client: ClusterClient, key: PartitionKey) -> str:
    """Return the error of a partition that has no leader, as brokers give it in Metadata."""
    partition = client.cluster.partition(*key)
    return error_name(partition.error_code) if partition and partition.error_code else _NO_LEADER


def _list_offsets(topics: list[ListOffsetsTopic], *, is_committed_only: bool) -> RequestBuilder:
    """Return the request in whichever version a broker speaks.

    Before Kafka 0.11 there are no transactions, so that a log has one end; before 0.10.1 brokers
    know the times of segments only, which is no answer about records.
    """
    wanted = {each.timestamp for topic in topics for each in topic.partitions}

    def build(version: int) -> ListOffsetsRequest:
        has_isolation = version >= _FIRST_WITH_ISOLATION
        isolation_level = int(is_committed_only and has_isolation)
        return ListOffsetsRequest(_CONSUMER, isolation_level, topics)

    api = API_BY_KEY[api_keys.LIST_OFFSETS]
    first = _FIRST_WITH_TIMES if any(each >= 0 for each in wanted) else api.versions.low
    if EARLIEST_LOCAL in wanted:
        first = _FIRST_WITH_LOCAL
    return RequestBuilder(api, Versions(first, api.versions.high), build)


def _topics(
    keys: Iterable[PartitionKey], timestamps: Mapping[PartitionKey, int]
) -> list[ListOffsetsTopic]:
    topics: dict[str, ListOffsetsTopic] = {}
    for key in keys:
        topic = topics.setdefault(key.topic, ListOffsetsTopic(key.topic, []))
        topic.partitions.append(ListOffsetsPartition(key.partition, timestamp=timestamps[key]))
    return list(topics.values())


def ends_of_epochs(
    client: ClusterClient, positions: Iterable[FetchPosition], timeout_ns: int
) -> dict[PartitionKey, EndOfEpoch | None]:
    """Ask the leaders of partitions for the ends of the epochs of our last batches, all at once.

    Returns:
        partition -> the end of the epoch; None for a leader that does not answer.
    """
    found: dict[PartitionKey, EndOfEpoch | None] = {}
    by_leader: dict[int, list[OffsetForLeaderTopic]] = defaultdict(list)
    for each in positions:
        assert each.leader_id is not None
        found[each.key] = None
        partition = OffsetForLeaderPartition(
            each.key.partition, each.leader_epoch, each.fetched_epoch
        )
        by_leader[each.leader_id].append(OffsetForLeaderTopic(each.key.topic, [partition]))
    questions = {
        node_id: OffsetForLeaderEpochRequest(replica_id=_CONSUMER, topics=topics)
        for node_id, topics in by_leader.items()
    }
    answers = client.ask_all(questions, OffsetForLeaderEpochResponse, timeout_ns=timeout_ns)
    for answer in answers.values():
        names_epoch = (answer.version or 0) >= _FIRST_WITH_EPOCH
        for topic in answer.body.topics if answer.body is not None else ():
            for end in topic.partitions:
                key = PartitionKey(topic.topic, end.partition)
                error = error_name(end.error_code) if end.error_code else None
                is_undefined = error or (names_epoch and end.leader_epoch < 0)
                offset = -1 if is_undefined else end.end_offset
                found[key] = EndOfEpoch(end.leader_epoch, offset, error)
    return found
