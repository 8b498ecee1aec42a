"""What shares something goes to one worker, and what takes longest begins first."""

import os
from types import SimpleNamespace
from typing import Any

import pytest

from folders import ROOT
from tiers.sampling import IS_CI
from tiers.workers import GROUPS, LONGEST, ByFileOrGroup, set_priority

LONG = "tests/interop/test_packages.py"
MANY = [f"tests/kdiag/test_clock.py::test_{number}" for number in range(4)]
TIMING = [f"tests/cases/test_limited_connections.py::test_{number}" for number in range(2)]
SPEED = ["tests/interop/speed/test_latency.py::test_0"]
PACKAGES = [f"{LONG}::test_{number}" for number in range(3)]
COLLECTED = [*MANY, *PACKAGES, *TIMING, *SPEED]


class Worker:
    """A worker that runs all that it is given.

    Attributes:
        given: the tests, in their order.
    """

    gateway = SimpleNamespace(id="gw0")
    shutting_down = False

    def __init__(self) -> None:
        self.given: list[str] = []

    def send_runtest_some(self, places: list[int]) -> None:
        """Note the tests."""
        self.given += [COLLECTED[place] for place in places]

    def shutdown(self) -> None:
        """Begin nothing any more."""
        self.shutting_down = True


def begin(count: int) -> tuple[Any, list[Worker]]:
    """Return a scheduler that has divided the tests, and its workers."""
    option = SimpleNamespace(loadscopereorder=True)
    scheduler: Any = ByFileOrGroup(
        SimpleNamespace(getvalue=lambda _: [f"{count}*popen"], option=option, hook=None), None
    )
    workers = [Worker() for _ in range(count)]
    for each in workers:
        scheduler.add_node(each)
        scheduler.add_node_collection(each, COLLECTED)
    scheduler.schedule()
    return scheduler, workers


def test_a_group_goes_to_one_worker_and_the_longest_begins() -> None:
    """What is in no group and not known to be long comes last, whatever it has of tests."""
    scheduler, (first, second) = begin(2)
    assert first.given == [*TIMING, *SPEED]
    assert second.given == PACKAGES
    scheduler.mark_test_complete(second, COLLECTED.index(PACKAGES[0]))
    assert second.given == [*PACKAGES, *MANY]


def test_a_worker_is_given_all_and_then_ends() -> None:
    """What is done is forgotten, and nothing else is."""
    scheduler, (only,) = begin(1)
    for number in range(len(COLLECTED)):
        scheduler.mark_test_complete(only, COLLECTED.index(only.given[number]))
    assert sorted(only.given) == sorted(COLLECTED)
    assert only.shutting_down
    assert not scheduler.has_pending


def test_every_name_is_that_of_something_there() -> None:
    """A file that has moved would be in no group any more."""
    starts = [start for starts in GROUPS.values() for start in starts]
    files = [scope for scope in LONGEST if scope not in GROUPS]
    assert [each for each in (*starts, *files) if not (ROOT / each).exists()] == []


def test_what_measures_time_comes_before_all_else() -> None:
    """This test itself runs as usual; a process that it starts inherits what it is set to."""
    usual = os.getpriority(os.PRIO_PROCESS, 0)
    try:
        set_priority("tests/interop/speed/test_latency.py::test_it")
        timing = os.getpriority(os.PRIO_PROCESS, 0)
    finally:
        set_priority("tests/tiers/test_workers.py::test_it")

    if timing == usual and not IS_CI:
        pytest.skip("this user may not give a process more than its usual priority")
    assert timing == -10
    assert os.getpriority(os.PRIO_PROCESS, 0) == usual
