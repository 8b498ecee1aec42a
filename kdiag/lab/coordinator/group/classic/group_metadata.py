"""A classic group: its members, its generation, its protocol; a state machine without I/O.

    group = GroupMetadata("billing", clock)
    group.add(member, on_joined)                         the first leads
    group.transition_to(PREPARING_REBALANCE)
    group.have_all_joined                                nobody is waited for
    group.init_next_generation()                         generation 1, the protocol is voted on

A member is *pending* between the response that gives it an id and the JoinGroup that brings it
(KIP-394): others wait for it. It is *pending sync* until it has asked for its assignment. Static
members (KIP-345) have a name, under which they come back with another id.

Source: Kafka's `GroupMetadata`, `ClassicGroup`.
"""

import uuid
from collections import Counter
from collections.abc import Collection, Sequence
from typing import Final

from kdiag.clock import NS_PER_MS, Clock
from kdiag.errors import DecodeError
from kdiag.lab.controller.refusal import RequestRefusedError
from kdiag.lab.coordinator.group.classic.group_member import (
    ClassicGroupMember,
    MemberProtocol,
    MemberTimeouts,
    OnJoined,
)
from kdiag.lab.coordinator.group.classic.group_state import ClassicGroupState
from kdiag.wire.api.join_group import JoinGroupResponse, JoinGroupResponseMember
from kdiag.wire.api.sync_group import SyncGroupResponse
from kdiag.wire.codec.messages import decode_prefix
from kdiag.wire.error_code import CODE_BY_NAME
from kdiag.wire.internal.consumer_protocol_subscription import ConsumerProtocolSubscription

CONSUMER_PROTOCOL: Final = "consumer"
NO_GENERATION: Final = -1

_VERSION_BYTES: Final = 2
_FENCED: Final = CODE_BY_NAME["FENCED_INSTANCE_ID"]


class GroupMetadata:
    """A classic group.

    Attributes:
        group_id: its id.
        state: its state; `transition_to` changes it.
        previous_state: the one before.
        generation_id: how many rebalances were completed.
        protocol_type: such as `consumer`; None for a group that has only offsets.
        protocol_name: what its members have voted for.
        leader_id: the member that assigns.
        members: by id, in the order in which they came.
        static_members: instance id -> member id.
        pending_join_members: ids that were given, and not joined with yet.
        pending_sync_members: members that have not asked for their assignment.
        has_new_member: whether one came since the first wait began.
        subscribed_topics: what a group of consumers reads; None if that is not known.
        state_timestamp_ms: since when it is in its state; None if that is not known.
    """

    def __init__(
        self,
        group_id: str,
        clock: Clock,
        state: ClassicGroupState = ClassicGroupState.EMPTY,
    ) -> None:
        """Begin without members."""
        self.group_id = group_id
        self.state = state
        self.previous_state = ClassicGroupState.DEAD
        self.generation_id = 0
        self.protocol_type: str | None = None
        self.protocol_name: str | None = None
        self.leader_id: str | None = None
        self.members: dict[str, ClassicGroupMember] = {}
        self.static_members: dict[str, str] = {}
        self.pending_join_members: set[str] = set()
        self.pending_sync_members: set[str] = set()
        self.has_new_member = False
        self.subscribed_topics: frozenset[str] | None = None
        self._clock = clock
        self.state_timestamp_ms: int | None = self._now_ms
        self._supported: Counter[str] = Counter()

    def __repr__(self) -> str:
        return (
            f"<GroupMetadata {self.group_id!r}: {self.state}, generation {self.generation_id},"
            f" {len(self.members)} members>"
        )

    @property
    def _now_ms(self) -> int:
        return self._clock.epoch_ns() // NS_PER_MS

    @property
    def is_empty(self) -> bool:
        """Return whether it has no members, and may be removed."""
        return self.state is ClassicGroupState.EMPTY

    @property
    def can_rebalance(self) -> bool:
        """Return whether a rebalance may begin."""
        return ClassicGroupState.PREPARING_REBALANCE.may_follow(self.state)

    @property
    def have_all_joined(self) -> bool:
        """Return whether every member waits for the response to its JoinGroup."""
        return not self.pending_join_members and all(
            member.is_awaiting_join for member in self.members.values()
        )

    @property
    def awaiting_join_count(self) -> int:
        """Return how many members wait for the response to their JoinGroup."""
        return sum(member.is_awaiting_join for member in self.members.values())

    @property
    def has_synced(self) -> bool:
        """Return whether every member has asked for its assignment."""
        return not self.pending_sync_members

    @property
    def not_yet_rejoined(self) -> list[ClassicGroupMember]:
        """Return the members that do not wait for the response to a JoinGroup."""
        return [member for member in self.members.values() if not member.is_awaiting_join]

    @property
    def rebalance_timeout_ms(self) -> int:
        """Return how long members may take to join: the longest that one of them asks for."""
        return max((member.timeouts.rebalance_ms for member in self.members.values()), default=0)

    @property
    def uses_consumer_protocol(self) -> bool:
        """Return whether its members are consumers."""
        return self.protocol_type == CONSUMER_PROTOCOL

    @property
    def assignments(self) -> dict[str, bytes]:
        """Return what each member was given."""
        return {member_id: member.assignment for member_id, member in self.members.items()}

    def is_leader(self, member_id: str) -> bool:
        """Return whether a member assigns."""
        return self.leader_id == member_id

    def is_subscribed_to(self, topic: str) -> bool:
        """Return whether its members read a topic; not, if that is not known."""
        return self.subscribed_topics is not None and topic in self.subscribed_topics

    def transition_to(self, state: ClassicGroupState) -> None:
        """Change its state.

        Raises:
            ValueError: if that may not follow.
        """
        if not state.may_follow(self.state):
            raise ValueError(f"group {self.group_id} cannot become {state} when {self.state}")
        self.previous_state, self.state = self.state, state
        self.state_timestamp_ms = self._now_ms

    def supports_protocols(self, protocol_type: str, protocols: Collection[str]) -> bool:
        """Return whether somebody with these protocols can be a member."""
        if self.state is ClassicGroupState.EMPTY:
            return bool(protocol_type and protocols)
        return self.protocol_type == protocol_type and any(
            self._supported[name] == len(self.members) for name in protocols
        )

    def add(self, member: ClassicGroupMember, on_joined: OnJoined | None = None) -> None:
        """Add a member; the first one leads.

        Raises:
            ValueError: if it cannot be a member, or its name is taken.
        """
        instance_id = member.group_instance_id
        if instance_id is not None and instance_id in self.static_members:
            raise ValueError(f"the name {instance_id} is taken in group {self.group_id}")
        if not self.members:
            self.protocol_type = member.protocol_type
        names = {protocol.name for protocol in member.protocols}
        if not self.supports_protocols(member.protocol_type, names):
            raise ValueError(f"{member.member_id} has no protocol of group {self.group_id}")
        if instance_id is not None:
            self.static_members[instance_id] = member.member_id
        if self.leader_id is None:
            self.leader_id = member.member_id
        self.members[member.member_id] = member
        self._supported.update(names)
        member.on_joined = on_joined
        self.pending_join_members.discard(member.member_id)

    def remove(self, member_id: str) -> None:
        """Remove a member, pending or not; another one leads if it did."""
        member = self.members.pop(member_id, None)
        if member is not None:
            self._supported.subtract({protocol.name for protocol in member.protocols})
            if member.group_instance_id is not None:
                self.static_members.pop(member.group_instance_id, None)
        if self.is_leader(member_id):
            self.leader_id = next(iter(self.members), None)
        self.pending_join_members.discard(member_id)
        self.pending_sync_members.discard(member_id)

    def update(
        self,
        member: ClassicGroupMember,
        protocols: Sequence[MemberProtocol],
        timeouts: MemberTimeouts,
        on_joined: OnJoined | None,
    ) -> None:
        """Record what a member says when it joins again."""
        self._supported.subtract({protocol.name for protocol in member.protocols})
        member.protocols = list(protocols)
        self._supported.update({protocol.name for protocol in member.protocols})
        member.timeouts = timeouts
        member.on_joined = on_joined

    def add_pending(self, member_id: str) -> None:
        """Record that an id was given to somebody, who is to join with it.

        Raises:
            ValueError: if a member has it.
        """
        if member_id in self.members:
            raise ValueError(f"{member_id} is a member of group {self.group_id} already")
        self.pending_join_members.add(member_id)

    def new_member_id(self, client_id: str, group_instance_id: str | None) -> str:
        """Return an id that nobody has."""
        return f"{client_id if group_instance_id is None else group_instance_id}-{uuid.uuid4()}"

    def maybe_elect_joined_leader(self) -> bool:
        """Have one that has joined lead, if the leader has not; return whether one leads."""
        leader = self.members.get(self.leader_id or "")
        if leader is not None and leader.is_awaiting_join:
            return True
        joined = (member for member in self.members.values() if member.is_awaiting_join)
        elected = next(joined, None) if leader is not None else None
        if elected is not None:
            self.leader_id = elected.member_id
        return elected is not None

    def replace_static_member(
        self, group_instance_id: str, old_member_id: str, new_member_id: str
    ) -> ClassicGroupMember:
        """Give a static member that came back another id, and return it; the old one is fenced."""
        old = self.members.pop(old_member_id)
        fenced = JoinGroupResponse(error_code=_FENCED, member_id=old_member_id)
        self.complete_join(old, fenced)
        self.complete_sync(old, SyncGroupResponse(error_code=_FENCED))
        member = ClassicGroupMember(
            new_member_id,
            group_instance_id=old.group_instance_id,
            client_id=old.client_id,
            client_host=old.client_host,
            protocol_type=old.protocol_type,
            protocols=old.protocols,
            timeouts=old.timeouts,
            assignment=old.assignment,
        )
        self.members[new_member_id] = member
        if self.is_leader(old_member_id):
            self.leader_id = new_member_id
        self.static_members[group_instance_id] = new_member_id
        return member

    def select_protocol(self) -> str:
        """Return the protocol that most members prefer of those that all can.

        Raises:
            ValueError: if there are no members.
        """
        if not self.members:
            raise ValueError(f"group {self.group_id} has no members that could vote")
        candidates = {name for name, count in self._supported.items() if count == len(self.members)}
        votes = Counter(member.vote(candidates) for member in self.members.values())
        return votes.most_common(1)[0][0]

    def init_next_generation(self) -> None:
        """Begin the next generation with the members that there are; Empty without any."""
        self.generation_id += 1
        self.protocol_name = self.select_protocol() if self.members else None
        self.subscribed_topics = self.compute_subscribed_topics()
        empty, completing = ClassicGroupState.EMPTY, ClassicGroupState.COMPLETING_REBALANCE
        self.transition_to(completing if self.members else empty)
        self.pending_sync_members.clear()

    def compute_subscribed_topics(self) -> frozenset[str] | None:
        """Return what its consumers read; None if it is not consumers, or they do not say."""
        if not self.uses_consumer_protocol:
            return None
        if not self.members:
            return frozenset()
        if self.protocol_name is None:
            return None
        topics: set[str] = set()
        for member in self.members.values():
            data = member.metadata(self.protocol_name)
            try:
                # Version 0 is the beginning of every later one.
                said, _ = decode_prefix(ConsumerProtocolSubscription, 0, data, _VERSION_BYTES)
            except DecodeError:
                return None
            topics.update(said.topics)
        return frozenset(topics)

    def described_members(self) -> list[JoinGroupResponseMember]:
        """Return the members as the leader is told of them."""
        return [
            JoinGroupResponseMember(
                member_id=member.member_id,
                group_instance_id=member.group_instance_id,
                metadata=member.metadata(self.protocol_name),
            )
            for member in self.members.values()
        ]

    def complete_join(self, member: ClassicGroupMember, response: JoinGroupResponse) -> bool:
        """Answer the JoinGroup of a member; return whether it waited for that."""
        on_joined, member.on_joined = member.on_joined, None
        if on_joined is not None:
            on_joined(response)
        return on_joined is not None

    def complete_sync(self, member: ClassicGroupMember, response: SyncGroupResponse) -> bool:
        """Answer the SyncGroup of a member; return whether it waited for that."""
        on_synced, member.on_synced = member.on_synced, None
        if on_synced is not None:
            on_synced(response)
        return on_synced is not None

    def check_member(self, member_id: str, group_instance_id: str | None) -> ClassicGroupMember:
        """Return a member.

        Raises:
            RequestRefusedError: UNKNOWN_MEMBER_ID, FENCED_INSTANCE_ID.
        """
        if group_instance_id is not None:
            known = self.static_members.get(group_instance_id)
            if known is None:
                raise RequestRefusedError("UNKNOWN_MEMBER_ID", f"no member is {group_instance_id}")
            if known != member_id:
                why = f"{group_instance_id} is {known} by now"
                raise RequestRefusedError("FENCED_INSTANCE_ID", why)
        member = self.members.get(member_id)
        if member is None:
            raise RequestRefusedError("UNKNOWN_MEMBER_ID", f"there is no member {member_id!r}")
        return member

    def check_generation(self, generation_id: int) -> None:
        """Refuse a request of another generation.

        Raises:
            RequestRefusedError: ILLEGAL_GENERATION.
        """
        if generation_id != self.generation_id:
            why = f"generation {generation_id}, it is {self.generation_id}"
            raise RequestRefusedError("ILLEGAL_GENERATION", why)

    def check_alive(self) -> None:
        """Refuse a request for a group that was removed meanwhile.

        Raises:
            RequestRefusedError: COORDINATOR_NOT_AVAILABLE.
        """
        if self.state is ClassicGroupState.DEAD:
            raise RequestRefusedError("COORDINATOR_NOT_AVAILABLE", "the group has just gone")

    def check_offset_commit(
        self,
        member_id: str,
        group_instance_id: str | None,
        generation_id: int,
        *,
        is_transactional: bool,
        version: int = 0,
    ) -> None:
        """Refuse a commit of somebody who may not.

        Raises:
            RequestRefusedError: UNKNOWN_MEMBER_ID, FENCED_INSTANCE_ID, ILLEGAL_GENERATION,
                REBALANCE_IN_PROGRESS, COORDINATOR_NOT_AVAILABLE.
        """
        del version
        self.check_alive()
        if generation_id < 0 and self.is_empty:
            return  # an administrator, or a consumer that is no member
        if generation_id >= 0 or member_id or group_instance_id is not None:
            self.check_member(member_id, group_instance_id)
            self.check_generation(generation_id)
        elif not is_transactional and not self.is_empty:
            raise RequestRefusedError("UNKNOWN_MEMBER_ID", "the group has members")
        if not is_transactional and self.state is ClassicGroupState.COMPLETING_REBALANCE:
            raise RequestRefusedError("REBALANCE_IN_PROGRESS", "the assignment is not there yet")

    def check_offset_fetch(self, member_id: str | None, member_epoch: int) -> None:
        """Refuse nothing: everybody may know."""

    def check_offset_delete(self) -> None:
        """Refuse to delete offsets of a group whose members' topics are not known.

        Raises:
            RequestRefusedError: GROUP_ID_NOT_FOUND, NON_EMPTY_GROUP.
        """
        if self.state is ClassicGroupState.DEAD:
            raise RequestRefusedError("GROUP_ID_NOT_FOUND", f"group {self.group_id} is dead")
        if not self.is_empty and not self.uses_consumer_protocol:
            raise RequestRefusedError("NON_EMPTY_GROUP", "the group has members")

    def check_delete(self) -> None:
        """Refuse to delete a group that has members.

        Raises:
            RequestRefusedError: GROUP_ID_NOT_FOUND, NON_EMPTY_GROUP.
        """
        if self.state is ClassicGroupState.DEAD:
            raise RequestRefusedError("GROUP_ID_NOT_FOUND", f"group {self.group_id} is dead")
        if not self.is_empty:
            raise RequestRefusedError("NON_EMPTY_GROUP", "the group has members")

    def expiry_base_ms(self, commit_timestamp_ms: int) -> int | None:
        """Return since when an offset is not needed; None if it is.

        Without members since the group is Empty; in a Stable group of consumers, whose topics are
        known, and in a group that never had members, since it was committed.
        """
        if self.protocol_type is None:
            return commit_timestamp_ms
        if self.is_empty:
            known = self.state_timestamp_ms
            return commit_timestamp_ms if known is None else known
        is_stable = self.state is ClassicGroupState.STABLE
        if is_stable and self.uses_consumer_protocol and self.subscribed_topics is not None:
            return commit_timestamp_ms
        return None
