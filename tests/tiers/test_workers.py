"""What shares something goes to one worker, and begins first."""

from types import SimpleNamespace
from typing import Any

import pytest

from folders import ROOT
from tiers.workers import SHARED, ByFileOrGroup, scope_of

MANY = [f"tests/kdiag/test_clock.py::test_{number}" for number in range(4)]
SPARK = "tests/kdiag/test_spark.py"
SPARKS = ["tests/kdiag/pipeline/test_run.py::test_0", f"{SPARK}::test_1", f"{SPARK}::test_2"]
SASL = "tests/interop/security/test_sasl.py"
KAFKAS = ["tests/interop/test_broker.py::test_0", f"{SASL}::test_1", f"{SASL}::test_2"]
COLLECTED = [*MANY, *SPARKS, *KAFKAS]


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


def test_what_files_share_goes_to_one_worker_and_begins() -> None:
    """Files that share nothing come last, whatever they have of tests."""
    scheduler, (first, second) = begin(2)
    assert first.given == SPARKS
    assert second.given == KAFKAS
    scheduler.mark_test_complete(second, COLLECTED.index(KAFKAS[0]))
    assert second.given == [*KAFKAS, *MANY]


def test_a_worker_is_given_all_and_then_ends() -> None:
    """What is done is forgotten, and nothing else is."""
    scheduler, (only,) = begin(1)
    for number in range(len(COLLECTED)):
        scheduler.mark_test_complete(only, COLLECTED.index(only.given[number]))
    assert sorted(only.given) == sorted(COLLECTED)
    assert only.shutting_down
    assert not scheduler.has_pending


@pytest.mark.thorough
def test_each_shared_thing_is_asked_for() -> None:
    """A name that no file has any more would gather nothing."""
    files = [path.relative_to(ROOT).as_posix() for path in (ROOT / "tests").rglob("test_*.py")]
    assert {*SHARED} <= {scope_of(file) for file in files}
