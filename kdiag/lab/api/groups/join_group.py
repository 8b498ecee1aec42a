"""JoinGroup: become a member of a classic group, or take part in its next rebalance.

Behaviour: answered when all members have joined, or their time is up; the leader is told the
members. Errors are answered at once.

    a new member          MEMBER_ID_REQUIRED and an id; it joins with that
    another asks for an instance id that somebody has     it gets the place, that one is fenced
    nobody gave the id    UNKNOWN_MEMBER_ID
    no room               GROUP_MAX_SIZE_REACHED
    a session timeout out of bounds                       INVALID_SESSION_TIMEOUT
    other protocols       INCONSISTENT_GROUP_PROTOCOL

Version notes: 1 has a rebalance timeout of its own (KIP-62); 4 requires an id (KIP-394); 5 has
static members (KIP-345); 7 tells the type of protocol, and no protocol is null (KIP-559); 8 says
why (KIP-800); 9 may tell the leader not to assign (KIP-814).

Source: Kafka's `KafkaApis.handleJoinGroupRequest`, `JoinGroupResponse`.

Leaves out: a group that has no record yet is not written when its first member asks for an id; a
member of a consumer group (KIP-848) cannot join by this API while others are in it.
"""

from functools import partial
from typing import Final

from kdiag.lab.api.call import ApiCall
from kdiag.wire.api.join_group import JoinGroupRequest, JoinGroupResponse

_NULL_PROTOCOL_SINCE: Final = 7


def handle(request: JoinGroupRequest, call: ApiCall) -> None:
    """Join a group, and answer now or later."""
    call.node.groups.join(request, call.group_client, partial(_respond, call))


def _respond(call: ApiCall, response: JoinGroupResponse) -> None:
    has_null = call.version >= _NULL_PROTOCOL_SINCE
    if not response.protocol_name:
        response.protocol_name = None if has_null else ""
    call.respond(response)
