"""How tests are divided among the workers of pytest-xdist: by file, or by what files share.

Tests of one file share its fixtures and what it has read. What is costly to start, such as a real
Kafka, is one for each worker: files that share it go to one worker. Files that measure time do so,
too, as they would disturb each other.
"""

from typing import Final

from xdist.scheduler import LoadFileScheduling

_GROUPS: Final = {
    "tests/interop/speed/": "timing",
    "tests/cases/test_limited_connections.py": "timing",
    "tests/kdiag/net/test_tcp_info.py": "timing",
    "tests/kdiag/probe/latency/test_measure.py": "timing",
    "tests/interop/": "Kafka",
    "tests/kdiag/pipeline/": "Spark",
}
"""Groups by how paths begin; the first that fits counts. (xdist's own marker for groups does
nothing here: pytest 9.2 does not let xdist 3.8 change the names of tests.)"""


class ByFileOrGroup(LoadFileScheduling):  # type: ignore[misc] # xdist has no types
    """Gives a worker whole groups, and whole files of what is in none (`--dist loadfile`)."""

    def _split_scope(self, nodeid: str) -> str:
        """Return the group of a test, or its file."""
        groups = (group for start, group in _GROUPS.items() if nodeid.startswith(start))
        return next(groups, nodeid.partition("::")[0])
