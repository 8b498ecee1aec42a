"""Who owned which partition of a topic when, as its members were told; and when nobody did.

    t=1 a given 0    t=5 a taken 0    t=7 b given 0    t=8 b read 0
    ->  partition 0: from a to b, without an owner from 5 to 7, read again at 8

Members add to the log from their own threads. Nothing here reads a clock: every `at_ns` is since
1970, of the same clock.
"""

from collections.abc import Collection, Iterable
from enum import StrEnum
from typing import NamedTuple

from kdiag.client.fetch.position import PartitionKey


class OwnershipChange(StrEnum):
    """What happened to a partition."""

    CREATED = "created"
    GIVEN = "given"
    TAKEN = "taken"
    READ = "read"
    """A record of it has come to its new owner."""


class OwnershipEvent(NamedTuple):
    """One change of one partition.

    Attributes:
        member: who it was given to or taken from, or who read; empty at its creation.
    """

    at_ns: int
    partition: int
    change: OwnershipChange
    member: str = ""


class OwnerGap(NamedTuple):
    """A time in which a partition had no owner.

    Attributes:
        partition: its number.
        former: who had it before; empty if it is new.
        next: who has it now; None as long as nobody does.
        began_ns, ended_ns: the time; no end as long as nobody has it.
        read_ns: when its new owner had a record of it.
    """

    partition: int
    former: str
    next: str | None
    began_ns: int
    ended_ns: int | None
    read_ns: int | None = None

    def unowned_ns(self, until_ns: int) -> int:
        """Return how long it had no owner; at the most until a moment."""
        return max(0, (until_ns if self.ended_ns is None else self.ended_ns) - self.began_ns)


class OwnershipLog:
    """What happened to the partitions of one topic; any thread may add to it."""

    def __init__(self, topic: str) -> None:
        self._topic = topic
        self._events: list[OwnershipEvent] = []

    def create(self, partitions: Iterable[int], at_ns: int) -> None:
        """Add that partitions have come to be."""
        self._events += [
            OwnershipEvent(at_ns, each, OwnershipChange.CREATED) for each in partitions
        ]

    def add(
        self, change: OwnershipChange, member: str, keys: Iterable[PartitionKey], at_ns: int
    ) -> None:
        """Add a change of some partitions; those of other topics do not count."""
        self._events += [
            OwnershipEvent(at_ns, each.partition, change, member)
            for each in keys
            if each.topic == self._topic
        ]

    def owners(self, until_ns: int | None = None) -> dict[int, frozenset[str]]:
        """Return who owns each partition at a moment; by default now."""
        owners: dict[int, frozenset[str]] = {}
        for each in self._in_order(until_ns):
            before = owners.get(each.partition, frozenset())
            owners[each.partition] = _changed(before, each)
        return owners

    def gaps(self, began_ns: int, ended_ns: int) -> list[OwnerGap]:
        """Return when partitions had no owner, as far as that touches a time, by partition."""
        gaps: list[OwnerGap] = []
        open_gaps: dict[int, OwnerGap] = {}
        closed: dict[int, int] = {}
        owners: dict[int, frozenset[str]] = {}
        for event in self._in_order(None):
            number = event.partition
            before = owners.get(number, frozenset())
            after = owners[number] = _changed(before, event)
            if not after and (before or event.change is OwnershipChange.CREATED):
                open_gaps[number] = OwnerGap(number, event.member, None, event.at_ns, None)
            elif after and number in open_gaps:
                gap = open_gaps.pop(number)
                gaps.append(gap._replace(next=event.member, ended_ns=event.at_ns))
                closed[number] = len(gaps) - 1
            elif event.change is OwnershipChange.READ and number in closed:
                place = closed.pop(number)
                gaps[place] = gaps[place]._replace(read_ns=event.at_ns)
        return sorted(
            each
            for each in [*gaps, *open_gaps.values()]
            if each.began_ns < ended_ns and (each.ended_ns is None or each.ended_ns > began_ns)
        )

    def first_reads(self, began_ns: int, ended_ns: int) -> dict[str, int]:
        """Return when each member first read a partition that it was given in some time."""
        reads: dict[str, int] = {}
        for each in self._in_order(ended_ns):
            if each.change is OwnershipChange.READ and each.at_ns >= began_ns:
                reads.setdefault(each.member, each.at_ns)
        return reads

    def last_change_ns(self, began_ns: int, ended_ns: int) -> int | None:
        """Return when the last partition was given or taken in some time; None if none was."""
        changes = (OwnershipChange.GIVEN, OwnershipChange.TAKEN)
        times = [
            each.at_ns
            for each in self._in_order(ended_ns)
            if each.change in changes and each.at_ns >= began_ns
        ]
        return max(times, default=None)

    def is_shared_out(self, partition_count: int, readers: Collection[str]) -> bool:
        """Return whether each partition has one owner among the readers, and each of them any."""
        owners = self.owners()
        held: set[str] = set()
        for number in range(partition_count):
            each = owners.get(number, frozenset())
            if len(each) != 1 or not each <= set(readers):
                return False
            held |= each
        return len(held) == min(len(readers), partition_count)

    def is_read(self, partition_count: int) -> bool:
        """Return whether the owner of each partition has read of it."""
        unread: set[int] = set()
        for each in self._in_order(None):
            if each.change is OwnershipChange.GIVEN:
                unread.add(each.partition)
            elif each.change is OwnershipChange.READ:
                unread.discard(each.partition)
        return not unread & set(range(partition_count))

    def _in_order(self, until_ns: int | None) -> list[OwnershipEvent]:
        """Return the events up to a moment in the order of time; those of one moment as added."""
        events = [each for each in list(self._events) if until_ns is None or each.at_ns <= until_ns]
        return sorted(events, key=lambda each: each.at_ns)


def _changed(owners: frozenset[str], event: OwnershipEvent) -> frozenset[str]:
    """Return the owners of a partition after an event."""
    if event.change is OwnershipChange.GIVEN:
        return owners | {event.member}
    if event.change is OwnershipChange.TAKEN:
        return owners - {event.member}
    return owners
