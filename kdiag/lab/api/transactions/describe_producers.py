"""DescribeProducers: the producers of partitions, as their leader knows them (KIP-664).

Behaviour: id, epoch, last sequence and time of each idempotent or transactional producer that the
partition remembers, and where its open transaction begins: what somebody needs who looks for a
transaction that hangs. -1 stands for what is not known.

Source: Kafka's `ReplicaManager.activeProducerState`.

Leaves out: nothing.
"""

from kdiag.lab.api.call import ApiCall
from kdiag.lab.purgatory.operation_key import TopicPartitionOperationKey
from kdiag.lab.replication.record_fetch import REFUSALS
from kdiag.wire.api.describe_producers import (
    DescribeProducersRequest,
    DescribeProducersResponse,
    PartitionResponse,
    ProducerState,
    TopicResponse,
)
from kdiag.wire.error_code import CODE_BY_NAME


def handle(request: DescribeProducersRequest, call: ApiCall) -> DescribeProducersResponse:
    """Tell producers."""
    return DescribeProducersResponse(
        topics=[
            TopicResponse(
                name=topic.name,
                partitions=[_described(topic.name, each, call) for each in topic.partition_indexes],
            )
            for topic in request.topics
        ]
    )


def _described(topic: str, number: int, call: ApiCall) -> PartitionResponse:
    response = PartitionResponse(partition_index=number)
    try:
        partition = call.node.replicas.partition(TopicPartitionOperationKey(topic, number))
        partition.check_leader()
    except REFUSALS as error:
        response.error_code = CODE_BY_NAME[error.error]
        if topic not in call.node.controller.image.topics:
            response.error_message = f"there is no topic {topic}"
        return response
    response.active_producers = [
        ProducerState(
            producer_id=each.producer_id,
            producer_epoch=each.epoch,
            last_sequence=each.last_sequence,
            last_timestamp=each.last_timestamp,
            coordinator_epoch=each.coordinator_epoch,
            current_txn_start_offset=-1
            if each.transaction_first_offset is None
            else each.transaction_first_offset,
        )
        for each in partition.log.producers.producers.values()
    ]
    return response
