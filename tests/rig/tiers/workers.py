"""How tests are divided among the workers of pytest-xdist: by file, or by the group they name.

Tests of one file share its fixtures and what it has read. Costly things, such as a running Kafka,
are shared by the tests of a group, which one worker runs from beginning to end.
"""

from xdist.scheduler import LoadGroupScheduling


class ByFileOrGroup(LoadGroupScheduling):  # type: ignore[misc] # xdist has no types
    """Gives a worker whole groups (`--dist loadgroup`), and whole files of what is in none."""

    def _split_scope(self, nodeid: str) -> str:
        """Return the group, which stands behind `@` at the end, or the file."""
        _, at, group = nodeid[nodeid.rfind("]") + 1 :].rpartition("@")
        return group if at else nodeid.partition("::")[0]
