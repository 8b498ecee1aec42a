"""DescribeGroups: the state and the members of classic groups.

Behaviour: what members say and have is told if the group is Stable. A group that nobody knows is
Dead.

    coordinated elsewhere              NOT_COORDINATOR
    nobody knows it, from version 6    GROUP_ID_NOT_FOUND, with a message

Version notes: 3 tells what the client may do (KIP-430); 4 static members (KIP-345); 6 tells
GROUP_ID_NOT_FOUND (KIP-1043).

Source: Kafka's `KafkaApis.handleDescribeGroupsRequest`, `GroupMetadataManager.describeGroups`.

Leaves out: there is no authorizer: everything may be seen.
"""

from kdiag.lab.api.call import ApiCall
from kdiag.lab.api.cluster.operations import GROUP_OPERATIONS
from kdiag.lab.controller.refusal import RequestRefusedError
from kdiag.lab.coordinator.group.group_listing import describe_group
from kdiag.wire.api.describe_groups import (
    DescribedGroup,
    DescribeGroupsRequest,
    DescribeGroupsResponse,
)


def handle(request: DescribeGroupsRequest, call: ApiCall) -> DescribeGroupsResponse:
    """Tell groups."""
    groups = [_described(group_id, call) for group_id in request.groups]
    if request.include_authorized_operations:
        for group in groups:
            if not group.error_code:
                group.authorized_operations = GROUP_OPERATIONS
    return DescribeGroupsResponse(groups=groups)


def _described(group_id: str, call: ApiCall) -> DescribedGroup:
    try:
        shard = call.node.groups.shard_of(group_id)
    except RequestRefusedError as error:
        return DescribedGroup(group_id=group_id, error_code=error.code)
    return describe_group(shard, group_id, call.version)
