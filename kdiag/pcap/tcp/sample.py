"""A bounded number of values that stands for any number of them."""

from typing import Final

import numpy as np
import numpy.typing as npt

from kdiag.exchange.tcp_facts import Spread

_MOST_VALUES: Final = 1 << 15


class Sample:
    """Keeps every value until there are too many, then every second, every fourth, and so on.

    The least and the largest value are exact, whatever was kept.
    """

    __slots__ = ("_count", "_kept", "_least", "_most", "_skip", "_step")

    def __init__(self) -> None:
        self._kept: list[npt.NDArray[np.int64]] = []
        self._count = 0
        self._step = 1
        self._skip = 0
        self._least: int | None = None
        self._most = 0

    @property
    def least(self) -> int | None:
        """Return the least value; None without any."""
        return self._least

    @property
    def most(self) -> int:
        """Return the largest value; 0 without any."""
        return self._most

    def add(self, values: npt.NDArray[np.int64]) -> None:
        """Add the next values, in order."""
        if not len(values):
            return
        least, most = int(values.min()), int(values.max())
        self._least = least if self._least is None else min(self._least, least)
        self._most = max(self._most, most)
        kept = values[self._skip :: self._step]
        self._skip = (self._skip - len(values)) % self._step
        self._kept.append(kept)
        self._count += len(kept)
        while self._count > _MOST_VALUES:
            thinned = np.concatenate(self._kept)[::2]
            self._kept, self._count, self._step = [thinned], len(thinned), 2 * self._step

    def spread(self) -> Spread | None:
        """Return the values in four; None without any."""
        if self._least is None:
            return None
        values = np.sort(np.concatenate(self._kept))
        median, p95 = (int(values[(len(values) - 1) * part // 100]) for part in (50, 95))
        return Spread(self._least, median, p95, self._most)
