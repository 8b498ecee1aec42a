"""AlterPartitionReassignments: has partitions move to other brokers, or stop to (KIP-455).

Behaviour: each partition is moved or refused with its own error; one without replicas is to stop.
The brokers that are added follow, and when they are in sync the others are gone. Those that are
asked for have to run.

Version notes: 1 can refuse to have more or fewer replicas (KIP-860).

Source: Kafka's `ReplicationControlManager.alterPartitionReassignments`.

Leaves out: the timeout, for nothing here takes long; throttles.
"""

from kdiag.lab.api.call import ApiCall
from kdiag.lab.controller.refusal import RequestRefusedError
from kdiag.wire.api.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    ReassignablePartition,
    ReassignablePartitionResponse,
    ReassignableTopicResponse,
)


def handle(
    request: AlterPartitionReassignmentsRequest, call: ApiCall
) -> AlterPartitionReassignmentsResponse:
    """Have partitions move."""
    is_any_count = request.allow_replication_factor_change
    return AlterPartitionReassignmentsResponse(
        allow_replication_factor_change=is_any_count,
        error_message=None,
        responses=[
            ReassignableTopicResponse(
                name=topic.name,
                partitions=[
                    _reassign(topic.name, asked, call, is_any_count=is_any_count)
                    for asked in topic.partitions
                ],
            )
            for topic in request.topics
        ],
    )


def _reassign(
    topic: str, asked: ReassignablePartition, call: ApiCall, *, is_any_count: bool
) -> ReassignablePartitionResponse:
    number = asked.partition_index
    try:
        if not is_any_count:
            _check_count(topic, asked, call)
        call.node.controller.reassign(topic, number, asked.replicas)
    except RequestRefusedError as error:
        return ReassignablePartitionResponse(
            partition_index=number, error_code=error.code, error_message=error.why
        )
    return ReassignablePartitionResponse(partition_index=number, error_message=None)


def _check_count(topic: str, asked: ReassignablePartition, call: ApiCall) -> None:
    """Refuse more or fewer replicas than there are.

    Raises:
        RequestRefusedError: INVALID_REPLICATION_FACTOR.
    """
    found = call.node.controller.image.partition_of(topic, asked.partition_index)
    if found is None or asked.replicas is None:
        return
    count = len(found.replicas) - len(found.adding)
    if len(asked.replicas) != count:
        why = f"{len(asked.replicas)} replicas, the partition has {count}"
        raise RequestRefusedError("INVALID_REPLICATION_FACTOR", why)
