"""Side effects: which requests only read, and what the others may change.

The APIs that only read are listed. Every other API counts as one that changes something, also one
that a later Kafka adds.

Source: Kafka's `KafkaApis`, `ControllerApis` and coordinators.
"""

from typing import Any, Final

from kdiag.wire import api_keys
from kdiag.wire.catalog import Api
from kdiag.wire.schema import Struct

READ_ONLY: Final = frozenset(
    {
        api_keys.API_VERSIONS,
        api_keys.CONSUMER_GROUP_DESCRIBE,
        api_keys.DESCRIBE_ACLS,
        api_keys.DESCRIBE_CLIENT_QUOTAS,
        api_keys.DESCRIBE_CLUSTER,
        api_keys.DESCRIBE_CONFIGS,
        api_keys.DESCRIBE_DELEGATION_TOKEN,
        api_keys.DESCRIBE_GROUPS,
        api_keys.DESCRIBE_LOG_DIRS,
        api_keys.DESCRIBE_PRODUCERS,
        api_keys.DESCRIBE_QUORUM,
        api_keys.DESCRIBE_SHARE_GROUP_OFFSETS,
        api_keys.DESCRIBE_TOPIC_PARTITIONS,
        api_keys.DESCRIBE_TRANSACTIONS,
        api_keys.DESCRIBE_USER_SCRAM_CREDENTIALS,
        api_keys.FETCH,
        api_keys.FETCH_SNAPSHOT,
        api_keys.FIND_COORDINATOR,
        api_keys.LIST_CONFIG_RESOURCES,
        api_keys.LIST_GROUPS,
        api_keys.LIST_OFFSETS,
        api_keys.LIST_PARTITION_REASSIGNMENTS,
        api_keys.LIST_TRANSACTIONS,
        api_keys.METADATA,
        api_keys.OFFSET_FETCH,
        api_keys.OFFSET_FOR_LEADER_EPOCH,
        api_keys.READ_SHARE_GROUP_STATE_SUMMARY,
        api_keys.SHARE_GROUP_DESCRIBE,
        api_keys.STREAMS_GROUP_DESCRIBE,
    }
)
"""The APIs whose requests change nothing, with the exceptions for Fetch and Metadata in `effect`.

The first FindCoordinator of its kind makes the brokers create the internal topic, as any client's
does. ReadShareGroupState is not here: it writes a new leader epoch.
"""

_FIRST_METADATA_WITHOUT_CREATION: Final = 4


def effect(api: Api, message: Struct, version: int) -> str | None:
    """Return what sending a request may change; None if it only reads.

    Args:
        api: the API.
        message: the request.
        version: in which it is sent.
    """
    request: Any = message
    if api.key == api_keys.METADATA and any(each.name for each in request.topics or ()):
        if version < _FIRST_METADATA_WITHOUT_CREATION or request.allow_auto_topic_creation:
            return "it creates topics that are not there, unless allowAutoTopicCreation is false"
        return None
    if api.key == api_keys.FETCH and max(request.replica_id, request.replica_state.replica_id) >= 0:
        return "with the id of a replica it moves the high watermark"
    if api.key in READ_ONLY or getattr(request, "validate_only", False):
        return None
    return "it changes the cluster, or the state of a client in it"
