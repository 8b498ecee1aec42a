from collections.abc import Mapping

import pytest

from kdiag.diagnosis.buffers.facts import LoadDirection, LoadKind
from kdiag.diagnosis.buffers.trials import BufferChoice, choose, size_text, summarize
from made_values.buffer_cases import GBIT, KERNEL, KIB, LIMITS, MIB, MS, make_run
from tiers.cases import for_each

PRODUCE, FETCH = LoadDirection.PRODUCE, LoadDirection.FETCH


def test_a_setting_has_median_least_and_most() -> None:
    """Over all of its runs, in whatever order they were made."""
    rates = (3.6, 3.4, 9.0)
    (trial,) = summarize([make_run(PRODUCE, 64 * KIB, rate) for rate in rates], LIMITS)

    assert (trial.low_mb_per_s, trial.mb_per_s, trial.high_mb_per_s) == (3.4, 3.6, 9.0)
    assert trial.runs == 3
    assert trial.bytes_per_round_trip(20 * MS) == 72_000


def test_trials_are_ordered_for_reading() -> None:
    """Produce first; sizes ascend, the kernel's own comes last, and after it clients' defaults."""
    runs = [
        make_run(FETCH, KERNEL, 1),
        make_run(PRODUCE, KERNEL, 1, load=LoadKind.DEFAULTS),
        make_run(PRODUCE, KERNEL, 1),
        make_run(PRODUCE, MIB, 1),
        make_run(PRODUCE, 64 * KIB, 1),
    ]

    assert [(each.direction, each.load, each.size_bytes) for each in summarize(runs, LIMITS)] == [
        (PRODUCE, LoadKind.FULL, 64 * KIB),
        (PRODUCE, LoadKind.FULL, MIB),
        (PRODUCE, LoadKind.FULL, KERNEL),
        (PRODUCE, LoadKind.DEFAULTS, KERNEL),
        (FETCH, LoadKind.FULL, KERNEL),
    ]


def test_effective_buffers_are_those_that_the_system_told() -> None:
    """Of those that were left to it: how far they may grow."""
    set_, left = summarize([make_run(PRODUCE, 64 * KIB, 1), make_run(PRODUCE, KERNEL, 1)], LIMITS)
    assert (set_.effective_send_bytes, set_.effective_receive_bytes) == (64 * KIB, 64 * KIB)
    assert (left.effective_send_bytes, left.effective_receive_bytes) == (2 * MIB, 16 * MIB)


def test_losses_are_known_of_what_this_end_sent() -> None:
    """What the broker sent again it keeps to itself."""
    produced, fetched = summarize(
        [make_run(each, KERNEL, 1, retransmits=2, throttled_ns=MS) for each in (PRODUCE, FETCH)]
        * 2,
        LIMITS,
    )
    assert (produced.retransmits, fetched.retransmits) == (4, None)
    assert produced.throttled_ns == 2 * MS


def test_the_window_is_the_receivers() -> None:
    """The median of those that are known."""
    windows = (100, None, 300)
    (trial,) = summarize(
        [make_run(PRODUCE, KERNEL, 1, window_bytes=each) for each in windows], LIMITS
    )
    (unknown,) = summarize([make_run(FETCH, KERNEL, 1)], LIMITS)

    assert trial.window_bytes == 200
    assert unknown.window_bytes is None


def chosen(rates: Mapping[int, tuple[float, ...]], bits_per_s: int = 10 * GBIT) -> BufferChoice:
    """Return what is recommended after producing at these rates, by size."""
    runs = [
        make_run(LoadDirection.PRODUCE, size, rate) for size, each in rates.items() for rate in each
    ]
    return choose(summarize(runs, LIMITS), LoadDirection.PRODUCE, bits_per_s)


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


def test_an_interruption_before_the_kernels_choice_recommends_no_size() -> None:
    """Nothing proves then that it is better than the kernel's."""
    runs = [make_run(PRODUCE, size, rate) for size, rate in ((64 * KIB, 4), (MIB, 50))]
    choice = choose(summarize(runs, LIMITS), PRODUCE, GBIT, (64 * KIB, MIB, KERNEL))

    assert (choice.size_bytes, choice.is_proven) == (KERNEL, False)
    assert "1M was the fastest" in choice.reason
    assert "ended before left to the kernel was tried" in choice.reason


def test_what_was_not_tried_is_left_to_the_kernel() -> None:
    """Clients' defaults prove nothing about sizes."""
    run = make_run(LoadDirection.FETCH, KERNEL, 3, load=LoadKind.DEFAULTS)
    choice = choose(summarize([run], LIMITS), LoadDirection.FETCH, GBIT)

    assert (choice.size_bytes, choice.is_proven) == (KERNEL, False)
    assert choice.reason.startswith("fetch: not tried")


@for_each(
    ("size", "text"),
    [(KERNEL, "kernel"), (65536, "64K"), (102400, "100K"), (4 * MIB, "4M"), (1000, "1000")],
)
def test_sizes_are_told_as_people_write_them(size: int, text: str) -> None:
    """In units of 1024 where that is exact."""
    assert size_text(size) == text
