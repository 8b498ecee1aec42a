from pathlib import Path

import pytest

from folders import CAPTURES
from kdiag.diagnosis.difference.noise import NoiseVerdict
from kdiag.report.difference.comparison import CaptureComparison, ComparedQuantity, compare
from kdiag.report.difference.measured import ErrorCount, MeasuredCapture, measure
from kdiag.report.engine import open_tables
from kdiag.report.tables.catalog import TableChoice
from made_values.steady_load import Load, write_load
from recordings.capture_tables import tables_of

pytestmark = pytest.mark.thorough

RUNS = range(20)


def measured(*files: Path) -> MeasuredCapture:
    """Return what is measured of captures."""
    with open_tables(tables_of(files, TableChoice())) as database:
        return measure(database)


def compared(folder: Path, seed: int, before: Load, after: Load) -> CaptureComparison:
    """Return how two runs of loads compare, that are a capture each."""
    first = measured(write_load(folder / "before.pcap", seed, before))
    return compare(first, measured(write_load(folder / "after.pcap", seed + 1_000, after)))


def differences(comparison: CaptureComparison) -> set[tuple[str, NoiseVerdict]]:
    """Return which measured quantities differ, and how."""
    return {
        (each.quantity, each.verdict)
        for each in comparison.measured
        if each.verdict in {NoiseVerdict.MORE, NoiseVerdict.LESS}
    }


@pytest.mark.sampled(2)
@pytest.mark.parametrize("run", RUNS)
def test_two_captures_of_the_same_load_do_not_differ(tmp_path: Path, run: int) -> None:
    """Latencies are alike in time, with pauses, and each run is a little faster or slower."""
    comparison = compared(tmp_path, run, Load(), Load())

    assert not comparison.differs
    assert {each.verdict for each in comparison.measured} == {
        NoiseVerdict.NOISE,
        NoiseVerdict.TOO_FEW,
    }


@pytest.mark.sampled(1)
@pytest.mark.parametrize("run", RUNS)
def test_a_delay_of_5_ms_is_found(tmp_path: Path, run: int) -> None:
    """And nothing else: batches and rates are the same."""
    comparison = compared(tmp_path, run, Load(), Load(delay_ms=5))

    found = differences(comparison)
    assert (ComparedQuantity.P50, NoiseVerdict.MORE) in found
    assert found <= {
        (each, NoiseVerdict.MORE) for each in (ComparedQuantity.P50, ComparedQuantity.P90)
    }
    (produce,) = (
        each
        for each in comparison.measured
        if (each.quantity, each.of) == (ComparedQuantity.P50, "Produce")
    )
    assert produce.before is not None
    assert produce.after is not None
    assert produce.after - produce.before == pytest.approx(5000, rel=0.1)
    assert produce.p_value is not None
    assert produce.p_value < comparison.alpha
    assert comparison.stated == []


@pytest.mark.sampled(1)
@pytest.mark.parametrize("run", RUNS)
def test_a_changed_size_of_batches_is_found(tmp_path: Path, run: int) -> None:
    """Twice as many records at a time make twice the rate as well; latencies are the same."""
    comparison = compared(tmp_path, run, Load(), Load(records=20))

    assert differences(comparison) == {
        (ComparedQuantity.BATCH, NoiseVerdict.MORE),
        (ComparedQuantity.RATE, NoiseVerdict.MORE),
    }


def test_a_new_client_and_a_changed_setting_are_found(tmp_path: Path) -> None:
    """They are stated with their values, and do not need a test."""
    after = Load(clients=("writer", "newcomer"), acks=-1)
    comparison = compared(tmp_path, 3, Load(), after)

    stated = comparison.stated
    assert [(each.kind, each.of, each.name, each.before, each.after) for each in stated] == [
        ("client", "newcomer", "", None, "library unknown"),
        ("setting", "writer", "acks", "1", "-1"),
    ]
    assert comparison.differs


def test_errors_and_libraries_are_compared() -> None:
    """One error more may be chance; another client and another topic are not."""
    comparison = compare(
        measured(CAPTURES / "rebalance.pcap"), measured(CAPTURES / "produce_consume_group.pcap")
    )

    assert {each.verdict for each in comparison.errors} == {NoiseVerdict.NOISE}
    assert {each.kind for each in comparison.stated} == {"client", "topic"}
    errors = {each.problem: (each.before, each.after) for each in comparison.errors}
    assert errors["NOT_COORDINATOR"] == (1, 0)


def test_errors_all_over_a_capture_are_a_difference(tmp_path: Path) -> None:
    """What is in every block of time after, and in none before, is no chance."""
    both = [measured(write_load(tmp_path / f"{seed}.pcap", seed)) for seed in (1, 2)]
    name = ("NOT_LEADER_OR_FOLLOWER", "Produce")
    failing = both[1]._replace(errors={name: ErrorCount(40, 18)})

    (error,) = compare(both[0], failing).errors
    (less,) = compare(failing, both[0]).errors

    assert (error.verdict, error.before, error.after) == (NoiseVerdict.MORE, 0, 40)
    assert less.verdict is NoiseVerdict.LESS
