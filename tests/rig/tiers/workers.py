"""How tests are divided among the workers of pytest-xdist: by file, or by what files share.

Tests of one file share its fixtures and what it has read. What is costly to start, such as a real
Kafka, is one for each worker: files that share it go to one worker. Files that measure time do so,
too, as they would disturb each other.
"""

from typing import Final

from xdist.scheduler import LoadFileScheduling

_GROUPS: Final = {
    "timing": (
        "tests/cases/test_limited_connections.py",
        "tests/interop/coordinators/test_watch_truth.py",
        "tests/interop/speed/",
        "tests/kdiag/net/test_tcp_info.py",
        "tests/kdiag/probe/latency/test_measure.py",
    ),
    "Kafka": (
        "tests/interop/check/",
        "tests/interop/coordinators/test_find_coordinator.py",
        "tests/interop/security/",
        "tests/interop/tail/test_tail_program.py",
        "tests/interop/test_broker.py",
        "tests/interop/test_request.py",
    ),
    "Spark": ("tests/kdiag/pipeline/",),
}
"""How the paths of each group begin. (xdist's own marker for groups does nothing here: pytest 9.2
does not let xdist 3.8 change the names of tests.)"""


class ByFileOrGroup(LoadFileScheduling):  # type: ignore[misc] # xdist has no types
    """Gives a worker whole groups, and whole files of what is in none (`--dist loadfile`)."""

    def _split_scope(self, nodeid: str) -> str:
        """Return the group of a test, or its file."""
        groups = (group for group, starts in _GROUPS.items() if nodeid.startswith(starts))
        return next(groups, nodeid.partition("::")[0])
