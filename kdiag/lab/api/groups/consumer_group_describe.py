"""ConsumerGroupDescribe: the state, the epochs and the members of consumer groups (KIP-848).

Behaviour: of each member what it reads, what it has and what it is to have.

    a classic group, or none     GROUP_ID_NOT_FOUND, with a message
    coordinated elsewhere        NOT_COORDINATOR
    no name of a group           INVALID_GROUP_ID

Version notes: 1 tells by which protocol a member is there (KIP-1099): here always the consumer's.

Source: Kafka's `KafkaApis.handleConsumerGroupDescribe`, `ConsumerGroup.asDescribedGroup`.

Leaves out: there is no authorizer: everything may be seen.
"""

from kdiag.lab.api.call import ApiCall
from kdiag.lab.api.cluster.operations import GROUP_OPERATIONS
from kdiag.lab.controller.refusal import RequestRefusedError
from kdiag.lab.coordinator.group.group_listing import describe_consumer_group
from kdiag.wire.api.consumer_group_describe import (
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
    DescribedGroup,
)


def handle(request: ConsumerGroupDescribeRequest, call: ApiCall) -> ConsumerGroupDescribeResponse:
    """Tell groups."""
    groups = [_described(group_id, call) for group_id in request.group_ids]
    if request.include_authorized_operations:
        for group in groups:
            if not group.error_code:
                group.authorized_operations = GROUP_OPERATIONS
    return ConsumerGroupDescribeResponse(groups=groups)


def _described(group_id: str, call: ApiCall) -> DescribedGroup:
    try:
        shard = call.node.groups.named_shard_of(group_id)
    except RequestRefusedError as error:
        return DescribedGroup(group_id=group_id, error_code=error.code)
    return describe_consumer_group(shard, group_id, call.node.controller.image)
