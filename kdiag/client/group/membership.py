"""The membership of a member: its state, its generation, and whether it must join again.

    UNJOINED --JoinGroup sent--> PREPARING_REBALANCE --answered--> COMPLETING_REBALANCE
        ^                                                                  | SyncGroup answered
        +--- left, expelled, or a rebalance failed <--- STABLE <-----------+

Two threads read and change it: the one that polls, and the one that sends heartbeats. All of it is
under one lock, `monitor`, which the latter also waits at. Whoever sends a request remembers the
generation that it was sent in: an answer about another one is stale, and changes nothing.

Source: Kafka's `AbstractCoordinator.Generation` and `MemberState`; KIP-394 (member id first),
KIP-800 (reasons).
"""

from enum import Enum, auto
from threading import Condition
from typing import Final, NamedTuple

MAX_REASON: Final = 255
"""Longer reasons are cut, so that brokers' logs stay readable (KIP-800)."""


class MemberState(Enum):
    """How far a member is."""

    UNJOINED = auto()
    PREPARING_REBALANCE = auto()
    COMPLETING_REBALANCE = auto()
    STABLE = auto()

    @property
    def has_not_joined(self) -> bool:
        """Return whether it has no generation, or will soon have another: no heartbeats then."""
        return self in (MemberState.UNJOINED, MemberState.PREPARING_REBALANCE)


class Generation(NamedTuple):
    """What a member is to its group.

    Attributes:
        generation_id: counts rebalances; -1 for none.
        member_id: as the coordinator calls it; empty before it has.
        protocol_name: the assignor; None before there is one.
    """

    generation_id: int = -1
    member_id: str = ""
    protocol_name: str | None = None

    @property
    def is_reset(self) -> bool:
        """Return whether it names no rebalance; the member id may still be good."""
        return self.generation_id == NO_GENERATION.generation_id and self.protocol_name is None

    @property
    def is_lost(self) -> bool:
        """Return whether a member of it no longer owns what it owned before."""
        return self.generation_id == NO_GENERATION.generation_id or not self.member_id


NO_GENERATION: Final = Generation()


class Membership:
    """The state of one member.

    Attributes:
        monitor: guards everything here, and all that happens to it.
        state: how far it is.
        generation: the latest.
        is_rejoin_needed: whether to join again.
        rejoin_reason: why, in few words, for the broker's log.
        needs_join_prepare: whether `on_join_prepare` is to be called before it joins.
        end_reason: why it is not in the group any more, for whoever commits too late.
    """

    def __init__(self) -> None:
        self.monitor = Condition()  # it is reentrant
        self.state = MemberState.UNJOINED
        self.generation = NO_GENERATION
        self.is_rejoin_needed = True
        self.rejoin_reason = ""
        self.needs_join_prepare = True
        self.end_reason = ""

    @property
    def is_rebalancing(self) -> bool:
        """Return whether it has begun to join and is not stable yet."""
        with self.monitor:
            preparing, completing = (
                MemberState.PREPARING_REBALANCE,
                MemberState.COMPLETING_REBALANCE,
            )
            return self.state in (preparing, completing)

    @property
    def stable_generation(self) -> Generation | None:
        """Return its generation; None if it is not stable in one."""
        with self.monitor:
            return self.generation if self.state is MemberState.STABLE else None

    def joined(self, generation: Generation) -> None:
        """Record that JoinGroup was answered."""
        with self.monitor:
            self.state = MemberState.COMPLETING_REBALANCE
            self.generation = generation

    def synced(self) -> None:
        """Record that SyncGroup was answered."""
        with self.monitor:
            self.state = MemberState.STABLE
            self.rejoin_reason = ""
            self.is_rejoin_needed = False
            self.end_reason = ""

    def request_rejoin(self, reason: str) -> None:
        """Join again at the next poll."""
        with self.monitor:
            self.rejoin_reason = reason
            self.is_rejoin_needed = True

    def request_rejoin_if_necessary(self, reason: str) -> None:
        """Do so, unless that is to be done anyway: the first reason counts."""
        with self.monitor:
            if not self.is_rejoin_needed:
                self.request_rejoin(reason)

    def reset(self, reason: str, *, keeps_member_id: bool = False, end_reason: str = "") -> None:
        """Forget the generation and join again.

        Args:
            reason: why, in few words.
            end_reason: why, for people; by default the same.
            keeps_member_id: whether the member id is still good: the coordinator would otherwise
                wait for it in the next rebalance.
        """
        with self.monitor:
            self.state = MemberState.UNJOINED
            kept = self.generation.member_id if keeps_member_id else ""
            self.generation = Generation(member_id=kept)
            self.end_reason = end_reason or reason
            self.needs_join_prepare = True
            self.request_rejoin(reason)


def cut_reason(reason: str) -> str:
    """Return a reason as brokers take it."""
    return reason[:MAX_REASON]
