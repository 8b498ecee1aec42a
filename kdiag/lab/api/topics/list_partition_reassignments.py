"""ListPartitionReassignments: the partitions that move to other brokers (KIP-455).

Behaviour: of all topics, or of those that are asked for; what does not move, or is not there, is
left out.

Source: Kafka's `ReplicationControlManager.listPartitionReassignments`.

Leaves out: nothing.
"""

from collections.abc import Sequence

from kdiag.lab.api.call import ApiCall
from kdiag.lab.controller.cluster_image import TopicImage
from kdiag.wire.api.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
    OngoingPartitionReassignment,
    OngoingTopicReassignment,
)


def handle(
    request: ListPartitionReassignmentsRequest, call: ApiCall
) -> ListPartitionReassignmentsResponse:
    """Tell what moves."""
    topics = call.node.controller.image.topics
    if request.topics is None:
        found = [_moving(topic, range(len(topic.partitions))) for topic in topics.values()]
    else:
        found = [
            _moving(topics[each.name], each.partition_indexes)
            for each in request.topics
            if each.name in topics
        ]
    moving = [each for each in found if each.partitions]
    return ListPartitionReassignmentsResponse(error_message=None, topics=moving)


def _moving(topic: TopicImage, numbers: Sequence[int]) -> OngoingTopicReassignment:
    asked = [number for number in numbers if 0 <= number < len(topic.partitions)]
    partitions = [(number, topic.partitions[number]) for number in asked]
    return OngoingTopicReassignment(
        name=topic.name,
        partitions=[
            OngoingPartitionReassignment(
                partition_index=number,
                replicas=list(each.replicas),
                adding_replicas=list(each.adding),
                removing_replicas=list(each.removing),
            )
            for number, each in partitions
            if each.adding or each.removing
        ],
    )
