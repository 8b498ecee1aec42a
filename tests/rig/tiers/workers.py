"""How tests are divided among the workers of pytest-xdist: by file, or by what files share.

Tests of one file share its fixtures and what it has read. What is costly to start, such as a real
Kafka, is one for each worker: files that ask for the same go to one worker, and begin first, so
that no worker is left alone with them in the end.
"""

from functools import cache
from pathlib import Path
from typing import Any, Final

from xdist.scheduler import LoadFileScheduling

SHARED: Final = ('spark: "SparkSession"', "secure_cluster")
"""What a file says that asks for a fixture which is dear, and one for a whole run. (xdist's own
marker for groups does nothing: pytest 9.2 does not let xdist 3.8 change the names of tests.)"""


@cache
def scope_of(file: str) -> str:
    """Return which of the shared things a file asks for first, or the file itself."""
    path = Path(file)
    text = path.read_text(encoding="utf-8") if path.is_file() else ""
    return next((each for each in SHARED if each in text), file)


class ByFileOrGroup(LoadFileScheduling):  # type: ignore[misc] # xdist has no types
    """Gives a worker whole groups, and whole files of what is in none (`--dist loadfile`)."""

    _places: dict[str, int] | None = None

    def _split_scope(self, nodeid: str) -> str:
        """Return the group of a test, or its file."""
        return scope_of(nodeid.partition("::")[0])

    def _assign_work_unit(self, node: Any) -> None:
        """Give a worker what is shared first, and then the file with the most tests.

        That of xdist looks each test up in a list of all, and counts, after each test, all that the
        worker has ever been given: with thousands of tests that takes seconds.
        """
        if self._places is None:
            self._places = {nodeid: place for place, nodeid in enumerate(self.collection)}
        scope = min(self.workqueue, key=lambda each: each not in SHARED)
        tests = self.workqueue.pop(scope)
        given = self.assigned_work[node]
        for each in [each for each, done in given.items() if all(done.values())]:
            del given[each]
        given[scope] = tests
        places = [self._places[nodeid] for nodeid, is_done in tests.items() if not is_done]
        node.send_runtest_some(places)
