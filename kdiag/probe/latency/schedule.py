"""Runs a load on an open-loop schedule: requests are due at fixed times, whatever the answers do.

    connect(client, load.connections, until_ns)
    run(client, ScheduledRun(load, schedule, keep, is_over))
    drain(client, is_done, until_ns, keep)

A schedule that waited for answers would send less while a broker is slow, and hide the slowness
(coordinated omission). Requests leave within a fraction of a millisecond of their time.
"""

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from kdiag.client.cluster_client import ClusterClient
from kdiag.clock import NS_PER_MS, NS_PER_US
from kdiag.probe.latency.connection import OwnConnection
from kdiag.probe.latency.load import ScheduledLoad

_COARSE_NS: Final = 1_200 * NS_PER_US
"""How late the system's wait may end; the last part of a wait polls without waiting."""
_LONGEST_WAIT_NS: Final = 100 * NS_PER_MS


class Due(NamedTuple):
    """A request that is due.

    Attributes:
        due_ns: when it should be sent.
        kind: its kind, from 0; kinds take turns.
    """

    due_ns: int
    kind: int


class OpenLoopSchedule:
    """The times at which requests are due.

    Attributes:
        end_ns: nothing is due from then on.
    """

    def __init__(self, start_ns: int, interval_ns: int, end_ns: int, kinds: int) -> None:
        """Make a schedule.

        Args:
            start_ns: when the first request is due.
            interval_ns: between one request and the next, of any kind; at least 1.
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

    def pop_due(self, now_ns: int) -> list[Due]:
        """Return, once, the requests that are due by now."""
        due = []
        while (due_ns := self.next_ns) is not None and due_ns <= now_ns:
            turn, position = divmod(self._number, self._kinds)
            due.append(Due(due_ns, (position + turn) % self._kinds))
            self._number += 1
        return due


class ScheduledRun(NamedTuple):
    """A load and its schedule.

    Attributes:
        load: sends the requests.
        schedule: when they are due, since 1970.
        keep: is called again and again, for work beside the load.
        is_over: returns whether to end before the schedule does.
    """

    load: ScheduledLoad
    schedule: OpenLoopSchedule
    keep: Callable[[], None]
    is_over: Callable[[], bool]


def run(client: ClusterClient, scheduled: ScheduledRun) -> None:
    """Send everything that is due until the schedule ends; answers may still be outstanding.

    Args:
        client: of the load's connections; its clock's two readings keep their distance.
        scheduled: the load and its schedule.
    """
    clock, schedule = client.clock, scheduled.schedule
    while not scheduled.is_over():
        for due in schedule.pop_due(clock.epoch_ns()):
            if scheduled.is_over():  # many are due at once after this machine was busy
                return
            scheduled.load.send(due.kind, due.due_ns)
        scheduled.keep()
        next_ns = schedule.next_ns
        until_ns = schedule.end_ns if next_ns is None else next_ns
        left_ns = until_ns - clock.epoch_ns()
        if next_ns is None and left_ns <= 0:
            return
        wait_ns = min(max(0, left_ns - _COARSE_NS), _LONGEST_WAIT_NS)
        client.client.poll(clock.monotonic_ns() + wait_ns)


def connect(client: ClusterClient, connections: Sequence[OwnConnection], until_ns: int) -> None:
    """Connect, so that the first requests do not wait for it.

    Args:
        client: of the connections.
        connections: of those that fail, the requests report the error.
        until_ns: when to give up, on the monotonic clock.
    """
    for each in connections:
        each.connect()
    client.client.await_condition(lambda: all(each.is_settled for each in connections), until_ns)


def drain(
    client: ClusterClient, is_done: Callable[[], bool], until_ns: int, keep: Callable[[], None]
) -> bool:
    """Wait for outstanding answers; the slowest count most.

    Args:
        client: of the connections.
        is_done: returns whether nothing is outstanding.
        until_ns: when to give up, on the monotonic clock.
        keep: is called again and again, for work beside the load.

    Returns:
        whether all answers came.
    """
    while not is_done():
        now_ns = client.clock.monotonic_ns()
        if now_ns >= until_ns:
            return False
        keep()
        client.client.poll(min(until_ns, now_ns + _LONGEST_WAIT_NS), is_done)
    return True
