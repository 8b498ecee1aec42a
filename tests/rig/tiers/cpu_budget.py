"""How much CPU time a run of tests takes, all workers and their programs together.

    pytest -n auto --cpu-budget 200    # fails when the run takes more than 200 s

CPU time says how expensive the tests are, whatever else the machine does. It holds what programs
that tests have started took, too, once they have ended. A machine that is slow, or whose neighbours
keep its caches busy, needs more of it for the same tests. So every worker measures the same piece
of work now and then (`tiers.yardstick`), and the budget grows with the mean of what that took:

    CPU time: 420 s of 600 s (280 s of 400 s at the reference speed; this
    machine took 1.50 times as long)

A machine that is faster than the reference keeps the budget as it was written.
"""

import os
import time
from collections.abc import Callable
from statistics import fmean
from typing import Any, Final

import pytest

from tiers import yardstick

_USED: Final = "kdiag_cpu_s"
_MEASURED: Final = "kdiag_yardsticks_ms"
_EVERY_S: Final = 10.0
"""How often a worker measures, at the most: some 40 ms each time, 0.4 % of the run."""


def read_cpu_s() -> tuple[float, float]:
    """Return the CPU time of this process, and that of its children that have been waited for."""
    times = os.times()
    return times.user + times.system, times.children_user + times.children_system


class CpuBudget:
    """A plugin that adds up the CPU time, prints it, and fails a run that takes too much.

    Attributes:
        limit_s: the budget on a machine of the reference speed; None for a run that has none.
    """

    def __init__(
        self,
        limit_s: float | None,
        read_cpu_s: Callable[[], tuple[float, float]] = read_cpu_s,
        measure_ms: Callable[[], float] = yardstick.measure_ms,
        read_clock_s: Callable[[], float] = time.monotonic,
    ) -> None:
        """Take the budget, what tells the CPU time (own, children's), the speed and the moment."""
        self.limit_s = limit_s
        self._read_cpu_s = read_cpu_s
        self._measure_ms = measure_ms
        self._read_clock_s = read_clock_s
        self._measured_ms: list[float] = []
        self._measured_at_s: float | None = None
        self._used_s = 0.0

    @property
    def slowness(self) -> float:
        """How many times longer than the reference this machine takes; 1 for one not slower."""
        if not self._measured_ms:
            return 1.0
        return max(1.0, fmean(self._measured_ms) / yardstick.REFERENCE_MS)

    @property
    def is_exceeded(self) -> bool:
        """Whether the run took more than its budget on this machine."""
        return self.limit_s is not None and self._used_s > self.limit_s * self.slowness

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_teardown(self) -> None:
        """Measure, behind the first test and then after some seconds again."""
        now_s = self._read_clock_s()
        is_due = self._measured_at_s is None or now_s - self._measured_at_s >= _EVERY_S
        if self.limit_s is not None and is_due:
            self._measured_at_s = now_s
            self._measured_ms.append(self._measure_ms())

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Add the time of a worker and what it measured; one that crashed has not said any."""
        output = getattr(node, "workeroutput", {})
        self._used_s += output.get(_USED, 0.0)
        self._measured_ms += output.get(_MEASURED, [])

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Report to the controller, or decide there."""
        own_s, children_s = self._read_cpu_s()
        output = getattr(session.config, "workeroutput", None)
        if output is not None:
            output[_USED] = own_s + children_s
            output[_MEASURED] = self._measured_ms
            return
        # The workers are children of the controller: not all of them have been waited for.
        self._used_s = max(own_s + children_s, self._used_s + own_s)
        if self.is_exceeded and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print the time, in red if it is too much."""
        line = f"CPU time: {self._used_s:.0f} s"
        if self.limit_s is not None:
            at_reference_s = self._used_s / self.slowness
            line += (
                f" of {self.limit_s * self.slowness:.0f} s ({at_reference_s:.0f} s of"
                f" {self.limit_s:.0f} s at the reference speed; this machine took"
                f" {self.slowness:.2f} times as long)"
            )
        terminalreporter.line(line, red=self.is_exceeded)
