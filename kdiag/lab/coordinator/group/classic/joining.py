"""JoinGroup of a classic group: who may be a member, with which id, and when it is answered.

    no member id      version 4 and later: MEMBER_ID_REQUIRED, with an id to join with (KIP-394)
                      before, or with an instance id: a member at once
    an instance id that somebody has      the same member came back: it gets its place, the old
                                          one is fenced (KIP-345)
    a member          when PreparingRebalance: waits; the leader, or with another subscription:
                      the group rebalances; else it is told the generation that there is

A static member that comes back to a Stable group changes nothing but its id. If it leads, it is
told not to assign anew (`skipAssignment`, KIP-814); clients before version 9 are told the leader
that was, so that they do not.

Source: Kafka's `GroupMetadataManager.classicGroupJoin`.
"""

from typing import Final, NamedTuple

from kdiag.lab.controller.refusal import RequestRefusedError
from kdiag.lab.coordinator.group.classic.group_member import (
    ClassicGroupMember,
    MemberProtocol,
    MemberTimeouts,
    OnJoined,
)
from kdiag.lab.coordinator.group.classic.group_metadata import GroupMetadata
from kdiag.lab.coordinator.group.classic.group_records import group_record
from kdiag.lab.coordinator.group.classic.group_state import ClassicGroupState
from kdiag.lab.coordinator.group.classic.rebalance import (
    NEW_MEMBER_JOIN_TIMEOUT_NS,
    ClassicRebalance,
)
from kdiag.lab.coordinator.group.group_config import GroupClient
from kdiag.wire.api.join_group import JoinGroupRequest, JoinGroupResponse
from kdiag.wire.error_code import CODE_BY_NAME

_MEMBER_ID_REQUIRED_SINCE: Final = 4
_SKIP_ASSIGNMENT_SINCE: Final = 9
_REBALANCE_TIMEOUT_SINCE: Final = 1

_State = ClassicGroupState


class JoinAttempt(NamedTuple):
    """A JoinGroup.

    Attributes:
        request: what is asked.
        client: who asks.
        on_joined: sends the response.
    """

    request: JoinGroupRequest
    client: GroupClient
    on_joined: OnJoined

    @property
    def protocols(self) -> list[MemberProtocol]:
        """Return what the member can."""
        return [MemberProtocol(each.name, bytes(each.metadata)) for each in self.request.protocols]

    @property
    def timeouts(self) -> MemberTimeouts:
        """Return its times; version 0 has one for both."""
        session_ms = self.request.session_timeout_ms
        has_both = self.client.version >= _REBALANCE_TIMEOUT_SINCE
        return MemberTimeouts(
            self.request.rebalance_timeout_ms if has_both else session_ms, session_ms
        )

    @property
    def reason(self) -> str:
        """Return why the member joins, as it says (KIP-800)."""
        return self.request.reason or "not provided"

    def refuse(self, error: str, member_id: str | None = None) -> None:
        """Answer with an error; the member keeps its id if no other is given."""
        known = self.request.member_id if member_id is None else member_id
        self.on_joined(JoinGroupResponse(error_code=CODE_BY_NAME[error], member_id=known))


def join_group(rebalance: ClassicRebalance, group: GroupMetadata, attempt: JoinAttempt) -> None:
    """Answer a JoinGroup, now or later."""
    request = attempt.request
    if not _accepts(rebalance, group, request.member_id):
        group.remove(request.member_id)
        attempt.refuse("GROUP_MAX_SIZE_REACHED", "")
    elif group.state is _State.DEAD:
        attempt.refuse("COORDINATOR_NOT_AVAILABLE")
    elif not group.supports_protocols(
        request.protocol_type, {protocol.name for protocol in request.protocols}
    ):
        attempt.refuse("INCONSISTENT_GROUP_PROTOCOL")
    elif not request.member_id:
        _join_new(rebalance, group, attempt)
    elif request.member_id in group.pending_join_members:
        _add(rebalance, group, attempt, request.member_id)
    else:
        _join_again(rebalance, group, attempt)


def _accepts(rebalance: ClassicRebalance, group: GroupMetadata, member_id: str) -> bool:
    """Return whether there is room for a member."""
    most = rebalance.config.group_max_size
    member = group.members.get(member_id)
    if group.state in {_State.EMPTY, _State.DEAD}:
        return True
    if group.state is _State.PREPARING_REBALANCE:
        # Of a group that is too large already, those that join last have to go.
        is_waiting = member is not None and member.is_awaiting_join
        return is_waiting or group.awaiting_join_count < most
    return member is not None or len(group.members) < most


def _join_new(rebalance: ClassicRebalance, group: GroupMetadata, attempt: JoinAttempt) -> None:
    """Answer somebody without an id."""
    request = attempt.request
    instance_id = request.group_instance_id
    member_id = group.new_member_id(attempt.client.client_id, instance_id)
    if instance_id is not None:
        known = group.static_members.get(instance_id)
        if known is not None:
            _replace(rebalance, group, attempt, known, member_id)
        else:
            _add(rebalance, group, attempt, member_id)
    elif attempt.client.version >= _MEMBER_ID_REQUIRED_SINCE:
        group.add_pending(member_id)
        rebalance.schedule_pending(group, member_id, request.session_timeout_ms)
        attempt.refuse("MEMBER_ID_REQUIRED", member_id)
    else:
        _add(rebalance, group, attempt, member_id)


def _add(
    rebalance: ClassicRebalance, group: GroupMetadata, attempt: JoinAttempt, member_id: str
) -> None:
    """Add a member; the group rebalances."""
    request = attempt.request
    member = ClassicGroupMember(
        member_id,
        group_instance_id=request.group_instance_id,
        client_id=attempt.client.client_id,
        client_host=attempt.client.client_host,
        protocol_type=request.protocol_type,
        protocols=attempt.protocols,
        timeouts=attempt.timeouts,
    )
    member.is_new = True
    is_initial = group.previous_state is _State.EMPTY
    if group.state is _State.PREPARING_REBALANCE and is_initial:
        group.has_new_member = True
    group.add(member, attempt.on_joined)
    rebalance.cancel_heartbeat(group, member_id)
    rebalance.reschedule_heartbeat(group, member, NEW_MEMBER_JOIN_TIMEOUT_NS)
    rebalance.maybe_prepare(group, f"{member_id} joins, its reason: {attempt.reason}")


def _join_again(rebalance: ClassicRebalance, group: GroupMetadata, attempt: JoinAttempt) -> None:
    """Answer a member."""
    request = attempt.request
    try:
        member = group.check_member(request.member_id, request.group_instance_id)
    except RequestRefusedError as error:
        attempt.refuse(error.error)
        return
    is_same = member.protocols == attempt.protocols
    if group.state is _State.PREPARING_REBALANCE:
        _update(rebalance, group, attempt, member)
    elif group.state is _State.COMPLETING_REBALANCE and is_same:
        # Maybe it has not got the response.
        attempt.on_joined(_current(group, member))
    elif group.state is _State.STABLE and is_same and not group.is_leader(member.member_id):
        attempt.on_joined(_current(group, member))
    elif group.state is _State.EMPTY:
        attempt.refuse("UNKNOWN_MEMBER_ID")
    else:
        _update(rebalance, group, attempt, member)


def _update(
    rebalance: ClassicRebalance,
    group: GroupMetadata,
    attempt: JoinAttempt,
    member: ClassicGroupMember,
) -> None:
    """Record what a member says; the group rebalances."""
    group.update(member, attempt.protocols, attempt.timeouts, attempt.on_joined)
    reason = f"{member.member_id} joins again, its reason: {attempt.reason}"
    rebalance.maybe_prepare(group, reason)


def _replace(
    rebalance: ClassicRebalance,
    group: GroupMetadata,
    attempt: JoinAttempt,
    old_member_id: str,
    member_id: str,
) -> None:
    """Answer a static member that came back."""
    instance_id = attempt.request.group_instance_id
    assert instance_id is not None
    leader_before = group.leader_id or ""
    rebalance.cancel_heartbeat(group, old_member_id)
    member = group.replace_static_member(instance_id, old_member_id, member_id)
    before = (member.protocols, member.timeouts)
    group.update(member, attempt.protocols, attempt.timeouts, attempt.on_joined)
    rebalance.reschedule_heartbeat(group, member)
    reason = f"{instance_id} came back as {member_id}, its reason: {attempt.reason}"
    if group.state is not _State.STABLE:
        rebalance.maybe_prepare(group, reason)
        return
    if group.select_protocol() != group.protocol_name:
        rebalance.maybe_prepare(group, reason)
        return

    def handle_written(error_code: int) -> None:
        if error_code:
            _take_back(error_code)
            return
        response = _current(group, member)
        if attempt.client.version >= _SKIP_ASSIGNMENT_SINCE:
            response.skip_assignment = group.is_leader(member_id)
        else:
            response.leader, response.members = leader_before, []
        group.complete_join(member, response)
        rebalance.reschedule_heartbeat(group, member)

    def _take_back(error_code: int) -> None:
        response = JoinGroupResponse(error_code=error_code, leader=leader_before)
        group.complete_join(member, response)
        old = group.replace_static_member(instance_id, member_id, old_member_id)
        group.update(old, *before, None)
        rebalance.reschedule_heartbeat(group, old)

    rebalance.append(group_record(group, group.assignments), handle_written)


def _current(group: GroupMetadata, member: ClassicGroupMember) -> JoinGroupResponse:
    """Return the generation that there is, as a member is told of it."""
    is_leader = group.is_leader(member.member_id)
    return JoinGroupResponse(
        generation_id=group.generation_id,
        protocol_type=group.protocol_type,
        protocol_name=group.protocol_name,
        leader=group.leader_id or "",
        member_id=member.member_id,
        members=group.described_members() if is_leader else [],
    )
