"""The watch over progress: a partition that is not read though its log goes on is reported.

    orders[0@20]: nothing read for 5 s, 80 offsets before the end: broker 1 answers without records

The line comes after `PATIENCE_NS` without progress, again each `AGAIN_NS`, and once more when the
partition is read again. It gives the reason that the last answer gave. Two things are no trouble:
a reader that does not poll because its output is slow, and a partition that waits because answers
are filled with the records of others; that one is reported only after `AGAIN_NS`.
"""

from collections import defaultdict
from collections.abc import Iterable
from typing import Final

import msgspec

from kdiag.client.fetch.notices import FetchNotices
from kdiag.client.fetch.position import FetchPosition, NoticeKind, PartitionKey
from kdiag.clock import NS_PER_S, Clock

PATIENCE_NS: Final = 5 * NS_PER_S
"""How long a partition may make no progress before that is reported."""

AGAIN_NS: Final = 60 * NS_PER_S
"""How often that is reported again."""

_LOOK_NS: Final = NS_PER_S
_PAUSE_NS: Final = 4 * NS_PER_S
"""Looks that are further apart than this were delayed by the reader, not by a broker."""

_UNHEARD: Final = "no answer has mentioned it"


class _Mark(msgspec.Struct):
    """What is known of the progress of one partition.

    Attributes:
        offset: its position at the last look.
        since_ns: since when it has been there.
        due_ns: when to report it.
        is_reported: whether it was.
        reason: why the last answer had no record of it; None for an answer full of others'.
    """

    offset: int
    since_ns: int
    due_ns: int
    is_reported: bool = False
    reason: str | None = _UNHEARD


class ProgressWatch:
    """Watches the positions of one fetcher; for one thread."""

    def __init__(self, clock: Clock, notices: FetchNotices, *, is_committed_only: bool) -> None:
        """Begin with nothing seen; reports go to `notices`."""
        self._clock = clock
        self._notices = notices
        self._is_committed_only = is_committed_only
        self._marks: dict[PartitionKey, _Mark] = {}
        self._asked_ns: dict[int, int] = {}
        self._looked_ns = clock.monotonic_ns()

    def explain(self, key: PartitionKey, reason: str | None) -> None:
        """Keep why an answer had no record of a partition; None if others' filled it."""
        mark = self._marks.get(key)
        if mark is not None:
            mark.reason = reason

    def asked(self, node_id: int) -> None:
        """Record that a Fetch was sent."""
        self._asked_ns[node_id] = self._clock.monotonic_ns()

    def answered(self, node_id: int) -> None:
        """Record that it was answered, or failed."""
        self._asked_ns.pop(node_id, None)

    def forget(self, key: PartitionKey) -> None:
        """Forget a partition that is read no more."""
        self._marks.pop(key, None)

    def look(self, positions: Iterable[FetchPosition]) -> None:
        """Report what makes no progress, if it is time to look."""
        now_ns = self._clock.monotonic_ns()
        gap_ns = now_ns - self._looked_ns
        if gap_ns < _LOOK_NS:
            return
        self._looked_ns = now_ns
        if gap_ns > _PAUSE_NS:
            self._postpone(gap_ns)
        overdue: dict[tuple[int, str], list[FetchPosition]] = defaultdict(list)
        for position in positions:
            mark = self._marked(position, now_ns)
            if not mark.is_reported and self._is_in_trouble(position):
                mark.due_ns = mark.since_ns + AGAIN_NS  # the reason was reported already
            if now_ns >= mark.due_ns and (reason := self._reason(position, mark, now_ns)):
                mark.due_ns, mark.is_reported = now_ns + AGAIN_NS, True
                seconds = (now_ns - mark.since_ns) // NS_PER_S
                overdue[seconds, reason].append(position)
        for (seconds, reason), stalled in overdue.items():
            self._report(seconds, reason, stalled)

    def _is_in_trouble(self, position: FetchPosition) -> bool:
        """Return whether a trouble of a partition, or of its broker, was reported."""
        notices, node_id = self._notices, position.node_id
        is_of_broker = node_id is not None and notices.is_in_trouble(node_id)
        return is_of_broker or notices.is_in_trouble(position.key)

    def _postpone(self, gap_ns: int) -> None:
        """Leave out the time in which the reader did not poll."""
        for mark in self._marks.values():
            mark.since_ns += gap_ns
            mark.due_ns += gap_ns
        for node_id in self._asked_ns:
            self._asked_ns[node_id] += gap_ns

    def _marked(self, position: FetchPosition, now_ns: int) -> _Mark:
        """Return the mark of a position, a new one if it has moved or has nothing to wait for."""
        mark = self._marks.get(position.key)
        if mark is not None and mark.offset == position.offset and not self._is_idle(position):
            return mark
        if mark is not None and mark.is_reported:
            self._notices.add(NoticeKind.RECOVERED, "read again", position.key)
        reason = _UNHEARD if mark is None else mark.reason
        mark = _Mark(position.offset, now_ns, now_ns + PATIENCE_NS, reason=reason)
        self._marks[position.key] = mark
        return mark

    def _is_idle(self, position: FetchPosition) -> bool:
        """Return whether there is nothing to be read, or only behind an open transaction."""
        if position.is_done:
            return True
        end = position.end(is_committed_only=self._is_committed_only)
        has_answered = position.high_watermark >= 0
        return has_answered and end <= position.offset and not self._is_overdue(position.node_id)

    def _is_overdue(self, node_id: int | None) -> bool:
        """Return whether a broker has left a Fetch unanswered for too long."""
        asked_ns = None if node_id is None else self._asked_ns.get(node_id)
        return asked_ns is not None and self._looked_ns - asked_ns >= PATIENCE_NS

    def _reason(self, position: FetchPosition, mark: _Mark, now_ns: int) -> str | None:
        """Return why a partition makes no progress; None if that may still be in order."""
        if self._is_overdue(position.node_id):
            return f"broker {position.node_id} does not answer the Fetch"
        if mark.reason is None and now_ns - mark.since_ns < AGAIN_NS:
            return None
        return mark.reason or "the answers are full of other partitions"

    def _report(self, seconds: int, reason: str, stalled: list[FetchPosition]) -> None:
        ends = [position.end(is_committed_only=self._is_committed_only) for position in stalled]
        ahead = sum(
            max(end - position.offset, 0) for end, position in zip(ends, stalled, strict=True)
        )
        distance = f", {ahead} offsets before the end" if ahead else ""
        text = f"nothing read for {seconds} s{distance}: {reason}"
        for position in stalled:
            self._notices.add(NoticeKind.STALLED, text, position.key, position.offset)
