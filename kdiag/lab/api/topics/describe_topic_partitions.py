"""DescribeTopicPartitions: topics with their partitions, page by page (KIP-966).

Behaviour: topics in the order of their names, all of them if none are asked for, from the cursor on
and up to a limit of partitions, of which the broker gives 2,000 at the most. Where more are left,
the response has a cursor for the next request. A topic that does not exist is an error of its own,
unless all are asked for.

    limit 3    orders 0, 1, 2, 3    payments 0    ->    orders 0, 1, 2    next: orders from 3

Leaves out: eligible leader replicas, which only a cluster with several nodes has.
"""

from typing import Final

from kdiag.lab.api.call import NOT_ASKED, ApiCall
from kdiag.lab.api.cluster.operations import TOPIC_OPERATIONS
from kdiag.lab.controller.cluster_image import NO_LEADER, ClusterImage, TopicImage
from kdiag.lab.controller.topic_names import fault_in_name
from kdiag.wire.api.describe_topic_partitions import (
    Cursor,
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse,
    DescribeTopicPartitionsResponsePartition,
    DescribeTopicPartitionsResponseTopic,
)
from kdiag.wire.error_code import CODE_BY_NAME

MOST_PARTITIONS: Final = 2_000
"""`max.request.partition.size.limit`."""


def handle(
    request: DescribeTopicPartitionsRequest, call: ApiCall
) -> DescribeTopicPartitionsResponse:
    """Tell a page of topics."""
    image = call.node.controller.image
    cursor = request.cursor
    if cursor is not None and cursor.partition_index < 0:
        return _refused(request)
    names = sorted({topic.name for topic in request.topics} or set(image.topics))
    start = 0
    if cursor is not None:
        start = cursor.partition_index
        names = [name for name in names if name >= cursor.topic_name]
    response = DescribeTopicPartitionsResponse()
    left = max(1, min(request.response_partition_limit, MOST_PARTITIONS))
    for name in names:
        first = start if cursor is not None and name == cursor.topic_name else 0
        topic = image.topics.get(name)
        if topic is None:
            response.topics.append(_unknown(name))
            continue
        if left <= 0:
            response.next_cursor = Cursor(topic_name=name, partition_index=first)
            break
        end = min(len(topic.partitions), first + left)
        response.topics.append(_described(topic, range(first, end), image))
        left -= end - first
        if end < len(topic.partitions):
            response.next_cursor = Cursor(topic_name=name, partition_index=end)
            break
    return response


def _refused(request: DescribeTopicPartitionsRequest) -> DescribeTopicPartitionsResponse:
    """Return the response to a cursor that cannot be: an error for each topic that is named."""
    return DescribeTopicPartitionsResponse(
        topics=[
            DescribeTopicPartitionsResponseTopic(
                error_code=CODE_BY_NAME["INVALID_REQUEST"],
                name=topic.name,
                topic_authorized_operations=NOT_ASKED,
            )
            for topic in request.topics
        ]
    )


def _unknown(name: str) -> DescribeTopicPartitionsResponseTopic:
    error = "INVALID_TOPIC_EXCEPTION" if fault_in_name(name) else "UNKNOWN_TOPIC_OR_PARTITION"
    return DescribeTopicPartitionsResponseTopic(
        error_code=CODE_BY_NAME[error], name=name, topic_authorized_operations=TOPIC_OPERATIONS
    )


def _described(
    topic: TopicImage, numbers: range, image: ClusterImage
) -> DescribeTopicPartitionsResponseTopic:
    partitions = []
    for number in numbers:
        partition = topic.partitions[number]
        is_led = partition.leader != NO_LEADER
        partitions.append(
            DescribeTopicPartitionsResponsePartition(
                error_code=0 if is_led else CODE_BY_NAME["LEADER_NOT_AVAILABLE"],
                partition_index=number,
                leader_id=partition.leader,
                leader_epoch=partition.leader_epoch,
                replica_nodes=list(partition.replicas),
                isr_nodes=list(partition.isr),
                eligible_leader_replicas=[],
                last_known_elr=[],
                offline_replicas=[each for each in partition.replicas if each not in image.brokers],
            )
        )
    return DescribeTopicPartitionsResponseTopic(
        name=topic.name,
        topic_id=topic.topic_id,
        is_internal=topic.is_internal,
        partitions=partitions,
        topic_authorized_operations=TOPIC_OPERATIONS,
    )
