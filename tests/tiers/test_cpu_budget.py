"""The budget of CPU time grows with the slowness of the machine, and not with the suite."""

from types import SimpleNamespace
from typing import Any

import pytest

from tiers import yardstick
from tiers.cpu_budget import CpuBudget

CHECKSUM = 2_154_323_194
OK = pytest.ExitCode.OK
FAILED = pytest.ExitCode.TESTS_FAILED


class Lines:
    """What a run has printed."""

    def __init__(self) -> None:
        self.shown: list[tuple[str, bool]] = []

    def line(self, text: str, *, red: bool) -> None:
        """Keep a line and whether it is red."""
        self.shown.append((text, red))


def run(limit_s: float | None, used_s: float, slowness: float) -> tuple[int, str, bool]:
    """Run two workers that share the time, and return the exit status, the line, and its red."""
    controller = CpuBudget(limit_s, lambda: (0.0, 0.0))
    for _ in range(2):
        config = SimpleNamespace(workeroutput={})
        worker: Any = CpuBudget(
            limit_s,
            lambda: (used_s / 2 - 1, 1.0),
            lambda: slowness * yardstick.REFERENCE_MS,
        )
        worker.pytest_runtest_teardown()
        worker.pytest_sessionfinish(SimpleNamespace(config=config, exitstatus=OK))
        controller.pytest_testnodedown(config)
    session: Any = SimpleNamespace(config=SimpleNamespace(), exitstatus=OK)
    controller.pytest_sessionfinish(session)
    lines: Any = Lines()
    controller.pytest_terminal_summary(lines)
    ((text, is_red),) = lines.shown
    return session.exitstatus, text, is_red


def test_a_run_within_its_budget_passes_and_says_both_figures() -> None:
    """What was used stands beside what was allowed, here and at the reference speed."""
    told = (
        "CPU time: 150 s of 400 s (75 s of 200 s at the reference speed;"
        " this machine took 2.00 times as long)"
    )
    assert run(200, 150, 2.0) == (OK, told, False)


def test_a_machine_that_is_slow_has_more_time_for_the_same_tests() -> None:
    """Twice the time for everything is no reason to fail."""
    assert run(200, 300, 1.0)[::2] == (FAILED, True)
    assert run(200, 300, 2.0)[::2] == (OK, False)


def test_a_suite_that_has_grown_fails_on_a_slow_machine_too() -> None:
    """The budget grows as the yardstick does, and no further."""
    assert run(200, 401, 2.0)[::2] == (FAILED, True)


def test_a_fast_machine_keeps_the_budget_as_it_was_written() -> None:
    """What runs in half the time may use all of it."""
    assert run(200, 199, 0.5)[::2] == (OK, False)


def test_a_run_without_a_budget_says_its_time_alone() -> None:
    """It measures no speed, and never fails."""
    assert run(None, 500, 3.0) == (OK, "CPU time: 500 s", False)


def test_failures_of_tests_stay_what_they_are() -> None:
    """A run that was interrupted over its budget is told as interrupted."""
    budget = CpuBudget(1, lambda: (2.0, 0.0))
    session: Any = SimpleNamespace(config=SimpleNamespace(), exitstatus=pytest.ExitCode.INTERRUPTED)
    budget.pytest_sessionfinish(session)
    assert session.exitstatus == pytest.ExitCode.INTERRUPTED


def test_a_worker_that_crashed_adds_nothing() -> None:
    """It has not said its time, and the run goes on."""
    budget = CpuBudget(1, lambda: (0.5, 0.0))
    budget.pytest_testnodedown(SimpleNamespace())
    session: Any = SimpleNamespace(config=SimpleNamespace(), exitstatus=OK)
    budget.pytest_sessionfinish(session)
    assert not budget.is_exceeded


def test_speed_is_measured_now_and_then() -> None:
    """The first test is measured behind, and then one for each ten seconds."""
    moments_s = iter([0.0, 5.0, 9.9, 10.0, 12.0, 40.0])
    slowness = iter([1.0, 2.0, 3.0])
    budget = CpuBudget(
        1,
        measure_ms=lambda: next(slowness) * yardstick.REFERENCE_MS,
        read_clock_s=lambda: next(moments_s),
    )
    for _ in range(6):
        budget.pytest_runtest_teardown()
    assert next(slowness, None) is None
    assert budget.slowness == 2.0


def test_the_yardstick_is_the_same_work_each_time() -> None:
    """Its checksum never changes, and it takes time."""
    assert yardstick.work() == yardstick.work() == CHECKSUM
    assert yardstick.measure_ms() > 0
