"""What is told of a reading: one line for one event, however many partitions it touches.

    notices.begins(PartitionKey("orders", 0), NoticeKind.NO_LEADER, "no leader")
    notices.begins(PartitionKey("orders", 1), NoticeKind.NO_LEADER, "no leader")
    notices.take()                                      orders[0-1]: no leader

A trouble is told when it begins, and that it is over once all has been well for `SETTLED_NS`:
what comes and goes meanwhile is the same trouble. In the same way, a leader that moves again
is not told before that time has passed.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from kdiag.client.fetch.position import Notice, NoticeKind, PartitionKey
from kdiag.clock import Clock

SETTLED_NS: Final = 5_000_000_000
"""How long all must be well before a trouble counts as over."""

_MAX_TOPICS: Final = 10

Subject = PartitionKey | int | None
"""What is in trouble: a partition, a broker, or the cluster."""


class FetchNotices:
    """Collects what happens until somebody wants to know; for one thread."""

    def __init__(self, clock: Clock) -> None:
        """Begin without troubles.

        Args:
            clock: says for how long a trouble has been over.
        """
        self._clock = clock
        self._lines: dict[tuple[NoticeKind, str], dict[PartitionKey, int | None]] = {}
        self._troubles: dict[Subject, set[NoticeKind]] = {}
        self._well_since_ns: dict[Subject, int] = {}
        self._moves: dict[PartitionKey, tuple[int, int]] = {}
        self._move_told_ns: dict[PartitionKey, int] = {}

    def take(self) -> list[Notice]:
        """Return what has happened since this was asked last."""
        now_ns = self._clock.monotonic_ns()
        self._tell_moves(now_ns)
        self._tell_what_is_over(now_ns)
        taken, self._lines = self._lines, {}
        return [
            Notice(kind, f"{names(places)}: {text}" if places else text)
            for (kind, text), places in taken.items()
        ]

    def tell(
        self,
        kind: NoticeKind,
        text: str,
        key: PartitionKey | None = None,
        offset: int | None = None,
    ) -> None:
        """Take an event; partitions of which the same is said share a line.

        Args:
            kind: what happened.
            text: the line, without the partition.
            key: the partition, if it is about one.
            offset: to be named with the partition, where each has its own.
        """
        places = self._lines.setdefault((kind, text), {})
        if key is not None:
            places[key] = offset

    def begins(self, subject: Subject, kind: NoticeKind, text: str) -> None:
        """Take that something is in trouble, which is told unless it was already."""
        self._well_since_ns.pop(subject, None)
        told = self._troubles.setdefault(subject, set())
        if kind not in told:
            told.add(kind)
            self.tell(kind, text, subject if isinstance(subject, PartitionKey) else None)

    def ends(self, subject: Subject) -> None:
        """Take that something works, in trouble or not."""
        if subject in self._troubles:
            self._well_since_ns.setdefault(subject, self._clock.monotonic_ns())

    def forget(self, subject: Subject) -> None:
        """Take that the troubles of something are over, and that this was told in other words."""
        self._troubles.pop(subject, None)
        self._well_since_ns.pop(subject, None)

    def moved(self, key: PartitionKey, before: int, leader: int) -> None:
        """Take that another broker leads a partition."""
        first, _ = self._moves.get(key, (before, before))
        self._moves[key] = (first, leader)
        self._tell_moves(self._clock.monotonic_ns())

    def _tell_moves(self, now_ns: int) -> None:
        for key, (before, leader) in list(self._moves.items()):
            if now_ns - self._move_told_ns.get(key, now_ns - SETTLED_NS) < SETTLED_NS:
                continue
            del self._moves[key]
            if before != leader:
                self._move_told_ns[key] = now_ns
                text = f"the leader is broker {leader}, was {before}"
                self.tell(NoticeKind.LEADER_MOVED, text, key)

    def _tell_what_is_over(self, now_ns: int) -> None:
        for subject, since_ns in list(self._well_since_ns.items()):
            if now_ns - since_ns < SETTLED_NS:
                continue
            self.forget(subject)
            if isinstance(subject, PartitionKey):
                self.tell(NoticeKind.RECOVERED, "read again", subject)
            elif subject is not None:
                self.tell(NoticeKind.RECOVERED, f"broker {subject} answers again")


def names(places: Mapping[PartitionKey, int | None]) -> str:
    """Return partitions in few words, with their offsets where they have any.

    As `orders[0-3,7], payments[1]` or `orders[0@120,1@77]`.
    """
    by_topic: dict[str, list[tuple[int, int | None]]] = defaultdict(list)
    for (topic, partition), offset in sorted(places.items(), key=lambda place: place[0]):
        by_topic[topic].append((partition, offset))
    told = [f"{topic}[{','.join(_numbers(each))}]" for topic, each in by_topic.items()]
    if len(told) > _MAX_TOPICS:
        told[_MAX_TOPICS:] = [f"and {len(told) - _MAX_TOPICS} more topics"]
    return ", ".join(told)


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
