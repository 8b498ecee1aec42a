from kdiag.diagnosis.buffers.bounds import bound_of, bounds
from kdiag.diagnosis.buffers.ceiling import Bound, ceilings
from kdiag.diagnosis.buffers.facts import LoadDirection, LoadKind
from kdiag.diagnosis.buffers.trials import summarize
from made_values.buffer_cases import GBIT, KERNEL, KIB, LIMITS, MIB, make_path, make_run
from tiers.cases import for_each

PRODUCE, FETCH = LoadDirection.PRODUCE, LoadDirection.FETCH


# As measured at 20.5 ms: client's buffer, MB/s and the receiver's window; the broker's buffer.
@for_each(
    ("run", "brokers", "bound"),
    [
        ((PRODUCE, 64 * KIB, 4.28, 127200), 102400, Bound.CLIENT_BUFFER),
        ((PRODUCE, 128 * KIB, 5.58, 127200), 102400, Bound.BROKER_BUFFER),
        ((PRODUCE, KERNEL, 5.70, 127200), 102400, Bound.BROKER_BUFFER),
        ((PRODUCE, 64 * KIB, 4.84, 770048), KERNEL, Bound.CLIENT_BUFFER),
        ((PRODUCE, MIB, 48.19, 12506112), KERNEL, Bound.CLIENT_BUFFER),
        ((PRODUCE, 4 * MIB, 67.12, 16667648), KERNEL, Bound.PATH),
        ((FETCH, 64 * KIB, 3.22, 80480), 102400, Bound.CLIENT_BUFFER),
        ((FETCH, MIB, 7.61, 1309280), 102400, Bound.BROKER_BUFFER),
        ((FETCH, KERNEL, 7.33, 724992), 102400, Bound.BROKER_BUFFER),
        ((FETCH, 100 * KIB, 5.35, 127200), KERNEL, Bound.CLIENT_BUFFER),
        ((FETCH, 4 * MIB, 86.04, 5242112), KERNEL, Bound.PATH),
        ((FETCH, KERNEL, 7.33, 724992), None, Bound.PATH),
        ((PRODUCE, 64 * KIB, 4.84, None), None, Bound.CLIENT_BUFFER),
    ],
)
def test_the_buffer_that_is_full_is_named(
    run: tuple[LoadDirection, int, float, int | None], brokers: int | None, bound: Bound
) -> None:
    """By what went in each round trip."""
    made = make_run(*run[:3], window_bytes=run[3])
    (trial,) = summarize([made], LIMITS)

    assert bound_of(trial, make_path(20.5, send=brokers, receive=brokers)) is bound


def test_all_three_are_told_in_sentences() -> None:
    """Today's defaults, buffers that are left to the kernel, and what is next."""
    path = make_path(20.5, send=KERNEL, receive=KERNEL)
    runs = [
        make_run(FETCH, KERNEL, 124, window_bytes=12_817_408),
        make_run(FETCH, KERNEL, 33, load=LoadKind.DEFAULTS),
    ]
    found = bounds(FETCH, summarize(runs, LIMITS), ceilings(path, LIMITS, GBIT), path)

    assert (found.defaults, found.kernel) == (Bound.CLIENT_BUFFER, Bound.PATH)
    today, tuned, following = found.sentences
    assert today.startswith("Java with its defaults fetches at most 3.58 MB/s over this path")
    assert "fetches 124 MB/s, held by none of the buffers" in tuned
    assert "33 MB/s: what one fetch brings in each round trip holds it then" in following


def test_a_ceiling_that_is_the_rate_asked_for_says_so() -> None:
    """No property of the path, and nothing that was measured."""
    path = make_path(0.1, send=KERNEL, receive=KERNEL)
    (said,) = bounds(FETCH, (), ceilings(path, LIMITS, GBIT // 10), path).sentences
    assert said.startswith("Java with its defaults fetches the 12.5 MB/s to make room for (--rate)")


def test_defaults_that_are_as_fast_hold_nothing() -> None:
    """There is no next limit to name."""
    path = make_path()
    runs = [
        make_run(FETCH, KERNEL, 7.4, window_bytes=MIB),
        make_run(FETCH, KERNEL, 7.3, load=LoadKind.DEFAULTS),
    ]
    found = bounds(FETCH, summarize(runs, LIMITS), [], path)
    assert len(found.sentences) == 1


def test_nothing_is_said_of_what_nobody_knows() -> None:
    """Neither measured nor predicted."""
    assert bounds(PRODUCE, [], [], make_path()) == (PRODUCE, None, None, [])
