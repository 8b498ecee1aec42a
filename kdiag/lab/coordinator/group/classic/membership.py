"""SyncGroup, Heartbeat and LeaveGroup of a classic group.

    SyncGroup     CompletingRebalance: waits; the leader's brings the assignment, which is written,
                  and then all are answered. Stable: the assignment that there is.
    Heartbeat     a member is there; REBALANCE_IN_PROGRESS while others are waited for
    LeaveGroup    members go, by id or, if an administrator asks, by instance id

In CompletingRebalance a heartbeat is answered without an error: the member has joined already.

Source: Kafka's `GroupMetadataManager.classicGroupSync`, `classicGroupHeartbeat`,
`classicGroupLeave`.
"""

from kdiag.lab.controller.refusal import RequestRefusedError
from kdiag.lab.coordinator.group.classic.group_member import ClassicGroupMember, OnSynced
from kdiag.lab.coordinator.group.classic.group_metadata import GroupMetadata
from kdiag.lab.coordinator.group.classic.group_records import group_record
from kdiag.lab.coordinator.group.classic.group_state import ClassicGroupState
from kdiag.lab.coordinator.group.classic.rebalance import ClassicRebalance
from kdiag.wire.api.heartbeat import HeartbeatRequest
from kdiag.wire.api.leave_group import MemberIdentity, MemberResponse
from kdiag.wire.api.sync_group import SyncGroupRequest, SyncGroupResponse
from kdiag.wire.error_code import CODE_BY_NAME

_State = ClassicGroupState


def sync_group(
    rebalance: ClassicRebalance,
    group: GroupMetadata,
    request: SyncGroupRequest,
    on_synced: OnSynced,
) -> None:
    """Answer a SyncGroup, now or later."""
    try:
        member = _checked_member(group, request)
    except RequestRefusedError as error:
        on_synced(SyncGroupResponse(error_code=error.code))
        return
    if group.state is _State.STABLE:
        rebalance.remove_pending_sync(group, member.member_id)
        on_synced(
            SyncGroupResponse(
                protocol_type=group.protocol_type,
                protocol_name=group.protocol_name,
                assignment=member.assignment,
            )
        )
        return
    member.on_synced = on_synced
    rebalance.remove_pending_sync(group, member.member_id)
    if group.is_leader(member.member_id):
        _write_assignment(rebalance, group, request)


def heartbeat(rebalance: ClassicRebalance, group: GroupMetadata, request: HeartbeatRequest) -> None:
    """Record that a member is there.

    Raises:
        RequestRefusedError: with the error of the response.
    """
    group.check_alive()
    member = group.check_member(request.member_id, request.group_instance_id)
    group.check_generation(request.generation_id)
    rebalance.reschedule_heartbeat(group, member)
    if group.state is _State.PREPARING_REBALANCE:
        raise RequestRefusedError("REBALANCE_IN_PROGRESS", "the group rebalances")


def leave_group(
    rebalance: ClassicRebalance, group: GroupMetadata, leaving: list[MemberIdentity]
) -> list[MemberResponse]:
    """Remove members, and return what each is told; the others rebalance.

    Raises:
        RequestRefusedError: COORDINATOR_NOT_AVAILABLE.
    """
    group.check_alive()
    responses = [_leave(rebalance, group, identity) for identity in leaving]
    gone = [each.member_id for each in responses if not each.error_code]
    if gone:
        rebalance.handle_removed(group, f"LeaveGroup of {', '.join(gone)}")
    return responses


def _write_assignment(
    rebalance: ClassicRebalance, group: GroupMetadata, request: SyncGroupRequest
) -> None:
    """Write down what the leader has brought, and give it to everybody then."""
    given = {each.member_id: bytes(each.assignment) for each in request.assignments}

    def handle_written(error_code: int) -> None:
        # Somebody may have joined meanwhile: then the others ask again.
        is_current = group.generation_id == request.generation_id
        if group.state is not _State.COMPLETING_REBALANCE or not is_current:
            return
        if error_code:
            rebalance.fail_sync(group, error_code)
        else:
            rebalance.propagate(group, given)

    rebalance.append(group_record(group, given), handle_written)


def _leave(
    rebalance: ClassicRebalance, group: GroupMetadata, identity: MemberIdentity
) -> MemberResponse:
    """Remove one member, and return what it is told."""
    response = MemberResponse(
        member_id=identity.member_id, group_instance_id=identity.group_instance_id
    )
    member_id = identity.member_id
    if member_id in group.pending_join_members:
        group.remove(member_id)
        rebalance.cancel_heartbeat(group, member_id)
        return response
    try:
        if not member_id:
            member_id = group.static_members.get(identity.group_instance_id or "", "")
            member = group.check_member(member_id, None)
        else:
            member = group.check_member(member_id, identity.group_instance_id)
    except RequestRefusedError as error:
        response.error_code = CODE_BY_NAME[error.error]
        return response
    rebalance.cancel_heartbeat(group, member_id)
    rebalance.answer_leaving(group, member)
    group.remove(member_id)
    return response


def _checked_member(group: GroupMetadata, request: SyncGroupRequest) -> ClassicGroupMember:
    """Return the member that asks for its assignment.

    Raises:
        RequestRefusedError: with the error of the response.
    """
    group.check_alive()
    member = group.check_member(request.member_id, request.group_instance_id)
    group.check_generation(request.generation_id)
    _check_protocol(request.protocol_type, group.protocol_type)
    _check_protocol(request.protocol_name, group.protocol_name)
    if group.state is _State.PREPARING_REBALANCE:
        raise RequestRefusedError("REBALANCE_IN_PROGRESS", "others have still to join")
    return member


def _check_protocol(said: str | None, known: str | None) -> None:
    """Refuse a member that believes in another protocol.

    Raises:
        RequestRefusedError: INCONSISTENT_GROUP_PROTOCOL.
    """
    if said is not None and known is not None and said != known:
        raise RequestRefusedError("INCONSISTENT_GROUP_PROTOCOL", f"{said}, it is {known}")
