"""What happens to topics: leaders move, partitions come, records go, rights are given and taken."""

import time
from collections.abc import Mapping, Sequence
from typing import Any, Final

from confluent_kafka import ElectionType, TopicPartition
from confluent_kafka.admin import (  # type: ignore[attr-defined]
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AdminClient,
    NewPartitions,
    OffsetSpec,
    ResourcePatternType,
    ResourceType,
)

from kdiag.client.cluster_client import ClusterClient
from kdiag.client.config.load import ConfigSources, load_config
from kdiag.client.configured_client import configured_client
from kdiag.client.network.metadata import metadata_request
from kdiag.clock import SystemClock
from kdiag.wire.api.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    ReassignablePartition,
    ReassignableTopic,
)
from kdiag.wire.api.metadata import MetadataResponse

_TIMEOUT_S: Final = 60
_TO_READ: Final = (AclOperation.READ, AclOperation.DESCRIBE)


def admin(bootstrap: str) -> AdminClient:
    """Return an admin client that says nothing of lost connections."""
    return AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})


def await_topic(bootstrap: str, topic: str, partitions: int) -> None:
    """Wait until every broker knows so many partitions of a topic, and all leaders answer.

    A broker names itself as the leader a moment before it has opened the log.
    """
    with _client(bootstrap) as client:
        client.connect()
        known: list[int] = []
        while not known or min(known) < partitions:
            questions = {each.id: metadata_request([topic]) for each in client.brokers}
            answers = client.ask_all(questions, MetadataResponse).values()
            told = [each.body.topics[0].partitions if each.body else [] for each in answers]
            known = [sum(each.leader_id >= 0 for each in found) for found in told]
    latest = OffsetSpec.latest()  # type: ignore[no-untyped-call]
    asked = {TopicPartition(topic, number): latest for number in range(partitions)}
    asking = admin(bootstrap)
    until_s = time.monotonic() + _TIMEOUT_S
    while any(each.exception(_TIMEOUT_S) for each in asking.list_offsets(asked).values()):
        if time.monotonic() > until_s:
            raise TimeoutError(f"{topic}: a leader does not answer")


def listed(bootstrap: str, prefix: str) -> list[str]:
    """Return the topics and groups that brokers list now and whose names begin so."""
    asking = admin(bootstrap)
    groups = asking.list_consumer_groups().result(_TIMEOUT_S).valid
    names = [*asking.list_topics(timeout=_TIMEOUT_S).topics, *(each.group_id for each in groups)]
    return [each for each in names if each.startswith(prefix)]


def await_removal(bootstrap: str, prefix: str) -> None:
    """Wait until brokers list none such: they learn a moment later that a topic is deleted.

    Raises:
        TimeoutError: with those that are left.
    """
    until_s = time.monotonic() + _TIMEOUT_S
    while left := listed(bootstrap, prefix):
        if time.monotonic() > until_s:
            raise TimeoutError(f"{left} are there still")


def _client(bootstrap: str) -> ClusterClient:
    config = load_config(ConfigSources(properties=[f"bootstrap.servers={bootstrap}"]))
    return configured_client(config, SystemClock())


def move_leaders(bootstrap: str, topic: str, replicas: Sequence[Sequence[int]]) -> None:
    """Give each partition its replicas in a new order, and have the first of them lead."""
    partitions = [ReassignablePartition(n, list(each)) for n, each in enumerate(replicas)]
    request = AlterPartitionReassignmentsRequest(topics=[ReassignableTopic(topic, partitions)])
    with _client(bootstrap) as client:
        client.connect()
        answer = client.ask_any(request, AlterPartitionReassignmentsResponse)
    errors = {each.error_code for found in answer.responses for each in found.partitions}
    if answer.error_code or errors != {0}:
        raise RuntimeError(f"{topic} was not reassigned: {answer}")
    elected = [TopicPartition(topic, number) for number in range(len(replicas))]
    asking = admin(bootstrap)  # which must outlive its answers
    asking.elect_leaders(ElectionType.PREFERRED, elected).result(_TIMEOUT_S)


def add_partitions(bootstrap: str, topic: str, count: int) -> None:
    """Have a topic so many partitions in all."""
    new = NewPartitions(topic, count)
    asking = admin(bootstrap)
    for created in asking.create_partitions([new]).values():
        created.result(_TIMEOUT_S)


def delete_records(bootstrap: str, topic: str, before: Mapping[int, int]) -> None:
    """Delete the records of partitions before an offset each."""
    ends = [TopicPartition(topic, number, offset) for number, offset in before.items()]
    asking = admin(bootstrap)
    for deleted in asking.delete_records(ends).values():
        deleted.result(_TIMEOUT_S)


def allow(bootstrap: str, topic: str, user: str) -> None:
    """Allow a user to read a topic."""
    acls = [AclBinding(*_acl(topic, user, each)) for each in _TO_READ]
    asking = admin(bootstrap)
    for created in asking.create_acls(acls).values():
        created.result(_TIMEOUT_S)


def withdraw(bootstrap: str, topic: str, user: str) -> None:
    """Take back what `allow` gave."""
    acls = [AclBindingFilter(*_acl(topic, user, each)) for each in _TO_READ]
    asking = admin(bootstrap)
    for deleted in asking.delete_acls(acls).values():
        deleted.result(_TIMEOUT_S)


def _acl(topic: str, user: str, operation: AclOperation) -> tuple[Any, ...]:
    pattern, permission = ResourcePatternType.LITERAL, AclPermissionType.ALLOW
    return ResourceType.TOPIC, topic, pattern, f"User:{user}", "*", operation, permission
