"""Asks coordinators how far groups have read.

Consumers and Kafka Streams commit offsets; of a share group, the coordinator keeps the offset
behind which records may still be handed out.

Source: Kafka's OffsetFetch; KIP-709 (many groups), KIP-932 (DescribeShareGroupOffsets), KIP-1226.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from kdiag.client.cluster_client import Answer
from kdiag.client.fetch.position import PartitionKey
from kdiag.client.network.request import RequestBuilder
from kdiag.errors import UnsupportedVersionError
from kdiag.probe.groups.listing import (
    REQUESTS_AT_ONCE,
    AskedGroups,
    CoordinatorsClient,
    ListedGroup,
    Progress,
    cut,
    in_requests,
)
from kdiag.wire import api_keys
from kdiag.wire.api.describe_share_group_offsets import (
    DescribeShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsRequestGroup,
    DescribeShareGroupOffsetsResponse,
)
from kdiag.wire.api.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchResponse,
)
from kdiag.wire.catalog import API_BY_KEY
from kdiag.wire.error_code import error_name
from kdiag.wire.schema import Versions

SHARE: Final = "share"

_OFFSET_FETCH: Final = API_BY_KEY[api_keys.OFFSET_FETCH]
_FIRST_WITH_ALL: Final = 2
_FIRST_WITH_GROUPS: Final = 8
_FIRST_WITH_STABLE: Final = 7
_UNSTABLE: Final = "UNSTABLE_OFFSET_COMMIT"
_LAST_WITH_NAMES: Final = 9
"""Later versions tell topics by id alone, and a deleted topic has none."""

_Commits = dict[PartitionKey, "Commit"]


class Commit(NamedTuple):
    """How far a group has read a partition.

    Attributes:
        offset: that it reads next; None without one.
        metadata: what the client wrote beside it.
        epoch: of the leader of the last record before it; None if it has none.
        lag: as the coordinator of a share group tells it.
        error: why it is not known.
        is_pending: whether a newer one is in a transaction that is open.
    """

    offset: int | None
    metadata: str | None = None
    lag: int | None = None
    error: str | None = None
    is_pending: bool = False
    epoch: int | None = None


class GroupCommits(NamedTuple):
    """All commits of a group.

    Attributes:
        partitions: by partition.
        error: why they are not known.
    """

    partitions: Mapping[PartitionKey, Commit] = {}
    error: str | None = None


def fetch_commits(
    client: CoordinatorsClient, groups: Mapping[str, ListedGroup], progress: Progress
) -> dict[str, GroupCommits]:
    """Return the commits of groups; of one that failed the error.

    Args:
        client: connected.
        groups: those to ask about.
        progress: is told how many are done.
    """
    found: dict[str, GroupCommits] = {}
    for is_share, ask in ((False, _fetch), (True, _fetch_share)):
        chosen = {name: each for name, each in groups.items() if (each.type == SHARE) is is_share}
        for asked in in_requests(chosen):
            found.update(ask(client, asked))
            progress(len(found))
    return found


def _fetch(
    client: CoordinatorsClient, asked: Sequence[AskedGroups]
) -> Iterator[tuple[str, GroupCommits]]:
    """Yield commits; where a newer one is in an open transaction, that before it, and marked."""
    pending: dict[str, tuple[int, GroupCommits]] = {}
    nodes = {name: node_id for node_id, names in asked for name in names}
    for name, commits in _ask(client, asked, is_stable=True):
        if any(each.error == _UNSTABLE for each in commits.partitions.values()):
            pending[name] = nodes[name], commits
        else:
            yield name, commits
    again = [(node_id, [name]) for name, (node_id, _) in pending.items()]
    for batch in cut(again, REQUESTS_AT_ONCE):
        for name, commits in _ask(client, batch, is_stable=False):
            yield name, _marked(commits, pending[name][1])


def _marked(commits: GroupCommits, stable: GroupCommits) -> GroupCommits:
    """Return commits with those marked that are not stable."""
    marked = {
        key: each._replace(is_pending=True)
        for key, each in commits.partitions.items()
        if stable.partitions.get(key, each).error == _UNSTABLE
    }
    return commits._replace(partitions={**commits.partitions, **marked})


def _ask(
    client: CoordinatorsClient, asked: Sequence[AskedGroups], *, is_stable: bool
) -> Iterator[tuple[str, GroupCommits]]:
    questions = [(node_id, _request(names, is_stable=is_stable)) for node_id, names in asked]
    answers = client.ask_each(questions, OffsetFetchResponse)
    one_by_one: list[tuple[int, str]] = []
    for (node_id, names), answer in zip(asked, answers, strict=True):
        if isinstance(answer.error, UnsupportedVersionError) and len(names) > 1:
            one_by_one += [(node_id, name) for name in names]
        else:
            yield from _read(names, answer)
    for batch in cut(one_by_one, REQUESTS_AT_ONCE):
        questions = [(node_id, _request([name], is_stable=is_stable)) for node_id, name in batch]
        answers = client.ask_each(questions, OffsetFetchResponse)
        for (_, name), answer in zip(batch, answers, strict=True):
            yield from _read([name], answer)


def _request(names: Sequence[str], *, is_stable: bool) -> RequestBuilder:
    """Return the request for all commits of groups; brokers before Kafka 3.0 take one group."""
    least = _FIRST_WITH_GROUPS if len(names) > 1 else _FIRST_WITH_ALL

    def build(version: int) -> OffsetFetchRequest:
        has_stable = is_stable and version >= _FIRST_WITH_STABLE
        if version >= _FIRST_WITH_GROUPS:
            groups = [OffsetFetchRequestGroup(group_id=name, topics=None) for name in names]
            return OffsetFetchRequest(groups=groups, require_stable=has_stable)
        return OffsetFetchRequest(group_id=names[0], topics=None, require_stable=has_stable)

    return RequestBuilder(_OFFSET_FETCH, Versions(least, _LAST_WITH_NAMES), build)


def _read(
    names: Sequence[str], answer: Answer[OffsetFetchResponse]
) -> Iterator[tuple[str, GroupCommits]]:
    body = answer.body
    if body is None:
        yield from ((name, GroupCommits(error=str(answer.error))) for name in names)
    elif body.groups:
        yield from ((each.group_id, _commits(each)) for each in body.groups)
    else:
        yield names[0], _commits(body)


def _commits(group: Any) -> GroupCommits:
    """Return the commits of a group, or of a whole response about one."""
    if group.error_code:
        return GroupCommits(error=error_name(group.error_code))
    partitions: _Commits = {}
    for topic in group.topics:
        for each in topic.partitions:
            error = error_name(each.error_code) if each.error_code else None
            offset = None if error or each.committed_offset < 0 else each.committed_offset
            key = PartitionKey(topic.name, each.partition_index)
            epoch = each.committed_leader_epoch if each.committed_leader_epoch >= 0 else None
            partitions[key] = Commit(offset, each.metadata or None, error=error, epoch=epoch)
    return GroupCommits(partitions)


def _fetch_share(
    client: CoordinatorsClient, asked: Sequence[AskedGroups]
) -> Iterator[tuple[str, GroupCommits]]:
    questions = [
        (
            node_id,
            DescribeShareGroupOffsetsRequest(
                [DescribeShareGroupOffsetsRequestGroup(name, None) for name in names]
            ),
        )
        for node_id, names in asked
    ]
    answers = client.ask_each(questions, DescribeShareGroupOffsetsResponse)
    for (_, names), answer in zip(asked, answers, strict=True):
        if answer.body is None:
            yield from ((name, GroupCommits(error=str(answer.error))) for name in names)
            continue
        for group in answer.body.groups:
            if group.error_code:
                yield group.group_id, GroupCommits(error=error_name(group.error_code))
            else:
                yield group.group_id, GroupCommits(dict(_share_commits(group)))


def _share_commits(group: Any) -> Iterator[tuple[PartitionKey, Commit]]:
    for topic in group.topics:
        for each in topic.partitions:
            error = error_name(each.error_code) if each.error_code else None
            offset = None if error or each.start_offset < 0 else each.start_offset
            lag = None if error or each.lag < 0 else each.lag
            yield (
                PartitionKey(topic.topic_name, each.partition_index),
                Commit(offset, None, lag, error),
            )
