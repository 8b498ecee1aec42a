"""Which buffer sizes to recommend, from what was tried.

The rule: a setting is as good as the fastest if its median is within a tenth of the fastest's, or
if the spreads of the two, from the least run to the most, overlap; or if it reaches the rate to
make room for, less a tenth. Left to the kernel is recommended wherever it is as good: it needs no
care when the path changes. Elsewhere it is the smallest size that is as good.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

from kdiag.diagnosis.buffers.facts import LEFT_TO_KERNEL, Direction, Load
from kdiag.diagnosis.buffers.trials import Trial

NOISE: Final = 0.1
"""The part of a rate by which medians differ without meaning anything."""

_BITS_PER_MB: Final = 8_000_000
_KIB: Final = 1 << 10
_MIB: Final = 1 << 20
_NOT_TRIED: Final = "not tried: left to the kernel is right unless it is proven wrong"


class Choice(NamedTuple):
    """What to set in one direction.

    Attributes:
        size_bytes: of the buffer, or `LEFT_TO_KERNEL`.
        reason: a sentence.
        within_noise: whether the kernel's own choice was as good as the fastest size.
        is_proven: whether it was tried.
    """

    size_bytes: int
    reason: str
    within_noise: bool
    is_proven: bool


def choose(trials: Sequence[Trial], direction: Direction, bits_per_s: int) -> Choice:
    """Return what to recommend for one direction.

    Args:
        trials: what was tried.
        direction: which way the records go.
        bits_per_s: the rate to make room for.
    """
    tried = [each for each in trials if each.direction is direction and each.load is Load.FULL]
    if not tried:
        return Choice(
            LEFT_TO_KERNEL, f"{direction}: {_NOT_TRIED}", within_noise=False, is_proven=False
        )
    fastest = max(tried, key=lambda each: each.mb_per_s)
    as_good = [each for each in tried if is_noise(each, fastest) or is_enough(each, bits_per_s)]
    kernel = next((each for each in tried if each.size_bytes == LEFT_TO_KERNEL), None)
    if kernel is not None and kernel in as_good:
        reason = _reason_for_kernel(direction, kernel, fastest)
        within_noise = is_noise(kernel, fastest)
        return Choice(LEFT_TO_KERNEL, reason, within_noise=within_noise, is_proven=True)
    smallest = min(as_good, key=lambda each: each.size_bytes)
    reason = f"{direction}: {size_text(smallest.size_bytes)} is the smallest as good as the fastest"
    reason += f", {_rates(smallest)}"
    if kernel is not None:
        reason += f"; left to the kernel {_rates(kernel)}"
    return Choice(smallest.size_bytes, reason, within_noise=False, is_proven=True)


def is_noise(one: Trial, fastest: Trial) -> bool:
    """Return whether the difference to the fastest means nothing."""
    is_near = one.mb_per_s >= (1 - NOISE) * fastest.mb_per_s
    return is_near or one.high_mb_per_s >= fastest.low_mb_per_s


def is_enough(one: Trial, bits_per_s: int) -> bool:
    """Return whether a rate is reached."""
    return one.mb_per_s >= (1 - NOISE) * bits_per_s / _BITS_PER_MB


def size_text(size_bytes: int) -> str:
    """Return a size as people write it: `64K`, `1M`; `kernel` for one that is left to it."""
    if size_bytes == LEFT_TO_KERNEL:
        return "kernel"
    for unit, text in ((_MIB, "M"), (_KIB, "K")):
        if size_bytes >= unit and size_bytes % unit == 0:
            return f"{size_bytes // unit}{text}"
    return str(size_bytes)


def _reason_for_kernel(direction: Direction, kernel: Trial, fastest: Trial) -> str:
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
