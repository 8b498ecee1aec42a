"""Brokers that answer late, whoever asks.

    broker b    client 1    half of the answers take more than 268 ms, the quickest 3 ms
                client 2    half of them more than 134 ms
    broker c    client 1    half of them more than 1 ms

So b is slow. It is not if one client alone waits, if the quickest answer takes about as long (then
it is far away), or if the others are as slow as it is at the same time, where there are others.

Where few answers were seen, ranks decide: a broker is slow if its answers to some clients come
after nearly all that the same clients get from other brokers, by more than chance.

Only requests count that brokers serve at once. A broker serves one request of a connection at a
time; so nothing counts on connections with a fetch or a join, which may wait on purpose.
"""

from collections import Counter
from collections.abc import Container, Iterator, Sequence
from typing import Final

from kdiag.clock import NS_PER_MS, NS_PER_S
from kdiag.diagnosis.latency.ranks import LatencySample, is_slow, median, slow_evidence
from kdiag.diagnosis.traffic.ledgers import (
    Asker,
    Case,
    Ledgers,
    answers_of,
    client_of,
    counted,
    findings_of,
)
from kdiag.exchange.model import Exchange, UnansweredReason
from kdiag.exchange.summary.counts import Again, AgainOn
from kdiag.findings.finding import Finding
from kdiag.wire import api_keys

SERVED_AT_ONCE: Final = frozenset(
    {
        api_keys.PRODUCE,
        api_keys.LIST_OFFSETS,
        api_keys.METADATA,
        api_keys.OFFSET_COMMIT,
        api_keys.OFFSET_FETCH,
        api_keys.FIND_COORDINATOR,
        api_keys.HEARTBEAT,
        api_keys.CONSUMER_GROUP_HEARTBEAT,
    }
)
MAY_WAIT: Final = frozenset(
    {api_keys.FETCH, api_keys.SHARE_FETCH, api_keys.JOIN_GROUP, api_keys.SYNC_GROUP}
)

_LEAST_ANSWERS: Final = 20
_LEAST_CLIENTS: Final = 2
_LATE_BITS: Final = 28  # a latency with so many digits is 134 ms or more
_NEAR_BITS: Final = 2  # so many digits fewer is a quarter
_MOST_WAITING: Final = 100_000
_MOST_BITS: Final = 64
_LONG_WAIT_NS: Final = NS_PER_S
_STILL_WAITS: Final = frozenset({UnansweredReason.IN_FLIGHT, UnansweredReason.CLIENT_CLOSED})
"""Requests that a broker may answer yet, or would have."""


class AnswerLedger:
    """The answers of a broker to a client, by how many binary digits their latency has.

    Attributes:
        by_bits: how many have so many digits.
        sample: some of the latencies.
    """

    __slots__ = ("by_bits", "sample")

    def __init__(self) -> None:
        self.by_bits = [0] * (_MOST_BITS + 1)
        self.sample = LatencySample()

    def add(self, latencies_ns: Sequence[int]) -> None:
        """Add answers."""
        for bits, count in Counter(map(int.bit_length, latencies_ns)).items():
            self.by_bits[min(bits, _MOST_BITS)] += count
        self.sample.add(latencies_ns)

    @property
    def answers(self) -> int:
        """Return how many there are."""
        return sum(self.by_bits)

    @property
    def least_bits(self) -> int:
        """Return how many digits the quickest has."""
        return next(bits for bits, count in enumerate(self.by_bits) if count)

    @property
    def median_bits(self) -> int:
        """Return how many digits half of the latencies have at least."""
        below = 0
        for bits, count in enumerate(self.by_bits):
            below += count
            if below * 2 >= self.answers:
                return bits
        return 0


class Answering:
    """Looks at how late answers come.

    Attributes:
        answers: of each broker to each client.
    """

    def __init__(self) -> None:
        self.answers: Ledgers[tuple[str, Asker], AnswerLedger] = Ledgers(AnswerLedger)
        self._waiting: dict[int, int] = {}
        self._last_ns = 0

    @property
    def left_out(self) -> int:
        """Return how often there was no room for a client of a broker."""
        return self.answers.left_out

    def add(self, exchange: Exchange) -> AgainOn | None:
        """Add an exchange; return who adds those like it."""
        if exchange.api_key in MAY_WAIT:
            if len(self._waiting) < _MOST_WAITING:
                self._waiting.setdefault(exchange.connection.number, exchange.number)
            return None
        self._last_ns = max(self._last_ns, exchange.time_ns, exchange.connection.last_ns)
        if exchange.api_key not in SERVED_AT_ONCE:
            return None
        if exchange.response is None:
            self._add_wait(exchange)
            return None
        return counted(self._again_on, exchange)

    def _add_wait(self, exchange: Exchange) -> None:
        """Count a request without an answer: its latency is more than the time that it waited."""
        connection, request = exchange.connection, exchange.request
        if exchange.unanswered_reason not in _STILL_WAITS or request is None:
            return
        waited_ns = (connection.closed_ns or self._last_ns) - request.last_byte_ns
        ledger = self.answers.of((connection.broker, client_of(exchange)))
        if ledger is not None and waited_ns >= _LONG_WAIT_NS:
            ledger.sample.add([waited_ns])

    def _again_on(self, exchange: Exchange) -> Again | None:
        connection, waiting = exchange.connection, self._waiting
        number = connection.number
        ledger = self.answers.of((connection.broker, client_of(exchange)))
        if ledger is None:
            return None

        def again(exchanges: Sequence[Exchange]) -> None:
            first_waiting = waiting.get(number)
            if first_waiting is not None:
                exchanges = [each for each in exchanges if each.number < first_waiting]
            if exchanges:
                ledger.add(answers_of(exchanges).latencies_ns)

        return again

    def findings(
        self, throttled: frozenset[Asker], explained: Container[str] = ()
    ) -> Iterator[Finding]:
        """Yield the brokers that answer late.

        Args:
            throttled: clients that wait for a quota, which do not count.
            explained: brokers of which another finding says why they did not answer.
        """
        brokers: dict[str, list[AnswerLedger]] = {}
        for (broker, client), of in self.answers.items():
            if broker in explained or client in throttled:
                continue
            if of.answers >= _LEAST_ANSWERS:
                brokers.setdefault(broker, []).append(of)
        medians = {
            broker: min(of.median_bits for of in all_of) for broker, all_of in brokers.items()
        }
        cases = []
        for broker, all_of in brokers.items():
            bits = medians[broker]
            others = [each for other, each in medians.items() if other != broker]
            is_near = min(of.least_bits for of in all_of) <= bits - _NEAR_BITS
            is_alone = not others or min(others) <= bits - _NEAR_BITS
            if len(all_of) >= _LEAST_CLIENTS and bits >= _LATE_BITS and is_near and is_alone:
                evidence = {
                    "broker": broker,
                    "clients": len(all_of),
                    "late_ms": (1 << bits - 1) // NS_PER_MS,
                    "answers": sum(of.answers for of in all_of),
                }
                cases.append(Case(bits, broker, evidence))
        yield from findings_of("KD4401", cases)
        few = self._few(throttled)
        late = {case.subject for case in cases}
        slow = [each for each in few if each.subject not in late and each.subject not in explained]
        yield from findings_of("KD4403", slow)

    def _few(self, throttled: frozenset[Asker]) -> Iterator[Case]:
        """Yield the brokers that are slow by rank, of which few answers may be enough."""
        samples: dict[str, dict[Asker, list[int]]] = {}
        for (broker, client), of in self.answers.items():
            if of.sample.values_ns and client not in throttled:
                samples.setdefault(broker, {})[client] = of.sample.values_ns
        for broker, by_client in samples.items():
            own = [each for sample in by_client.values() for each in sample]
            others = {
                other: [each for client in by_client for each in by_other.get(client, ())]
                for other, by_other in samples.items()
                if other != broker
            }
            rest = [each for sample in others.values() for each in sample]
            if is_slow(own, rest):
                yield Case(median(own), broker, slow_evidence(broker, own, others))
