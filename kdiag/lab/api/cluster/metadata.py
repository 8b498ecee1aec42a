"""Metadata: the brokers, and the topics that a client asks about, with their leaders.

Behaviour: no list of topics is all of them. A topic that does not exist is created with the default
of one partition if the client allows it and `auto.create.topics.enable` is true, else it is
UNKNOWN_TOPIC_OR_PARTITION. A name that no topic may have is INVALID_TOPIC_EXCEPTION.

Version notes: 0 has no null, an empty list is all topics; 1 tells the controller and racks, 2 the
cluster id, 4 lets clients refuse creation, 5 tells offline replicas (KIP-112), 7 leader epochs
(KIP-320), 8 operations (KIP-430; the cluster's until 10), 10 topic ids (KIP-516), by which only
12 asks: before, an id is INVALID_REQUEST; 13 has an error of the whole.

Leaves out: Kafka creates a topic after it has answered, so that the client has to ask twice; here
it is there at once. There is no authorizer: everything may be seen.
"""

from typing import Final

from kdiag.lab.api.call import ApiCall
from kdiag.lab.api.cluster.operations import CLUSTER_OPERATIONS, TOPIC_OPERATIONS
from kdiag.lab.controller.cluster_image import (
    INTERNAL_TOPICS,
    NO_LEADER,
    ClusterImage,
    PartitionRegistration,
    TopicImage,
)
from kdiag.lab.controller.quorum_controller import NewTopic
from kdiag.lab.controller.refusal import RequestRefusedError
from kdiag.lab.controller.topic_names import fault_in_name
from kdiag.wire.api.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from kdiag.wire.error_code import CODE_BY_NAME
from kdiag.wire.schema import ZERO_UUID

_FIRST_BY_ID_ALONE: Final = 12
_LEADER_NOT_AVAILABLE: Final = CODE_BY_NAME["LEADER_NOT_AVAILABLE"]


def handle(request: MetadataRequest, call: ApiCall) -> MetadataResponse:
    """Tell brokers and topics."""
    if call.version < _FIRST_BY_ID_ALONE and _is_by_id(request):
        return MetadataResponse(
            topics=[
                MetadataResponseTopic(
                    error_code=CODE_BY_NAME["INVALID_REQUEST"],
                    name=asked.name or "",
                    topic_id=asked.topic_id,
                )
                for asked in request.topics or []
            ]
        )
    is_all = request.topics is None or (call.version == 0 and not request.topics)
    if is_all:
        topics = [_described(each, call) for each in call.node.controller.image.topics.values()]
    else:
        topics = [_topic(asked, request, call) for asked in request.topics or []]
    if request.include_topic_authorized_operations:
        for topic in topics:
            topic.topic_authorized_operations = TOPIC_OPERATIONS
    image = call.node.controller.image
    response = MetadataResponse(
        brokers=[
            MetadataResponseBroker(
                node_id=broker.node_id, host=broker.host, port=broker.port, rack=broker.rack
            )
            for broker in call.node.brokers
        ],
        cluster_id=image.cluster_id,
        controller_id=image.controller_id,
        topics=topics,
    )
    if request.include_cluster_authorized_operations:
        response.cluster_authorized_operations = CLUSTER_OPERATIONS
    return response


def _is_by_id(request: MetadataRequest) -> bool:
    """Return whether a topic is asked for by its id."""
    return any(asked.name is None or asked.topic_id != ZERO_UUID for asked in request.topics or [])


def _topic(
    asked: MetadataRequestTopic, request: MetadataRequest, call: ApiCall
) -> MetadataResponseTopic:
    """Return a topic that is asked for, by its name or its id."""
    image = call.node.controller.image
    if asked.topic_id != ZERO_UUID:
        found = image.topic_of(asked.topic_id)
        if found is None:
            code = CODE_BY_NAME["UNKNOWN_TOPIC_ID"]
            return MetadataResponseTopic(error_code=code, topic_id=asked.topic_id, name=None)
        return _described(found, call)
    name = asked.name or ""
    if name not in image.topics:
        error = _create(name, request, call)
        if error:
            return MetadataResponseTopic(
                error_code=CODE_BY_NAME[error], name=name, is_internal=name in INTERNAL_TOPICS
            )
    return _described(call.node.controller.image.topics[name], call)


def _create(name: str, request: MetadataRequest, call: ApiCall) -> str | None:
    """Create a topic if it may be; return the name of the error if it is not there then."""
    if fault_in_name(name):
        return "INVALID_TOPIC_EXCEPTION"
    if not request.allow_auto_topic_creation or not call.node.is_creating_topics:
        return "UNKNOWN_TOPIC_OR_PARTITION"
    try:
        call.node.controller.create_topic(NewTopic(name))
    except RequestRefusedError as error:
        return None if error.error == "TOPIC_ALREADY_EXISTS" else error.error
    return None


def _described(topic: TopicImage, call: ApiCall) -> MetadataResponseTopic:
    image = call.node.controller.image
    return MetadataResponseTopic(
        name=topic.name,
        topic_id=topic.topic_id,
        is_internal=topic.is_internal,
        partitions=[
            _partition(number, partition, image)
            for number, partition in enumerate(topic.partitions)
        ],
    )


def _partition(
    number: int, partition: PartitionRegistration, image: ClusterImage
) -> MetadataResponsePartition:
    has_leader = partition.leader != NO_LEADER
    return MetadataResponsePartition(
        error_code=0 if has_leader else _LEADER_NOT_AVAILABLE,
        partition_index=number,
        leader_id=partition.leader,
        leader_epoch=partition.leader_epoch,
        replica_nodes=list(partition.replicas),
        isr_nodes=list(partition.isr),
        offline_replicas=[each for each in partition.replicas if each not in image.brokers],
    )
