from collections.abc import Mapping

import pytest

from kdiag.diagnosis.buffers.buffer_choice import Choice, choose, size_text
from kdiag.diagnosis.buffers.facts import Direction, Load
from kdiag.diagnosis.buffers.trials import summarize
from made_values.buffer_cases import GBIT, KERNEL, KIB, LIMITS, MIB, make_run


def chosen(rates: Mapping[int, tuple[float, ...]], bits_per_s: int = 10 * GBIT) -> Choice:
    """Return what is recommended after producing at these rates, by size."""
    runs = [
        make_run(Direction.PRODUCE, size, rate) for size, each in rates.items() for rate in each
    ]
    return choose(summarize(runs, LIMITS), Direction.PRODUCE, bits_per_s)


def test_the_kernels_choice_is_recommended_where_it_is_the_fastest() -> None:
    """Both the rate and its spread are told."""
    choice = chosen({64 * KIB: (3.5, 3.6), KERNEL: (35, 31, 38)})

    assert (choice.size_bytes, choice.within_noise, choice.is_proven) == (KERNEL, True, True)
    assert choice.reason == "produce: left to the kernel is the fastest, 35 MB/s (31 to 38)"


@pytest.mark.parametrize("kernel", [(91, 92, 90), (60, 70, 99)])
def test_the_kernels_choice_is_recommended_where_the_difference_is_noise(
    kernel: tuple[float, ...],
) -> None:
    """Medians within a tenth, or spreads that overlap."""
    choice = chosen({MIB: (98, 100, 102), KERNEL: kernel})

    assert (choice.size_bytes, choice.within_noise) == (KERNEL, True)
    assert "1M was the fastest, 100 MB/s (98 to 102), but" in choice.reason


def test_a_size_is_recommended_where_it_is_proven_to_be_faster() -> None:
    """The smallest that is as good as the fastest."""
    choice = chosen({64 * KIB: (4, 4), MIB: (74, 78), 4 * MIB: (80, 82), KERNEL: (36, 38)})
    assert (choice.size_bytes, choice.within_noise) == (MIB, False)
    assert "1M is the smallest as good as the fastest, 76 MB/s (74 to 78)" in choice.reason
    assert "left to the kernel 37 MB/s (36 to 38)" in choice.reason


def test_what_reaches_the_rate_to_make_room_for_is_as_good_as_any() -> None:
    """117 MB/s are enough for a gigabit, though 4 MiB are faster; for more they are not."""
    rates = {4 * MIB: (155.0, 160.0), KERNEL: (116.0, 118.0)}

    enough = chosen(rates, GBIT)

    assert (enough.size_bytes, enough.within_noise) == (KERNEL, False)
    assert enough.reason.endswith("117 MB/s (116 to 118), reaches the rate to make room for")
    assert chosen(rates, 10 * GBIT).size_bytes == 4 * MIB


def test_sizes_can_be_compared_without_the_kernels_choice() -> None:
    """It need not be among those that are tried."""
    assert chosen({64 * KIB: (4,), MIB: (50,)}).size_bytes == MIB


def test_what_was_not_tried_is_left_to_the_kernel() -> None:
    """Clients' defaults prove nothing about sizes."""
    run = make_run(Direction.FETCH, KERNEL, 3, load=Load.DEFAULTS)
    choice = choose(summarize([run], LIMITS), Direction.FETCH, GBIT)

    assert (choice.size_bytes, choice.is_proven) == (KERNEL, False)
    assert choice.reason.startswith("fetch: not tried")


@pytest.mark.parametrize(
    ("size", "text"),
    [(KERNEL, "kernel"), (65536, "64K"), (102400, "100K"), (4 * MIB, "4M"), (1000, "1000")],
)
def test_sizes_are_told_as_people_write_them(size: int, text: str) -> None:
    """In units of 1024 where that is exact."""
    assert size_text(size) == text
