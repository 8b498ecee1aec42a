"""What an assignor is told of a group: its members, and how many partitions topics have.

    members             {"a": MemberSpec({orders}, had={orders-0})}
    partition_counts    {orders: 4}; topics are known by their ids
    Assign              -> {"a": {orders-0, orders-1}, ...}

A member is given only partitions of topics that it reads, and each partition is given once.

Source: Kafka's `GroupSpec`, `MemberSubscription`, `SubscribedTopicDescriber`.
"""

from collections.abc import Callable, Mapping
from typing import NamedTuple


class TopicIdPartition(NamedTuple):
    """A partition.

    Attributes:
        topic_id: sixteen bytes.
        partition: its number.
    """

    topic_id: bytes
    partition: int


Partitions = frozenset[TopicIdPartition]


class MemberSpec(NamedTuple):
    """A member.

    Attributes:
        topic_ids: what it reads; only topics that there are.
        had: what it was to have before.
        instance_id: its name, if it is static.
    """

    topic_ids: frozenset[bytes]
    had: Partitions = frozenset()
    instance_id: str | None = None


Members = Mapping[str, MemberSpec]
PartitionCounts = Mapping[bytes, int]
Assign = Callable[[Members, PartitionCounts], dict[str, Partitions]]
"""Gives each member its partitions."""


def are_alike(members: Members) -> bool:
    """Return whether all members read the same topics."""
    return len({member.topic_ids for member in members.values()}) <= 1
