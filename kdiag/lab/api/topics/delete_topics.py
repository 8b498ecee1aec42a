"""DeleteTopics: topics and all their records, by name or by id.

Behaviour: a topic is deleted or refused with its own error. Its files are gone when it is answered;
who is reading them reads to the end.

A topic that stands twice in a request is INVALID_REQUEST.

Version notes: 5 tells messages; 6 takes ids (KIP-516): a name and an id together are
INVALID_REQUEST, an id that is not known is UNKNOWN_TOPIC_ID.

Leaves out: the timeout, for nothing here takes long; `delete.topic.enable=false`.
"""

from collections import Counter

from kdiag.lab.api.call import ApiCall
from kdiag.lab.controller.refusal import RequestRefusedError, check_named_once
from kdiag.wire.api.delete_topics import (
    DeletableTopicResult,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
    DeleteTopicState,
)
from kdiag.wire.schema import ZERO_UUID


def handle(request: DeleteTopicsRequest, call: ApiCall) -> DeleteTopicsResponse:
    """Delete topics."""
    named = [DeleteTopicState(name=name) for name in request.topic_names]
    counts = Counter((each.name, each.topic_id) for each in named + request.topics)
    asked = {(each.name, each.topic_id): each for each in named + request.topics}
    return DeleteTopicsResponse(
        responses=[_delete(each, call, is_twice=counts[key] > 1) for key, each in asked.items()]
    )


def _delete(asked: DeleteTopicState, call: ApiCall, *, is_twice: bool) -> DeletableTopicResult:
    result = DeletableTopicResult(name=asked.name, topic_id=asked.topic_id)
    try:
        check_named_once(is_twice=is_twice)
        result.name = _name(asked, call)
        topic = call.node.controller.image.topics.get(result.name)
        call.node.controller.delete_topic(result.name)
        result.topic_id = topic.topic_id if topic else asked.topic_id
    except RequestRefusedError as error:
        result.error_code, result.error_message = error.code, error.why
    return result


def _name(asked: DeleteTopicState, call: ApiCall) -> str:
    """Return the name of a topic that is asked for.

    Raises:
        RequestRefusedError: INVALID_REQUEST, UNKNOWN_TOPIC_ID.
    """
    if asked.topic_id == ZERO_UUID and asked.name is not None:
        return asked.name
    if asked.topic_id == ZERO_UUID or asked.name is not None:
        raise RequestRefusedError("INVALID_REQUEST", "give a name or an id, not both or neither")
    topic = call.node.controller.image.topic_of(asked.topic_id)
    if topic is None:
        raise RequestRefusedError("UNKNOWN_TOPIC_ID", "no topic has this id")
    return topic.name
