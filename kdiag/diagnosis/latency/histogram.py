"""The histogram of latencies: many of them in little memory, with their parts.

Its buckets are those of HdrHistogram: 1 microsecond wide up to 2 ms, and never wider than a
thousandth of their latencies. Each bucket also sums up the parts of its latencies, so that every
percentile comes with its parts, which add up to it.
"""

from collections.abc import Iterator
from operator import add
from typing import TYPE_CHECKING, Final, NamedTuple

from kdiag.clock import NS_PER_US
from kdiag.diagnosis.latency.confidence import ranks_of
from kdiag.diagnosis.latency.split import LatencySplit, joined, scaled
from kdiag.errors import ConfigError, install_command

if TYPE_CHECKING:
    from hdrh.histogram import HdrHistogram

QUANTILES: Final = (0.5, 0.95, 0.99, 0.999)
"""The percentiles that are reported, as fractions."""


_LOWEST_US: Final = 1
_HIGHEST_US: Final = 3_600_000_000
_DIGITS: Final = 3


class Percentile(NamedTuple):
    """A percentile of latencies, and its bounds.

    Attributes:
        quantile: the part of all latencies that do not exceed it, such as 0.99.
        split: the latency and its parts.
        lower_ns: the lower bound of the true percentile; None with too few latencies.
        upper_ns: the upper bound of the true percentile; None with too few latencies.
    """

    quantile: float
    split: LatencySplit
    lower_ns: int | None
    upper_ns: int | None


class LatencyHistogram:
    """Latencies and their parts.

    Attributes:
        count: the number of latencies.
        total: the sums of their parts.
    """

    def __init__(self) -> None:
        """Start without latencies.

        Raises:
            ConfigError: if the library HdrHistogram is not installed; says how to install it.
        """
        self.count = 0
        self.total = LatencySplit()
        self._least: LatencySplit | None = None
        self._most: LatencySplit | None = None
        self._histogram = _new_histogram()
        self._buckets: dict[int, tuple[int, ...]] = {}

    def add(self, split: LatencySplit) -> None:
        """Add a latency; after Ctrl-C in the middle of it, those before are whole."""
        total_ns = split.total_ns
        if self._least is None or total_ns < self._least.total_ns:
            self._least = split
        if self._most is None or total_ns > self._most.total_ns:
            self._most = split
        value_us = min(total_ns // NS_PER_US, _HIGHEST_US)
        self._histogram.record_value(value_us)
        bucket = self._histogram.get_lowest_equivalent_value(value_us)
        sums = self._buckets.get(bucket, (0,) * (1 + len(split)))
        self._buckets[bucket] = tuple(map(add, sums, (1, *split)))
        self.total = joined(self.total, split)
        self.count += 1

    @property
    def least(self) -> LatencySplit:
        """Return the parts of the smallest latency."""
        return self._least or LatencySplit()

    @property
    def most(self) -> LatencySplit:
        """Return the parts of the largest latency."""
        return self._most or LatencySplit()

    @property
    def mean(self) -> LatencySplit:
        """Return the mean of each part; at least one latency is needed."""
        return LatencySplit(*(part_ns // self.count for part_ns in self.total))

    def percentile(self, quantile: float) -> Percentile:
        """Return a percentile with its bounds; at least one latency is needed.

        Its parts have the proportions of all latencies between the bounds, as those of a single
        latency say little about the others.

        Args:
            quantile: between 0 and 1, both excluded.
        """
        lower, rank, upper = ranks_of(self.count, quantile)
        total_ns = self._at(rank)
        if lower is None or upper is None:
            around = self._between(rank, rank)
        else:
            around = self._between(lower, upper)
        return Percentile(
            quantile,
            scaled(around, total_ns),
            None if lower is None else self._at(lower),
            None if upper is None else self._at(upper),
        )

    def encoded(self) -> str:
        """Return the histogram for HdrHistogram's tools: V2, compressed, in base64."""
        return bytes(self._histogram.encode()).decode()

    def _at(self, rank: int) -> int:
        """Return the mean latency in the bucket of a rank; ranks start with 1."""
        for sums in self._from(rank):
            return sum(sums[1:]) // sums[0]
        raise ValueError("no latency has such a rank")

    def _between(self, lower: int, upper: int) -> LatencySplit:
        """Return the sums of the parts in the buckets from one rank to another."""
        total, count = LatencySplit(), 0
        for sums in self._from(lower):
            total = joined(total, LatencySplit(*sums[1:]))
            count += sums[0]
            if count > upper - lower:
                break
        return total

    def _from(self, rank: int) -> Iterator[tuple[int, ...]]:
        """Yield the buckets from that of a rank on: count of latencies, sums of their parts."""
        before = 0
        for bucket in sorted(self._buckets):
            sums = self._buckets[bucket]
            before += sums[0]
            if before >= rank:
                yield sums


def _new_histogram() -> "HdrHistogram":
    try:
        from hdrh.histogram import HdrHistogram  # noqa: PLC0415 - an extra
    except ImportError:
        why = f"latencies need the library HdrHistogram: {install_command('latency')}"
        raise ConfigError("", "kdiag latency", why) from None
    return HdrHistogram(_LOWEST_US, _HIGHEST_US, _DIGITS)
