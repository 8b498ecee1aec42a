"""What the broker has assigned to a member, and how far the member has got with that.

Topics go by their ids, as the broker has them. Each assignment that differs from the one before it
has a local epoch, which only this member counts: the same partitions, assigned again after a
rejoin, must be acknowledged again.

Source: Kafka's `AbstractMembershipManager.LocalAssignment`.
"""

from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from kdiag.wire.api.consumer_group_heartbeat import TopicPartitions

TopicIdPartition = tuple[bytes, int]
"""The id of a topic, and a partition of it."""


class LocalAssignment(NamedTuple):
    """Some partitions.

    Attributes:
        epoch: counts the assignments of one member; -1 for none.
        partitions: by the ids of their topics.
    """

    epoch: int
    partitions: frozenset[TopicIdPartition]

    @property
    def is_none(self) -> bool:
        """Return whether there is no assignment, not even one without partitions."""
        return self.epoch == NO_ASSIGNMENT.epoch

    def followed_by(self, partitions: frozenset[TopicIdPartition]) -> "LocalAssignment":
        """Return the assignment of other partitions; this one if they are the same."""
        if not self.is_none and partitions == self.partitions:
            return self
        return LocalAssignment(self.epoch + 1, partitions)

    def by_topic(self) -> list[TopicPartitions]:
        """Return the partitions as a heartbeat has them."""
        topics: dict[bytes, list[int]] = {}
        for topic_id, partition in sorted(self.partitions):
            topics.setdefault(topic_id, []).append(partition)
        return [TopicPartitions(topic_id, each) for topic_id, each in topics.items()]


NO_ASSIGNMENT: Final = LocalAssignment(-1, frozenset())


def partitions_of(topics: Iterable[TopicPartitions]) -> frozenset[TopicIdPartition]:
    """Return the partitions that an answer to a heartbeat has."""
    return frozenset((each.topic_id, number) for each in topics for number in each.partitions)


def topic_ids(partitions: Iterable[TopicIdPartition]) -> frozenset[bytes]:
    """Return the topics of partitions."""
    return frozenset(topic_id for topic_id, _ in partitions)


def by_name(
    partitions: Iterable[TopicIdPartition], names: Mapping[bytes, str]
) -> frozenset[TopicIdPartition]:
    """Return those of partitions whose topics have a name."""
    return frozenset(each for each in partitions if each[0] in names)
