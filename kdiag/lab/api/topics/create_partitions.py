"""CreatePartitions: more partitions for a topic; never fewer.

Behaviour: `count` is how many the topic is to have. A topic is changed or refused with its own
error; one that stands twice in a request is INVALID_REQUEST.

Version notes: 1 is as 0 (throttling before or after), 2 is flexible, 3 may be throttled by quota.

Leaves out: the timeout, for nothing here takes long; quotas (KIP-599).
"""

from collections import Counter

from kdiag.lab.api.call import ApiCall
from kdiag.lab.controller.refusal import RequestRefusedError, check_named_once
from kdiag.wire.api.create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopic,
    CreatePartitionsTopicResult,
)


def handle(request: CreatePartitionsRequest, call: ApiCall) -> CreatePartitionsResponse:
    """Give topics more partitions."""
    counts = Counter(topic.name for topic in request.topics)
    asked = {topic.name: topic for topic in request.topics}
    return CreatePartitionsResponse(
        results=[
            _create(topic, call, is_twice=counts[name] > 1, is_only_checked=request.validate_only)
            for name, topic in asked.items()
        ]
    )


def _create(
    asked: CreatePartitionsTopic, call: ApiCall, *, is_twice: bool, is_only_checked: bool
) -> CreatePartitionsTopicResult:
    assignments = asked.assignments
    try:
        check_named_once(is_twice=is_twice)
        call.node.controller.create_partitions(
            asked.name,
            asked.count,
            None if assignments is None else [each.broker_ids for each in assignments],
            is_only_checked=is_only_checked,
        )
    except RequestRefusedError as error:
        return CreatePartitionsTopicResult(
            name=asked.name, error_code=error.code, error_message=error.why
        )
    return CreatePartitionsTopicResult(name=asked.name)
