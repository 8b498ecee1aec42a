"""What fails in the gate is run once more, alone, when all others have ended.

    pytest -m real --second-try FILE

A real Kafka on two busy cores misses a moment now and then. So a test decides a landing when it
fails twice; one that passes alone is named in the run's last lines and in the file, for whoever
reads them to mend its cause:

    passed on the second try: tests/interop/...::test_...
"""

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import pytest

MOST: Final = 5
"""So many failures may be moments that were missed; more are a fault."""


class SecondTry:
    """A plugin of the process that the run began with: it hears what all workers report.

    Attributes:
        failed: the names of the tests that failed, in their order.
        passed_then: of these, the ones that passed alone.
    """

    def __init__(self, notes: Path) -> None:
        """Take the file for the names of what passed on the second try."""
        self.failed: list[str] = []
        self.passed_then: list[str] = []
        self._notes = notes
        self._output = ""

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note what failed, in its own steps or in those of its fixtures."""
        if report.failed and report.nodeid not in self.failed:
            self.failed.append(report.nodeid)

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Run again what failed, and take the run for green if all of it passes."""
        only_tests_failed = session.exitstatus == pytest.ExitCode.TESTS_FAILED
        if not only_tests_failed or not 0 < len(self.failed) <= MOST:
            return
        options = ["-m", session.config.getoption("markexpr")]
        passes = {name: self._passes(name, options) for name in self.failed}
        self.passed_then = [name for name, is_passed in passes.items() if is_passed]
        if all(passes.values()):
            session.exitstatus = pytest.ExitCode.OK
        self._notes.write_text("".join(f"{line}\n" for line in self._lines()), encoding="utf-8")

    def _passes(self, name: str, options: Sequence[str]) -> bool:
        command = [sys.executable, "-m", "pytest", "-p", "no:randomly", *options, name]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        self._output += done.stdout + done.stderr
        return done.returncode == pytest.ExitCode.OK

    def _lines(self) -> list[str]:
        return [f"passed on the second try: {name}" for name in self.passed_then]

    @pytest.hookimpl(trylast=True)
    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print what the second try printed, and which tests passed in it."""
        if self._output:
            terminalreporter.section("second try")
            terminalreporter.write(self._output)
        for line in self._lines():
            terminalreporter.line(line, yellow=True)
