"""A member that has to be heard of before its session ends.

    session timeout 45 s
    a heartbeat after 3 s       complete; the next one waits 45 s from now
    nothing for 45 s            expired: the member is removed, and the group rebalances

A member that waits for the response to its JoinGroup or SyncGroup is heard of, in a way: its
connection is not read until it is answered. A new one is not: it may be gone, and ask again under
another name, so it waits for five minutes at the most.

Source: Kafka's `DelayedHeartbeat` (before 4.0), `GroupMetadataManager` (since).
"""

from collections.abc import Callable

from kdiag.lab.purgatory.delayed_operation import DelayedOperation


class DelayedHeartbeat(DelayedOperation):
    """A member that has to be heard of."""

    def __init__(
        self, delay_ns: int, is_satisfied: Callable[[], bool], expire: Callable[[], object]
    ) -> None:
        """Wait.

        Args:
            delay_ns: the session timeout.
            is_satisfied: whether it was heard of, or need not be.
            expire: removes the member.
        """
        super().__init__(delay_ns)
        self._is_satisfied = is_satisfied
        self._expire_member = expire

    def try_complete(self) -> bool:
        """Complete it if the member was heard of."""
        return self._is_satisfied() and self.force_complete()

    def on_complete(self) -> None:
        """Do nothing: whoever has heard of it waits for the next one."""

    def on_expiration(self) -> None:
        """Remove the member."""
        self._expire_member()
