from kdiag.diagnosis.buffers.facts import Direction, Load
from kdiag.diagnosis.buffers.trials import summarize
from made_values.buffer_cases import KERNEL, KIB, LIMITS, MIB, MS, make_run

PRODUCE, FETCH = Direction.PRODUCE, Direction.FETCH


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
        make_run(PRODUCE, KERNEL, 1, load=Load.DEFAULTS),
        make_run(PRODUCE, KERNEL, 1),
        make_run(PRODUCE, MIB, 1),
        make_run(PRODUCE, 64 * KIB, 1),
    ]

    assert [(each.direction, each.load, each.size_bytes) for each in summarize(runs, LIMITS)] == [
        (PRODUCE, Load.FULL, 64 * KIB),
        (PRODUCE, Load.FULL, MIB),
        (PRODUCE, Load.FULL, KERNEL),
        (PRODUCE, Load.DEFAULTS, KERNEL),
        (FETCH, Load.FULL, KERNEL),
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
