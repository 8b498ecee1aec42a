"""The partitions whose lag is not known, folded by the reason: one line each, however many.

the lag of orders[1], orders[3] in group billing is not known: TOPIC_AUTHORIZATION_FAILED
(you need DESCRIBE on the topic)
"""

from collections.abc import Iterator
from typing import Final, NamedTuple

from kdiag.diagnosis.check.report import listed
from kdiag.diagnosis.groups.model import Group

_RIGHTS: Final = {
    "TOPIC_AUTHORIZATION_FAILED": " (you need DESCRIBE on the topic)",
    "GROUP_AUTHORIZATION_FAILED": " (you need DESCRIBE on the group)",
    "CLUSTER_AUTHORIZATION_FAILED": " (you need DESCRIBE on the cluster)",
}


def with_rights(error: str) -> str:
    """Return an error with what a user needs whom it refuses."""
    return error + _RIGHTS.get(error, "")


class _Affected(NamedTuple):
    """What one reason concerns: the names of partitions and groups, each once, in order."""

    partitions: dict[str, None]
    groups: dict[str, None]


class UnknownLags:
    """Collects partitions whose lag is not known; of many groups, names alone are kept."""

    def __init__(self) -> None:
        self._by_reason: dict[str, _Affected] = {}

    def add(self, group: Group) -> None:
        """Note those of a group, before it is condensed."""
        for each in group.partitions:
            if each.is_lag_unknown:
                reason = each.error or group.error or "it was not asked for"
                affected = self._by_reason.setdefault(reason, _Affected({}, {}))
                affected.partitions[str(each)] = None
                affected.groups[group.group] = None

    def warnings(self) -> Iterator[str]:
        """Yield a line for each reason."""
        for reason, affected in self._by_reason.items():
            word = "group" if len(affected.groups) == 1 else "groups"
            yield (
                f"the lag of {listed([*affected.partitions])} in {word} "
                f"{listed([*affected.groups])} is not known: {with_rights(reason)}"
            )
