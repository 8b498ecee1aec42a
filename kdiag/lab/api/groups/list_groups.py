"""ListGroups: the groups that this node coordinates.

Behaviour: each with its type of protocol, its state and its type; upper and lower case of the
filters are the same. A partition that is still being read makes the whole
COORDINATOR_LOAD_IN_PROGRESS, so that nobody takes a part for all.

    kdiag groups                     asks every broker, and puts the answers together
    states_filter ["Empty"]          groups without members, which have only offsets
    types_filter ["consumer"]        groups by KIP-848; `classic` are the others

Version notes: 4 tells states, and filters by them (KIP-518); 5 types, likewise (KIP-848).

Source: Kafka's `KafkaApis.handleListGroupsRequest`, `GroupCoordinatorService.listGroups`.

Leaves out: there is no authorizer: everything may be seen.
"""

from kdiag.lab.api.call import ApiCall
from kdiag.lab.coordinator.group.group_listing import list_groups
from kdiag.wire.api.list_groups import ListGroupsRequest, ListGroupsResponse
from kdiag.wire.error_code import CODE_BY_NAME


def handle(request: ListGroupsRequest, call: ApiCall) -> ListGroupsResponse:
    """Tell the groups.

    Args:
        request: the filters; an empty one is all.
        call: of it.
    """
    runtime = call.node.groups.runtime
    if runtime.is_loading:
        return ListGroupsResponse(error_code=CODE_BY_NAME["COORDINATOR_LOAD_IN_PROGRESS"])
    return ListGroupsResponse(
        groups=[
            group
            for shard in runtime.shards
            for group in list_groups(shard, request.states_filter, request.types_filter)
        ]
    )
