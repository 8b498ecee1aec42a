"""Reads as a member of a group: what the group gives it, from where the group has committed.

    printed: dict[PartitionKey, int] = {}
    tail = GroupTail(client, request, make_member, printed)
    while not tail.is_done:
        for batch in tail.poll(deadline_ns):
            ...                                  # and `printed` says how far that is done
    tail.close(deadline_ns)

    given    its commit, else the usual start   -> read
    taken    what was printed is committed      -> read no more
    lost     no commit: others may own it already

Nothing is committed that `printed` does not have: a record that was read and not printed is read
again by whoever gets the partition next. It never creates a topic.

Source: Kafka's `KafkaConsumer` with `enable.auto.commit`, `ConsumerRebalanceListener`.
"""

import re
from collections.abc import Callable, Collection, Iterable, Mapping, MutableMapping, Sequence
from typing import Final, NamedTuple

from kdiag.client.cluster_client import ClusterClient
from kdiag.client.fetch.fetcher import Fetcher
from kdiag.client.fetch.notices import names
from kdiag.client.fetch.offset_reset import KEY, ResetPolicy
from kdiag.client.fetch.offsets import NO_OFFSET
from kdiag.client.fetch.position import (
    UNKNOWN_EPOCH,
    FetchedBatch,
    FetchPosition,
    Notice,
    NoticeKind,
    PartitionKey,
)
from kdiag.client.fetch.session import require_record_batches
from kdiag.client.group.committed_offsets import UnstableOffsetsError
from kdiag.client.group.member import (
    ConsumerMember,
    OffsetAndMetadata,
    RebalanceListener,
    TopicSubscription,
)
from kdiag.clock import NS_PER_MS, NS_PER_S
from kdiag.errors import (
    AuthorizationError,
    ConfigError,
    ConnectError,
    DisconnectedError,
    GroupError,
    KdiagError,
    RequestTimeoutError,
    WakeupError,
)
from kdiag.exchange.line.phrase import count
from kdiag.probe.tail.follower import REFRESH_NS
from kdiag.probe.tail.offset_spec import At, Position
from kdiag.probe.tail.offsets import StartAndStop
from kdiag.probe.tail.pending_offsets import TransactionWatch
from kdiag.probe.tail.placement import Placement, TailRequest, select_now, unseen_topics
from kdiag.probe.tail.topic_selection import TopicSelector

MakeMember = Callable[[TopicSubscription, RebalanceListener], ConsumerMember]
"""Makes the member, which has not joined yet."""

_ASK_NS: Final = 5 * NS_PER_S
"""How long the coordinator may take to accept a commit."""

_COMMITS_NS: Final = 3 * NS_PER_S
"""How long it may take to return commits before its reason is reported."""

RETRY_NS: Final = 500 * NS_PER_MS
EMPTY_NS: Final = 12 * NS_PER_S
"""How long a member that stops at the end waits for its first partition: others give one up at
their next heartbeat, five seconds away by default, and this member learns of it at its own."""

_UNREACHABLE: Final = (ConnectError, DisconnectedError, RequestTimeoutError)
_GLOB_PARTS: Final = re.compile(r"\*|\?|\[[^\]]+\]|.")


class GroupTailRequest(NamedTuple):
    """What a member reads, and what it commits.

    Attributes:
        tail: the topics; `offsets.start` counts for partitions without a commit.
        group_id: of the group.
        requires_commits: whether a partition without a commit is an error.
        reset: the policy for commits that are not in their logs; None for the least loss.
        commits: whether to commit what was printed.
        commit_interval_ns: how often; None for at the end alone, as what is printed is not safe
            before.
        max_poll_interval_ns: how long the group waits for it to be polled.
        counter: what the member's group counts: `generation`, or `epoch`.
    """

    tail: TailRequest
    group_id: str
    requires_commits: bool = False
    reset: ResetPolicy | None = None
    commits: bool = False
    commit_interval_ns: int | None = None
    max_poll_interval_ns: int = 0
    counter: str = "generation"


class GroupTail:
    """A member that reads until it is done; for one thread, and for whoever rebalances it.

    Attributes:
        is_closed: whether it has left, or is about to.
        is_uncommitted: whether a commit was refused for good, so that records come again.
    """

    def __init__(
        self,
        client: ClusterClient,
        request: GroupTailRequest,
        make_member: MakeMember,
        printed: MutableMapping[PartitionKey, int],
    ) -> None:
        """Check the topics; it joins with the first poll.

        Args:
            client: connected; the member stands on the same.
            request: what is read.
            make_member: makes the member.
            printed: up to where each partition was certainly written out. Its user advances it; it
                begins where a partition is given, and ends where that is taken away.

        Raises:
            ConfigError: if a topic does not exist.
            AuthorizationError: if a topic may not be described.
            UnsupportedVersionError: if the client speaks as one that cannot read such topics.
            KdiagError: if the cluster cannot be asked.
        """
        require_record_batches(client)
        select_now(client, request.tail.topics)
        self.is_closed = self.is_uncommitted = False
        self._client = client
        self._request = request
        self._printed = printed
        tail = request.tail
        self._fetcher = Fetcher(client, [], tail.limits, skips_damaged=tail.skips_damaged)
        self._placement = Placement(
            client, self._fetcher, tail, expects_records=False, reset=request.reset
        )
        self._placement.report_unseen(unseen_topics(client, tail.topics))
        self._notices: list[Notice] = []
        self._transactions = TransactionWatch(client)
        self._given: set[PartitionKey] = set()
        self._settled: dict[PartitionKey, int] = {}
        self._is_stable = False
        now_ns = client.clock.monotonic_ns()
        self._polled_ns = self._place_at_ns = self._empty_since_ns = now_ns
        self._refresh_at_ns = now_ns + REFRESH_NS
        self._commit_at_ns = now_ns + (request.commit_interval_ns or 0)
        self._member = make_member(subscription_to(request.tail.topics), self)

    @property
    def positions(self) -> Mapping[PartitionKey, FetchPosition]:
        """Return the position in each partition that it has."""
        return self._fetcher.positions

    @property
    def member_id(self) -> str:
        """Return the member's id; empty before it has one."""
        return self._member.member_id

    @property
    def is_partial(self) -> bool:
        """Return whether it has given up partitions, or could not commit what was printed."""
        is_unread = self._placement.is_partial or self._fetcher.is_partial
        return is_unread or self.is_uncommitted

    @property
    def is_done(self) -> bool:
        """Return whether all is read that it has, and is to read up to an end."""
        request = self._request.tail
        if not (request.stops_at_end or request.offsets.stop is not None) or not self._is_stable:
            return False
        if not self.positions and self._polled_ns < self._empty_since_ns + EMPTY_NS:
            return False  # others may be about to give up what is meant for this member
        return not (self._given or self._placement.unplaced) and self._fetcher.is_done

    def take_notices(self) -> list[Notice]:
        """Return the notices since the last call."""
        taken, self._notices = self._notices, []
        return [*taken, *self._placement.take_notices(), *self._fetcher.take_notices()]

    def poll(self, deadline_ns: int) -> list[FetchedBatch]:
        """Return batches in the order of offsets; none if none came by the deadline.

        Raises:
            GroupError: if the group does not want this member.
            AuthorizationError: if a topic may not be read.
            KdiagError: if the cluster cannot be used.
        """
        now_ns = self._client.clock.monotonic_ns()
        if self._request.commit_interval_ns is not None and now_ns >= self._commit_at_ns:
            self._commit(self.positions)
            self._commit_at_ns = now_ns + self._request.commit_interval_ns
        is_idle = self._fetcher.is_done
        self._is_stable = self._member.poll(deadline_ns if is_idle else now_ns)
        self._polled_ns = self._client.clock.monotonic_ns()
        self._report_coordinator()
        self._place(self._polled_ns)
        self._refresh(self._polled_ns)
        if self._fetcher.is_done and not self.is_done:
            self._client.wait(max(0, deadline_ns - self._client.clock.monotonic_ns()))
        batches = self._fetcher.poll(deadline_ns)
        for key, each in self.positions.items():
            if each.denied and each.high_watermark < 0:
                raise AuthorizationError(f"topic {key.topic}: not authorized to read it")
        self._placement.give_up_stranded()
        return batches

    def close(self, deadline_ns: int) -> None:
        """Commit what was printed, if that is wanted, and leave the group."""
        self.is_closed = True
        if self._request.commits:
            self._commit(self.positions, is_last=True)
        if self.is_uncommitted:
            self.forgo_commits()  # or what was refused just now would be tried and reported again
        self._member.close(deadline_ns)

    def forgo_commits(self) -> None:
        """Commit nothing more."""
        self._request = self._request._replace(commits=False, commit_interval_ns=None)

    def on_partitions_assigned(self, added: Collection[PartitionKey]) -> None:
        """Begin to read partitions, at the next poll."""
        self._given |= set(added)
        self._place_at_ns = self._polled_ns
        self._empty_since_ns = self._polled_ns
        if not self._member.assignment:
            self._notices.append(Notice(NoticeKind.GIVEN, f"{self._who}: given no partition"))

    def on_partitions_revoked(self, removed: Collection[PartitionKey]) -> None:
        """Commit what was printed of partitions, and read them no more."""
        if self._request.commit_interval_ns is not None:
            self._commit(removed, is_last=True)
        ends = {key: self._printed.get(key) for key in removed}
        self._remove(removed)
        if removed and not self.is_closed:
            self._notices.append(Notice(NoticeKind.TAKEN, f"{self._who}: taken {names(ends)}"))

    def on_partitions_lost(self, removed: Collection[PartitionKey]) -> None:
        """Read partitions no more; their new owners begin at the last commit."""
        ends = {key: self._printed.get(key) for key in removed}
        self._remove(removed)
        if removed and not self.is_closed:
            text = f"{self._who}: lost {names(ends)}, with no commit: {self._why_lost()}"
            self._notices.append(Notice(NoticeKind.LOST, text))

    @property
    def _who(self) -> str:
        generation = self._member.generation
        where = f", {self._request.counter} {generation}" if generation > 0 else ""
        return f"group {self._request.group_id}{where}"

    def _why_lost(self) -> str:
        """Return why the group has gone on without this member, as far as it knows that itself."""
        gap_ns = self._client.clock.monotonic_ns() - self._polled_ns
        limit_ns = self._request.max_poll_interval_ns
        if 0 < limit_ns <= gap_ns:
            return (
                f"nothing was read for {gap_ns // NS_PER_S} s, longer than max.poll.interval.ms; "
                "whoever reads the output is too slow"
            )
        return "the coordinator has given this member up"

    def _remove(self, keys: Collection[PartitionKey]) -> None:
        self._placement.remove(keys)
        self._given -= set(keys)
        for key in keys:
            self._printed.pop(key, None)
            self._settled.pop(key, None)

    def _place(self, now_ns: int) -> None:
        """Have partitions read that were given, and whose leaders answer."""
        if not (self._given or self._placement.unplaced) or now_ns < self._place_at_ns:
            return
        self._place_at_ns = now_ns + RETRY_NS
        try:
            self._ask_commits()
        except GroupError as error:
            if not error.is_retriable:
                raise
            if isinstance(error, UnstableOffsetsError):
                self._notices += self._transactions.explain(error)
            return
        except _UNREACHABLE as error:
            self._report_coordinator(error)
            return
        try:
            topics = sorted({key.topic for key in self._placement.unplaced})
            cluster = self._client.refresh(topics)
        except _UNREACHABLE as error:
            self._fetcher.recovery.unanswered(error)
            return
        waiting = dict(self._placement.unplaced)
        spans = self._placement.place(
            cluster, usual_start(self._request.tail), is_late=bool(self.positions)
        )
        starts = {key: self.positions[key].offset for key in spans}
        self._printed.update(starts)
        self._settled.update({key: _committed(waiting[key]) for key in spans})
        self._explain_given(starts, waiting)
        text = start_text(self._request.tail, [spans[key] for key in spans if waiting[key] is None])
        if text is not None:
            self._notices.append(Notice(NoticeKind.GIVEN, f"{self._who}: {text}"))
        if self._request.commits:  # or the next run of `-o end` would begin at a later end
            self._commit(spans, is_first=True)
        self._fetcher.recovery.unplaced(self._placement.unplaced, self._placement.errors)

    def _report_coordinator(self, error: KdiagError | None = None) -> None:
        """Report what the coordinator answers again and again, or an error that ends a wait."""
        notices, group_id = self._fetcher.recovery.notices, self._request.group_id
        text = self._member.lookup.lasting_refusal() or (None if error is None else str(error))
        if text is not None:
            notices.begin_trouble(group_id, NoticeKind.REFUSED, text)
        elif not self._given:
            notices.end_trouble(group_id)

    def _ask_commits(self) -> None:
        """Find where the group has read to, of the partitions that were given."""
        if not self._given:
            return
        deadline_ns = self._client.clock.monotonic_ns() + _COMMITS_NS
        committed = self._member.committed(self._given, deadline_ns)
        for key in self._given:
            commit = committed.get(key)
            own = None
            if commit is not None:
                own = Position(At.OFFSET, commit.offset, commit.leader_epoch)
            if own is None and self._request.requires_commits:
                why = f"it is none, and {key} has no commit; -o says where to start then"
                raise ConfigError(KEY, KEY, why)
            self._placement.unplaced[key] = own
        self._given = set()

    def _explain_given(
        self, starts: Mapping[PartitionKey, int], own: Mapping[PartitionKey, Position | None]
    ) -> None:
        """Tell which partitions were given, and where each starts."""
        kinds: dict[str, dict[PartitionKey, int | None]] = {}
        for key, start in starts.items():
            commit = _committed(own[key])
            is_moved = "from its commits" if commit == start else "instead of its commits"
            kinds.setdefault(is_moved if commit >= 0 else "without a commit", {})[key] = start
        parts = [f"{names(kinds[kind])} {kind}" for kind in sorted(kinds)]
        if parts:
            text = f"{self._who}: given {' and '.join(parts)}"
            self._notices.append(Notice(NoticeKind.GIVEN, text))

    def _refresh(self, now_ns: int) -> None:
        """Look for new leaders, and for transactions that hold partitions back, now and then."""
        if now_ns < self._refresh_at_ns or not self.positions:
            return
        self._refresh_at_ns = now_ns + REFRESH_NS
        recovery = self._fetcher.recovery
        try:
            recovery.refresh(sorted({key.topic for key in self.positions}))
            if self._request.tail.limits.is_committed_only:
                self._placement.explain_held_back(self._transactions.held.look(self.positions))
        except KdiagError as error:
            recovery.unanswered(error)  # it is tried again at the next time

    def _commit(
        self, keys: Iterable[PartitionKey], *, is_first: bool = False, is_last: bool = False
    ) -> None:
        """Commit what was printed of partitions since the last time.

        Args:
            keys: the partitions.
            is_first: whether nothing is read before it: it may take less time then.
            is_last: whether there is no other time: else what can be repeated is not told.
        """
        offsets = {
            key: OffsetAndMetadata(self._printed[key], self._epoch(key))
            for key in keys
            if key in self._printed and self._printed[key] != self._settled[key]
        }
        if not offsets:
            return
        try:
            allowed_ns = RETRY_NS if is_first else _ASK_NS
            self._member.commit(offsets, self._client.clock.monotonic_ns() + allowed_ns)
        except WakeupError:
            raise
        except KdiagError as error:
            if not (is_last or isinstance(error, (GroupError, *_UNREACHABLE))):
                raise  # at the last time the member still has partitions to give up, and to leave
            is_retriable = is_first or (isinstance(error, GroupError) and error.is_retriable)
            if is_last or not is_retriable:
                self._explain_refusal(offsets, error)
            self.is_uncommitted |= is_last
        else:
            self._settled.update((key, each.offset) for key, each in offsets.items())

    def _epoch(self, key: PartitionKey) -> int:
        """Return the epoch of the last batch, if all that was read is printed."""
        position = self.positions.get(key)
        if position is None or position.offset != self._printed[key]:
            return UNKNOWN_EPOCH
        return position.fetched_epoch

    def _explain_refusal(
        self, offsets: Mapping[PartitionKey, OffsetAndMetadata], error: KdiagError
    ) -> None:
        """Tell that a commit was refused."""
        ends = {key: each.offset for key, each in offsets.items()}
        text = f"not committed: {names(ends)}: {error}; these records will be read again"
        self._notices.append(Notice(NoticeKind.NOT_COMMITTED, text))


def usual_start(request: TailRequest) -> Position:
    """Return where partitions start that have no commit."""
    has_end = request.stops_at_end or request.offsets.stop is not None
    return request.offsets.start or Position(At.BEGINNING if has_end else At.END)


def start_text(request: TailRequest, spans: Sequence[StartAndStop]) -> str | None:
    """Return how to read what is before the end, where the end is a start by default.

    Args:
        request: what is read.
        spans: of the partitions that have no commit.
    """
    records = sum(each.start - each.first for each in spans)
    if records <= 0 or request.offsets.start is not None or usual_start(request).at is not At.END:
        return None
    return (
        f"no commits: starting at the end of {count(len(spans), 'partition')}; "
        f"--from-beginning reads the {count(records, 'record')} there"
    )


def _committed(own: Position | None) -> int:
    """Return the offset that the group has committed; -1 if it has none."""
    return NO_OFFSET if own is None else own.value


def subscription_to(topics: Sequence[TopicSelector]) -> TopicSubscription:
    """Return the subscription to selected topics: their names, or one pattern for all of them."""
    if not any(each.is_pattern for each in topics):
        return TopicSubscription(frozenset(each.pattern for each in topics))
    return TopicSubscription(pattern="|".join(_regex(each.pattern) for each in topics))


def _regex(pattern: str) -> str:
    """Return the regular expression of a pattern, for Python and for RE2."""
    return "".join(_regex_part(each) for each in _GLOB_PARTS.findall(pattern))


def _regex_part(part: str) -> str:
    if part == "*":
        return ".*"
    if part == "?":
        return "."
    if len(part) > 1:
        return f"[^{part[2:]}" if part.startswith("[!") else part
    return re.escape(part)
