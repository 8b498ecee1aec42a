"""LeaveGroup: members go, and the others rebalance.

Behaviour: each member is told by itself. A member that waits for the response to its JoinGroup is
answered UNKNOWN_MEMBER_ID. An administrator removes static members by their names, without ids.

    not a member, no such group    UNKNOWN_MEMBER_ID
    another has its name           FENCED_INSTANCE_ID
    coordinated elsewhere          NOT_COORDINATOR, of the whole
    no name of a group             INVALID_GROUP_ID, likewise

Version notes: up to 2 one member leaves, and its error is that of the whole; 3 has many, by id and
name (KIP-345); 5 says why (KIP-800).

Source: Kafka's `KafkaApis.handleLeaveGroupRequest`, `LeaveGroupResponse`.

Leaves out: nothing.
"""

from typing import Final

from kdiag.lab.api.call import ApiCall
from kdiag.lab.controller.refusal import RequestRefusedError
from kdiag.wire.api.leave_group import LeaveGroupRequest, LeaveGroupResponse, MemberIdentity

_MANY_SINCE: Final = 3


def handle(request: LeaveGroupRequest, call: ApiCall) -> LeaveGroupResponse:
    """Remove members.

    Args:
        request: the members; one up to version 2.
        call: of it.
    """
    has_many = call.version >= _MANY_SINCE
    leaving = request.members if has_many else [MemberIdentity(member_id=request.member_id)]
    try:
        responses = call.node.groups.leave(request.group_id, leaving)
    except RequestRefusedError as error:
        return LeaveGroupResponse(error_code=error.code)
    if has_many:
        return LeaveGroupResponse(members=responses)
    return LeaveGroupResponse(error_code=responses[0].error_code)
