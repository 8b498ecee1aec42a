"""How tests are divided among the workers of pytest-xdist: by file, or by what files share.

Tests of one file share its fixtures and what it has read. What is costly to start, such as a real
Kafka, is one for each worker: files that share it go to one worker. Files that measure time do so,
too, as they would disturb each other; and what they start runs before what other workers start.

What takes longest begins first, so that no worker is left alone with it in the end.
"""

import os
from contextlib import suppress
from typing import Any, Final

from xdist.scheduler import LoadFileScheduling

GROUPS: Final = {
    "timing": (
        "tests/cases/test_limited_connections.py",
        "tests/interop/coordinators/test_watch_truth.py",
        "tests/interop/speed/",
        "tests/kdiag/net/tcp/test_tcp_info.py",
        "tests/kdiag/probe/latency/test_measure.py",
    ),
    "Kafka": (
        "tests/interop/check/",
        "tests/interop/coordinators/test_find_coordinator.py",
        "tests/interop/groups/test_members.py",
        "tests/interop/security/",
        "tests/interop/tail/test_tail_program.py",
        "tests/interop/tail/test_tail_survival.py",
        "tests/interop/test_broker.py",
        "tests/interop/test_request.py",
    ),
    "Spark": ("tests/kdiag/pipeline/", "tests/kdiag/test_spark.py"),
}
"""How the paths of each group begin. (xdist's own marker for groups does nothing here: pytest 9.2
does not let xdist 3.8 change the names of tests.)"""


LONGEST: Final = (
    "timing",
    "Spark",
    "Kafka",
    "tests/cases/test_pipeline_elsewhere.py",
    "tests/interop/test_packages.py",
    "tests/interop/lab/test_foreign_clients.py",
    "tests/interop/coordinators/test_rebalances.py",
    "tests/interop/tail/test_tail_group.py",
    "tests/interop/tail/test_tail_records.py",
    "tests/kdiag_cli/commands/pipeline/test_run.py",
    "tests/kdiag_cli/commands/pipeline/test_spark.py",
    "tests/test_oracle.py",
    "tests/interop/groups/test_groups.py",
)
"""Groups and files that take half a minute and more, in this order; of others, those with the most
tests come first."""

_RANKS: Final = {scope: rank for rank, scope in enumerate(LONGEST)}
_USUAL_NICENESS: Final = os.getpriority(os.PRIO_PROCESS, 0)
_TIMING_NICENESS: Final = -10


def scope_of(nodeid: str) -> str:
    """Return the group of a test, or its file."""
    groups = (group for group, starts in GROUPS.items() if nodeid.startswith(starts))
    return next(groups, nodeid.partition("::")[0])


def set_priority(nodeid: str) -> None:
    """Have a test that measures time come before others on a busy machine, and others after it.

    Only root may: on a machine of somebody else, times are as they are there.
    """
    is_timing = scope_of(nodeid) == "timing"
    with suppress(PermissionError):
        os.setpriority(os.PRIO_PROCESS, 0, _TIMING_NICENESS if is_timing else _USUAL_NICENESS)


class ByFileOrGroup(LoadFileScheduling):  # type: ignore[misc] # xdist has no types
    """Gives a worker whole groups, and whole files of what is in none (`--dist loadfile`)."""

    _places: dict[str, int] | None = None

    def _split_scope(self, nodeid: str) -> str:
        """Return the group of a test, or its file."""
        return scope_of(nodeid)

    def _assign_work_unit(self, node: Any) -> None:
        """Give a worker the longest of what is left.

        That of xdist looks each test up in a list of all, and counts, after each test, all that the
        worker has ever been given: with thousands of tests that takes seconds.
        """
        if self._places is None:
            self._places = {nodeid: place for place, nodeid in enumerate(self.collection)}
        scope = min(self.workqueue, key=lambda each: _RANKS.get(each, len(_RANKS)))
        tests = self.workqueue.pop(scope)
        given = self.assigned_work[node]
        for each in [each for each, done in given.items() if all(done.values())]:
            del given[each]
        given[scope] = tests
        places = [self._places[nodeid] for nodeid, is_done in tests.items() if not is_done]
        node.send_runtest_some(places)
