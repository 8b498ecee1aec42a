"""Trials: the runs of a proof summed up for each setting, and the choice among them.

    runs      64K: 3.4, 3.6, 3.5      kernel: 31, 38, 35
    trials    64K: 3.5 (3.4 to 3.6)   kernel: 35 (31 to 38)
    choice    the kernel's own size: the fastest

The kernel's own size wins whenever it is as good as the fastest, within noise, or reaches the rate
that is asked for; else the smallest size wins that is as good as the fastest.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from statistics import median
from typing import Final, NamedTuple

from kdiag.clock import NS_PER_S
from kdiag.diagnosis.buffers.facts import (
    LEFT_TO_KERNEL,
    KernelLimits,
    LoadDirection,
    LoadKind,
    ProofRun,
)

NOISE: Final = 0.1
"""The part of a rate by which medians differ without significance."""

_BYTES_PER_MB: Final = 1_000_000
_BITS_PER_MB: Final = 8_000_000
_KIB: Final = 1 << 10
_MIB: Final = 1 << 20
_NOT_TRIED: Final = "not tried: left to the kernel is right unless it is proven wrong"


class Trial(NamedTuple):
    """All runs of one setting in one direction.

    Attributes:
        direction: the direction of the records.
        load: how much the runs kept in flight.
        size_bytes: the size that both buffers were set to, or `LEFT_TO_KERNEL`.
        effective_send_bytes, effective_receive_bytes: the effective sizes; for the kernel's own
            the largest that it lets them grow to. None if the system does not tell.
        mb_per_s, low_mb_per_s, high_mb_per_s: median, least and most of the runs.
        retransmits: the retransmitted segments of all runs; None if not known, as for segments
            from the broker.
        window_bytes: the median of the receiver's window at the end: the broker's for produce,
            ours for fetch; None if the system does not tell.
        throttled_ns: how long a quota of the broker held connections.
        runs: the number of runs.
    """

    direction: LoadDirection
    load: LoadKind
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
        """Return the bytes in each round trip."""
        return int(self.mb_per_s * _BYTES_PER_MB * rtt_ns / NS_PER_S)


class BufferChoice(NamedTuple):
    """The recommended size for one direction.

    Attributes:
        size_bytes: the size of the buffer, or `LEFT_TO_KERNEL`.
        reason: a sentence.
        within_noise: whether the kernel's own size was as good as the fastest, within noise.
        is_proven: whether it was tried.
    """

    size_bytes: int
    reason: str
    within_noise: bool
    is_proven: bool


def choose_for_short(direction: LoadDirection) -> BufferChoice:
    """Return the recommended size over a path so short that none makes a difference.

    Runs over it differ, too, above all where they were interrupted; that proves nothing.
    """
    reason = f"{direction}: on so short a path buffers make no difference"
    return BufferChoice(LEFT_TO_KERNEL, reason, within_noise=True, is_proven=False)


def summarize(runs: Iterable[ProofRun], limits: KernelLimits) -> list[Trial]:
    """Return the trials of some runs, by direction and size, the kernel's own size last.

    Args:
        runs: in any order.
        limits: of this machine's kernel.
    """
    alike: dict[tuple[LoadDirection, LoadKind, int], list[ProofRun]] = defaultdict(list)
    for run in runs:
        alike[run.direction, run.load, run.size_bytes].append(run)
    return [_trial(alike[key], limits) for key in sorted(alike, key=_order)]


def _order(key: tuple[LoadDirection, LoadKind, int]) -> tuple[bool, bool, bool, int]:
    direction, load, size_bytes = key
    is_fetch, is_default = direction is LoadDirection.FETCH, load is LoadKind.DEFAULTS
    return is_fetch, is_default, size_bytes == LEFT_TO_KERNEL, size_bytes


def _trial(runs: list[ProofRun], limits: KernelLimits) -> Trial:
    first = runs[0]
    rates = [run.mb_per_s for run in runs]
    is_produce = first.direction is LoadDirection.PRODUCE
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


def choose(
    trials: Sequence[Trial],
    direction: LoadDirection,
    bits_per_s: int,
    planned: Sequence[int] = (),
) -> BufferChoice:
    """Return the recommended size for one direction.

    Args:
        trials: the trials; may be empty.
        direction: the direction.
        bits_per_s: the rate to make room for.
        planned: the sizes that were to be tried, before an interruption.
    """
    tried = [each for each in trials if each.direction is direction and each.load is LoadKind.FULL]
    if not tried:
        return BufferChoice(
            LEFT_TO_KERNEL, f"{direction}: {_NOT_TRIED}", within_noise=False, is_proven=False
        )
    fastest = max(tried, key=lambda each: each.mb_per_s)
    as_good = [each for each in tried if is_noise(each, fastest) or is_enough(each, bits_per_s)]
    kernel = next((each for each in tried if each.size_bytes == LEFT_TO_KERNEL), None)
    if kernel is not None and kernel in as_good:
        reason = _reason_for_kernel(direction, kernel, fastest)
        within_noise = is_noise(kernel, fastest)
        return BufferChoice(LEFT_TO_KERNEL, reason, within_noise=within_noise, is_proven=True)
    if kernel is None and LEFT_TO_KERNEL in planned:
        return BufferChoice(
            LEFT_TO_KERNEL,
            f"{direction}: of the sizes that were tried {size_text(fastest.size_bytes)} was the "
            f"fastest, {_rates(fastest)}; it ended before left to the kernel was tried, which is "
            "right unless it is proven wrong",
            within_noise=False,
            is_proven=False,
        )
    smallest = min(as_good, key=lambda each: each.size_bytes)
    reason = f"{direction}: {size_text(smallest.size_bytes)} is the smallest as good as the fastest"
    reason += f", {_rates(smallest)}"
    if kernel is not None:
        reason += f"; left to the kernel {_rates(kernel)}"
    return BufferChoice(smallest.size_bytes, reason, within_noise=False, is_proven=True)


def is_noise(one: Trial, fastest: Trial) -> bool:
    """Return whether the difference to the fastest is noise."""
    is_near = one.mb_per_s >= (1 - NOISE) * fastest.mb_per_s
    return is_near or one.high_mb_per_s >= fastest.low_mb_per_s


def is_enough(one: Trial, bits_per_s: int) -> bool:
    """Return whether a trial reaches a rate."""
    return one.mb_per_s >= (1 - NOISE) * bits_per_s / _BITS_PER_MB


def size_text(size_bytes: int) -> str:
    """Return a size as people write it: `64K`, `1M`; `kernel` for the kernel's own."""
    if size_bytes == LEFT_TO_KERNEL:
        return "kernel"
    for unit, text in ((_MIB, "M"), (_KIB, "K")):
        if size_bytes >= unit and size_bytes % unit == 0:
            return f"{size_bytes // unit}{text}"
    return str(size_bytes)


def _reason_for_kernel(direction: LoadDirection, kernel: Trial, fastest: Trial) -> str:
    if fastest is kernel:
        return f"{direction}: left to the kernel is the fastest, {_rates(kernel)}"
    faster = (
        f"{direction}: {size_text(fastest.size_bytes)} was the fastest, {_rates(fastest)}, but "
    )
    if is_noise(kernel, fastest):
        return (
            f"{faster}the difference to left to the kernel, {_rates(kernel)}, is within the noise"
        )
    return f"{faster}left to the kernel, {_rates(kernel)}, reaches the rate to make room for"


def _rates(trial: Trial) -> str:
    rates = (trial.mb_per_s, trial.low_mb_per_s, trial.high_mb_per_s)
    middle, low, high = (f"{rate:.3g}" if rate < 100 else f"{rate:.0f}" for rate in rates)  # noqa: PLR2004 - three digits
    return f"{middle} MB/s ({low} to {high})"
