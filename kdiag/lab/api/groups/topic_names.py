"""The topics of requests about offsets: by name, or by id since version 10, and whether they exist.

    named, has = topic_of(call, name="orders", topic_id=ZERO_UUID)

Clients that speak topic ids are told UNKNOWN_TOPIC_ID, the others UNKNOWN_TOPIC_OR_PARTITION.

Source: Kafka's `KafkaApis.handleOffsetCommitRequest`; KIP-848.
"""

from kdiag.lab.api.call import ApiCall
from kdiag.lab.controller.cluster_image import TopicImage
from kdiag.lab.controller.refusal import RequestRefusedError
from kdiag.wire.error_code import CODE_BY_NAME
from kdiag.wire.schema import ZERO_UUID


def topic_of(call: ApiCall, name: str, topic_id: bytes, *, by_id: bool) -> TopicImage:
    """Return a topic.

    Args:
        call: of the request.
        name: its name, if it is asked for by name.
        topic_id: its id, if it is asked for by id.
        by_id: which of the two counts.

    Raises:
        RequestRefusedError: UNKNOWN_TOPIC_ID, UNKNOWN_TOPIC_OR_PARTITION.
    """
    image = call.node.controller.image
    if by_id:
        found = None if topic_id == ZERO_UUID else image.topic_of(topic_id)
        if found is None:
            raise RequestRefusedError("UNKNOWN_TOPIC_ID", "no topic has the id")
        return found
    named = image.topics.get(name)
    if named is None:
        raise RequestRefusedError("UNKNOWN_TOPIC_OR_PARTITION", f"there is no topic {name!r}")
    return named


def partition_fault(topic: TopicImage, partition: int) -> int:
    """Return the error code of a partition that a topic has not; 0 if it has it."""
    has = 0 <= partition < len(topic.partitions)
    return 0 if has else CODE_BY_NAME["UNKNOWN_TOPIC_OR_PARTITION"]
