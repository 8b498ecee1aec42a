"""The commit of what is consumed, which a member that commits by itself makes before a rebalance.

What is given up then begins, for whoever gets it, where this member has stopped. It is tried again
as long as the group waits for the member; the rebalance goes on then, and also if the commit is
refused for good.

Source: Kafka's `ConsumerCoordinator.maybeAutoCommitOffsetsAsync`, `onJoinPrepare`,
`CommitRequestManager.maybeAutoCommitSyncBeforeRebalance`.
"""

from kdiag.client.group.coordinator_lookup import Coordinated
from kdiag.client.group.offset_commits import OffsetCommits
from kdiag.client.request_future import RequestFuture


class RebalanceCommit:
    """Commits once for each rebalance, in as many calls as it takes."""

    def __init__(self, member: Coordinated, commits: OffsetCommits) -> None:
        """Begin with nothing committed.

        Args:
            member: rebalances.
            commits: its own.
        """
        self._client = member.client
        self._clock = member.clock
        self._settings = member.settings
        self._commits = commits
        self._future: RequestFuture[None] | None = None
        self._until_ns: int | None = None

    def is_done(self, deadline_ns: int) -> bool:
        """Commit, and return whether to go on with the rebalance: False to be called again.

        Raises:
            GroupError: if the commit has shown that the member is fenced.
            WakeupError: if another thread ends the wait.
        """
        if not self._commits.is_automatic:
            return True
        if self._until_ns is None:
            self._until_ns = self._clock.monotonic_ns() + self._settings.max_poll_interval_ns
        if self._future is None:
            self._future = self._commits.auto_commit()
        future = self._future
        if future is None or self._is_settled(future, deadline_ns, self._until_ns):
            self._future = self._until_ns = None
            return True
        wait_ns = min(deadline_ns, self._clock.monotonic_ns() + self._settings.retry_backoff_ns)
        self._client.await_condition(lambda: False, wait_ns)
        return False

    def _is_settled(self, future: RequestFuture[None], deadline_ns: int, until_ns: int) -> bool:
        """Return whether to go on after a commit: it succeeded, never will, or takes too long."""
        self._client.await_future(future, min(deadline_ns, until_ns))
        if self._clock.monotonic_ns() >= until_ns:
            return True
        if not future.is_done:
            return False
        self._future = None
        return future.succeeded or not future.is_retriable
