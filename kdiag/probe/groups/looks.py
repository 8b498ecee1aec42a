"""Looks at groups again and again: what changed in between, as records about them.

    looks = GroupLooks(client, {"orders"})
    while True:
        looks.poll(deadline_ns)
        looks.take_records()

A look asks coordinators to describe their groups; now and then brokers list theirs. It needs
DESCRIBE on the groups alone. The next look comes after 100 ms where something happens, and later
where nothing does.
"""

from collections.abc import Collection, Iterator, Mapping
from typing import Any, Final

from kdiag.client.cluster_client import ClusterClient
from kdiag.client.visibility import hidden_groups
from kdiag.clock import NS_PER_MS, NS_PER_S
from kdiag.diagnosis.rebalance.events import GroupRecord
from kdiag.diagnosis.rebalance.model import EvidencePlace, GroupType
from kdiag.diagnosis.rebalance.records.described_records import DescribedGroups, Key
from kdiag.probe.groups.listing import ListedGroup, in_requests, list_groups
from kdiag.probe.groups.members import describe_raw
from kdiag.wire.error_code import error_name

_FIRST_WAIT_NS: Final = 100 * NS_PER_MS
_LONGEST_WAIT_NS: Final = 2 * NS_PER_S
_LISTED_EVERY_NS: Final = NS_PER_S
_GONE: Final = "GROUP_ID_NOT_FOUND"
_MOVED: Final = frozenset(
    {"NOT_COORDINATOR", "COORDINATOR_NOT_AVAILABLE", "COORDINATOR_LOAD_IN_PROGRESS"}
)
_DENIED: Final = "GROUP_AUTHORIZATION_FAILED"


class GroupLooks:
    """Looks at some groups, or at all; for one thread.

    Attributes:
        warnings: what could not be asked; each is told once.
        look_count: how many looks there were.
    """

    def __init__(self, client: ClusterClient, groups: Collection[str]) -> None:
        """Begin without a look.

        Args:
            client: connected.
            groups: their names; all groups if there are none.
        """
        self.warnings: list[str] = []
        self.look_count = 0
        self._client = client
        self._wanted = frozenset(groups)
        self._described = DescribedGroups()
        self._records: list[GroupRecord] = []
        self._listed: dict[str, ListedGroup] = {}
        self._list_again_ns = self._next_ns = client.clock.monotonic_ns()
        self._wait_ns = _FIRST_WAIT_NS
        self._told: set[str] = set()
        self._present: set[Key] = set()

    @property
    def is_caught_up(self) -> bool:
        """Return whether all groups were looked at once."""
        return self.look_count > 0

    @property
    def wait_ns(self) -> int:
        """Return how long after the last look the next one comes."""
        return self._wait_ns

    def topic_name(self, topic_id: str) -> str | None:
        """Return the name of a topic by its id, in Kafka's text form; None if none was told."""
        return self._described.topic_name(topic_id)

    def take_records(self) -> list[GroupRecord]:
        """Return the records since the last call, and keep them no longer."""
        taken, self._records = self._records, []
        return taken

    def poll(self, deadline_ns: int) -> None:
        """Wait for the time of the next look, at most until the deadline, and look."""
        until_ns = min(self._next_ns, deadline_ns)
        self._client.client.await_condition(lambda: False, until_ns)
        if self._client.clock.monotonic_ns() >= self._next_ns:
            self._look()

    def _look(self) -> None:
        now_ns = self._client.clock.monotonic_ns()
        gone: set[Key] = set()
        if now_ns >= self._list_again_ns:
            gone = self._list()
            self._list_again_ns = now_ns + _LISTED_EVERY_NS
        self.look_count += 1
        found = [*self._describe(), *((key, None) for key in sorted(gone))]
        at_ns = self._client.clock.epoch_ns()
        place = EvidencePlace("look", None, self.look_count)
        before = len(self._records)
        for key, group in found:
            is_new = self.look_count > 1 and key not in self._present
            self._records += self._described.look(key, group, at_ns, place, is_new=is_new)
            (self._present.discard if group is None else self._present.add)(key)
        is_quiet = len(self._records) == before and not self._described.is_any_under_way
        self._wait_ns = (
            min(self._wait_ns * 3 // 2, _LONGEST_WAIT_NS) if is_quiet else _FIRST_WAIT_NS
        )
        self._next_ns = self._client.clock.monotonic_ns() + self._wait_ns

    def _list(self) -> set[Key]:
        """List the groups; return those that are gone, which only a whole list tells."""
        if not self._wanted and not self.look_count and (hidden := hidden_groups(self._client)):
            self._warn(hidden)
        listing = list_groups(self._client)
        for node_id, why in listing.failures.items():
            self._warn(f"broker {node_id} does not list its groups: {why}")
        groups = {
            name: each
            for name, each in listing.groups.items()
            if (not self._wanted or name in self._wanted) and each.type in set(GroupType)
        }
        if listing.failures:
            groups = {**self._listed, **groups}
        self._listed = groups
        return self._present - {(name, GroupType(each.type)) for name, each in groups.items()}

    def _describe(self) -> Iterator[tuple[Key, Any]]:
        """Yield the groups that could be asked about, and how they are described."""
        by_type: dict[str, dict[str, ListedGroup]] = {}
        for name, each in self._listed.items():
            by_type.setdefault(each.type, {})[name] = each
        for kind, groups in by_type.items():
            yield from self._describe_kind(GroupType(kind), groups)

    def _describe_kind(
        self, kind: GroupType, groups: Mapping[str, ListedGroup]
    ) -> Iterator[tuple[Key, Any]]:
        for asked in in_requests(groups):
            for name, group, error in describe_raw(self._client, kind.value, asked):
                code = "" if group is None else error_name(group.error_code)
                if group is not None and group.error_code == 0:
                    yield (name, kind), group
                elif code == _GONE:
                    yield (name, kind), None
                elif code in _MOVED or group is None:
                    self._list_again_ns = 0
                    self._warn(f"group {name}: {code or error}; its coordinator is asked again")
                else:
                    right = ": it takes DESCRIBE on the group" if code == _DENIED else ""
                    self._warn(f"group {name}: {code}{right}")

    def _warn(self, warning: str) -> None:
        if warning not in self._told:
            self._told.add(warning)
            self.warnings.append(warning)
