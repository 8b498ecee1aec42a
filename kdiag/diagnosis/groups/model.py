"""What is known of groups: their members, and how far they have read.

    log of a partition   start ... committed ... next record ... stable_end ... end
                                   |--------- lag ----------|

`end` is the high watermark. What lies behind the last stable offset is of open transactions: no
reader of committed records gets it, so it is no lag. A group whose commit lies before the start of
the log lost what was between the two: that is no lag either, but a finding.

Source: Kafka's DescribeGroups, ConsumerGroupDescribe (KIP-848), ShareGroupDescribe (KIP-932),
StreamsGroupDescribe (KIP-1071), OffsetFetch, ListOffsets.
"""

from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from kdiag.diagnosis.coordinator import BrokerNode
from kdiag.diagnosis.groups.amount import Amount, Certainty, largest, total, unknown
from kdiag.diagnosis.groups.pending import PendingOffsets

STABLE: Final = "Stable"
EMPTY: Final = "Empty"
UNKNOWN: Final = "unknown"
NO_PARTITION: Final = "UNKNOWN_TOPIC_OR_PARTITION"
"""Of a commit for a topic that was deleted."""

Assignment = Mapping[str, Sequence[int]]
"""Partition numbers by topic."""


class DescribedMember(msgspec.Struct, kw_only=True):
    """A member of a group.

    Attributes:
        member_id: as the coordinator knows it.
        instance_id: `group.instance.id` of a static member.
        client_id, host: of the client; the host as the coordinator sees it.
        rack: `client.rack`, where the coordinator tells it.
        epoch: of the member; None in classic groups.
        protocol: `classic` or `consumer`, in a group that may have both; None where it is not told.
        subscribed: the topics that it wants; None where they are not told.
        pattern: of further topics, which are not told.
        assignment: what it owns; None where that cannot be read.
        target: what it is to own, of groups whose coordinator assigns.
    """

    member_id: str
    instance_id: str | None = None
    client_id: str = ""
    host: str = ""
    rack: str | None = None
    epoch: int | None = None
    protocol: str | None = None
    subscribed: Sequence[str] | None = None
    pattern: str | None = None
    assignment: Assignment | None = None
    target: Assignment | None = None

    def __str__(self) -> str:
        return f"{self.instance_id or self.client_id or self.member_id} at {self.host}"

    @property
    def is_reconciled(self) -> bool:
        """Return whether it owns what it is to own."""
        return self.target is None or as_set(self.target) == as_set(self.assignment or {})


class PartitionLag(msgspec.Struct, kw_only=True):
    """How far a group has read a partition; None for what is not known.

    Attributes:
        committed: the offset that the group reads next; of share groups, their start offset.
        metadata: what the client wrote beside it.
        committed_epoch: the leader epoch of the commit; None if it has none.
        epoch_end: where that epoch ends in the log, -1 if the log does not know it; None where that
            is the newest epoch, or was not answered.
        committed_ms: when, since 1970.
        start: the first offset of the log.
        stable_end: behind the last record that readers of committed records get.
        end: behind the last record: the high watermark.
        lag: the records to be read.
        is_lag_exact: whether they were counted; else it is a difference of offsets, which counts
            transaction markers and what compaction has removed.
        lag_ms: the age of the record that is read next; 0 without lag.
        member_id: who owns it.
        is_pending: whether a newer commit is in a transaction that is open.
        error: why something is not known.
    """

    topic: str
    partition: int
    committed: int | None = None
    metadata: str | None = None
    committed_epoch: int | None = None
    epoch_end: int | None = None
    committed_ms: int | None = None
    start: int | None = None
    stable_end: int | None = None
    end: int | None = None
    lag: int | None = None
    is_lag_exact: bool = False
    lag_ms: float | None = None
    member_id: str | None = None
    is_pending: bool = False
    error: str | None = None

    def __str__(self) -> str:
        return f"{self.topic}[{self.partition}]"

    @property
    def next_offset(self) -> int | None:
        """Return where the group reads on: where the log begins, if that is behind its commit."""
        if self.committed is None:
            return None
        return max(self.committed, self.start or 0)

    @property
    def is_lag_unknown(self) -> bool:
        """Return whether there is a lag that could not be learnt.

        A partition without a commit has none, nor has one that was deleted.
        """
        is_expected = self.committed is not None or self.error is not None
        return self.lag is None and is_expected and self.error != NO_PARTITION

    @property
    def lag_amount(self) -> Amount[int]:
        """Return the records to be read."""
        if self.is_lag_unknown:
            return unknown()
        is_counted = self.is_lag_exact or not self.lag
        return Amount(self.lag, Certainty.EXACT if is_counted else Certainty.ABOUT)

    @property
    def age_amount(self) -> Amount[float]:
        """Return the age of the record that is read next, in ms."""
        if self.is_lag_unknown or (self.lag and self.lag_ms is None):
            return unknown()
        return Amount(self.lag_ms)


class GroupTotals(msgspec.Struct, frozen=True, kw_only=True):
    """The sums over members and partitions of a group; the attributes are those of `Group`."""

    member_count: int | None
    partition_count: int
    uncommitted_count: int
    lag_amount: Amount[int]
    age_amount: Amount[float]
    why_unknown: str | None
    pending: Sequence[str]


class Group(msgspec.Struct, kw_only=True):
    """A group; None for what is not known.

    Attributes:
        group: its id.
        type: `classic`, `consumer`, `share` or `streams`.
        state: Kafka's name, or `unknown`; never guessed.
        protocol: the protocol type of a classic group: `consumer`, `connect` and so on.
        coordinator: the broker that listed it.
        assignor: of the group.
        epoch: the group's epoch; None in classic groups.
        assignment_epoch: the epoch that the target assignment is for.
        members: None if they could not be asked for.
        partitions: those that it has committed, or that its members own.
        topic_errors: why topics that its members want cannot be read: Kafka's names.
        error: why something is not known.
        totals: the sums over members and partitions that it had before it was condensed; None of a
            whole group.
    """

    group: str
    type: str
    state: str = UNKNOWN
    protocol: str | None = None
    coordinator: BrokerNode | None = None
    assignor: str | None = None
    epoch: int | None = None
    assignment_epoch: int | None = None
    members: Sequence[DescribedMember] | None = None
    partitions: Sequence[PartitionLag] = ()
    topic_errors: Mapping[str, str] = {}
    error: str | None = None
    totals: GroupTotals | None = None

    def condense(self) -> None:
        """Keep the sums alone: of many groups, members and partitions do not fit into memory."""
        self.totals = GroupTotals(
            member_count=self.member_count,
            partition_count=self.partition_count,
            uncommitted_count=self.uncommitted_count,
            lag_amount=self.lag_amount,
            age_amount=self.age_amount,
            why_unknown=self.why_unknown,
            pending=self.pending,
        )
        self.members, self.partitions, self.topic_errors = None, (), {}

    @property
    def member_count(self) -> int | None:
        """Return how many members it has; None if they could not be asked for."""
        if self.totals is not None:
            return self.totals.member_count
        return None if self.members is None else len(self.members)

    @property
    def partition_count(self) -> int:
        """Return how many partitions are told of."""
        return len(self.partitions) if self.totals is None else self.totals.partition_count

    @property
    def lag(self) -> int | None:
        """Return the records to be read of all partitions, as far as they are known."""
        return self.lag_amount.value

    @property
    def lag_amount(self) -> Amount[int]:
        """Return the records to be read of all partitions; unknown if these are not known."""
        if self.totals is not None:
            return self.totals.lag_amount
        if not self.partitions and self.error is not None:
            return unknown()
        return total(each.lag_amount for each in self.partitions)

    @property
    def age_amount(self) -> Amount[float]:
        """Return the age of the oldest record that is read next, in ms."""
        if self.totals is not None:
            return self.totals.age_amount
        if not self.partitions and self.error is not None:
            return unknown()
        return largest(each.age_amount for each in self.partitions)

    @property
    def lag_ms(self) -> float | None:
        """Return that age, as far as it is known."""
        return self.age_amount.value

    @property
    def why_unknown(self) -> str | None:
        """Return why something is not known: of the group, or of its first such partition."""
        if self.totals is not None:
            return self.totals.why_unknown
        causes = (f"{each}: {each.error}" for each in self.partitions if each.is_lag_unknown)
        return self.error or next(causes, None)

    @property
    def pending(self) -> Sequence[str]:
        """Return the partitions with a newer commit in a transaction that is open."""
        if self.totals is not None:
            return self.totals.pending
        return [str(each) for each in self.partitions if each.is_pending]

    @property
    def uncommitted_count(self) -> int:
        """Return how many of the partitions have no commit: their lag nobody can tell."""
        if self.totals is not None:
            return self.totals.uncommitted_count
        return sum(each.committed is None for each in self.partitions)

    @property
    def is_rebalancing(self) -> bool:
        """Return whether its members are about to get other partitions."""
        return self.state not in {STABLE, EMPTY, UNKNOWN, "Dead", "NotReady"}

    def member(self, member_id: str | None) -> DescribedMember | None:
        """Return a member by its id."""
        return next((each for each in self.members or () if each.member_id == member_id), None)


class GroupsReport(msgspec.Struct, kw_only=True):
    """Groups of a cluster at a moment.

    Attributes:
        at_ns: when the ends of the logs were known, since 1970.
        groups: by name.
        failures: why brokers did not list their groups, by node.
        absent: names that no broker lists, though all have listed their groups.
        unknown: why lags are not known, or whole groups.
        warnings: what else is not known, and why.
        limits: what kdiag left out by a limit of its own: nothing failed.
        retention_ms: how long brokers keep commits of groups without members; None if it is not
            known.
        names: of all groups that brokers listed, those that were not asked about too.
        pending: the groups whose offsets wait for transactions, with these.
    """

    at_ns: int
    groups: Sequence[Group]
    failures: Mapping[int, str] = {}
    absent: Sequence[str] = ()
    unknown: Sequence[str] = ()
    warnings: Sequence[str] = ()
    limits: Sequence[str] = ()
    retention_ms: int | None = None
    names: Sequence[str] = ()
    pending: Sequence[PendingOffsets] = ()

    @property
    def notes(self) -> list[str]:
        """Return all that is to be said beside the groups."""
        return [*self.unknown, *self.warnings, *self.limits]

    @property
    def lag_amount(self) -> Amount[int]:
        """Return the records to be read of all groups; those of unlisted groups are unknown."""
        parts = [each.lag_amount for each in self.groups]
        return total([*parts, unknown()] if self.failures else parts)

    @property
    def age_amount(self) -> Amount[float]:
        """Return the age of the oldest record that a group reads next, in ms."""
        parts = [each.age_amount for each in self.groups]
        return largest([*parts, unknown()] if self.failures else parts)


def as_set(assignment: Assignment) -> set[tuple[str, int]]:
    """Return an assignment as a set of partitions."""
    return {(topic, number) for topic, numbers in assignment.items() for number in numbers}
