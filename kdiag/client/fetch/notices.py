"""Notices about reading: one line for one event, however many partitions it affects.

    notices.begin_trouble(PartitionKey("orders", 0), NoticeKind.NO_LEADER, "no leader")
    notices.begin_trouble(PartitionKey("orders", 1), NoticeKind.NO_LEADER, "no leader")
    notices.pop()                                       orders[0-1]: no leader

A trouble is reported when it begins, and as over once all has been well for `SETTLED_NS`: what
comes and goes meanwhile is the same trouble. In the same way, a leader that moves again is not
reported before that time has passed.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from kdiag.client.fetch.position import Notice, NoticeKind, PartitionKey
from kdiag.clock import NS_PER_S, Clock

SETTLED_NS: Final = 5 * NS_PER_S
"""How long all must be well before a trouble counts as over."""

_MAX_TOPICS: Final = 10

Subject = PartitionKey | int | str | None
"""The subject of a trouble: a partition, a broker, the coordinator of a group, or the cluster."""


class FetchNotices:
    """Collects events until they are asked for; for one thread."""

    def __init__(self, clock: Clock) -> None:
        """Begin without troubles.

        Args:
            clock: measures for how long a trouble has been over.
        """
        self._clock = clock
        self._lines: dict[tuple[NoticeKind, str], dict[PartitionKey, int | None]] = {}
        self._troubles: dict[Subject, set[NoticeKind]] = {}
        self._well_since_ns: dict[Subject, int] = {}
        self._moves: dict[PartitionKey, tuple[int, int]] = {}
        self._move_reported_ns: dict[PartitionKey, int] = {}

    def pop(self) -> list[Notice]:
        """Return the notices since the last call."""
        now_ns = self._clock.monotonic_ns()
        self._report_moves(now_ns)
        self._report_recoveries(now_ns)
        lines, self._lines = self._lines, {}
        return [
            Notice(kind, f"{names(partitions)}: {text}" if partitions else text)
            for (kind, text), partitions in lines.items()
        ]

    def add(
        self,
        kind: NoticeKind,
        text: str,
        key: PartitionKey | None = None,
        offset: int | None = None,
    ) -> None:
        """Add an event; partitions with the same text share a line.

        Args:
            kind: what happened.
            text: the line, without the partition.
            key: the partition, if it is about one.
            offset: named with the partition, where each has its own.
        """
        partitions = self._lines.setdefault((kind, text), {})
        if key is not None:
            partitions[key] = offset

    def begin_trouble(self, subject: Subject, kind: NoticeKind, text: str) -> None:
        """Record that a subject is in trouble, and report it unless that was done before."""
        self._well_since_ns.pop(subject, None)
        reported = self._troubles.setdefault(subject, set())
        if kind not in reported:
            reported.add(kind)
            self.add(kind, text, subject if isinstance(subject, PartitionKey) else None)

    def is_in_trouble(self, subject: Subject) -> bool:
        """Return whether a trouble of a subject was reported and is not over."""
        return subject in self._troubles and subject not in self._well_since_ns

    def end_trouble(self, subject: Subject) -> None:
        """Record that a subject works, whether it was in trouble or not."""
        if subject in self._troubles:
            self._well_since_ns.setdefault(subject, self._clock.monotonic_ns())

    def forget(self, subject: Subject) -> None:
        """Forget the troubles of a subject, whose end was reported in other words."""
        self._troubles.pop(subject, None)
        self._well_since_ns.pop(subject, None)

    def add_move(self, key: PartitionKey, before: int, leader: int) -> None:
        """Add the move of a partition from one leader to another."""
        first, _ = self._moves.get(key, (before, before))
        self._moves[key] = (first, leader)
        self._report_moves(self._clock.monotonic_ns())

    def _report_moves(self, now_ns: int) -> None:
        for key, (before, leader) in list(self._moves.items()):
            if now_ns - self._move_reported_ns.get(key, now_ns - SETTLED_NS) < SETTLED_NS:
                continue
            del self._moves[key]
            if before != leader:
                self._move_reported_ns[key] = now_ns
                text = f"the leader is broker {leader}, was {before}"
                self.add(NoticeKind.LEADER_MOVED, text, key)

    def _report_recoveries(self, now_ns: int) -> None:
        for subject, since_ns in list(self._well_since_ns.items()):
            if now_ns - since_ns < SETTLED_NS:
                continue
            self.forget(subject)
            if isinstance(subject, PartitionKey):
                self.add(NoticeKind.RECOVERED, "read again", subject)
            elif isinstance(subject, str):
                self.add(NoticeKind.RECOVERED, f"group {subject}: its coordinator answers again")
            elif subject is not None:
                self.add(NoticeKind.RECOVERED, f"broker {subject} answers again")


def names(partitions: Mapping[PartitionKey, int | None]) -> str:
    """Return partitions in few words, with their offsets where they have any.

    For example `orders[0-3,7], payments[1]` or `orders[0@120,1@77]`.
    """
    by_topic: dict[str, list[tuple[int, int | None]]] = defaultdict(list)
    for (topic, partition), offset in sorted(partitions.items(), key=lambda each: each[0]):
        by_topic[topic].append((partition, offset))
    named = [f"{topic}[{','.join(_numbers(each))}]" for topic, each in by_topic.items()]
    if len(named) > _MAX_TOPICS:
        named[_MAX_TOPICS:] = [f"and {len(named) - _MAX_TOPICS} more topics"]
    return ", ".join(named)


def _numbers(partitions: Sequence[tuple[int, int | None]]) -> Iterator[str]:
    """Return the partitions of a topic; neighbours without offsets make a range."""
    ranges: list[list[int]] = []
    for number, offset in partitions:
        if offset is not None:
            yield f"{number}@{offset}"
        elif ranges and number == ranges[-1][1] + 1:
            ranges[-1][1] = number
        else:
            ranges.append([number, number])
    for first, last in ranges:
        yield str(first) if first == last else f"{first}-{last}"
