"""Names that come late: exchanges wait until the topic ids in them have names, or none will come.

Where the input can be read twice, looking ahead settles it once for all, and nothing waits. A pipe
cannot be: there up to a number of exchanges wait for names, the others pass them.
"""

from collections import deque
from collections.abc import Callable
from typing import Final

from kdiag.exchange.dissection import Dissection
from kdiag.exchange.topic_names import TopicNames

DEFAULT_MAX_EXCHANGES: Final = 1_000
DEFAULT_MAX_BYTES: Final = 64 << 20


class LateNames:
    """Lets exchanges through when their topics can be named.

    Args:
        names: the names that are known; they grow while exchanges are read.
        look_ahead: adds to `names` all that the input will ever tell; None if it cannot be read
            twice.
        max_exchanges: how many exchanges may wait; beyond, the oldest goes on without names.
        max_bytes: how many bytes they may have together.
    """

    def __init__(
        self,
        names: TopicNames,
        look_ahead: Callable[[], None] | None,
        *,
        max_exchanges: int = DEFAULT_MAX_EXCHANGES,
        max_bytes: int = DEFAULT_MAX_BYTES,
    ) -> None:
        self._names = names
        self._look_ahead = look_ahead
        self._is_settled = False
        self._max_exchanges = max_exchanges
        self._max_bytes = max_bytes
        self._waiting: deque[Dissection] = deque()
        self._waiting_bytes = 0
        self._known = len(names)

    def take(self, dissection: Dissection) -> list[Dissection]:
        """Return the exchanges that can go on now that this one has come."""
        ready = self._release()
        if self._is_settled or self._names.has_all(dissection.topic_ids):
            ready.append(dissection)
        elif self._look_ahead is not None:
            self._look_ahead()
            self._is_settled = True
            ready.append(dissection)
        else:
            self._waiting.append(dissection)
            self._waiting_bytes += _bytes_of(dissection)
            while len(self._waiting) > self._max_exchanges or self._waiting_bytes > self._max_bytes:
                oldest = self._waiting.popleft()
                self._waiting_bytes -= _bytes_of(oldest)
                ready.append(oldest)
        return ready

    def finish(self) -> list[Dissection]:
        """Return the exchanges that waited in vain."""
        waiting = list(self._waiting)
        self._waiting.clear()
        self._waiting_bytes = 0
        return waiting

    def _release(self) -> list[Dissection]:
        """Return the waiting exchanges that new names have completed."""
        if not self._waiting or len(self._names) == self._known:
            return []
        self._known = len(self._names)
        ready: list[Dissection] = []
        waiting: deque[Dissection] = deque()
        for each in self._waiting:
            (ready if self._names.has_all(each.topic_ids) else waiting).append(each)
        self._waiting = waiting
        self._waiting_bytes = sum(_bytes_of(each) for each in waiting)
        return ready


def _bytes_of(dissection: Dissection) -> int:
    exchange = dissection.exchange
    frames = (exchange.request, exchange.response)
    return sum(len(frame.data) for frame in frames if frame is not None)
