"""Members of consumer groups: the values and the protocols that all kinds of members share.

    member: ConsumerMember = ...
    while True:
        member.poll(deadline_ns)           # joins, rejoins, and calls the listener
        ...                                # read the partitions of `member.assignment`
        member.commit(offsets, deadline_ns)
    member.close(deadline_ns)

There are two kinds: `ConsumerCoordinator` speaks the classic protocol (the members' leader assigns
partitions), the other that of KIP-848 (the broker assigns them).

Source: Kafka's `ConsumerRebalanceListener`, `OffsetAndMetadata`, `GroupRebalanceConfig`,
`SubscriptionState`; KIP-62 (two timeouts), KIP-345 (static members), KIP-429 (lost partitions).
"""

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import NamedTuple, Protocol, Self

from kdiag.client.config.keys import default_ns
from kdiag.client.fetch.position import PartitionKey
from kdiag.client.network.metadata_updater import RefreshTimes
from kdiag.clock import NS_PER_MS
from kdiag.errors import ConfigError


class OffsetAndMetadata(NamedTuple):
    """A committed offset.

    Attributes:
        offset: the next to read.
        leader_epoch: of the last batch that was read; -1 if unknown.
        metadata: the committer's note.
    """

    offset: int
    leader_epoch: int = -1
    metadata: str = ""


Consumed = Callable[[], Mapping[PartitionKey, OffsetAndMetadata]]
"""Returns how far assigned partitions are read, for members that commit by themselves."""


class TopicSubscription(NamedTuple):
    """The topics that a member wants: a list of names, or all that match a regular expression.

    Attributes:
        topics: names; empty with a pattern.
        pattern: a regular expression that a whole name must match. Classic members match names
            themselves, by Python's `re`; the broker does it for those of KIP-848, by RE2.
    """

    topics: frozenset[str] = frozenset()
    pattern: str | None = None

    @classmethod
    def of(cls, *topics: str) -> Self:
        """Return the subscription to some topics."""
        return cls(frozenset(topics))

    def matching(self, names: Iterable[str]) -> frozenset[str]:
        """Return the topics that are wanted, of those that there are; by name, all that are named.

        Raises:
            ConfigError: if the pattern is not a regular expression.
        """
        if self.pattern is None:
            return self.topics
        try:
            wanted = re.compile(self.pattern)
        except re.error as error:
            why = f"{self.pattern!r} is not a regular expression: {error}"
            raise ConfigError("pattern", "pattern", why) from error
        return frozenset(name for name in names if wanted.fullmatch(name))


class MemberSettings(NamedTuple):
    """The settings of a member, with Kafka's defaults.

    Attributes:
        group_id: `group.id`.
        group_instance_id: `group.instance.id` of a static member, which does not leave its group
            when it is closed (KIP-345); None for a dynamic one.
        session_timeout_ns: `session.timeout.ms`; the broker's own setting with KIP-848.
        heartbeat_interval_ns: `heartbeat.interval.ms`; as above.
        max_poll_interval_ns: `max.poll.interval.ms`: a member that is not polled so often leaves.
            It is also how long the group waits for it in a rebalance.
        auto_commit_interval_ns: `auto.commit.interval.ms`; None for a member that commits only what
            it is told to.
        rack: `client.rack`, for assignors that know of racks.
        retry_backoff_ns, retry_backoff_max_ns: `retry.backoff.ms` and its maximum.
        metadata_max_age_ns: `metadata.max.age.ms`: how late new partitions may be found.
        jitter: by which part of itself a backoff may differ.
    """

    group_id: str
    group_instance_id: str | None = None
    session_timeout_ns: int = default_ns("session.timeout.ms")
    heartbeat_interval_ns: int = default_ns("heartbeat.interval.ms")
    max_poll_interval_ns: int = default_ns("max.poll.interval.ms")
    auto_commit_interval_ns: int | None = None
    rack: str | None = None
    retry_backoff_ns: int = default_ns("retry.backoff.ms")
    retry_backoff_max_ns: int = default_ns("retry.backoff.max.ms")
    metadata_max_age_ns: int = default_ns("metadata.max.age.ms")
    jitter: float = 0.2

    @property
    def refresh_times(self) -> RefreshTimes:
        """Return how often metadata is requested."""
        return RefreshTimes(
            self.metadata_max_age_ns, self.retry_backoff_ns, self.retry_backoff_max_ns, self.jitter
        )

    def check(self) -> None:
        """Raise ConfigError if the settings contradict each other."""
        if not self.group_id:
            raise ConfigError("group.id", "group.id", "a member needs a group, found an empty name")
        if self.heartbeat_interval_ns >= self.session_timeout_ns:
            why = (
                f"{self.heartbeat_interval_ns // NS_PER_MS} must be less than session.timeout.ms, "
                f"which is {self.session_timeout_ns // NS_PER_MS}; a third of it is usual"
            )
            raise ConfigError("heartbeat.interval.ms", "heartbeat.interval.ms", why)


class RebalanceListener(Protocol):
    """Whoever reads the partitions of a member; called by the thread that polls the member."""

    def on_partitions_assigned(self, added: Collection[PartitionKey]) -> None:
        """Begin to read partitions; called after each rebalance, also if none were added."""
        ...

    def on_partitions_revoked(self, removed: Collection[PartitionKey]) -> None:
        """Stop reading partitions; what was read of them can still be committed."""
        ...

    def on_partitions_lost(self, removed: Collection[PartitionKey]) -> None:
        """Stop reading partitions that others may own already: a commit would be refused."""
        ...


class CoordinatorTrouble(Protocol):
    """Knows whether the coordinator of a member answers as it should."""

    def lasting_refusal(self) -> str | None:
        """Return what it answers again and again, though that ends nothing; None if all is well."""
        ...


class ConsumerMember(Protocol):
    """A member of a consumer group, whichever protocol it speaks.

    It is for one thread; heartbeats may have their own.
    """

    @property
    def lookup(self) -> CoordinatorTrouble:
        """Return what knows its coordinator."""
        ...

    @property
    def member_id(self) -> str:
        """Return its id; empty before it has one."""
        ...

    @property
    def generation(self) -> int:
        """Return its generation, or member epoch; -1 or 0 while it is in none."""
        ...

    @property
    def assignment(self) -> frozenset[PartitionKey]:
        """Return the partitions that it owns."""
        ...

    def poll(self, deadline_ns: int) -> bool:
        """Join, or rejoin if need be, and call the listener; must be called again and again.

        Returns:
            whether it is stable in its group; False if that takes longer than until the deadline.

        Raises:
            GroupError: if the group does not want it, or its coordinator refuses it for good.
            KdiagError: if the cluster cannot be used.
        """
        ...

    def committed(
        self, keys: Collection[PartitionKey], deadline_ns: int
    ) -> dict[PartitionKey, OffsetAndMetadata]:
        """Return the group's committed offsets, of the partitions that have any.

        Raises:
            GroupError: if the coordinator refuses to tell.
            RequestTimeoutError: if it does not by the deadline.
        """
        ...

    def commit(self, offsets: Mapping[PartitionKey, OffsetAndMetadata], deadline_ns: int) -> None:
        """Commit offsets, and wait until that is done.

        Raises:
            GroupError: if the coordinator refuses.
            RequestTimeoutError: if it does not answer by the deadline.
        """
        ...

    def close(self, deadline_ns: int) -> None:
        """Give up all partitions and leave the group, except as a static member."""
        ...
