"""DeleteGroups: groups without members are forgotten, with their offsets (KIP-229).

Behaviour: each group has its result; answered when all of it is written.

    it has members             NON_EMPTY_GROUP
    nobody knows it            GROUP_ID_NOT_FOUND
    coordinated elsewhere      NOT_COORDINATOR

Version notes: 3 tells messages (KIP-1043).

Source: Kafka's `KafkaApis.handleDeleteGroupsRequest`, `GroupCoordinatorShard.deleteGroups`.

Leaves out: nothing.
"""

from collections.abc import Callable

from kdiag.lab.api.call import ApiCall
from kdiag.lab.controller.refusal import RequestRefusedError
from kdiag.lab.coordinator.group.group_listing import delete_group
from kdiag.wire.api.delete_groups import (
    DeletableGroupResult,
    DeleteGroupsRequest,
    DeleteGroupsResponse,
)


def handle(request: DeleteGroupsRequest, call: ApiCall) -> DeleteGroupsResponse | None:
    """Forget groups, and answer when that is written."""
    results = [DeletableGroupResult(group_id=each) for each in dict.fromkeys(request.groups_names)]
    left = len(results)

    def handle_done(result: DeletableGroupResult, error_code: int) -> None:
        nonlocal left
        left -= 1
        result.error_code = error_code
        if not left:
            call.respond(DeleteGroupsResponse(results=results))

    if not results:
        return DeleteGroupsResponse()
    for result in results:
        _delete(result, call, handle_done)
    return None


def _delete(
    result: DeletableGroupResult,
    call: ApiCall,
    handle_done: Callable[[DeletableGroupResult, int], None],
) -> None:
    try:
        shard = call.node.groups.shard_of(result.group_id)
        records = delete_group(shard, result.group_id)
    except RequestRefusedError as error:
        result.error_message = error.why
        handle_done(result, error.code)
        return
    call.node.groups.write(shard, records, lambda code: handle_done(result, code))
