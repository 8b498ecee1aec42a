"""The members of one group: who is there before one joins, and who came and went since.

    look = look_at_group(client, "billing")     # its type, state, assignor and members
    roster = GroupRoster(client, "billing", look)
    roster.changes("m-7")                       # "app-2 at 10.0.0.2 joined"

A group rebalances for whoever joins, leaves or fails. Who that was is in no answer to its members,
but in the difference of two descriptions. Other reasons leave none: new partitions, a member that
joined again.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from kdiag.client.cluster_client import ClusterClient
from kdiag.diagnosis.groups.model import DescribedMember
from kdiag.errors import KdiagError
from kdiag.probe.groups.listing import CLASSIC, ListedGroup, list_groups
from kdiag.probe.groups.members import GroupDescription, describe_groups


class GroupLook(NamedTuple):
    """One group at a moment.

    Attributes:
        listed: as its coordinator lists it; None if none lists it.
        assignor: of a classic group what its members agreed on.
        members: None if they are not known.
        error: why it is not known.
    """

    listed: ListedGroup | None = None
    assignor: str | None = None
    members: Sequence[DescribedMember] | None = None
    error: str | None = None

    @property
    def type(self) -> str:
        """Return its type; that of a group that does not exist is classic."""
        return CLASSIC if self.listed is None else self.listed.type


def look_at_group(client: ClusterClient, name: str) -> GroupLook:
    """Return one group as the brokers of a connected client tell it."""
    listing = list_groups(client)
    listed = listing.groups.get(name)
    if listed is None:
        silent = ", ".join(f"{node}: {why}" for node, why in listing.failures.items())
        error = f"brokers did not list their groups: {silent}" if silent else None
        return GroupLook(members=None if error else (), error=error)
    found = describe_groups(client, {name: listed}, lambda _: None)
    described = found.get(name, GroupDescription(error="its coordinator did not describe it"))
    return GroupLook(listed, described.assignor, described.members, described.error)


class GroupRoster:
    """Tells who has come and gone; for one thread."""

    def __init__(self, client: ClusterClient, name: str, look: GroupLook) -> None:
        self._client = client
        self._name = name
        self._known = _by_id(look)
        self._own_ids: set[str] = set()

    def changes(self, own_id: str) -> str:
        """Return who came and went since the last time; empty if nobody did.

        Nor is anything said where the group cannot be described at the moment.

        Args:
            own_id: of the member that asks, who is no news, nor are the ids that it had before.
        """
        self._own_ids.add(own_id)
        try:
            now = _by_id(look_at_group(self._client, self._name))
        except KdiagError:
            return ""
        if now is None or self._known is None:
            self._known = now or self._known
            return ""
        before, self._known = self._known, now
        came = [str(each) for key, each in now.items() if key not in {*before, *self._own_ids}]
        gone = [str(each) for key, each in before.items() if key not in {*now, *self._own_ids}]
        parts = ((came, "joined"), (gone, "left or failed"))
        return "; ".join(f"{', '.join(who)} {what}" for who, what in parts if who)


def _by_id(look: GroupLook) -> Mapping[str, DescribedMember] | None:
    """Return the members by id; None if they are not known."""
    if look.members is None:
        return None
    return {each.member_id: each for each in look.members}
