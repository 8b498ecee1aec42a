"""The one place that reads the time, so that everything else can be handed another clock."""

import time
from typing import Final, NamedTuple, Protocol

NS_PER_US: Final = 1_000
NS_PER_MS: Final = 1_000_000
NS_PER_S: Final = 1_000_000_000
US_PER_S: Final = 1_000_000


class TimeRange(NamedTuple):
    """A range of time, in nanoseconds since 1970; None for no limit.

    Attributes:
        from_ns: the first time in it.
        to_ns: the first time after it.
    """

    from_ns: int | None = None
    to_ns: int | None = None


ALWAYS: Final = TimeRange()


class Clock(Protocol):
    """What kdiag asks of a clock; both readings are integers in nanoseconds."""

    def monotonic_ns(self) -> int:
        """Return a reading that never goes back, for measuring intervals."""
        ...

    def epoch_ns(self) -> int:
        """Return the wall clock's time since 1970-01-01 UTC, for stamps."""
        ...


def wait_ns(clock: Clock, due_ns: int | None, timeout_ns: int | None) -> int | None:
    """Return how long to wait for something.

    Args:
        clock: of `due_ns`.
        due_ns: when something else is due on the clock; None if nothing is.
        timeout_ns: how long to wait at the most; None for as long as nothing is due.
    """
    if due_ns is None:
        return timeout_ns
    left_ns = max(0, due_ns - clock.monotonic_ns())
    return left_ns if timeout_ns is None else min(left_ns, timeout_ns)


class SystemClock:
    """The machine's own clock."""

    def monotonic_ns(self) -> int:
        """Return the system's monotonic clock."""
        return time.monotonic_ns()

    def epoch_ns(self) -> int:
        """Return the system's wall clock."""
        return time.time_ns()


class SteadyClock:
    """The machine's clock for measuring: both readings advance by the same, whoever sets the time.

    The wall clock is read once; since then `epoch_ns` is what has passed on the monotonic one.
    """

    def __init__(self) -> None:
        self._offset_ns = time.time_ns() - time.monotonic_ns()

    def monotonic_ns(self) -> int:
        """Return the system's monotonic clock."""
        return time.monotonic_ns()

    def epoch_ns(self) -> int:
        """Return the wall clock's time when this clock was made, and what has passed since."""
        return time.monotonic_ns() + self._offset_ns


class ManualClock:
    """A clock that stands still until it is told to advance, for tests and replays."""

    def __init__(self, epoch_ns: int = 0) -> None:
        self._epoch_ns = epoch_ns
        self._elapsed_ns = 0

    def advance(self, ns: int) -> None:
        """Move both readings forward by `ns` nanoseconds."""
        if ns < 0:
            raise ValueError(f"a clock cannot go back by {-ns} ns")
        self._elapsed_ns += ns

    def monotonic_ns(self) -> int:
        """Return the nanoseconds advanced so far."""
        return self._elapsed_ns

    def epoch_ns(self) -> int:
        """Return the start time plus the nanoseconds advanced so far."""
        return self._epoch_ns + self._elapsed_ns
