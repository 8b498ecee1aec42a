"""CreateTopics: new topics, each by itself.

Behaviour: a topic is created or refused with its own error; a name that stands twice in a request
is INVALID_REQUEST and not created. Without numbers it gets one partition and one replica.

Version notes: 1 can only check (`validate_only`) and tells messages; 4 takes -1 for the cluster's
defaults (KIP-464); 5 tells partitions, replicas and settings of what was created (KIP-525); 7 tells
topic ids (KIP-516).

Leaves out: the timeout, for nothing here takes long; quotas (KIP-599).
"""

from collections import Counter

from kdiag.lab.api.call import ApiCall
from kdiag.lab.api.configs.described_configs import SettingSource, described_settings
from kdiag.lab.controller.cluster_image import TopicImage
from kdiag.lab.controller.quorum_controller import NewTopic
from kdiag.lab.controller.refusal import RequestRefusedError, check_named_once
from kdiag.wire.api.create_topics import (
    CreatableTopic,
    CreatableTopicConfigs,
    CreatableTopicResult,
    CreateTopicsRequest,
    CreateTopicsResponse,
)


def handle(request: CreateTopicsRequest, call: ApiCall) -> CreateTopicsResponse:
    """Create topics."""
    counts = Counter(topic.name for topic in request.topics)
    asked = {topic.name: topic for topic in request.topics}
    return CreateTopicsResponse(
        topics=[
            _create(topic, call, is_twice=counts[name] > 1, is_only_checked=request.validate_only)
            for name, topic in asked.items()
        ]
    )


def _create(
    asked: CreatableTopic, call: ApiCall, *, is_twice: bool, is_only_checked: bool
) -> CreatableTopicResult:
    try:
        check_named_once(is_twice=is_twice)
        topic = call.node.controller.create_topic(_new(asked), is_only_checked=is_only_checked)
    except RequestRefusedError as error:
        return CreatableTopicResult(name=asked.name, error_code=error.code, error_message=error.why)
    return _created(topic)


def _new(asked: CreatableTopic) -> NewTopic:
    """Return the topic that is asked for.

    Raises:
        RequestRefusedError: INVALID_CONFIG, INVALID_REPLICA_ASSIGNMENT.
    """
    if len({each.partition_index for each in asked.assignments}) < len(asked.assignments):
        raise RequestRefusedError("INVALID_REPLICA_ASSIGNMENT", "a partition is assigned twice")
    missing = [each.name for each in asked.configs if each.value is None]
    if missing:
        raise RequestRefusedError("INVALID_CONFIG", f"no value for {', '.join(missing)}")
    return NewTopic(
        asked.name,
        asked.num_partitions,
        asked.replication_factor,
        {each.partition_index: each.broker_ids for each in asked.assignments},
        {each.name: each.value or "" for each in asked.configs},
    )


def _created(topic: TopicImage) -> CreatableTopicResult:
    return CreatableTopicResult(
        name=topic.name,
        topic_id=topic.topic_id,
        error_message=None,
        num_partitions=len(topic.partitions),
        replication_factor=len(topic.partitions[0].replicas),
        configs=[
            CreatableTopicConfigs(
                name=each.name, value=each.value, config_source=SettingSource.of(each)
            )
            for each in described_settings(topic.configs)
        ],
    )
