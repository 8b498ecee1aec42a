"""The plan of a drill: which protocols, how many members, which causes, and how patient they are.

    eager          classic protocol, `range` and others: all are given up at each rebalance
    cooperative    classic protocol, `cooperative-sticky`: those that move, in two rebalances
    incremental    KIP-848: those that move, and nobody waits for the others

Source: KIP-429 (cooperative), KIP-848.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

from kdiag.clock import NS_PER_S
from kdiag.diagnosis.rebalance.model import CauseKind, GroupType

CAUSES: Final = (
    CauseKind.MEMBER_JOINED,
    CauseKind.MEMBER_FAILED,
    CauseKind.MEMBER_LEFT,
    CauseKind.PARTITIONS_CHANGED,
    CauseKind.SUBSCRIPTION_CHANGED,
)
"""What can be provoked, in the order in which it is: members become more, and then fewer."""

FEWEST_MEMBERS: Final = 3
"""One crashes or leaves, one unsubscribes, and one is left to own all."""

_COOPERATIVE: Final = "cooperative-sticky"
_SETTLING_NS: Final = 30 * NS_PER_S


class ProbeVariant(NamedTuple):
    """One kind of group.

    Attributes:
        protocol: classic or consumer.
        assignor: the members' own, or the broker's; None for the broker's choice.
    """

    protocol: GroupType
    assignor: str | None

    @property
    def rebalance_protocol(self) -> str:
        """Return what happens to partitions in a rebalance, in one word."""
        if self.protocol is GroupType.CONSUMER:
            return "incremental"
        return "cooperative" if self.assignor == _COOPERATIVE else "eager"

    @property
    def kind(self) -> str:
        """Return that word as people know it."""
        is_consumer = self.protocol is GroupType.CONSUMER
        return "KIP-848" if is_consumer else self.rebalance_protocol

    @property
    def name(self) -> str:
        """Return its name for people: `range (eager)`, `uniform (KIP-848)`."""
        return f"{self.assignor or 'consumer'} ({self.kind})"


class MemberTimes(NamedTuple):
    """The times that decide when members and coordinators notice anything.

    Attributes:
        session_timeout_ns: how long a crashed member is waited for.
        heartbeat_interval_ns: how often members learn of a rebalance.
        metadata_max_age_ns: how often members look for new partitions.
    """

    session_timeout_ns: int
    heartbeat_interval_ns: int
    metadata_max_age_ns: int


class RebalancePlan(NamedTuple):
    """What is done to one group.

    Attributes:
        variant: the kind of the group.
        times: of its members.
        member_count: how many begin.
        partition_count: of the topic at the beginning.
        is_static: whether members have instance ids, and do not leave when they are closed.
        causes: those to provoke, some of CAUSES in their order.
    """

    variant: ProbeVariant
    times: MemberTimes
    member_count: int
    partition_count: int
    is_static: bool = False
    causes: Sequence[CauseKind] = CAUSES

    @property
    def patience_ns(self) -> int:
        """Return how long one step may take."""
        times = self.times
        waits_ns = times.session_timeout_ns + times.metadata_max_age_ns
        return waits_ns + 4 * times.heartbeat_interval_ns + _SETTLING_NS

    def waits_for(self, cause: CauseKind | None) -> str | None:
        """Return the setting that decides how late the group notices a cause; None if none does."""
        is_classic = self.variant.protocol is GroupType.CLASSIC
        is_expired = cause is CauseKind.MEMBER_FAILED
        if is_expired or (cause is CauseKind.MEMBER_LEFT and self.is_static and is_classic):
            return "session.timeout.ms" if is_classic else "group.consumer.session.timeout.ms"
        if cause is CauseKind.PARTITIONS_CHANGED and is_classic:
            return "metadata.max.age.ms"
        if cause is None:
            return None
        return "heartbeat.interval.ms" if is_classic else "group.consumer.heartbeat.interval.ms"
