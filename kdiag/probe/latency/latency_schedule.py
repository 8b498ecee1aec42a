"""An open-loop schedule: requests are due when they are due, however late the answers are.

A client that waits for an answer before it asks again asks less often just when the broker is slow,
and so hardly notices (coordinated omission). Here each request has its time, kinds of requests take
turns, and what is late is sent as soon as it can be, but counts from when it was due:

    due at      0    10    20    30    40    50 ...
    kind        a     b     c     b     c     a        the order rotates, for no kind shall always
                                                       follow the same other one
"""

from typing import NamedTuple


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
