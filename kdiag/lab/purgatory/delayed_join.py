"""A rebalance that waits until every member has joined, or its time is up.

    DelayedJoin            members of a group that was there before
      all members joined           complete: the next generation begins
      the rebalance timeout        complete, too: without those that have not joined

    InitialDelayedJoin     the first members of a group that was empty
      delay 3 s, 57 s remain       a member came meanwhile: 3 s more, 54 s remain
      delay 3 s, 54 s remain       nobody came: complete

The first members get more time, because each that comes later would make a rebalance of its own. It
is never completed before its delay is over.

Source: Kafka's `DelayedJoin`, `InitialDelayedJoin` (before 4.0),
`GroupMetadataManager.tryCompleteInitialRebalanceElseSchedule` (since).
"""

from collections.abc import Callable
from typing import NamedTuple, Self

from kdiag.lab.purgatory.delayed_operation import DelayedOperation


class DelayedJoin(DelayedOperation):
    """A rebalance that waits for members."""

    def __init__(
        self, delay_ns: int, have_all_joined: Callable[[], bool], complete: Callable[[], object]
    ) -> None:
        """Wait.

        Args:
            delay_ns: the group's rebalance timeout.
            have_all_joined: whether nobody is waited for.
            complete: begins the next generation with those that have joined.
        """
        super().__init__(delay_ns)
        self._have_all_joined = have_all_joined
        self._complete = complete

    def try_complete(self) -> bool:
        """Complete it if all members have joined."""
        return self._have_all_joined() and self.force_complete()

    def on_complete(self) -> None:
        """Begin the next generation."""
        self._complete()

    def on_expiration(self) -> None:
        """Do nothing more: those that have not joined are left out by then."""


class InitialJoinTerms(NamedTuple):
    """How long the first members of a group are waited for.

    Attributes:
        configured_ns: `group.initial.rebalance.delay.ms`.
        delay_ns: of this wait.
        remaining_ns: what is left of the rebalance timeout after it.
    """

    configured_ns: int
    delay_ns: int
    remaining_ns: int

    @classmethod
    def of(cls, configured_ns: int, rebalance_timeout_ns: int) -> Self:
        """Return the terms of the first wait."""
        return cls(configured_ns, configured_ns, max(rebalance_timeout_ns - configured_ns, 0))

    def extended(self) -> Self:
        """Return the terms of the next wait."""
        delay_ns = min(self.configured_ns, self.remaining_ns)
        return type(self)(self.configured_ns, delay_ns, max(self.remaining_ns - self.delay_ns, 0))


class InitialDelayedJoin(DelayedJoin):
    """A rebalance of a group that was empty.

    Attributes:
        terms: how long it waits.
    """

    def __init__(
        self,
        terms: InitialJoinTerms,
        has_new_member: Callable[[], bool],
        complete: Callable[[], object],
        watch: "Callable[[InitialDelayedJoin], object]",
    ) -> None:
        """Wait.

        Args:
            terms: how long.
            has_new_member: whether a member came since it was asked last.
            complete: begins the next generation.
            watch: has the purgatory watch the next wait.
        """
        super().__init__(terms.delay_ns, lambda: False, complete)
        self.terms = terms
        self._has_new_member = has_new_member
        self._watch = watch

    def on_complete(self) -> None:
        """Wait once more if members came, and there is time; else begin the next generation."""
        if self.terms.remaining_ns and self._has_new_member():
            terms = self.terms.extended()
            self._watch(
                InitialDelayedJoin(terms, self._has_new_member, self._complete, self._watch)
            )
        else:
            self._complete()
