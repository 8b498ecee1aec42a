"""Brokers that answered no client for a while, though several asked.

    answers of broker b    | | || |                            | || |
    requests to it             a  b a    c                    a b
                                  <---- silent, 13 s ---->

A process that hangs, or is paused, answers no client and keeps its connections open: the kernel
acknowledges for it. A broker that is gone refuses or resets them. Only requests that a broker
serves at once prove a silence; clients that wait for records are named beside them.
"""

from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

from kdiag.clock import NS_PER_S
from kdiag.diagnosis.traffic.answering import SERVED_AT_ONCE
from kdiag.diagnosis.traffic.ledgers import Case, Ledgers, client_of, counted, findings_of
from kdiag.exchange.documents.document import Clockface
from kdiag.exchange.model import Exchange, UnansweredReason, measured_latencies_ns
from kdiag.exchange.summary.counts import Again, AgainOn
from kdiag.findings.finding import Finding

LEAST_SILENT_NS: Final = 3 * NS_PER_S
"""Shorter pauses are those of garbage collections and of disks."""

_LATE_NS: Final = NS_PER_S
_BUCKET_NS: Final = NS_PER_S // 4
_MOST_BUCKETS: Final = 200_000
_MOST_WAITS: Final = 10_000
_LEAST_CLIENTS: Final = 2
_MOST_NAMES: Final = 5
_OF_DAY_MS: Final = slice(11, 23)
_GONE: Final = frozenset({UnansweredReason.BROKER_CLOSED, UnansweredReason.BROKER_RESET})
_UNKNOWN: Final = frozenset({UnansweredReason.ANSWER_NOT_CAPTURED})
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

    Attributes:
        waits: requests that waited long or in vain.
        is_full: whether there was no room for more of its time.
    """

    __slots__ = ("_answers", "is_full", "waits")

    def __init__(self) -> None:
        self.waits: list[Wait] = []
        self.is_full = False
        self._answers: dict[int, tuple[int, int]] = {}

    def answered(self, times_ns: Sequence[int]) -> None:
        """Note answers of one connection, of those that came close together the ends."""
        first_ns, last_ns = min(times_ns), max(times_ns)
        close = last_ns - first_ns < LEAST_SILENT_NS // 2
        for time_ns in (first_ns, last_ns) if close else times_ns:
            bucket = time_ns // _BUCKET_NS
            known = self._answers.get(bucket)
            if known is not None:
                self._answers[bucket] = min(known[0], time_ns), max(known[1], time_ns)
            elif len(self._answers) < _MOST_BUCKETS:
                self._answers[bucket] = time_ns, time_ns
            else:
                self.is_full = True

    def silences(self, until_ns: int) -> Iterator[tuple[int, int]]:
        """Yield from when to when no answer came, up to the end of the capture."""
        ends = [self._answers[bucket] for bucket in sorted(self._answers)]
        if self.is_full or not ends:
            return
        for (_, last_ns), (first_ns, _) in zip(ends, [*ends[1:], (until_ns, 0)], strict=True):
            if first_ns - last_ns >= LEAST_SILENT_NS:
                yield last_ns, first_ns


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
            if reason not in {None, *_UNKNOWN}:
                _note(times, exchange, is_gone=reason in _GONE)
            return None
        return counted(self._again_on, exchange)

    def _again_on(self, exchange: Exchange) -> Again | None:
        times = self.brokers.of(exchange.connection.broker)
        if times is None:
            return None

        def again(exchanges: Sequence[Exchange]) -> None:
            times.answered([each.response.last_byte_ns for each in exchanges if each.response])
            if max(measured_latencies_ns(exchanges), default=0) >= _LATE_NS:
                for each in exchanges:
                    if (each.latency_ns or 0) >= _LATE_NS:
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
    first, last = clock.text(first_ns), clock.text(last_ns)
    more = f" and {len(clients) - _MOST_NAMES} more" if len(clients) > _MOST_NAMES else ""
    return {
        "broker": broker,
        "first": first[_OF_DAY_MS],
        "last": last[_OF_DAY_MS],
        "first_time": first,
        "last_time": last,
        "clients": ", ".join(clients[:_MOST_NAMES]) + more,
        "requests": len(asked),
        "exchange": min(asked).exchange,
    }
