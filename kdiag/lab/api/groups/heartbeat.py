"""Heartbeat: a member of a classic group is there, and asks whether the group rebalances.

Behaviour: the session of the member begins anew, whatever it is told, as long as it is a member of
this generation. It is the only way in which members hear that others come and go: each is to join
again before the rebalance timeout is over, or it is left out. Who waits for the response to its
JoinGroup or SyncGroup sends none, and is not missed.

    Stable, CompletingRebalance    no error
    PreparingRebalance             REBALANCE_IN_PROGRESS: join again
    another generation             ILLEGAL_GENERATION
    the group is empty             UNKNOWN_MEMBER_ID
    not a member, no such group    UNKNOWN_MEMBER_ID
    another has its name           FENCED_INSTANCE_ID
    coordinated elsewhere          NOT_COORDINATOR
    no name of a group             INVALID_GROUP_ID
    the group is being read        no error: what it is will be known soon

Version notes: 3 has static members (KIP-345).

Source: Kafka's `KafkaApis.handleHeartbeatRequest`, `GroupCoordinatorService.heartbeat`.

Leaves out: nothing.
"""

from kdiag.lab.api.call import ApiCall
from kdiag.wire.api.heartbeat import HeartbeatRequest, HeartbeatResponse


def handle(request: HeartbeatRequest, call: ApiCall) -> HeartbeatResponse:
    """Record that a member is there.

    Args:
        request: the member, its generation.
        call: of it.

    Returns:
        What the member is to do: nothing, join again, or give up its id.
    """
    error_code = call.node.groups.heartbeat(request)
    return HeartbeatResponse(error_code=error_code)
