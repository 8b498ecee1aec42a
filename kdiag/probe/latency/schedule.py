"""Runs a load on its schedule, to the fraction of a millisecond, whatever became of answers."""

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from kdiag.client.cluster_client import ClusterClient
from kdiag.probe.latency.connection import OwnConnection
from kdiag.probe.latency.load import Load


class Due(NamedTuple):
    """A request that shall be sent.

    Attributes:
        due_ns: when it should be sent.
        kind: which of the kinds that take turns, from 0.
    """

    due_ns: int
    kind: int


class OpenLoopSchedule:
    """When each request is due.

    Attributes:
        end_ns: nothing is due from then on.
    """

    def __init__(self, start_ns: int, interval_ns: int, end_ns: int, kinds: int) -> None:
        """Make a schedule.

        Args:
            start_ns: when the first request is due.
            interval_ns: between one request and the next, of whichever kind; at least 1.
            end_ns: nothing is due from then on.
            kinds: how many kinds of requests take turns; with 0 nothing is ever due.
        """
        self.end_ns = end_ns
        self._start_ns = start_ns
        self._interval_ns = interval_ns
        self._kinds = kinds
        self._number = 0

    @property
    def next_ns(self) -> int | None:
        """Return when the next request is due; None when there are no more."""
        due_ns = self._start_ns + self._number * self._interval_ns
        return due_ns if self._kinds and due_ns < self.end_ns else None

    def take(self, now_ns: int) -> list[Due]:
        """Return, once, the requests that are due by now."""
        taken = []
        while (due_ns := self.next_ns) is not None and due_ns <= now_ns:
            turn, place = divmod(self._number, self._kinds)
            taken.append(Due(due_ns, (place + turn) % self._kinds))
            self._number += 1
        return taken


_MS: Final = 1_000_000
_COARSE_NS: Final = 1_200_000
"""The system's wait may end so much too late; what is left of it is spent asking again."""
_LONGEST_WAIT_NS: Final = 100 * _MS


class Run(NamedTuple):
    """What a run does.

    Attributes:
        load: the requests.
        schedule: when they are due, since 1970.
        keep: is called again and again, for what goes on beside the load.
        is_over: returns whether to end before the schedule does.
    """

    load: Load
    schedule: OpenLoopSchedule
    keep: Callable[[], None]
    is_over: Callable[[], bool]


def run(client: ClusterClient, doing: Run) -> None:
    """Send everything that is due until the schedule ends; answers may still be on their way.

    Args:
        client: of the load's connections; its clock's two readings keep their distance.
        doing: what to do.
    """
    clock, schedule = client.clock, doing.schedule
    while not doing.is_over():
        for due in schedule.take(clock.epoch_ns()):
            if doing.is_over():  # many may be due at once, after this machine was busy
                return
            doing.load.send(due.kind, due.due_ns)
        doing.keep()
        next_ns = schedule.next_ns
        until_ns = schedule.end_ns if next_ns is None else next_ns
        left_ns = until_ns - clock.epoch_ns()
        if next_ns is None and left_ns <= 0:
            return
        wait_ns = min(max(0, left_ns - _COARSE_NS), _LONGEST_WAIT_NS)
        client.client.poll(clock.monotonic_ns() + wait_ns)


def connect(client: ClusterClient, connections: Sequence[OwnConnection], until_ns: int) -> None:
    """Make connections, so that the first requests do not wait for them.

    Args:
        client: of the connections.
        connections: those that cannot be made are left to their requests.
        until_ns: when to give up, on the monotonic clock.
    """
    for each in connections:
        each.connect()
    client.client.await_condition(lambda: all(each.is_settled for each in connections), until_ns)


def drain(
    client: ClusterClient, is_done: Callable[[], bool], until_ns: int, keep: Callable[[], None]
) -> bool:
    """Wait for what is on its way; the slowest answers count most.

    Args:
        client: of the connections.
        is_done: returns whether nothing is awaited any more.
        until_ns: when to give up, on the monotonic clock.
        keep: is called again and again, for what goes on meanwhile.

    Returns:
        whether everything came.
    """
    while not is_done():
        now_ns = client.clock.monotonic_ns()
        if now_ns >= until_ns:
            return False
        keep()
        client.client.poll(min(until_ns, now_ns + _LONGEST_WAIT_NS), is_done)
    return True
