"""Backoff: how long to wait after a failure, longer each time and never the same for everybody.

    initial 50 ms, maximum 1 s, jitter 0:   50, 100, 200, 400, 800, 1000, 1000 ...

Source: Kafka's `ExponentialBackoff`; KIP-144 (reconnect backoff), KIP-601 (setup timeout).
"""

import os
from collections.abc import Callable
from typing import Final

_BASE: Final = 2
_RANDOM_BYTES: Final = 4


def random_fraction() -> float:
    """Return a random number in [0, 1)."""
    return int.from_bytes(os.urandom(_RANDOM_BYTES)) / (1 << (8 * _RANDOM_BYTES))


class ExponentialBackoff:
    """Intervals that double with every attempt, up to a maximum, give or take the jitter."""

    def __init__(
        self,
        initial_ns: int,
        max_ns: int,
        *,
        jitter: float = 0.2,
        fraction: Callable[[], float] = random_fraction,
    ) -> None:
        """Prepare the intervals.

        Args:
            initial_ns: the first interval.
            max_ns: the longest interval; if it is not above `initial_ns`, it is every interval.
            jitter: by which part of itself an interval may differ, in both directions.
            fraction: returns numbers in [0, 1).
        """
        self._initial_ns = initial_ns
        self._max_ns = max_ns
        self._jitter = jitter
        self._fraction = fraction
        ratio = max_ns // max(1, initial_ns)
        self._last_doubling = ratio.bit_length()

    def after(self, attempts: int) -> int:
        """Return how long to wait, in ns, if there were `attempts` attempts before this one."""
        if self._max_ns <= self._initial_ns:
            return self._max_ns
        interval_ns = self._initial_ns * _BASE ** min(attempts, self._last_doubling)
        spread = 1 + self._jitter * (2 * self._fraction() - 1)
        return min(self._max_ns, int(interval_ns * spread))
