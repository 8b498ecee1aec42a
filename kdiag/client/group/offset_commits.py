"""Offset commits of a member: by hand, waiting or not, or every few seconds by itself.

A commit names the generation: the coordinator refuses one of a member that has been expelled, whose
partitions another member may be reading already. What was refused, and why, is told apart:

    REBALANCE_IN_PROGRESS     the member will be in the group again: poll it, then commit
    CommitFailedError         it was expelled, or has left; its partitions are lost
    FENCED_INSTANCE_ID        another member has its `group.instance.id`

Callbacks of commits that nobody waits for are called by the thread that polls the member, in the
order in which the commits were answered.

Source: Kafka's `ConsumerCoordinator.sendOffsetCommitRequest`, `OffsetCommitResponseHandler`,
`commitOffsetsSync`, `commitOffsetsAsync`; KIP-320 (leader epochs), KIP-345 (static members).
"""

from collections import defaultdict, deque
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Final

from kdiag.client.error_reactions import is_moved
from kdiag.client.fetch.position import PartitionKey
from kdiag.client.group.coordinator_lookup import Coordinated
from kdiag.client.group.member import Consumed, OffsetAndMetadata
from kdiag.client.group.membership import Generation, MemberState
from kdiag.client.group.refusals import named_refusal, refusal
from kdiag.client.network.backoff import ExponentialBackoff
from kdiag.client.network.request import builder_of
from kdiag.client.request_future import RequestFuture, completed, failed, is_retriable
from kdiag.clock import NS_PER_MS
from kdiag.errors import (
    AuthorizationError,
    CommitFailedError,
    GroupError,
    KdiagError,
    RequestTimeoutError,
)
from kdiag.wire.api.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
)
from kdiag.wire.error_code import CODE_BY_NAME, error_name
from kdiag.wire.schema import Versions

Offsets = Mapping[PartitionKey, OffsetAndMetadata]
OnCommit = Callable[[Offsets, KdiagError | None], None]
"""Is called with the offsets of a commit, and why it failed; None if it did not."""

LAST_WITH_NAMES: Final = 9
"""The last version in which topics go by their names."""
_FIRST_STATIC: Final = 7
_TOPIC_DENIED: Final = CODE_BY_NAME["TOPIC_AUTHORIZATION_FAILED"]


class OffsetCommits:
    """Commits offsets for one member.

    Attributes:
        in_flight_count: how many commits that nobody waits for have no answer yet.
        pending_count: how many of them wait for the coordinator to be found.
        auto_commit_error: why the last commit that it made by itself failed; None if it did not.
    """

    def __init__(self, member: Coordinated, consumed: Consumed) -> None:
        """Begin with nothing to commit.

        Args:
            member: commits, in the generation in which it is stable.
            consumed: returns what to commit, for commits that it makes by itself.
        """
        self._lookup = member.lookup
        self._membership = member.membership
        self._settings = settings = member.settings
        self._client = member.client
        self._clock = member.clock
        self._consumed = consumed
        self._backoff = ExponentialBackoff(
            settings.retry_backoff_ns, settings.retry_backoff_max_ns, jitter=settings.jitter
        )
        self._done: deque[Callable[[], None]] = deque()
        self._is_fenced = False
        self._next_auto_ns = 0
        self.in_flight_count = 0
        self.pending_count = 0
        self.auto_commit_error: KdiagError | None = None
        self.reset_auto_commit()

    @property
    def is_automatic(self) -> bool:
        """Return whether it commits by itself."""
        return self._settings.auto_commit_interval_ns is not None

    def ns_to_next(self) -> int | None:
        """Return how long until it commits by itself; None if it never does."""
        if not self.is_automatic:
            return None
        return max(0, self._next_auto_ns - self._clock.monotonic_ns())

    def commit_sync(self, offsets: Offsets, deadline_ns: int, *, wakes: bool = True) -> None:
        """Commit and wait, also for the commits before this one.

        Raises:
            AuthorizationError: if the user may not read one of the topics.
            CommitFailedError: if the member is not in the group any more.
            GroupError: if the coordinator refuses.
            RequestTimeoutError: if there is no answer by the deadline.
            WakeupError: if another thread ends the wait.
        """
        self.call_back()
        if not offsets:
            self._await_async(deadline_ns, wakes=wakes)
            return
        last = ""
        for _ in self._attempts(deadline_ns, wakes=wakes):
            future = self.send(offsets)
            self._client.await_future(future, deadline_ns, wakes=wakes)
            self.call_back()
            if future.succeeded:
                return
            if future.failed and not future.is_retriable:
                raise future.error()
            last = f"; its last answer: {future.error()}" if future.failed else ""
        raise RequestTimeoutError(
            f"group {self._settings.group_id}: the coordinator has not confirmed the commit in time"
            f"{last}"
        )

    def commit_async(
        self, offsets: Offsets, on_commit: OnCommit | None = None
    ) -> RequestFuture[None] | None:
        """Commit without waiting, also for the coordinator to be found.

        Returns:
            the future of the answer; None if the coordinator must be found first.

        Raises:
            GroupError: if an earlier commit has shown that the member is fenced.
        """
        self.call_back()
        future: RequestFuture[None] | None = None
        if not offsets or self._lookup.ensure_ready(self._clock.monotonic_ns(), wakes=False):
            future = self._send_async(offsets, on_commit)
        else:
            with self._membership.monitor:
                self.pending_count += 1
            self._lookup.lookup().add_listener(partial(self._send_found, offsets, on_commit))
        self._client.poll_if_free()
        return future

    def auto_commit(self) -> RequestFuture[None] | None:
        """Commit what is consumed, without waiting, if it commits by itself."""
        if not self.is_automatic:
            return None
        return self.commit_async(self._consumed(), self._handle_auto_commit)

    def maybe_auto_commit(self) -> None:
        """Do so if it is time."""
        if self.is_automatic and self._clock.monotonic_ns() >= self._next_auto_ns:
            self.reset_auto_commit()
            self.auto_commit()

    def auto_commit_sync(self, deadline_ns: int) -> None:
        """Commit what is consumed and wait, as the last thing that the member does."""
        if self.is_automatic:
            try:
                self.commit_sync(self._consumed(), deadline_ns, wakes=False)
                self.auto_commit_error = None
            except KdiagError as error:
                self.auto_commit_error = error

    def reset_auto_commit(self) -> None:
        """Let the interval between two commits begin now."""
        interval_ns = self._settings.auto_commit_interval_ns or 0
        self._next_auto_ns = self._clock.monotonic_ns() + interval_ns

    def await_pending(self, deadline_ns: int) -> None:
        """Find the coordinator for the commits that wait for it."""
        while self.pending_count and self._clock.monotonic_ns() < deadline_ns:
            self._lookup.ensure_ready(deadline_ns, wakes=False)
            self._client.poll_no_wakeup()
            self.call_back()

    def call_back(self) -> None:
        """Call what is to be called about commits that were answered.

        Raises:
            GroupError: if one has shown that the member is fenced.
        """
        if self._is_fenced:
            raise named_refusal(self._settings, "FENCED_INSTANCE_ID")
        while self._done:
            self._done.popleft()()

    def send(self, offsets: Offsets) -> RequestFuture[None]:
        """Send a commit, in the generation in which the member is stable."""
        if not offsets:
            return completed(None)
        if self._lookup.is_unknown:
            return failed(named_refusal(self._settings, "COORDINATOR_NOT_AVAILABLE"))
        wrong = [str(key) for key, each in offsets.items() if each.offset < 0]
        if wrong:
            raise ValueError(f"no offset may be negative, but that of {wrong[0]} is")
        with self._membership.monitor:
            generation = self._membership.stable_generation
            if generation is None:
                return failed(self._no_generation())
        message = OffsetCommitRequest(
            group_id=self._settings.group_id,
            generation_id_or_member_epoch=generation.generation_id,
            member_id=generation.member_id,
            group_instance_id=self._settings.group_instance_id,
            topics=_by_topic(offsets),
        )
        builder = builder_of(message)._replace(versions=self._versions)
        return self._lookup.send(builder, partial(self._handle_response, generation))

    @property
    def _versions(self) -> Versions:
        """Return the versions of requests that can say what the member is."""
        first = 0 if self._settings.group_instance_id is None else _FIRST_STATIC
        return Versions(first, LAST_WITH_NAMES)

    def _attempts(self, deadline_ns: int, *, wakes: bool) -> Iterator[None]:
        """Go round, each time with a coordinator, until the deadline."""
        attempts = 0
        while self._lookup.ensure_ready(deadline_ns, wakes=wakes):
            yield
            now_ns = self._clock.monotonic_ns()
            if now_ns >= deadline_ns:
                return
            until_ns = min(deadline_ns, now_ns + self._backoff.after(attempts))
            self._client.await_condition(lambda: False, until_ns, wakes=wakes)
            attempts += 1

    def _await_async(self, deadline_ns: int, *, wakes: bool) -> None:
        """Wait for the commits that nobody has waited for."""
        if not self.in_flight_count:
            return
        for _ in self._attempts(deadline_ns, wakes=wakes):
            self._client.await_condition(lambda: not self.in_flight_count, deadline_ns, wakes=wakes)
            self.call_back()
            if not self.in_flight_count:
                return

    def _send_async(self, offsets: Offsets, on_commit: OnCommit | None) -> RequestFuture[None]:
        """Send a commit and keep its callback."""
        with self._membership.monitor:
            self.in_flight_count += 1
        future = self.send(offsets)
        future.add_listener(partial(self._handle_async, offsets, on_commit))
        return future

    def _send_found(
        self, offsets: Offsets, on_commit: OnCommit | None, found: RequestFuture[None]
    ) -> None:
        """Send a commit that had to wait for the coordinator."""
        with self._membership.monitor:
            self.pending_count -= 1
        if found.succeeded:
            self._send_async(offsets, on_commit)
        elif on_commit is not None:
            self._done.append(partial(on_commit, offsets, found.error()))

    def _handle_async(
        self, offsets: Offsets, on_commit: OnCommit | None, future: RequestFuture[None]
    ) -> None:
        """Keep a callback for the thread that polls."""
        error = future.error() if future.failed else None
        with self._membership.monitor:
            self.in_flight_count -= 1
        if on_commit is not None:
            self._done.append(partial(on_commit, offsets, error))
        if isinstance(error, GroupError) and error.error == "FENCED_INSTANCE_ID":
            self._is_fenced = True

    def _handle_auto_commit(self, _: Offsets, error: KdiagError | None) -> None:
        """Keep the error, and commit again soon if that may help."""
        self.auto_commit_error = error
        if error is not None and is_retriable(error):
            self._next_auto_ns = self._clock.monotonic_ns() + self._settings.retry_backoff_ns

    def _no_generation(self) -> GroupError:
        """Return why a member that is not stable cannot commit."""
        if self._membership.is_rebalancing:
            return self._rebalancing()
        return CommitFailedError(
            self._settings.group_id, "UNKNOWN_MEMBER_ID", self._expelled("it is not in the group")
        )

    def _rebalancing(self) -> GroupError:
        """Return the error for a commit in the middle of a rebalance."""
        why = "the group rebalances; poll the member until it is stable, and commit then"
        return GroupError(self._settings.group_id, "REBALANCE_IN_PROGRESS", why)

    def _expelled(self, what: str) -> str:
        """Return why a member is not in its group any more."""
        settings = self._settings
        why = self._membership.end_reason or (
            "the coordinator has not heard of it for session.timeout.ms, which is "
            f"{settings.session_timeout_ns // NS_PER_MS}, or it took longer than "
            f"max.poll.interval.ms, which is {settings.max_poll_interval_ns // NS_PER_MS}, to "
            "rejoin"
        )
        return f"the commit of a member is refused, as {what}: {why}"

    def _handle_response(
        self, sent: Generation, body: OffsetCommitResponse, future: RequestFuture[None]
    ) -> None:
        """Complete the future, or fail it with the first error that says more than one topic's."""
        denied: set[str] = set()
        for topic in body.topics:
            for each in topic.partitions:
                if each.error_code == _TOPIC_DENIED:
                    denied.add(topic.name)
                elif each.error_code:
                    future.fail(self._refused(sent, each.error_code))
                    return
        if denied:
            future.fail(
                AuthorizationError(
                    f"the user may not commit offsets of {', '.join(sorted(denied))}; allow the "
                    "operation READ on what is read"
                )
            )
        else:
            future.complete(None)

    def _refused(self, sent: Generation, error_code: int) -> KdiagError:
        """Return the error for an error code, and change what it says about the member."""
        error = error_name(error_code)
        if is_moved("OffsetCommit", error):
            self._lookup.mark_unknown()
        elif error == "REBALANCE_IN_PROGRESS":
            self._membership.request_rejoin(
                "offset commit failed since group is already rebalancing"
            )
            return self._rebalancing()
        elif error in {"FENCED_INSTANCE_ID", "ILLEGAL_GENERATION", "UNKNOWN_MEMBER_ID"}:
            return self._refused_member(sent, error)
        return refusal(self._settings, error_code, "OffsetCommit")

    def _refused_member(self, sent: Generation, error: str) -> KdiagError:
        """Return the error for a member that is not, or no longer, the one that it says it is."""
        membership = self._membership
        with membership.monitor:
            is_unchanged = membership.generation == sent
            if not is_unchanged and membership.state is MemberState.PREPARING_REBALANCE:
                return self._rebalancing()
            if error == "FENCED_INSTANCE_ID" and is_unchanged:
                return named_refusal(self._settings, error)
            why = self._expelled(f"the coordinator answers {error}")
            if error != "FENCED_INSTANCE_ID":
                reason = f"encountered {error} from OFFSET_COMMIT response"
                membership.reset(reason, keeps_member_id=error == "ILLEGAL_GENERATION")
        return CommitFailedError(self._settings.group_id, error, why)


def _by_topic(offsets: Offsets) -> list[OffsetCommitRequestTopic]:
    """Return offsets as OffsetCommit has them."""
    topics: dict[str, list[OffsetCommitRequestPartition]] = defaultdict(list)
    for key, each in offsets.items():
        topics[key.topic].append(
            OffsetCommitRequestPartition(
                partition_index=key.partition,
                committed_offset=each.offset,
                committed_leader_epoch=each.leader_epoch,
                committed_metadata=each.metadata,
            )
        )
    return [
        OffsetCommitRequestTopic(name=name, partitions=partitions)
        for name, partitions in topics.items()
    ]
