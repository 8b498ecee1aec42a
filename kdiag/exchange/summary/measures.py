"""What the exchanges of a kind measure: their bytes, and percentiles of their latencies.

Latencies are counted by their first eleven binary digits, so that percentiles are right to a
thousandth. Those between two powers of two share an array of 8 KiB, so that millions of latencies
take no more than the first ones:

    1,234,567 ns    1 0010 1101 01, then 10 digits more    counted as 1,234,943 ns

Source: HdrHistogram, whose buckets these are.
"""

from array import array
from collections import Counter
from collections.abc import Iterator, Sequence
from operator import itemgetter
from typing import Final, NamedTuple

from kdiag.exchange.model import Exchange, measured_latencies_ns

_DIGITS: Final = 11
_SLOTS: Final = 1 << _DIGITS - 1
"""Between two powers of two: the first digit is always 1."""
_NO_COUNTS: Final = array("Q", bytes(8 * _SLOTS))
_MOST_FRESH: Final = 4096  # counted at once, which takes half as long as one by one
_PER_MILLE: Final = (500, 900, 990)


class LatencySummary(NamedTuple):
    """Percentiles of latencies, in nanoseconds.

    Attributes:
        number: how many latencies there are.
        p50_ns, p90_ns, p99_ns: the least latency that so many percent do not exceed.
        max_ns: the longest.
    """

    number: int
    p50_ns: int
    p90_ns: int
    p99_ns: int
    max_ns: int


class Measures:
    """The bytes and latencies of exchanges of one kind.

    Attributes:
        request_bytes, response_bytes: of their frames, without the length prefixes.
    """

    __slots__ = ("_counts", "_fresh", "_max_ns", "request_bytes", "response_bytes")

    def __init__(self) -> None:
        self.request_bytes = 0
        self.response_bytes = 0
        self._counts: dict[int, array[int]] = {}
        self._fresh: list[int] = []
        self._max_ns = 0

    def add(self, exchange: Exchange) -> None:
        """Add an exchange."""
        request, response = exchange.request, exchange.response
        if request is not None:
            self.request_bytes += request.size - request.unsent_bytes
        if response is not None:
            self.response_bytes += response.size - response.unsent_bytes
            if request is not None:
                latency_ns = response.first_byte_ns - request.last_byte_ns
                if latency_ns >= 0:
                    self._fresh.append(latency_ns)
                    if len(self._fresh) >= _MOST_FRESH:
                        self._count_fresh()

    def add_all(self, exchanges: Sequence[Exchange]) -> None:
        """Add exchanges, at least one, that have both frames, of the same sizes."""
        request, response = exchanges[0].request, exchanges[0].response
        assert request is not None
        assert response is not None
        self.request_bytes += len(exchanges) * request.size
        self.response_bytes += len(exchanges) * response.size
        self._fresh += measured_latencies_ns(exchanges)
        if len(self._fresh) >= _MOST_FRESH:
            self._count_fresh()

    def _count_fresh(self) -> None:
        """Count the latencies that came since the last time."""
        counts, fresh = self._counts, Counter(self._fresh)  # clocks of microseconds repeat many
        for latency_ns, count in fresh.items():
            rest = max(0, latency_ns.bit_length() - _DIGITS)
            half, slot = divmod(latency_ns >> rest, _SLOTS)  # half is 0 for the smallest alone
            slots = counts.get(2 * rest + half)
            if slots is None:
                slots = counts[2 * rest + half] = _NO_COUNTS[:]
            slots[slot] += count
        self._max_ns = max(self._max_ns, *fresh)
        self._fresh.clear()

    def latency(self) -> LatencySummary | None:
        """Return the percentiles; None without any latency."""
        if self._fresh:
            self._count_fresh()
        total = sum(map(sum, self._counts.values()))
        if not total:
            return None
        ranks = [-(-total * each // 1000) for each in _PER_MILLE]
        found: list[int] = []
        below = 0
        for counted, count in self._in_order():
            below += count
            while len(found) < len(ranks) and below >= ranks[len(found)]:
                found.append(min(counted, self._max_ns))
        p50_ns, p90_ns, p99_ns = found
        return LatencySummary(total, p50_ns, p90_ns, p99_ns, self._max_ns)

    def _in_order(self) -> Iterator[tuple[int, int]]:
        """Yield the longest latency that each slot stands for, and how many it has."""
        for place, slots in sorted(self._counts.items(), key=itemgetter(0)):
            rest, half = divmod(place, 2)
            first = half * _SLOTS
            for slot, count in enumerate(slots, first + 1):
                if count:
                    yield (slot << rest) - 1, count
