"""DeleteRecords: let logs start later; what is before an offset can no longer be read (KIP-107).

Behaviour: -1 stands for the high watermark, beyond which nothing can be deleted. A topic whose
`cleanup.policy` has no `delete` refuses it with POLICY_VIOLATION, internal topics with
INVALID_TOPIC_EXCEPTION. Files go with the next housekeeping, some seconds later.

Version notes: 1 is as 0, 2 is flexible.

Leaves out: the timeout, which is for followers that are behind: there are none yet.
"""

from kdiag.lab.api.call import ApiCall
from kdiag.lab.controller.cluster_image import INTERNAL_TOPICS
from kdiag.lab.controller.refusal import RequestRefusedError
from kdiag.lab.purgatory.operation_key import TopicPartitionOperationKey
from kdiag.lab.replication.record_fetch import REFUSALS
from kdiag.wire.api.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsPartitionResult,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopicResult,
)
from kdiag.wire.error_code import CODE_BY_NAME


def handle(request: DeleteRecordsRequest, call: ApiCall) -> DeleteRecordsResponse:
    """Delete records."""
    return DeleteRecordsResponse(
        topics=[
            DeleteRecordsTopicResult(
                name=topic.name,
                partitions=[_delete(topic.name, asked, call) for asked in topic.partitions],
            )
            for topic in request.topics
        ]
    )


def _delete(
    topic: str, asked: DeleteRecordsPartition, call: ApiCall
) -> DeleteRecordsPartitionResult:
    result = DeleteRecordsPartitionResult(partition_index=asked.partition_index, low_watermark=-1)
    key = TopicPartitionOperationKey(topic, asked.partition_index)
    try:
        if topic in INTERNAL_TOPICS:
            raise RequestRefusedError("INVALID_TOPIC_EXCEPTION", "the topic is internal")
        result.low_watermark = call.node.replicas.partition(key).delete_records(asked.offset)
    except REFUSALS as error:
        result.error_code = CODE_BY_NAME[error.error]
    else:
        call.node.replicas.handle_high_watermark(key)
    return result
