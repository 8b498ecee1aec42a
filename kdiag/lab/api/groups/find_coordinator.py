"""FindCoordinator: which broker coordinates a group, a transactional id or a share partition.

Behaviour: the first who asks for a kind makes its internal topic. The coordinator is the leader of
the key's partition; as long as there is none, COORDINATOR_NOT_AVAILABLE. A kind that there is not
is INVALID_REQUEST, and so are share partitions, as on a Kafka whose share groups are off.

Version notes: 1 asks for transactional ids (KIP-98), 4 for many keys at once (KIP-699), 6 for share
partitions (KIP-932).

Source: Kafka's `KafkaApis.handleFindCoordinatorRequest`.

Leaves out: Kafka makes the topic after it has answered COORDINATOR_NOT_AVAILABLE; here it is there
at once.
"""

import logging
from typing import Final, NamedTuple

from kdiag.lab.api.call import ApiCall
from kdiag.lab.controller.cluster_image import NO_LEADER
from kdiag.lab.controller.refusal import RequestRefusedError
from kdiag.lab.log.refusal import LogFileError
from kdiag.wire.api.find_coordinator import (
    Coordinator,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)

LOG: Final = logging.getLogger(__name__)

_FIRST_OF_MANY: Final = 4


class _Place(NamedTuple):
    """Where the coordinator is; `error` is empty if there is one."""

    error: RequestRefusedError | None
    node_id: int = NO_LEADER
    host: str = ""
    port: int = -1


def handle(request: FindCoordinatorRequest, call: ApiCall) -> FindCoordinatorResponse:
    """Tell coordinators."""
    if call.version >= _FIRST_OF_MANY:
        return FindCoordinatorResponse(
            coordinators=[
                _coordinator(key, _place(request.key_type, key, call))
                for key in request.coordinator_keys
            ]
        )
    place = _place(request.key_type, request.key, call)
    return FindCoordinatorResponse(
        error_code=place.error.code if place.error else 0,
        error_message=place.error.why if place.error else "NONE",
        node_id=place.node_id,
        host=place.host,
        port=place.port,
    )


def _coordinator(key: str, place: _Place) -> Coordinator:
    return Coordinator(
        key=key,
        node_id=place.node_id,
        host=place.host,
        port=place.port,
        error_code=place.error.code if place.error else 0,
        error_message=place.error.why if place.error else "",
    )


def _place(key_type: int, key: str, call: ApiCall) -> _Place:
    topic = next(
        (each for kind, each in call.node.coordinator_topics.items() if kind.key_type == key_type),
        None,
    )
    if topic is None:
        why = f"this broker has no coordinators for keys of type {key_type}"
        return _Place(RequestRefusedError("INVALID_REQUEST", why))
    try:
        topic.ensure(call.node.controller)
    except (RequestRefusedError, LogFileError) as error:
        LOG.warning("%s cannot be created: %s", topic.name, error)
    broker = topic.coordinator_of(key, call.node.controller.image)
    if broker is None:
        why = "The coordinator is not available."
        return _Place(RequestRefusedError("COORDINATOR_NOT_AVAILABLE", why))
    seen = broker.as_seen_at(call.node.listener)
    return _Place(None, seen.node_id, seen.host, seen.port)
