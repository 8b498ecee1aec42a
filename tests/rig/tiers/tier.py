"""The tiers of tests: by what a test costs, which the machine checks, and not by where it stands.

    quick     README's command: no marker, at most 0.3 s of CPU time each, and no other process
    thorough  once for each landing: whole processes, matrices, many examples
    real      the gate: one test for each claim, on a real Kafka, Spark, Chromium, network
    soak      the rest of those, by hand (`bash .ci/run soak`)
    bench     what asserts a duration, a ratio or a rate; never decides a landing

`pytest -m soak` runs a tier, `-m ""` all. A file whose tests are `soak` may mark one of them `real`
as well: that one is in both, and of its releases of Kafka only the newest is in the gate. A run of
the thorough tier tries a third of the quick one's properties once more, with more examples.

A test without a marker that costs too much, or starts a process, fails and says so. What fixtures
take that it shares with others is not counted.
"""

import os
import re
import sys
import time
from collections import Counter
from collections.abc import Generator, Sequence
from typing import Any, Final

import pytest

from tiers.sampling import is_drawn

QUICK: Final = "quick"
THOROUGH: Final = "thorough"
BUDGETS_S: Final = {QUICK: 120, THOROUGH: 220, "real": 450, "soak": 1_500, "bench": 300}
"""The CPU time of each tier, all workers and their programs together: printed, never asserted."""
MARKED: Final = tuple(tier for tier in BUDGETS_S if tier != QUICK)

TEST_BUDGET_S: Final = 0.3
NOISE: Final = 8
"""A busy machine may cost so many times more, and so may what the first test of a worker loads:
Hypothesis alone takes a second for its first text."""

_STARTS: Final = frozenset(
    {"subprocess.Popen", "os.fork", "os.forkpty", "os.posix_spawn", "os.system"}
)
_USED: Final = "kdiag_cpu_s"
_GATE: Final = "real"
_SOAK: Final = "soak"
_BENCH: Final = "bench"
_RELEASE: Final = re.compile(r"\b\d+\.\d+\.\d+\b")


def tier_of(item: pytest.Item) -> str:
    """Return the tier of a test: the nearest marker that names one."""
    return next((each.name for each in item.iter_markers() if each.name in MARKED), QUICK)


def of_newest_releases(items: Sequence[pytest.Item]) -> list[pytest.Item]:
    """Return the tests without those that run on an older release than another of their cases."""
    newest: dict[str, tuple[int, ...]] = {}
    for item in items:
        name = _function(item)
        newest[name] = max(newest.get(name, ()), _release(item))
    return [item for item in items if _release(item) in {(), newest[_function(item)]}]


def _function(item: pytest.Item) -> str:
    return item.nodeid.partition("[")[0]


def _release(item: pytest.Item) -> tuple[int, ...]:
    """Return the release of Kafka in the name of a case; nothing if it has none."""
    found = _RELEASE.search(item.nodeid.partition("[")[2])
    return tuple(int(part) for part in found[0].split(".")) if found else ()


class Tiers:
    """A plugin that names the tier of each test, keeps quick ones quick, and prints CPU time."""

    def __init__(self, wanted: str) -> None:
        """Take the expression that chooses by marker, which is the name of a tier mostly."""
        self._wanted = wanted
        self._started: list[str] = []
        self._shared_s = 0.0
        self._began_s = 0.0
        self._used_s = 0.0
        sys.addaudithook(self._notice)

    def _notice(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event in _STARTS:
            self._started.append(f"{event} {arguments[0] if arguments else ''}".strip())

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Mark what has no marker as quick; leave out what a tier leaves to another."""
        if self._wanted == _GATE:
            items[:] = of_newest_releases(items)
        if self._wanted == _SOAK:
            items[:] = [item for item in items if tier_of(item) != _BENCH]
        for item in items:
            if tier_of(item) == QUICK:
                is_property = getattr(getattr(item, "obj", None), "is_hypothesis_test", False)
                again = self._wanted == THOROUGH and is_property and is_drawn(item.nodeid, 3)
                item.add_marker(THOROUGH if again else QUICK)

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(
        self, fixturedef: pytest.FixtureDef[Any]
    ) -> Generator[None, object, object]:
        """Leave out what a fixture takes that several tests share."""
        began_s = time.process_time()
        try:
            return (yield)
        finally:
            if fixturedef.scope != "function":
                self._shared_s += time.process_time() - began_s

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_setup(self) -> Generator[None, object, object]:
        """Begin to count."""
        self._started.clear()
        self._shared_s = 0.0
        self._began_s = time.process_time()
        return (yield)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_teardown(self, item: pytest.Item) -> Generator[None, object, object]:
        """Fail a quick test that was not."""
        result = yield
        took_s = time.process_time() - self._began_s - self._shared_s
        if tier_of(item) == QUICK and (reason := too_dear(took_s, self._started)):
            pytest.fail(f"{reason}: make it cheaper, or mark it `thorough`", pytrace=False)
        return result

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Add the time of a worker; one that crashed has not said any."""
        self._used_s += getattr(node, "workeroutput", {}).get(_USED, 0.0)

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Report the time to the controller, or add it up there."""
        own_s = sum(os.times()[:2])
        with_children_s = sum(os.times()[:4])
        output = getattr(session.config, "workeroutput", None)
        if output is not None:
            output[_USED] = with_children_s
            return
        # The workers are children of the controller: not all of them have been waited for.
        self._used_s = max(with_children_s, self._used_s + own_s)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print the time of the run, beside what its tier should take."""
        budget_s = BUDGETS_S.get(self._wanted)
        beside = f" (the tier's budget: {budget_s} s)" if budget_s else ""
        terminalreporter.line(f"CPU time: {self._used_s:.0f} s{beside}")


def too_dear(took_s: float, started: list[str]) -> str:
    """Return why a test is none without a marker; nothing if it is."""
    if started:
        each = ", ".join(f"{event} ({count})" for event, count in Counter(started).items())
        return f"a test without a marker starts no process, and this one did: {each}"
    if took_s > TEST_BUDGET_S * NOISE:
        return f"{took_s:.1f} s of CPU time, where a test without a marker has {TEST_BUDGET_S} s"
    return ""
