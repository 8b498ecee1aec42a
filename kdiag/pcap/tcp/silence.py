"""Connections that have been silent for so long that they are ended.

A connection whose next packet comes more than an hour after its last one has ended by idleness, and
so has one whose last packet is more than an hour before the end of the capture. What goes on all
the same counts as another connection, which names the one that it continues.

    last packet    next packet             close_reason
    10:00:00       10:59:00                (it goes on)
    10:00:00       11:30:00                idle; the packets from 11:30 on continue it
    10:00:00       none until 12:00:00     idle

That depends on the packets of the connection alone, and on the last one of the capture. Memory
should not wait for it: connections of which no byte waits are ended as soon as all others are past
the hour. Brokers end what is idle after ten minutes (connections.max.idle.ms), clients after nine.
"""

from collections import deque
from collections.abc import Hashable, Iterable
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol, TypeVar

from kdiag.clock import NS_PER_S

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

DEFAULT_IDLE_NS: Final = 3600 * NS_PER_S
"""Six times what Kafka's brokers allow by default: who is silent for longer was told to wait."""

NEVER_NS: Final = 1 << 62
ECHO_NS: Final = 120 * NS_PER_S
"""How long packets may wander: the maximum segment lifetime of RFC 9293."""

MAX_REMEMBERED: Final = 100_000
"""Of how many connections it is remembered that they were ended."""

ECHO_BYTES: Final = 330
SILENCED_BYTES: Final = 600
"""What it takes to remember one of either; measured."""

_LEAST_PACKETS: Final = 64
"""So many packets must agree on the time: one with a wrong time ends no connection."""


class SilencedConnection(NamedTuple):
    """What is remembered of a connection that was ended by idleness.

    Attributes:
        connection_id: its id.
        client: the side of its client, 0 or 1; None if that was not known.
    """

    connection_id: str
    client: int | None


class Silent(Protocol):
    """A connection that may be silent."""

    @property
    def last_ns(self) -> int:
        """Return the time of its last packet."""
        ...

    @property
    def may_end_early(self) -> bool:
        """Return whether it makes no difference for its rows when it is ended."""
        ...


AnySilent = TypeVar("AnySilent", bound=Silent)


class LateEchoes:
    """Knows the connections that have ended a short while ago, of which a packet may still come.

    A last acknowledgment, or a FIN once more, begins no connection. After `ECHO_NS` none is
    expected: what is remembered depends on how many connections end meanwhile, not on how many
    there were.
    """

    def __init__(self) -> None:
        self._until_ns: dict[Hashable, int] = {}
        self._in_order: deque[tuple[int, Hashable]] = deque()

    def expect(self, ends: Hashable, ended_ns: int, now_ns: int) -> None:
        """Remember a connection that has ended; forget those of long ago.

        Args:
            ends: of the connection.
            ended_ns: when it ended.
            now_ns: the latest time of a packet so far.
        """
        self._until_ns[ends] = ended_ns + ECHO_NS
        self._in_order.append((ended_ns + ECHO_NS, ends))
        while len(self._in_order) > MAX_REMEMBERED or self._in_order[0][0] < now_ns - ECHO_NS:
            until_ns, oldest = self._in_order.popleft()
            if self._until_ns.get(oldest) == until_ns:  # else it has ended once more
                del self._until_ns[oldest]
            if not self._in_order:
                return

    def has(self, ends: Hashable, time_ns: int) -> bool:
        """Return whether a packet between two ends may be an echo."""
        until_ns = self._until_ns.get(ends)
        return until_ns is not None and time_ns <= until_ns

    @property
    def held_bytes(self) -> int:
        """Return how much memory it takes, roughly."""
        return len(self._in_order) * ECHO_BYTES

    def forget_oldest(self, max_bytes: int) -> None:
        """Forget those that ended first, until the others take no more than this."""
        while self.held_bytes > max_bytes:
            until_ns, oldest = self._in_order.popleft()
            if self._until_ns.get(oldest) == until_ns:
                del self._until_ns[oldest]

    def __len__(self) -> int:
        return len(self._until_ns)


class SilenceWatch:
    """Says which connections are ended by idleness, and remembers them.

    Attributes:
        limit_ns: how long a connection may be silent.
        has_one_clock: whether no packet comes much later than others of its time; false where the
            captures of one host lag behind those of another.
    """

    def __init__(self, limit_ns: int) -> None:
        self.limit_ns = limit_ns or NEVER_NS
        self.has_one_clock = True
        self._ended: dict[Hashable, SilencedConnection] = {}
        self._packets = 0
        self._least_ns = NEVER_NS
        self._passed_ns = 0
        self._next_ns = 0

    @property
    def held_bytes(self) -> int:
        """Return how much memory the connections take that it remembers, roughly."""
        return len(self._ended) * SILENCED_BYTES

    def forget_oldest(self, max_bytes: int) -> None:
        """Forget the connections that were ended first, as `LateEchoes` does."""
        while self.held_bytes > max_bytes:
            del self._ended[next(iter(self._ended))]

    def is_over(self, last_ns: int, now_ns: int) -> bool:
        """Return whether a connection with a last packet at one time has ended by another."""
        return now_ns - last_ns > self.limit_ns

    def add_packets(self, time_ns: "npt.NDArray[np.int64]") -> None:
        """Note the times of packets."""
        self._packets += len(time_ns)
        self._least_ns = min(self._least_ns, int(time_ns.min()))
        if self._packets >= _LEAST_PACKETS:
            self._passed_ns, self._packets = self._least_ns, 0
            self._least_ns = NEVER_NS

    def due(self, connections: Iterable[AnySilent]) -> list[AnySilent]:
        """Return the connections that can be ended early; they are looked through seldom."""
        if self._passed_ns <= self._next_ns or not self.has_one_clock:
            return []
        before_ns = self._passed_ns - self.limit_ns
        if self._next_ns == 0:  # nothing can have been silent for so long yet
            self._next_ns = self._passed_ns + self.limit_ns
            return []
        found, oldest_ns = [], self._passed_ns
        for each in connections:
            if each.last_ns < before_ns and each.may_end_early:
                found.append(each)
            elif each.last_ns >= before_ns:
                oldest_ns = min(oldest_ns, each.last_ns)
        self._next_ns = oldest_ns + self.limit_ns
        return found

    def remember(self, ends: Hashable, ended: SilencedConnection) -> None:
        """Remember a connection that was ended."""
        self._ended[ends] = ended
        if len(self._ended) > MAX_REMEMBERED:
            del self._ended[next(iter(self._ended))]

    def continued(self, ends: Hashable, *, has_syn: bool) -> SilencedConnection | None:
        """Return the connection that packets between its ends continue; a SYN begins another."""
        ended = self._ended.pop(ends, None) if self._ended else None
        return None if has_syn else ended
