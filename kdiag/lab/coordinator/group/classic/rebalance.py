"""The phases of a rebalance of a classic group, with their timeouts.

    prepare             a reason: PreparingRebalance; who waits for an assignment joins again
      DelayedJoin         all members have joined, or the rebalance timeout is over
    complete_join       generation + 1, all are answered; CompletingRebalance, or Empty without any
      DelayedSync         all have asked for their assignment, or the rebalance timeout is over
    propagate           the leader has brought the assignment: Stable, all are answered
      DelayedHeartbeat    of each member; expired: it is removed, and that is a reason

The group is written down when the leader has brought the assignment, and when it is empty.

Source: Kafka's `GroupCoordinator` (before 4.0), `GroupMetadataManager` (since).
"""

import logging
from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

from kdiag.clock import NS_PER_MS, NS_PER_S, Clock
from kdiag.lab.coordinator.group.classic.group_member import ClassicGroupMember
from kdiag.lab.coordinator.group.classic.group_metadata import GroupMetadata
from kdiag.lab.coordinator.group.classic.group_records import group_record
from kdiag.lab.coordinator.group.classic.group_state import ClassicGroupState
from kdiag.lab.coordinator.group.group_config import GroupCoordinatorConfig
from kdiag.lab.coordinator.runtime.coordinator_record import CoordinatorRecord
from kdiag.lab.purgatory.delayed_heartbeat import DelayedHeartbeat
from kdiag.lab.purgatory.delayed_join import (
    DelayedJoin,
    InitialDelayedJoin,
    InitialJoinTerms,
)
from kdiag.lab.purgatory.delayed_sync import DelayedSync
from kdiag.lab.purgatory.operation_key import GroupJoinKey, GroupSyncKey, MemberKey
from kdiag.lab.purgatory.operation_purgatory import DelayedOperationPurgatory
from kdiag.lab.timer.system_timer import SystemTimer
from kdiag.wire.api.join_group import JoinGroupResponse
from kdiag.wire.api.sync_group import SyncGroupResponse
from kdiag.wire.error_code import CODE_BY_NAME, error_name

LOG: Final = logging.getLogger(__name__)

NEW_MEMBER_JOIN_TIMEOUT_NS: Final = 300 * NS_PER_S
"""A new member that waits so long for its first response is given up: it may have gone."""

_UNKNOWN_MEMBER_ID: Final = CODE_BY_NAME["UNKNOWN_MEMBER_ID"]
_REBALANCE_IN_PROGRESS: Final = CODE_BY_NAME["REBALANCE_IN_PROGRESS"]

Append = Callable[[CoordinatorRecord, Callable[[int], None]], None]
"""Writes a record; the other function gets the error code when it is written, 0 if it is."""

_State = ClassicGroupState


class GroupPurgatories(NamedTuple):
    """What waits for members, of all groups of a node.

    Attributes:
        rebalances: joins and syncs.
        heartbeats: sessions.
    """

    rebalances: DelayedOperationPurgatory[DelayedJoin | DelayedSync]
    heartbeats: DelayedOperationPurgatory[DelayedHeartbeat]

    @classmethod
    def of(cls, clock: Clock) -> "GroupPurgatories":
        """Return purgatories in which nothing waits."""
        return cls(
            DelayedOperationPurgatory("Rebalance", SystemTimer(clock)),
            DelayedOperationPurgatory("Heartbeat", SystemTimer(clock)),
        )


class ClassicRebalance:
    """Rebalances of the groups of a partition.

    Attributes:
        config: times and limits.
        purgatories: what waits.
        append: writes records.
    """

    def __init__(
        self, config: GroupCoordinatorConfig, purgatories: GroupPurgatories, append: Append
    ) -> None:
        """Have nothing that waits."""
        self.config = config
        self.purgatories = purgatories
        self.append = append

    def __repr__(self) -> str:
        return f"<ClassicRebalance: {self.purgatories.rebalances!r}>"

    def maybe_prepare(self, group: GroupMetadata, reason: str) -> None:
        """Begin a rebalance; one that waits for members may be complete by now."""
        if group.can_rebalance:
            self.prepare(group, reason)
        else:
            self.maybe_complete_join(group)

    def prepare(self, group: GroupMetadata, reason: str) -> None:
        """Begin a rebalance."""
        if group.state is _State.COMPLETING_REBALANCE:
            self._reset_assignments(group, _REBALANCE_IN_PROGRESS)
        self._cancel_sync(group)
        is_initial = group.state is _State.EMPTY
        group.transition_to(_State.PREPARING_REBALANCE)
        LOG.info("group %s rebalances: %s", group.group_id, reason)
        if is_initial:
            self._watch(self._initial_join(group), group)
        else:
            self._watch(self._join(group), group)

    def maybe_complete_join(self, group: GroupMetadata) -> None:
        """Complete what waits for members, if nobody is waited for any more."""
        self.purgatories.rebalances.check_and_complete(GroupJoinKey(group.group_id))

    def complete_join(self, group: GroupMetadata) -> None:
        """Begin the next generation with those that have joined."""
        for member in group.not_yet_rejoined:
            if not member.is_static:
                group.remove(member.member_id)
                self.cancel_heartbeat(group, member.member_id)
        if group.state is _State.DEAD:
            return
        if group.members and not group.maybe_elect_joined_leader():
            # Static members keep their places until their sessions end.
            self._watch(self._join(group), group)
            return
        group.init_next_generation()
        if group.is_empty:
            LOG.info("group %s is empty in generation %d", group.group_id, group.generation_id)
            self.append(group_record(group, {}), _warn_of(group))
            return
        self._answer_joins(group)
        sync = DelayedSync(
            group.rebalance_timeout_ms * NS_PER_MS,
            group.generation_id,
            lambda: group.has_synced,
            lambda generation_id: self._expire_sync(group, generation_id),
        )
        self.purgatories.rebalances.try_complete_else_watch(sync, [GroupSyncKey(group.group_id)])

    def remove_pending_sync(self, group: GroupMetadata, member_id: str) -> None:
        """Record that a member has asked for its assignment."""
        group.pending_sync_members.discard(member_id)
        self.purgatories.rebalances.check_and_complete(GroupSyncKey(group.group_id))

    def propagate(self, group: GroupMetadata, assignments: Mapping[str, bytes]) -> None:
        """Give every member its assignment; the group is Stable."""
        for member in group.members.values():
            member.assignment = assignments.get(member.member_id, b"")
        group.transition_to(_State.STABLE)
        self._answer_syncs(group, 0)

    def fail_sync(self, group: GroupMetadata, error_code: int) -> None:
        """Answer those that wait for an assignment that could not be written, and begin anew."""
        self._reset_assignments(group, error_code)
        self.maybe_prepare(group, f"the assignment was not written: {error_name(error_code)}")

    def remove_member(self, group: GroupMetadata, member: ClassicGroupMember, reason: str) -> None:
        """Remove a member; the others rebalance."""
        self.answer_leaving(group, member)
        group.remove(member.member_id)
        self.handle_removed(group, reason)

    def answer_leaving(self, group: GroupMetadata, member: ClassicGroupMember) -> None:
        """Have a member that waits, but is to be removed, join anew if it is still there."""
        response = JoinGroupResponse(error_code=_UNKNOWN_MEMBER_ID)
        group.complete_join(member, response)

    def handle_removed(self, group: GroupMetadata, reason: str) -> None:
        """Have the others rebalance, or complete what has waited for the one that is removed."""
        if group.state in {_State.STABLE, _State.COMPLETING_REBALANCE}:
            self.maybe_prepare(group, reason)
        elif group.state is _State.PREPARING_REBALANCE:
            self.maybe_complete_join(group)

    def reschedule_heartbeat(
        self, group: GroupMetadata, member: ClassicGroupMember, timeout_ns: int | None = None
    ) -> None:
        """Record that a member was heard of, and wait for the next time.

        Args:
            group: the member's.
            member: of it.
            timeout_ns: how long; its session timeout if it is not given.
        """
        key = MemberKey(group.group_id, member.member_id)
        member.is_heard = True
        self.purgatories.heartbeats.check_and_complete(key)
        member.is_heard = False
        heartbeat = DelayedHeartbeat(
            member.timeouts.session_ms * NS_PER_MS if timeout_ns is None else timeout_ns,
            lambda: member.has_satisfied_heartbeat,
            lambda: self._expire_member(group, member),
        )
        self.purgatories.heartbeats.try_complete_else_watch(heartbeat, [key])

    def schedule_pending(self, group: GroupMetadata, member_id: str, session_ms: int) -> None:
        """Wait for somebody who was given an id to join with it."""
        heartbeat = DelayedHeartbeat(
            session_ms * NS_PER_MS,
            lambda: member_id not in group.pending_join_members,
            lambda: self._expire_pending(group, member_id),
        )
        key = MemberKey(group.group_id, member_id)
        self.purgatories.heartbeats.try_complete_else_watch(heartbeat, [key])

    def cancel_heartbeat(self, group: GroupMetadata, member_id: str) -> None:
        """Wait for a member no longer."""
        self.purgatories.heartbeats.cancel_for_key(MemberKey(group.group_id, member_id))

    def unload(self, group: GroupMetadata, error_code: int) -> None:
        """Answer everybody who waits, and wait for nobody: the group is coordinated elsewhere."""
        group.transition_to(_State.DEAD)
        for key in (GroupJoinKey(group.group_id), GroupSyncKey(group.group_id)):
            self.purgatories.rebalances.cancel_for_key(key)
        for member in group.members.values():
            self.cancel_heartbeat(group, member.member_id)
            response = JoinGroupResponse(error_code=error_code, member_id=member.member_id)
            group.complete_join(member, response)
            group.complete_sync(member, SyncGroupResponse(error_code=error_code))
        for member_id in group.pending_join_members:
            self.cancel_heartbeat(group, member_id)

    def _watch(self, operation: DelayedJoin, group: GroupMetadata) -> None:
        key = GroupJoinKey(group.group_id)
        self.purgatories.rebalances.try_complete_else_watch(operation, [key])

    def _join(self, group: GroupMetadata) -> DelayedJoin:
        return DelayedJoin(
            group.rebalance_timeout_ms * NS_PER_MS,
            lambda: group.have_all_joined,
            lambda: self.complete_join(group),
        )

    def _initial_join(self, group: GroupMetadata) -> InitialDelayedJoin:
        group.has_new_member = False
        terms = InitialJoinTerms.of(
            self.config.group_initial_rebalance_delay_ms * NS_PER_MS,
            group.rebalance_timeout_ms * NS_PER_MS,
        )
        return InitialDelayedJoin(
            terms,
            lambda: _take_new_member(group),
            lambda: self.complete_join(group),
            lambda operation: self._watch(operation, group),
        )

    def _answer_joins(self, group: GroupMetadata) -> None:
        LOG.info(
            "group %s has %d members in generation %d",
            group.group_id,
            len(group.members),
            group.generation_id,
        )
        for member in group.members.values():
            is_leader = group.is_leader(member.member_id)
            response = JoinGroupResponse(
                generation_id=group.generation_id,
                protocol_type=group.protocol_type,
                protocol_name=group.protocol_name,
                leader=group.leader_id or "",
                member_id=member.member_id,
                members=group.described_members() if is_leader else [],
            )
            group.complete_join(member, response)
            member.is_new = False
            self.reschedule_heartbeat(group, member)
            group.pending_sync_members.add(member.member_id)

    def _reset_assignments(self, group: GroupMetadata, error_code: int) -> None:
        """Take the assignments back, and answer those that wait for theirs."""
        for member in group.members.values():
            member.assignment = b""
        self._answer_syncs(group, error_code)

    def _answer_syncs(self, group: GroupMetadata, error_code: int) -> None:
        for member in group.members.values():
            response = SyncGroupResponse(error_code=error_code, assignment=member.assignment)
            if not error_code:
                response.protocol_type = group.protocol_type
                response.protocol_name = group.protocol_name
            if group.complete_sync(member, response):
                self.reschedule_heartbeat(group, member)

    def _cancel_sync(self, group: GroupMetadata) -> None:
        group.pending_sync_members.clear()
        self.purgatories.rebalances.check_and_complete(GroupSyncKey(group.group_id))

    def _expire_sync(self, group: GroupMetadata, generation_id: int) -> None:
        """Remove those that have not asked for their assignment."""
        is_late = group.state in {_State.COMPLETING_REBALANCE, _State.STABLE}
        if generation_id != group.generation_id or not is_late or group.has_synced:
            return
        removed = sorted(group.pending_sync_members)
        for member_id in removed:
            group.remove(member_id)
            self.cancel_heartbeat(group, member_id)
        self.prepare(group, f"no SyncGroup from {', '.join(removed)}")

    def _expire_member(self, group: GroupMetadata, member: ClassicGroupMember) -> None:
        """Remove a member that was not heard of."""
        is_there = group.members.get(member.member_id) is member
        if group.state is not _State.DEAD and is_there and not member.has_satisfied_heartbeat:
            self.remove_member(group, member, f"no heartbeat from {member.member_id}")

    def _expire_pending(self, group: GroupMetadata, member_id: str) -> None:
        """Wait no longer for somebody who was given an id."""
        if group.state is not _State.DEAD and member_id in group.pending_join_members:
            group.remove(member_id)
            self.maybe_complete_join(group)


def _take_new_member(group: GroupMetadata) -> bool:
    """Return whether a member came since this was asked last."""
    has_new, group.has_new_member = group.has_new_member, False
    return has_new


def _warn_of(group: GroupMetadata) -> Callable[[int], None]:
    """Return what says that a group was not written down, which harms nobody."""

    def warn(error_code: int) -> None:
        if error_code:
            LOG.warning("group %s is not written: %s", group.group_id, error_name(error_code))

    return warn
