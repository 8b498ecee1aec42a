"""Stretches of time of equal length, over which rows are added up to be drawn.

    a capture from 10:00:00.3 to 10:00:40.9, at most 100 bins
    ->  bins of 500 ms from 10:00:00.0 on: bin 0 is [10:00:00.0, 10:00:00.5), 82 bins

The lengths are those of clocks, so that the borders fall on round times.
"""

from typing import Final, NamedTuple

from kdiag.clock import NS_PER_MS, NS_PER_S

MOST_BINS: Final = 100
_MINUTE: Final = 60
_HOUR: Final = 60 * _MINUTE
_DAY: Final = 24 * _HOUR
_WIDTHS_NS: Final = (
    *(each * NS_PER_MS for each in (1, 2, 5, 10, 20, 50, 100, 200, 500)),
    *(each * NS_PER_S for each in (1, 2, 5, 10, 15, 30)),
    *(each * _MINUTE * NS_PER_S for each in (1, 2, 5, 10, 15, 30)),
    *(each * _HOUR * NS_PER_S for each in (1, 2, 3, 6, 12)),
)


class TimeBins(NamedTuple):
    """Stretches of time that follow each other.

    Attributes:
        start_ns: the beginning of bin 0, since 1970.
        width_ns: of a bin.
        number: how many there are.
    """

    start_ns: int
    width_ns: int
    number: int

    def start_ms(self, bin_: int) -> float:
        """Return the beginning of a bin in milliseconds since 1970, as JavaScript has it."""
        return (self.start_ns + bin_ * self.width_ns) / NS_PER_MS

    @property
    def width_s(self) -> float:
        """Return the width in seconds."""
        return self.width_ns / NS_PER_S


def bins_over(first_ns: int, last_ns: int, most: int = MOST_BINS) -> TimeBins:
    """Return bins over a time.

    Args:
        first_ns: its beginning, since 1970.
        last_ns: its end.
        most: how many bins there are at most.
    """
    span_ns = max(0, last_ns - first_ns)
    fitting = (each for each in _WIDTHS_NS if span_ns // each + 2 <= most)
    width_ns = next(fitting, 0)
    if not width_ns:
        day_ns = _DAY * NS_PER_S
        width_ns = (span_ns // (most - 1) // day_ns + 1) * day_ns
    start_ns = first_ns // width_ns * width_ns
    return TimeBins(start_ns, width_ns, (last_ns - start_ns) // width_ns + 1)
