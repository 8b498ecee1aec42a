"""A generation that waits until every member has asked for its assignment, or its time is up.

    generation 5: a, b and c have joined
    a asks (it leads, and brings the assignment), b asks      still waits for c
    c asks                                                    complete
    the rebalance timeout is over before                      c is removed: a new rebalance

Each member is answered on its own, as soon as the leader has brought the assignment; this is only
about those that never ask, for they would hold their partitions and read nothing.

Source: Kafka's `DelayedSync` (before 4.0), `GroupMetadataManager.expirePendingSync` (since).
"""

from collections.abc import Callable

from kdiag.lab.purgatory.delayed_operation import DelayedOperation


class DelayedSync(DelayedOperation):
    """A generation that waits for its members.

    Attributes:
        generation_id: the generation.
    """

    def __init__(
        self,
        delay_ns: int,
        generation_id: int,
        have_all_synced: Callable[[], bool],
        expire: Callable[[int], object],
    ) -> None:
        """Wait.

        Args:
            delay_ns: the group's rebalance timeout.
            generation_id: the generation.
            have_all_synced: whether nobody is waited for.
            expire: removes those that have not asked; gets the generation.
        """
        super().__init__(delay_ns)
        self.generation_id = generation_id
        self._have_all_synced = have_all_synced
        self._expire_pending = expire

    def try_complete(self) -> bool:
        """Complete it if all members have asked."""
        return self._have_all_synced() and self.force_complete()

    def on_complete(self) -> None:
        """Do nothing: each member is answered on its own."""

    def on_expiration(self) -> None:
        """Remove those that have not asked."""
        self._expire_pending(self.generation_id)
