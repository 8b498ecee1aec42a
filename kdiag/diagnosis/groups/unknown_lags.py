"""The partitions whose lag is not known, folded by the reason: one line each, however many.

the lag of orders[1], orders[3] in group billing is not known: TOPIC_AUTHORIZATION_FAILED
(you need DESCRIBE on the topic)
"""

from collections.abc import Iterator
from typing import NamedTuple

from kdiag.diagnosis.check.report import listed
from kdiag.diagnosis.groups.model import Group, PartitionLag


class _Affected(NamedTuple):
    """What one reason concerns: the names of partitions and groups, each once, in order."""

    partitions: dict[str, None]
    groups: dict[str, None]


class UnknownLags:
    """Collects partitions whose lag is not known; of many groups, names alone are kept."""

    def __init__(self, what: str = "lag") -> None:
        """Begin with none.

        Args:
            what: is not known of them: `lag`, or `age` of the next record.
        """
        self._what = what
        self._by_reason: dict[str, _Affected] = {}

    def add(self, group: Group) -> None:
        """Note those of a group whose lag is not known, before it is condensed."""
        for each in group.partitions:
            if each.is_lag_unknown:
                self.note(group, each, each.error or group.error or "it was not asked for")

    def note(self, group: Group, partition: PartitionLag, reason: str) -> None:
        """Note one partition."""
        affected = self._by_reason.setdefault(reason, _Affected({}, {}))
        affected.partitions[str(partition)] = None
        affected.groups[group.group] = None

    def warnings(self) -> Iterator[str]:
        """Yield a line for each reason."""
        for reason, affected in self._by_reason.items():
            word = "group" if len(affected.groups) == 1 else "groups"
            yield (
                f"the {self._what} of {listed([*affected.partitions])} in {word} "
                f"{listed([*affected.groups])} is not known: {self._with_rights(reason)}"
            )

    def _with_rights(self, error: str) -> str:
        """Return an error with what a user needs whom it refuses."""
        kind = error.removesuffix("_AUTHORIZATION_FAILED").lower()
        if kind == error.lower():
            return error
        right = "READ" if self._what == "age" else "DESCRIBE"
        return f"{error} (you need {right} on the {kind})"
