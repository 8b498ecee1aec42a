"""The releases of Kafka that tests run against: when a new one arrives, it is added here.

`tests/test_new_release.py` then names every table that has to follow.
"""

from typing import Final, NamedTuple


class Release(NamedTuple):
    """One release.

    Attributes:
        version: as Maven Central has it.
        tools: the version of kafka-tools to use with it.
        metadata_version: the start of the name of its newest `metadata.version`.
    """

    version: str
    tools: str
    metadata_version: str

    @property
    def minor(self) -> str:
        """Return the release without its last number: `4.3`."""
        return self.version.rpartition(".")[0]


RELEASES: Final = (
    Release("3.9.1", tools="3.9.1", metadata_version="3.9-IV0"),
    Release("4.3.1", tools="4.3.1", metadata_version="4.3-IV0"),
    Release("4.4.0", tools="4.3.1", metadata_version="4.4-IV"),  # published without kafka-tools
)
"""Oldest first: one with the versions that 4.0 removed, then those with news in their schemas."""

VERSIONS: Final = tuple(each.version for each in RELEASES)
OLDEST: Final = VERSIONS[0]
USUAL: Final = "4.3.1"
"""What a test takes that needs some Kafka, and no matter which."""
NEWEST: Final = VERSIONS[-1]


def release(version: str) -> Release:
    """Return the release of that version."""
    return next(each for each in RELEASES if each.version == version)
