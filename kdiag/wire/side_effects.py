"""Which requests only read, and what the others would change.

The APIs that only read are listed; whatever is not, also an API that Kafka adds one day, is taken
to change something.

Source: Kafka's `KafkaApis`, `ControllerApis` and coordinators.
"""

from typing import Any, Final

from kdiag.wire.catalog import Api
from kdiag.wire.schema import Struct

READ_ONLY: Final = frozenset(
    {
        "ApiVersions",
        "ConsumerGroupDescribe",
        "DescribeAcls",
        "DescribeClientQuotas",
        "DescribeCluster",
        "DescribeConfigs",
        "DescribeDelegationToken",
        "DescribeGroups",
        "DescribeLogDirs",
        "DescribeProducers",
        "DescribeQuorum",
        "DescribeShareGroupOffsets",
        "DescribeTopicPartitions",
        "DescribeTransactions",
        "DescribeUserScramCredentials",
        "Fetch",
        "FetchSnapshot",
        "FindCoordinator",
        "ListConfigResources",
        "ListGroups",
        "ListOffsets",
        "ListPartitionReassignments",
        "ListTransactions",
        "Metadata",
        "OffsetFetch",
        "OffsetForLeaderEpoch",
        "ReadShareGroupStateSummary",
        "ShareGroupDescribe",
        "StreamsGroupDescribe",
    }
)
"""The APIs whose requests change nothing, but for what `effect` tells of Fetch and Metadata.

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
    if api.name == "Metadata" and any(each.name for each in request.topics or ()):
        if version < _FIRST_METADATA_WITHOUT_CREATION or request.allow_auto_topic_creation:
            return "it creates topics that are not there, unless allowAutoTopicCreation is false"
        return None
    if api.name == "Fetch" and max(request.replica_id, request.replica_state.replica_id) >= 0:
        return "with the id of a replica it moves the high watermark"
    if api.name in READ_ONLY or getattr(request, "validate_only", False):
        return None
    return "it changes the cluster, or the state of a client in it"
