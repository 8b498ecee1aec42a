"""Brokers that answered no client for a while, though several asked.

    answers of broker b    | | || |                            | || |
    requests to it             a  b a    c                    a b
                                  <---- silent, 13 s ---->

A process that hangs, or is paused, answers no client and keeps its connections open: the kernel
acknowledges for it. A broker that is gone refuses or resets them. Only requests that a broker
serves at once prove a silence; clients that wait for records are named beside them.
"""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, Final, NamedTuple

from kdiag.clock import NS_PER_S
from kdiag.diagnosis.check.report import listed
from kdiag.diagnosis.traffic.answering import SERVED_AT_ONCE
from kdiag.diagnosis.traffic.ledgers import (
    Case,
    Ledgers,
    answers_of,
    client_of,
    counted,
    findings_of,
)
from kdiag.exchange.documents.document import Clockface
from kdiag.exchange.line.shown_time import time_of_day, zone_label
from kdiag.exchange.model import Exchange, UnansweredReason
from kdiag.exchange.summary.counts import Again, AgainOn
from kdiag.findings.finding import Finding

LEAST_SILENT_NS: Final = 3 * NS_PER_S
"""Shorter pauses are those of garbage collections and of disks."""

LATE_NS: Final = NS_PER_S
_BUCKET_NS: Final = NS_PER_S // 4
_MOST_BUCKETS: Final = 120
_KEPT_BUCKETS: Final = 60
_MOST_PAUSES: Final = 1_000
_MOST_WAITS: Final = 10_000
_LEAST_CLIENTS: Final = 2
GONE: Final = frozenset({UnansweredReason.BROKER_CLOSED, UnansweredReason.BROKER_RESET})
UNKNOWN: Final = frozenset(
    {UnansweredReason.ANSWER_NOT_CAPTURED, UnansweredReason.ANSWER_NOT_UNDERSTOOD}
)
"""What may have been answered."""


class Wait(NamedTuple):
    """A request that waited long, or in vain.

    Attributes:
        asked_ns: when it was sent.
        is_proof: whether brokers serve such requests at once.
        client: who sent it.
        is_gone: whether the broker ended its connection.
        exchange: its number.
    """

    asked_ns: int
    is_proof: bool
    client: str
    is_gone: bool
    exchange: int


class BrokerTimes:
    """When a broker answered, and which requests waited.

    Of the latest answers each quarter of a second is kept, of all before only the pauses between
    them. An answer of before that comes late cuts the pause that it is in.

    Attributes:
        waits: requests that waited long or in vain.
    """

    __slots__ = ("_answers", "_first_ns", "_known_until_ns", "_pauses", "waits")

    def __init__(self) -> None:
        self.waits: list[Wait] = []
        self._answers: dict[int, tuple[int, int]] = {}
        self._first_ns = 0
        self._known_until_ns = 0
        self._pauses: list[tuple[int, int]] = []

    def restore(self, waits: Sequence[Wait], pauses: Sequence[tuple[int, int]]) -> None:
        """Take over requests that waited, and pauses up to the end, that were found elsewhere."""
        self.waits = [*waits[:_MOST_WAITS]]
        self._pauses = [*pauses[:_MOST_PAUSES]]

    def answered(self, times_ns: Sequence[int]) -> None:
        """Note answers of one connection, of those that came close together the ends.

        Args:
            times_ns: when they came, in ascending order.
        """
        if not times_ns:
            return
        if not 0 < self._first_ns <= times_ns[0]:
            self._first_ns = times_ns[0]
        start = 0
        while start < len(times_ns):
            bucket = times_ns[start] // _BUCKET_NS
            stop = bisect_left(times_ns, (bucket + 1) * _BUCKET_NS, start)
            self._add_ends(bucket, times_ns[start], times_ns[stop - 1])
            start = stop
        if len(self._answers) > _MOST_BUCKETS:
            self._forget()

    def _add_ends(self, bucket: int, first_ns: int, last_ns: int) -> None:
        """Note the first and the last of some answers in one quarter of a second."""
        if first_ns < self._known_until_ns:
            for time_ns in (first_ns, last_ns):
                self._pauses = [part for each in self._pauses for part in _cut(each, time_ns)]
            return
        known = self._answers.get(bucket)
        if known is None:
            self._answers[bucket] = first_ns, last_ns
        elif first_ns < known[0] or last_ns > known[1]:
            self._answers[bucket] = min(known[0], first_ns), max(known[1], last_ns)

    def _forget(self) -> None:
        """Keep of all but the latest answers the pauses between them."""
        buckets = sorted(self._answers)
        older = [self._answers.pop(each) for each in buckets[:-_KEPT_BUCKETS]]
        older.append(self._answers[buckets[-_KEPT_BUCKETS]])
        self._pauses = [*self._pauses, *_pauses(older)][-_MOST_PAUSES:]
        self._known_until_ns = older[-1][0]

    def silences(self, until_ns: int) -> list[tuple[int, int]]:
        """Return from when to when no answer came, up to the end of the capture."""
        ends = [self._answers[bucket] for bucket in sorted(self._answers)]
        return [*self._pauses, *_pauses([*ends, (until_ns, 0)] if ends else [])]

    def has_answered(self, first_ns: int, last_ns: int) -> bool:
        """Return whether an answer came between two times; of long ago only by the pauses."""
        if any(first_ns < each < last_ns for ends in self._answers.values() for each in ends):
            return True
        last_ns = min(last_ns, self._known_until_ns)
        is_paused = any(start <= first_ns and last_ns <= end for start, end in self._pauses)
        return max(first_ns, self._first_ns) < last_ns and not is_paused


def _pauses(answers: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    return [
        (before_ns, after_ns)
        for (_, before_ns), (after_ns, _) in pairwise(answers)
        if after_ns - before_ns >= LEAST_SILENT_NS
    ]


def _cut(pause: tuple[int, int], time_ns: int) -> list[tuple[int, int]]:
    """Return what is left of a pause where an answer came in it."""
    first_ns, last_ns = pause
    if not first_ns < time_ns < last_ns:
        return [pause]
    return _pauses([(first_ns, first_ns), (time_ns, time_ns), (last_ns, last_ns)])


class Silence:
    """Looks at when each broker answers.

    Attributes:
        brokers: the times of each, by its address.
    """

    def __init__(self) -> None:
        self.brokers: Ledgers[str, BrokerTimes] = Ledgers(BrokerTimes)
        self._last_ns = 0

    @property
    def left_out(self) -> int:
        """Return how often there was no room for a broker."""
        return self.brokers.left_out

    def add(self, exchange: Exchange) -> AgainOn | None:
        """Add an exchange; return who adds those like it."""
        self._last_ns = max(self._last_ns, exchange.time_ns, exchange.connection.last_ns)
        times = self.brokers.of(exchange.connection.broker)
        if times is None or exchange.request is None:
            return None
        if exchange.response is None:
            reason = exchange.unanswered_reason
            if reason not in {None, *UNKNOWN}:
                _note(times, exchange, is_gone=reason in GONE)
            return None
        return counted(self._again_on, exchange)

    def _again_on(self, exchange: Exchange) -> Again | None:
        times = self.brokers.of(exchange.connection.broker)
        if times is None:
            return None

        def again(exchanges: Sequence[Exchange]) -> None:
            answers = answers_of(exchanges)
            times.answered(answers.times_ns)
            if answers.longest_ns >= LATE_NS:
                for each in exchanges:
                    if (each.latency_ns or 0) >= LATE_NS:
                        _note(times, each, is_gone=False)

        return again

    def findings(self) -> Iterator[Finding]:
        """Yield the brokers that were silent, the longest first."""
        cases = []
        for broker, times in self.brokers.items():
            for first_ns, last_ns in times.silences(self._last_ns):
                asked = [each for each in times.waits if first_ns < each.asked_ns < last_ns]
                proofs = [each for each in asked if each.is_proof]
                waited_ns = last_ns - min((each.asked_ns for each in proofs), default=last_ns)
                is_gone = any(each.is_gone for each in asked)
                has_clients = len({each.client for each in proofs}) >= _LEAST_CLIENTS
                if not has_clients or waited_ns < LEAST_SILENT_NS or is_gone:
                    continue
                evidence = _evidence(broker, first_ns, last_ns, asked)
                cases.append(Case(last_ns - first_ns, broker, evidence))
        yield from findings_of("KD4402", cases)


def _note(times: BrokerTimes, exchange: Exchange, *, is_gone: bool) -> None:
    if len(times.waits) < _MOST_WAITS:
        client = client_of(exchange)
        name = client.client_id or client.host
        is_proof = exchange.api_key in SERVED_AT_ONCE
        times.waits.append(Wait(exchange.time_ns, is_proof, name, is_gone, exchange.number))


def _evidence(broker: str, first_ns: int, last_ns: int, asked: Sequence[Wait]) -> dict[str, Any]:
    clock = Clockface()
    clients = list(dict.fromkeys(each.client for each in sorted(asked)))
    return {
        "broker": broker,
        "first": time_of_day(first_ns),
        "last": time_of_day(last_ns),
        "zone": zone_label(last_ns),
        "first_time": clock.text(first_ns),
        "last_time": clock.text(last_ns),
        "clients": listed(clients),
        "requests": len(asked),
        "exchange": min(asked).exchange,
    }
