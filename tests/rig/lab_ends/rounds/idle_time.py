"""Time that passes while nobody does anything: waits of seconds take milliseconds.

    clock = NotedClock(SystemClock().epoch_ns())
    with LabCluster(settings, clock) as lab, IdleTime(clock, lambda: lab.nodes) as time:
        time.watch(client)
        client.wait(30 * NS_PER_S)      # is over at once

The brokers of the lab have their threads, and so have members. All of them are woken whenever time
has passed, and it goes on once they know: who works on something holds it up. As long as bytes
cross the wire, it goes on in small steps; when none do, each step is twice as long.
"""

from collections.abc import Callable
from threading import Condition, Event, Thread, get_ident
from threading import enumerate as running_threads
from time import monotonic
from typing import Final, Self

from kdiag.client.cluster_client import ClusterClient
from kdiag.clock import NS_PER_MS, ManualClock
from kdiag.lab.broker.broker_server import BrokerServer

Nodes = Callable[[], list[BrokerServer]]

_FIRST_NS: Final = 2 * NS_PER_MS
_LONGEST_NS: Final = 512 * NS_PER_MS
_GRACE_S: Final = {"broker-": 0.5, "kdiag-heartbeat-": 0.01}
"""How long a thread may take to notice that time has passed, by the beginning of its name."""
_TICK_S: Final = 0.001


class NotedClock(ManualClock):
    """A clock that stands still until it is told to advance, and knows who has read it since."""

    def __init__(self, epoch_ns: int) -> None:
        super().__init__(epoch_ns)
        self._readers: set[int] = set()
        self._has_news = Condition()

    def advance(self, ns: int) -> None:
        """Move both readings forward."""
        super().advance(ns)
        with self._has_news:
            self._readers.clear()

    def monotonic_ns(self) -> int:
        """Return the nanoseconds advanced so far."""
        ident = get_ident()
        if ident not in self._readers:
            with self._has_news:
                self._readers.add(ident)
                self._has_news.notify_all()
        return super().monotonic_ns()

    def is_read_by(self, idents: set[int], timeout_s: float) -> bool:
        """Wait until threads have read it since it was advanced; return whether they have."""
        with self._has_news:
            return self._has_news.wait_for(lambda: idents <= self._readers, timeout_s)


class IdleTime:
    """Moves a clock on, in a thread of its own, while a `with` block lasts."""

    def __init__(self, clock: NotedClock, nodes: Nodes) -> None:
        """Let time stand still before the block.

        Args:
            clock: nobody else advances it.
            nodes: returns the brokers that run by it.
        """
        self._nodes = nodes
        self._clock = clock
        self._clients: list[ClusterClient] = []
        self._slow: set[int] = set()
        self._is_over = Event()
        self._thread = Thread(target=self._run, name="idle-time", daemon=True)
        self._user = 0

    def __enter__(self) -> Self:
        """Let time pass."""
        self._user = get_ident()
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop it."""
        self._is_over.set()
        self._thread.join()

    def watch(self, client: ClusterClient) -> None:
        """Have a client learn how late it is, though it waits."""
        self._clients.append(client)

    def forget(self, client: ClusterClient) -> None:
        """Forget a client that is closed."""
        self._clients.remove(client)

    def _run(self) -> None:
        step_ns, seen = _FIRST_NS, -1
        while not self._is_over.is_set():
            self._clock.advance(step_ns)
            for node in self._nodes():
                node.processor.selector.wakeup()
            for client in [*self._clients]:
                client.network.wakeup()
            self._await_readers()
            traffic = self._traffic()
            step_ns = _FIRST_NS if traffic != seen else min(2 * step_ns, _LONGEST_NS)
            seen = traffic

    def _await_readers(self) -> None:
        """Wait until everybody knows how late it is, except for those who do not look."""
        awaited = {self._user: _GRACE_S["broker-"]}
        for each in running_threads():
            for beginning, grace_s in _GRACE_S.items():
                if each.name.startswith(beginning) and each.ident is not None:
                    awaited[each.ident] = grace_s
        began_s = monotonic()
        for ident, grace_s in sorted(awaited.items(), key=lambda each: each[1]):
            left_s = 0 if ident in self._slow else grace_s - (monotonic() - began_s)
            if self._clock.is_read_by({ident}, max(0, left_s)):
                self._slow.discard(ident)
            else:
                self._slow.add(ident)
        self._is_over.wait(_TICK_S)  # who does not read the clock, as listeners, has a turn, too

    def _traffic(self) -> int:
        """Return how much has crossed the wire, and how often a connection came or went."""
        metrics = [each.processor.selector.metrics for each in self._nodes()]
        return sum(
            each.bytes_sent
            + each.bytes_received
            + each.connections_created
            + each.connections_closed
            for each in metrics
        )
