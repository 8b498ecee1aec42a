"""A member of a classic group: what it can, what it was given, and which response it waits for.

    protocols       [("range", bytes), ("cooperative-sticky", bytes)], as it prefers them
    vote({"range", "roundrobin"})      "range": its first that every member can

Source: Kafka's `MemberMetadata`, `ClassicGroupMember`.
"""

from collections.abc import Callable, Collection, Sequence
from typing import NamedTuple

from kdiag.wire.api.join_group import JoinGroupResponse
from kdiag.wire.api.sync_group import SyncGroupResponse

OnJoined = Callable[[JoinGroupResponse], None]
"""Sends the response to a JoinGroup."""
OnSynced = Callable[[SyncGroupResponse], None]
"""Sends the response to a SyncGroup."""


class MemberProtocol(NamedTuple):
    """A protocol that a member can.

    Attributes:
        name: such as `range`.
        metadata: what the member says with it: its subscription.
    """

    name: str
    metadata: bytes


class MemberTimeouts(NamedTuple):
    """How long a member may be silent, and how long it may take to join."""

    rebalance_ms: int
    session_ms: int


class ClassicGroupMember:
    """A member.

    Attributes:
        member_id: its id.
        group_instance_id: its name, if it is static (KIP-345).
        client_id: as it calls itself.
        client_host: its address.
        protocol_type: such as `consumer`.
        protocols: what it can, as it prefers it.
        timeouts: its times.
        assignment: what the leader gave it.
        on_joined: answers its JoinGroup, if it waits for that.
        on_synced: answers its SyncGroup, if it waits for that.
        is_new: whether it has never been answered.
        is_heard: whether a heartbeat has just come.
    """

    def __init__(  # noqa: PLR0913 - a member has as many facts
        self,
        member_id: str,
        *,
        group_instance_id: str | None = None,
        client_id: str = "",
        client_host: str = "",
        protocol_type: str,
        protocols: Sequence[MemberProtocol],
        timeouts: MemberTimeouts,
        assignment: bytes = b"",
    ) -> None:
        """Have a member that waits for nothing."""
        self.member_id = member_id
        self.group_instance_id = group_instance_id
        self.client_id = client_id
        self.client_host = client_host
        self.protocol_type = protocol_type
        self.protocols = list(protocols)
        self.timeouts = timeouts
        self.assignment = assignment
        self.on_joined: OnJoined | None = None
        self.on_synced: OnSynced | None = None
        self.is_new = False
        self.is_heard = False

    def __repr__(self) -> str:
        return f"<ClassicGroupMember {self.member_id}>"

    @property
    def is_static(self) -> bool:
        """Return whether it keeps its place while it is away."""
        return self.group_instance_id is not None

    @property
    def is_awaiting_join(self) -> bool:
        """Return whether it waits for the response to its JoinGroup."""
        return self.on_joined is not None

    @property
    def is_awaiting_sync(self) -> bool:
        """Return whether it waits for the response to its SyncGroup."""
        return self.on_synced is not None

    @property
    def has_satisfied_heartbeat(self) -> bool:
        """Return whether it was heard of, or need not be: who waits cannot send.

        A new one has no id yet by which it could be heard of, and may have gone.
        """
        if self.is_new:
            return self.is_heard
        return self.is_heard or self.is_awaiting_join or self.is_awaiting_sync

    def metadata(self, protocol: str | None) -> bytes:
        """Return what it says with a protocol; nothing if it cannot."""
        return next((each.metadata for each in self.protocols if each.name == protocol), b"")

    def vote(self, candidates: Collection[str]) -> str:
        """Return the protocol that it prefers.

        Raises:
            ValueError: if it can none of the candidates.
        """
        for protocol in self.protocols:
            if protocol.name in candidates:
                return protocol.name
        raise ValueError(f"{self.member_id} can none of {', '.join(sorted(candidates))}")
