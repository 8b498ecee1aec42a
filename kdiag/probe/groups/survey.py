"""Asks a cluster all about some groups, or about all, in few requests.

1. ListGroups to every broker: which groups there are, and who coordinates them.
2. A description and the commits of each, many groups in one request.
3. Metadata and both ends of the log of each partition, once for all groups.
4. On request, the record that each group reads next in each partition.

Of many groups, the steps from 2 on are done for some after others: whoever asked is handed each
group once it is known, and may let go of its members and partitions before others are read.

Source: Kafka's ListGroups, DescribeGroups and its kin, OffsetFetch, Metadata, ListOffsets, Fetch.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from heapq import heappush, heappushpop
from typing import Final, NamedTuple

from kdiag.client.cluster_client import ClusterClient
from kdiag.client.fetch.offsets import EARLIEST, LATEST, FoundOffset
from kdiag.client.fetch.position import PartitionKey
from kdiag.client.network.metadata import Cluster, Topic
from kdiag.client.visibility import hidden_groups
from kdiag.clock import NS_PER_MS
from kdiag.diagnosis.coordinator import BrokerNode
from kdiag.diagnosis.groups.model import (
    EMPTY,
    NO_PARTITION,
    UNKNOWN,
    Group,
    GroupsReport,
    PartitionLag,
)
from kdiag.diagnosis.groups.unknown_lags import UnknownLags
from kdiag.errors import (
    AuthorizationError,
    ConnectError,
    DisconnectedError,
    RequestTimeoutError,
    UnsupportedVersionError,
)
from kdiag.probe.config_value import broker_setting
from kdiag.probe.coordinator.search import coordinator_request
from kdiag.probe.group_records import TOPIC
from kdiag.probe.groups.commit_epochs import add_epoch_ends
from kdiag.probe.groups.commit_times import read_commit_times
from kdiag.probe.groups.commits import SHARE, Commit, GroupCommits, fetch_commits
from kdiag.probe.groups.listing import (
    GROUPS_PER_REQUEST,
    GroupListing,
    ListedGroup,
    cut,
    in_requests,
    list_groups,
)
from kdiag.probe.groups.members import GroupDescription, describe_groups
from kdiag.probe.groups.next_records import NextRecords, UnreadSpan, read_next
from kdiag.probe.groups.patience import BrokerPatience
from kdiag.wire import api_keys
from kdiag.wire.api.find_coordinator import FindCoordinatorResponse
from kdiag.wire.catalog import API_BY_KEY
from kdiag.wire.coordinator_partition import CoordinatorKind
from kdiag.wire.error_code import error_name

TIMED_PARTITIONS: Final = 1_000
"""So many partitions, those with the most lag, are read without being asked to."""

_UNREACHABLE: Final = (ConnectError, DisconnectedError, RequestTimeoutError)
_RETENTION: Final = "offsets.retention.minutes"
_MS_PER_MINUTE: Final = 60_000
_PARTITIONS_PER_LOOK_UP: Final = 10_000
_TOPICS_PER_REQUEST: Final = 2_000
_REQUESTS_PER_PART: Final = 10
"""So many descriptions of `GROUPS_PER_REQUEST` groups are held at once."""


class SurveyRequest(NamedTuple):
    """What is asked about groups.

    Attributes:
        names: the groups; all if there are none.
        is_wanted: whether a group of that name is, by what its coordinator lists.
        has_times: whether to read the next record of each partition; None for those with the most
            lag, `TIMED_PARTITIONS` of them.
        has_commit_times: whether to read when the named groups committed.
        patience_ns: how long one question may take; a broker that does not answer it is not asked
            again. None for the client's own limit.
        progress: is told how many groups are done, and of how many.
        settle: is handed each group once all is known of it but when it committed; it may condense
            the group.
    """

    names: Collection[str] = ()
    is_wanted: Callable[[str, ListedGroup], bool] = lambda _name, _listed: True
    has_times: bool | None = None
    has_commit_times: bool = False
    patience_ns: int | None = None
    progress: Callable[[float, int], None] = lambda _done, _count: None
    settle: Callable[[Group], None] = lambda _group: None


_DENIED: Final = "TOPIC_AUTHORIZATION_FAILED"
_HIDDEN: Final = (
    "no commit is visible: brokers leave out those for topics that you may not DESCRIBE"
)
_OF_COORDINATOR: Final = f"{NO_PARTITION} of its coordinator"
_NOT_THERE: Final = f"{NO_PARTITION} of its leader"
_NO_COMMITS: Final = GroupCommits(error="its coordinator did not answer")


class _Ends(NamedTuple):
    """Where logs begin and end."""

    start: Mapping[PartitionKey, FoundOffset]
    stable_end: Mapping[PartitionKey, FoundOffset]
    end: Mapping[PartitionKey, FoundOffset]


def survey_groups(client: ClusterClient, request: SurveyRequest) -> GroupsReport:
    """Return what a connected client is told about groups.

    Raises:
        UnsupportedVersionError: if a named group is missing from lists that are not whole.
        KdiagError: if no broker answers for the topics.
    """
    patience = BrokerPatience(client, request.patience_ns)
    listing = list_groups(client, request.patience_ns)
    patience.silent |= {node: _mute(node) for node in listing.silent}
    chosen = {
        name: each
        for name, each in listing.groups.items()
        if (not request.names or name in request.names) and request.is_wanted(name, each)
    }
    parts = _Parts(patience, request, len(chosen))
    for asked in in_requests(chosen, _REQUESTS_PER_PART):
        parts.add({name: chosen[name] for _, names in asked for name in names})
    parts.end()
    groups = parts.groups
    unknown = [*parts.unknown]
    if not request.names and (hidden := hidden_groups(client, request.patience_ns)):
        unknown.insert(0, hidden)
    warnings = parts.warnings
    retention_ms = None
    if request.has_commit_times:
        retention_minutes = broker_setting(client, _RETENTION)
        if retention_minutes is not None:
            retention_ms = retention_minutes * _MS_PER_MINUTE
        warnings += _add_commit_times(client, groups)
    missing = sorted(set(request.names) - listing.groups.keys())
    refused = _refusals(patience, missing)
    groups += [Group(group=name, type=UNKNOWN, error=error) for name, error in refused.items()]
    missing = [name for name in missing if name not in refused]
    if missing:
        _require_whole_lists(client)
    groups += [_unlisted(name, listing) for name in missing if listing.failures]
    return GroupsReport(
        at_ns=client.clock.epoch_ns(),
        groups=sorted(groups, key=lambda each: each.group),
        failures=listing.failures,
        absent=[] if listing.failures else missing,
        unknown=unknown,
        warnings=warnings,
        limits=parts.limits,
        retention_ms=retention_ms,
        names=list(listing.groups),
    )


class _Parts:
    """Asks about some groups after others.

    Attributes:
        groups: those that were asked about.
        unknown: why their lag is not known, once for each reason.
        warnings: what else is not known of them; each is told once.
        limits: what was left out because there is too much.
    """

    def __init__(self, patience: BrokerPatience, request: SurveyRequest, count: int) -> None:
        self.groups: list[Group] = []
        self.unknown: list[str] = []
        self.warnings: list[str] = []
        self.limits: list[str] = []
        self._unknown_lags = UnknownLags()
        self._unknown_ages = UnknownLags("age")
        self._patience = patience
        self._request = request
        self._count = count
        self._waiting: list[Group] = []
        self._worst: list[tuple[int, int, PartitionLag]] = []
        self._behind_count = 0

    def add(self, listed: Mapping[str, ListedGroup]) -> None:
        """Ask about the next groups."""
        patience, before = self._patience, len(self.groups)
        client = patience.client
        described = describe_groups(patience, listed, lambda done: self._tell(before + done / 2))
        groups = [_group(client, name, each, described.get(name)) for name, each in listed.items()]
        half = before + len(listed) / 2
        commits = fetch_commits(patience, listed, lambda done: self._tell(half + done / 2))
        self.groups += groups
        try:
            _add_partitions(patience, groups, commits)
        except _UNREACHABLE as error:
            _note_failure(groups, str(error))
        self._time(groups)

    def end(self) -> None:
        """Read the next records of the groups that waited until it was known how many there are."""
        if self._behind_count > TIMED_PARTITIONS:
            self.limits.append(
                f"lag in time is shown for the {TIMED_PARTITIONS:,} partitions with the most lag, "
                f"of {self._behind_count:,}; --times reads all"
            )
        if self._waiting and len(self.groups) > GROUPS_PER_REQUEST * _REQUESTS_PER_PART:
            topics = {topic for each in self._waiting for topic in _topics_of(each)}
            self._try(lambda: _ask_topics(self._patience, topics))
        self._settle(self._waiting, has_times=True)
        self._waiting = []
        self.unknown += self._unknown_lags.warnings()
        self.warnings += self._unknown_ages.warnings()

    def _time(self, groups: list[Group]) -> None:
        """Have next records read now, or at the end: of those with the most lag."""
        has_times = self._request.has_times
        if has_times is not None:
            self._settle(groups, has_times=has_times)
            return
        for each in (one for group in groups for one in group.partitions if one.lag):
            self._behind_count += 1
            entry = (each.lag or 0, -self._behind_count, each)  # of equal ones, the first
            push = heappush if len(self._worst) < TIMED_PARTITIONS else heappushpop
            push(self._worst, entry)
        self._waiting += groups
        worst = self._worst_ids()
        early = [each for each in self._waiting if worst.isdisjoint(map(id, each.partitions))]
        self._settle(early, has_times=False)
        settled = set(map(id, early))
        self._waiting = [each for each in self._waiting if id(each) not in settled]

    def _worst_ids(self) -> set[int]:
        return {id(partition) for _, _, partition in self._worst}

    def _settle(self, groups: list[Group], *, has_times: bool) -> None:
        """Read the next records of groups if that is wanted, and hand the groups over."""
        self._try(lambda: self._add_times(groups, has_times=has_times))
        for each in groups:
            self._unknown_lags.add(each)
            self._request.settle(each)

    def _add_times(self, groups: list[Group], *, has_times: bool) -> None:
        limit = None if self._request.has_times else self._worst_ids()
        failed = _add_times(self._patience, groups, limit, has_times=has_times)
        for group, partition, error in failed:
            self._unknown_ages.note(group, partition, error)

    def _try(self, ask: Callable[[], None]) -> None:
        try:
            ask()
        except _UNREACHABLE as error:
            self._warn(f"lag in time is not known: {error}")

    def _warn(self, warning: str) -> None:
        if warning not in self.warnings:
            self.warnings.append(warning)

    def _tell(self, done: float) -> None:
        self._request.progress(done, self._count)


def _group(
    client: ClusterClient, name: str, listed: ListedGroup, described: GroupDescription | None
) -> Group:
    broker = client.cluster.brokers.get(listed.node_id)
    about = described or GroupDescription(error="its coordinator did not describe it")
    return Group(
        group=name,
        type=listed.type,
        state=about.state or listed.state or UNKNOWN,
        protocol=about.protocol or listed.protocol_type or None,
        coordinator=None if broker is None else BrokerNode(broker.id, broker.host, broker.port),
        assignor=about.assignor,
        epoch=about.epoch,
        assignment_epoch=about.assignment_epoch,
        members=about.members,
        error=about.error,
    )


def _note_failure(groups: list[Group], error: str) -> None:
    """Note why the ends of the logs are not known, where nothing else is said."""
    for group in groups:
        for each in group.partitions:
            each.error = each.error or error
        if not group.partitions:
            group.error = group.error or error


def _require_whole_lists(client: ClusterClient) -> None:
    """Check that brokers list groups that have no members.

    Raises:
        UnsupportedVersionError: if they do not: their commits are there all the same.
    """
    versions = client.api_versions(client.any_node())
    offered = None if versions is None else versions.range(API_BY_KEY[api_keys.LIST_OFFSETS])
    if offered is not None and not offered.high:
        raise UnsupportedVersionError(
            "the brokers are older than Kafka 0.10.1: they list groups only while these have "
            "members, and kdiag does not read their commits"
        )


def _refusals(patience: BrokerPatience, names: Sequence[str]) -> dict[str, str]:
    """Return why groups are not listed: brokers leave out those that one may not see."""
    refused: dict[str, str] = {}
    for name in names:
        request = coordinator_request(CoordinatorKind.GROUP, [name])
        try:
            body = patience.ask_any(request, FindCoordinatorResponse)
        except _UNREACHABLE as error:
            refused[name] = str(error)
            continue
        codes = [each.error_code for each in body.coordinators] or [body.error_code]
        error_text = error_name(codes[0])
        if error_text.endswith("_AUTHORIZATION_FAILED"):
            refused[name] = error_text
    return refused


def _unlisted(name: str, listing: GroupListing) -> Group:
    """Return a group that nobody lists, though it may be one of a broker that did not answer."""
    silent = ", ".join(map(str, sorted(listing.failures)))
    return Group(group=name, type=UNKNOWN, error=f"no answer from broker {silent}")


def _add_partitions(
    patience: BrokerPatience, groups: list[Group], commits: Mapping[str, GroupCommits]
) -> None:
    """Give each group its partitions, with the ends of their logs."""
    client = patience.client
    for group in groups:
        of_group = commits.get(group.group, _NO_COMMITS)
        group.error = group.error or of_group.error
        group.partitions = [*_partitions(group, of_group.partitions)]
    blank = [each for each in groups if _has_no_commit(each)]
    topics = {topic for group in groups for topic in _topics_of(group)}
    _ask_topics(patience, topics | {TOPIC} if blank else topics)
    if _topic_error(client.cluster, TOPIC) == _DENIED:
        for group in blank:
            group.error = _HIDDEN
    for group in groups:
        group.partitions = [*group.partitions, *_others(client.cluster, group)]
        for each in group.partitions:
            each.error = each.error or commits.get(group.group, _NO_COMMITS).error
        group.topic_errors = _topic_errors(client.cluster, group)
    keys = dict.fromkeys(_key(each) for group in groups for each in group.partitions)
    ends = _ask_ends(patience, list(keys))
    for group in groups:
        for each in group.partitions:
            error = _error_of(client.cluster, _key(each))
            if error is None:
                _add_ends(each, ends, is_share=group.type == SHARE)
            else:
                each.error, each.lag = error, None
    add_epoch_ends(patience, (each for group in groups for each in group.partitions))


def _has_no_commit(group: Group) -> bool:
    """Return whether a group is left that nothing was committed for, as far as brokers say."""
    return group.state == EMPTY and not group.partitions and group.error is None


def _topic_error(cluster: Cluster, name: str) -> str | None:
    topic = cluster.topics.get(name)
    return error_name(topic.error_code) if topic is not None and topic.error_code else None


def _topics_of(group: Group) -> set[str]:
    """Return the topics of a group: those that it read, and those that its members want."""
    return {each.topic for each in group.partitions} | _wanted(group)


def _wanted(group: Group) -> set[str]:
    return {topic for member in group.members or () for topic in member.subscribed or ()}


def _others(cluster: Cluster, group: Group) -> Iterator[PartitionLag]:
    """Yield the partitions that a group wants, and that nobody owns or has ever committed."""
    if group.type == SHARE:
        return
    known = {_key(each) for each in group.partitions}
    for name in sorted(_wanted(group)):
        topic = cluster.topics.get(name)
        for each in topic.partitions if topic is not None else ():
            if PartitionKey(name, each.partition_index) not in known:
                yield PartitionLag(topic=name, partition=each.partition_index)


def _topic_errors(cluster: Cluster, group: Group) -> dict[str, str]:
    """Return why topics that a group wants cannot be read, as the metadata has it."""
    topics = ((name, cluster.topics.get(name)) for name in sorted(_wanted(group)))
    return {
        name: NO_PARTITION if topic is None else error_name(topic.error_code)
        for name, topic in topics
        if topic is None or topic.error_code
    }


def _partitions(group: Group, commits: Mapping[PartitionKey, Commit]) -> Iterator[PartitionLag]:
    """Yield the partitions that a group has committed, or that its members own."""
    owners: dict[PartitionKey, str] = {}
    for member in group.members or ():
        for topic, numbers in (member.assignment or {}).items():
            owners.update((PartitionKey(topic, number), member.member_id) for number in numbers)
    for key in sorted(commits.keys() | owners.keys()):
        commit = commits.get(key, Commit(None))
        yield PartitionLag(
            topic=key.topic,
            partition=key.partition,
            committed=commit.offset,
            metadata=commit.metadata,
            committed_epoch=commit.epoch,
            lag=commit.lag,
            member_id=None if group.type == SHARE else owners.get(key),
            is_pending=commit.is_pending,
            error=_OF_COORDINATOR if commit.error == NO_PARTITION else commit.error,
        )


def _key(partition: PartitionLag) -> PartitionKey:
    return PartitionKey(partition.topic, partition.partition)


def _ask_topics(patience: BrokerPatience, names: Collection[str]) -> None:
    """Have the client know some topics; others it forgets."""
    client, topics = patience.client, dict[str, Topic]()
    for part in cut(sorted(names), _TOPICS_PER_REQUEST):
        topics |= client.refresh(part, timeout_ns=patience.limit_ns).topics
    client.cluster = client.cluster._replace(topics=topics)


def _ask_ends(patience: BrokerPatience, keys: list[PartitionKey]) -> _Ends:
    """Return where the logs of partitions begin and end; the high watermark is asked for first.

    So what is written meanwhile does not look like records of open transactions.
    """
    cluster = patience.client.cluster
    leaders = {key: cluster.leader_id(*key) for key in keys}
    found: list[dict[PartitionKey, FoundOffset]] = []
    for at, is_committed_only in ((EARLIEST, False), (LATEST, False), (LATEST, True)):
        answers: dict[PartitionKey, FoundOffset] = {}
        for part in cut(keys, _PARTITIONS_PER_LOOK_UP):
            asked = dict.fromkeys(part, at)
            answers |= patience.look_up(asked, leaders, is_committed_only=is_committed_only)
        found.append(answers)
    start, end, stable_end = found
    return _Ends(start, stable_end, end)


def _mute(node_id: int) -> str:
    return f"broker {node_id} does not answer"


def _error_of(cluster: Cluster, key: PartitionKey) -> str | None:
    """Return Kafka's error for a partition that the cluster's metadata has not; else None."""
    error = _topic_error(cluster, key.topic)
    return error or (None if cluster.partition(*key) is not None else NO_PARTITION)


def _add_ends(partition: PartitionLag, ends: _Ends, *, is_share: bool) -> None:
    key = _key(partition)
    found = [each[key] for each in (ends.start, ends.stable_end, ends.end)]
    error = next((each.error for each in found if each.error), None)
    if error is not None:
        # The metadata has the partition: its leader's word alone does not mean that it was deleted.
        partition.error = partition.error or (_NOT_THERE if error == NO_PARTITION else error)
        partition.lag = None
        return
    start, stable_end, end = (each.offset for each in found)
    partition.start, partition.end = start, max(end, stable_end)
    partition.stable_end = min(stable_end, end)
    if partition.next_offset is not None and (not is_share or partition.lag is None):
        partition.lag = max(0, partition.stable_end - partition.next_offset)


def _add_times(
    patience: BrokerPatience, groups: list[Group], only: set[int] | None, *, has_times: bool
) -> list[tuple[Group, PartitionLag, str]]:
    """Give each partition the age of its next record, and the count of those to be read.

    Args:
        patience: asks.
        groups: with their partitions.
        only: the ids of the objects of the partitions to read; None for all.
        has_times: whether to read any.

    Returns:
        the partitions that could not be read, with why.
    """
    for group in groups:
        for each in group.partitions:
            if each.lag == 0:
                each.lag_ms, each.is_lag_exact = 0.0, True
    if not has_times:
        return []
    unread = [
        (group, each, span)
        for group in groups
        for each in group.partitions
        if each.lag and (only is None or id(each) in only) and (span := _span(each)) is not None
    ]
    client = patience.client
    found = read_next(client, client.cluster, [span for _, _, span in unread])
    now_ms = client.clock.epoch_ns() / NS_PER_MS
    failed: list[tuple[Group, PartitionLag, str]] = []
    for group, each, span in unread:
        if (error := found[span].error) is None:
            _add_time(each, span, found[span], now_ms, is_share=group.type == SHARE)
        else:
            failed.append((group, each, error.replace(f"{each}: ", "")))
    return failed


def _add_commit_times(client: ClusterClient, groups: list[Group]) -> list[str]:
    """Give each partition the time of its commit; return why that is not known."""
    try:
        times = read_commit_times(client, [each.group for each in groups])
    except AuthorizationError as error:
        return [f"when groups committed is not known: {error}"]
    for group in groups:
        of_group = times.get(group.group, {})
        for each in group.partitions:
            each.committed_ms = of_group.get(_key(each))
    return []


def _span(partition: PartitionLag) -> UnreadSpan | None:
    start, stop = partition.next_offset, partition.stable_end
    if start is None or stop is None or start >= stop:
        return None
    return UnreadSpan(_key(partition), start, stop)


def _add_time(
    partition: PartitionLag, span: UnreadSpan, found: NextRecords, now_ms: float, *, is_share: bool
) -> None:
    """Note the age of the next record, and how many there are.

    Of a share group, others in between may be done: its coordinator alone knows how many are not.
    """
    unread = max(0, span.stop - found.read_to)
    if not is_share:
        partition.lag, partition.is_lag_exact = found.count + unread, not unread
    if found.timestamp_ms is not None:
        partition.lag_ms = max(0.0, round(now_ms - found.timestamp_ms, 1))
    elif not unread:
        partition.lag_ms = 0.0
