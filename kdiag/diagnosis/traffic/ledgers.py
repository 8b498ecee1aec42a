"""Ledgers by who they are about, within bounds; and cases of a problem told as one finding.

ledgers = Ledgers(ProducerLedger)
ledgers.of(("10.0.0.5", "app"))      the ledger of that client, made if it is new
ledgers.left_out                     how often there was no room for a new one
"""

from collections.abc import Callable, Hashable, Iterator, Sequence
from functools import lru_cache
from typing import Any, Final, Generic, NamedTuple, TypeVar

import msgspec

from kdiag.exchange.model import Exchange, measured_latencies_ns
from kdiag.exchange.summary.counts import AgainOn
from kdiag.findings.finding import Finding, found

MAX_LEDGERS: Final = 10_000
"""How many are kept of a kind; a capture of a busy cluster has some hundred clients."""

_MOST_NAMES: Final = 5

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class Asker(NamedTuple):
    """A client: where it is, and what it calls itself.

    Attributes:
        host: its address without the port.
        client_id: of its request headers; None without one.
    """

    host: str
    client_id: str | None

    def __str__(self) -> str:
        return f"{self.client_id or 'a client'} ({self.host})"


def client_of(exchange: Exchange) -> Asker:
    """Return the client of an exchange."""
    return _asker(exchange.connection.client.rpartition(":")[0], exchange.client_id)


@lru_cache(MAX_LEDGERS)
def _asker(host: str, client_id: str | None) -> Asker:
    return Asker(host.strip("[]"), client_id)


class Ledgers(Generic[K, V]):
    """A ledger for each key.

    Attributes:
        left_out: how often there was no room for a new one.
    """

    def __init__(self, make: Callable[[], V]) -> None:
        self.left_out = 0
        self._make = make
        self._by_key: dict[K, V] = {}

    def of(self, key: K) -> V | None:
        """Return the ledger of a key; None if there is no room for a new one."""
        ledger = self._by_key.get(key)
        if ledger is None:
            if len(self._by_key) >= MAX_LEDGERS:
                self.left_out += 1
                return None
            ledger = self._by_key[key] = self._make()
        return ledger

    def put(self, key: K, ledger: V) -> None:
        """Put a ledger that was counted elsewhere, unless there is no room for it."""
        if len(self._by_key) < MAX_LEDGERS:
            self._by_key[key] = ledger
        else:
            self.left_out += 1

    def items(self) -> Iterator[tuple[K, V]]:
        """Yield the keys with their ledgers."""
        yield from self._by_key.items()


class AnsweredBatch(list[Exchange]):
    """Answered exchanges of one kind, with the times that several look at, computed once."""

    __slots__ = ("_latencies_ns", "_times_ns")

    def __init__(self, exchanges: Sequence[Exchange]) -> None:
        super().__init__(exchanges)
        self._times_ns: list[int] | None = None
        self._latencies_ns: list[int] | None = None

    @property
    def times_ns(self) -> list[int]:
        """When the answers came, in ascending order."""
        if self._times_ns is None:
            self._times_ns = sorted([each.response.last_byte_ns for each in self if each.response])
        return self._times_ns

    @property
    def latencies_ns(self) -> list[int]:
        """Those that could be measured."""
        if self._latencies_ns is None:
            self._latencies_ns = measured_latencies_ns(self)
        return self._latencies_ns

    @property
    def longest_ns(self) -> int:
        """The longest latency; 0 if none was measured."""
        return max(self.latencies_ns, default=0)


def answers_of(exchanges: Sequence[Exchange]) -> AnsweredBatch:
    """Return exchanges with their times, which are kept where there are some."""
    return exchanges if isinstance(exchanges, AnsweredBatch) else AnsweredBatch(exchanges)


def counted(again_on: AgainOn, exchange: Exchange) -> AgainOn:
    """Count an exchange as those like it are counted; return who counts these."""
    again = again_on(exchange)
    if again is not None:
        again(AnsweredBatch([exchange]))
    return again_on


class Case(NamedTuple):
    """A problem of one subject.

    Attributes:
        badness: the larger, the worse; cases are compared by it.
        subject: whose it is, such as a client.
        evidence: for the rule.
    """

    badness: float
    subject: str
    evidence: dict[str, Any]


def findings_of(rule_id: str, cases: Sequence[Case]) -> Iterator[Finding]:
    """Yield one finding for all cases of a problem: the worst, with how many there are.

    Its evidence has `subjects`, how many there are, and `others`, the next worst of them.
    """
    if not cases:
        return
    worst, *others = sorted(cases, key=lambda case: (-case.badness, case.subject))
    evidence = worst.evidence | {
        "subjects": len(cases),
        "others": [case.subject for case in others[:_MOST_NAMES]],
    }
    finding = found(rule_id, **evidence)
    if others:
        more = f"{finding.title} (the worst of {len(cases):,})"
        finding = msgspec.structs.replace(finding, title=more)
    yield finding
