"""Whether some latencies are longer than others by more than chance, however few they are.

    broker 3     448 450 460 470 ms
    brokers 1,2  1 1 2 2 3 ... 14 ms      each of broker 3 is above all of theirs: it is slow

Ranks decide, not means: neither one pause nor a least count of the patient matters. A request that
was not answered counts with the time that it has waited, which its latency exceeds.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from math import sqrt
from typing import Any, Final

from kdiag.clock import NS_PER_MS

_MOST_SAMPLES: Final = 200
_MOST_OTHERS: Final = 4
_FEW_OTHERS: Final = 10
_SLOW_NS: Final = 50 * NS_PER_MS
_TIMES: Final = 5
_DEVIATIONS: Final = 3.3
"""So far above the mean is one rank sum in 2,000 by chance; less than four latencies never are."""


class LatencySample:
    """Some of many latencies, evenly from all of the time.

    Attributes:
        values_ns: the latencies.
    """

    __slots__ = ("_skip", "_stride", "values_ns")

    def __init__(self) -> None:
        self.values_ns: list[int] = []
        self._stride, self._skip = 1, 0

    def add(self, latencies_ns: Sequence[int]) -> None:
        """Add latencies."""
        self.values_ns += latencies_ns[self._skip :: self._stride]
        self._skip = (self._skip - len(latencies_ns)) % self._stride
        while len(self.values_ns) > _MOST_SAMPLES:
            self.values_ns = self.values_ns[::2]
            self._stride *= 2
            self._skip = 0


def median(values: Sequence[int]) -> float:
    """Return the median; `statistics` takes 6 ms to load."""
    ordered = sorted(values)
    return (ordered[(len(ordered) - 1) // 2] + ordered[len(ordered) // 2]) / 2


def is_slow(own: Sequence[int], rest: Sequence[int], *, knows_path: bool = False) -> bool:
    """Return whether latencies are longer than others by rank, and by far.

    Args:
        own: of the broker.
        rest: of the others.
        knows_path: whether the round trip of the network is left out of all; otherwise one of the
            broker's must be quick, as a broker that is far away has none.
    """
    if not own or len(rest) < _FEW_OTHERS:
        return False
    half = median(own)
    if half < max(_SLOW_NS, _TIMES * median(rest)):
        return False
    return (knows_path or min(own) * _TIMES <= half) and _deviations(own, rest) >= _DEVIATIONS


def _deviations(own: Sequence[int], rest: Sequence[int]) -> float:
    """Return by how many standard deviations the rank sum of some exceeds its mean.

    Source: the normal approximation of the test of Mann and Whitney.
    """
    ordered = sorted(rest)
    wins = sum((bisect_left(ordered, each) + bisect_right(ordered, each)) / 2 for each in own)
    product = len(own) * len(rest)
    return float((wins - product / 2) / sqrt(product * (len(own) + len(rest) + 1) / 12))


def slow_evidence(
    broker: str, own: Sequence[int], others: Mapping[str, Sequence[int]]
) -> dict[str, Any]:
    """Return the evidence that a broker is slow, beside the others."""
    shown = [
        f"{len(sample):,} of {other} after {median(sample) / NS_PER_MS:,.1f} ms"
        for other, sample in sorted(others.items())
        if sample
    ]
    return {
        "broker": broker,
        "answers": len(own),
        "median_ms": round(median(own) / NS_PER_MS),
        "beside": ", ".join(shown[:_MOST_OTHERS]),
    }
