"""SyncGroup: bring or get the assignment of a generation of a classic group.

Behaviour: the leader brings what each member is given; all are answered when that is written. Who
comes later is answered at once.

    not a member, no such group       UNKNOWN_MEMBER_ID
    another has its name              FENCED_INSTANCE_ID
    another generation                ILLEGAL_GENERATION
    others have still to join         REBALANCE_IN_PROGRESS
    another protocol than the group   INCONSISTENT_GROUP_PROTOCOL

Version notes: 3 has static members (KIP-345); 5 says which protocol it is for, and tells it
(KIP-559). A request of version 5 without protocol is INCONSISTENT_GROUP_PROTOCOL.

Source: Kafka's `KafkaApis.handleSyncGroupRequest`.

Leaves out: nothing.
"""

from typing import Final

from kdiag.lab.api.call import ApiCall
from kdiag.wire.api.sync_group import SyncGroupRequest, SyncGroupResponse
from kdiag.wire.error_code import CODE_BY_NAME

_PROTOCOL_SINCE: Final = 5


def handle(request: SyncGroupRequest, call: ApiCall) -> SyncGroupResponse | None:
    """Get an assignment, now or later.

    Args:
        request: the member, its generation; the leader's has what each member is given.
        call: of it.
    """
    is_missing = request.protocol_type is None or request.protocol_name is None
    if call.version >= _PROTOCOL_SINCE and is_missing:
        return SyncGroupResponse(error_code=CODE_BY_NAME["INCONSISTENT_GROUP_PROTOCOL"])
    call.node.groups.sync(request, call.respond)
    return None
