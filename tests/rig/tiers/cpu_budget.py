"""How much CPU time a run of tests takes, all workers and their programs together.

    pytest -n 2 --cpu-budget 200    # fails when the run takes more than 200 s

CPU time says how expensive the tests are, whatever else the machine does. It holds what programs
that tests have started took, too, once they have ended.
"""

import os
from typing import Any

import pytest

_KEY = "kdiag_cpu_s"


class CpuBudget:
    """A plugin that adds up the CPU time, prints it, and fails a run that takes too much.

    Attributes:
        limit_s: the budget; None for a run that has none.
    """

    def __init__(self, limit_s: float | None) -> None:
        self.limit_s = limit_s
        self._used_s = 0.0

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Add the time of a worker; one that crashed has not said any."""
        self._used_s += getattr(node, "workeroutput", {}).get(_KEY, 0.0)

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Report the time to the controller, or decide there."""
        times = os.times()
        own_s = times.user + times.system + times.children_user + times.children_system
        output = getattr(session.config, "workeroutput", None)
        if output is not None:
            output[_KEY] = own_s
            return
        # The workers are children of the controller: not all of them have been waited for.
        self._used_s = max(own_s, self._used_s + times.user + times.system)
        if self._is_exceeded and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print the time, in red if it is too much."""
        budget = f" of {self.limit_s:.0f} s" if self.limit_s is not None else ""
        terminalreporter.line(f"CPU time: {self._used_s:.0f} s{budget}", red=self._is_exceeded)

    @property
    def _is_exceeded(self) -> bool:
        return self.limit_s is not None and self._used_s > self.limit_s
