"""What many runs of a proof come to: for each setting the median, the least and the most.

runs      64K: 3.4, 3.6, 3.5    kernel: 31, 38, 35
trials    64K: 3.5 (3.4 to 3.6) kernel: 35 (31 to 38)
"""

from collections import defaultdict
from collections.abc import Iterable
from statistics import median
from typing import Final, NamedTuple

from kdiag.diagnosis.buffers.facts import LEFT_TO_KERNEL, Direction, KernelLimits, Load, Run

_NS_PER_S: Final = 1_000_000_000
_BYTES_PER_MB: Final = 1_000_000


class Trial(NamedTuple):
    """All runs of one setting in one direction.

    Attributes:
        direction: which way the records went.
        load: how much was kept on its way.
        size_bytes: what both buffers were set to, or `LEFT_TO_KERNEL`.
        effective_send_bytes, effective_receive_bytes: what the kernel made of it, as sizes are
            set; for buffers left to it what it lets them grow to. None if it does not tell.
        mb_per_s, low_mb_per_s, high_mb_per_s: median, least and most of the runs.
        retransmits: segments sent again in all runs; None where it is not known, as for those
            that the broker sent.
        window_bytes: the median of the receiver's window at the end: the broker's for produce,
            ours for fetch; None if the system does not tell.
        throttled_ns: for how long the broker left connections alone, by a quota.
        runs: how many.
    """

    direction: Direction
    load: Load
    size_bytes: int
    effective_send_bytes: int | None
    effective_receive_bytes: int | None
    mb_per_s: float
    low_mb_per_s: float
    high_mb_per_s: float
    retransmits: int | None
    window_bytes: int | None
    throttled_ns: int
    runs: int

    def bytes_per_round_trip(self, rtt_ns: int) -> int:
        """Return how much went in each round trip."""
        return int(self.mb_per_s * _BYTES_PER_MB * rtt_ns / _NS_PER_S)


def summarize(runs: Iterable[Run], limits: KernelLimits) -> list[Trial]:
    """Return the trials that runs come to, by direction and size, the kernel's own last.

    Args:
        runs: in any order.
        limits: of this machine's kernel.
    """
    alike: dict[tuple[Direction, Load, int], list[Run]] = defaultdict(list)
    for run in runs:
        alike[run.direction, run.load, run.size_bytes].append(run)
    return [_trial(alike[key], limits) for key in sorted(alike, key=_place)]


def _place(key: tuple[Direction, Load, int]) -> tuple[bool, bool, bool, int]:
    direction, load, size_bytes = key
    is_fetch, is_default = direction is Direction.FETCH, load is Load.DEFAULTS
    return is_fetch, is_default, size_bytes == LEFT_TO_KERNEL, size_bytes


def _trial(runs: list[Run], limits: KernelLimits) -> Trial:
    first = runs[0]
    rates = [run.mb_per_s for run in runs]
    is_produce = first.direction is Direction.PRODUCE
    is_left = first.size_bytes == LEFT_TO_KERNEL
    windows = [
        run.facts.peer_window_bytes if is_produce else run.facts.receive_window_bytes
        for run in runs
    ]
    return Trial(
        direction=first.direction,
        load=first.load,
        size_bytes=first.size_bytes,
        effective_send_bytes=(
            limits.send_bytes(LEFT_TO_KERNEL)
            if is_left
            else first.facts.effective_send_buffer_bytes
        ),
        effective_receive_bytes=(
            limits.receive_bytes(LEFT_TO_KERNEL)
            if is_left
            else first.facts.effective_receive_buffer_bytes
        ),
        mb_per_s=median(rates),
        low_mb_per_s=min(rates),
        high_mb_per_s=max(rates),
        retransmits=_sum(run.facts.retransmits for run in runs) if is_produce else None,
        window_bytes=_median(windows),
        throttled_ns=sum(run.throttled_ns for run in runs),
        runs=len(runs),
    )


def _sum(numbers: Iterable[int | None]) -> int | None:
    known = [number for number in numbers if number is not None]
    return sum(known) if known else None


def _median(numbers: Iterable[int | None]) -> int | None:
    known = [number for number in numbers if number is not None]
    return round(median(known)) if known else None
