"""The keys of the share coordinator: one for each partition that a share group reads.

A share group has two kinds of coordinator: one for its members, as every group, and one for each
partition that it shares, by the key `group:topic id:partition`.

Source: KIP-932; Kafka's `SharePartitionKey`.
"""

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from kdiag.client.cluster_client import ClusterClient
from kdiag.errors import AbsentError, AuthorizationError, ProbeError
from kdiag.wire.api.describe_share_group_offsets import (
    DescribeShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsRequestGroup,
    DescribeShareGroupOffsetsResponse,
)
from kdiag.wire.api.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from kdiag.wire.error_code import error_name
from kdiag.wire.primitives import uuid_text
from kdiag.wire.schema import ZERO_UUID

_DENIED: Final = "GROUP_AUTHORIZATION_FAILED"


class SharePartition(NamedTuple):
    """One partition of a share group."""

    group: str
    topic: str
    partition: int


def share_keys(client: ClusterClient, names: Sequence[str]) -> list[str]:
    """Return the keys of `GROUP:TOPIC:PARTITION`, or of all partitions of `GROUP`.

    Raises:
        AbsentError: if a group shares nothing, or a topic or partition does not exist.
        AuthorizationError: if the group may not be described.
        ProbeError: if it has no coordinator.
        KdiagError: if no broker answers.
    """
    keys: list[str] = []
    for name in names:
        one = _parse(name)
        keys += _partitions_of(client, name) if one is None else [_key(client, one)]
    return list(dict.fromkeys(keys))


def _parse(name: str) -> SharePartition | None:
    """Return the partition of a name; None for a group."""
    group_and_topic, colon, partition = name.rpartition(":")
    group, second_colon, topic = group_and_topic.rpartition(":")
    if not (colon and second_colon and group and partition.isascii() and partition.isdigit()):
        return None
    return SharePartition(group, topic, int(partition))


def _key(client: ClusterClient, named: SharePartition) -> str:
    topic = client.refresh([named.topic]).topics.get(named.topic)
    if topic is None or topic.topic_id == ZERO_UUID:
        why = "it does not exist" if topic is None else error_name(topic.error_code)
        raise AbsentError(f"topic {named.topic} of {':'.join(map(str, named))}", why)
    if named.partition not in {each.partition_index for each in topic.partitions}:
        why = f"the topic has partitions 0 to {len(topic.partitions) - 1}"
        raise AbsentError(f"partition {named.partition} of topic {named.topic}", why)
    return f"{named.group}:{uuid_text(topic.topic_id)}:{named.partition}"


def _partitions_of(client: ClusterClient, group: str) -> Iterable[str]:
    """Return the keys of all partitions that a group has state for."""
    question = FindCoordinatorRequest(coordinator_keys=[group])
    found = client.ask_any(question, FindCoordinatorResponse).coordinators[0]
    if found.error_code:
        error = error_name(found.error_code)
        if error == _DENIED:
            raise AuthorizationError(f"group {group}: not authorized to describe it ({error})")
        raise ProbeError(f"group {group}", f"no coordinator: {error}")
    request = DescribeShareGroupOffsetsRequest(
        [DescribeShareGroupOffsetsRequestGroup(group, topics=None)]
    )
    body = client.ask(found.node_id, request, DescribeShareGroupOffsetsResponse)
    described = body.groups[0]
    keys = [
        f"{group}:{uuid_text(topic.topic_id)}:{each.partition_index}"
        for topic in described.topics
        for each in topic.partitions
    ]
    if not keys:
        why = error_name(described.error_code) if described.error_code else "it shares nothing yet"
        raise AbsentError(f"share group {group}", f"no partitions: {why}")
    return keys
