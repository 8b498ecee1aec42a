"""The subscription of a classic member: its topics, those of its group, and its partitions.

    wanted       a list of topics, or a pattern
    topics       the topics of the list, or those that match the pattern at the moment
    group        as the group's leader: the topics of all members, whose partitions it watches
    assignment   the partitions that the member owns

A `MetadataSnapshot` is what an assignment was made from: when the leader finds another one, because
a topic has more partitions or has gone, the group must rebalance.

Source: Kafka's `SubscriptionState`, `ConsumerCoordinator.MetadataSnapshot`; KIP-881 (racks).
"""

from collections.abc import Collection, Mapping
from typing import NamedTuple

from kdiag.client.fetch.position import PartitionKey
from kdiag.client.group.assignor.assignor import partition_racks_of
from kdiag.client.group.member import TopicSubscription
from kdiag.client.network.metadata import Cluster
from kdiag.client.network.metadata_updater import FollowingMetadataUpdater


class MetadataSnapshot(NamedTuple):
    """The partitions of some topics.

    Attributes:
        version: counts the answers about metadata.
        partitions: topic -> the racks of each partition; empty sets for members without a rack,
            and no partitions for a topic that does not exist.
    """

    version: int
    partitions: Mapping[str, tuple[frozenset[str], ...]]

    def matches(self, other: "MetadataSnapshot") -> bool:
        """Return whether an assignment made from one is as good for the other."""
        return self.version == other.version or self.partitions == other.partitions


class SubscriptionState:
    """What one member wants and has.

    Attributes:
        wanted: a list or a pattern.
        topics: the topics that it stands for at the moment.
        group_topics: those of all members, if this one leads them.
        assignment: the partitions that it owns.
        pending_revocation: those that it is about to give up: their positions are being committed.
        snapshot: the latest metadata of all these topics.
    """

    def __init__(
        self, wanted: TopicSubscription, updater: FollowingMetadataUpdater, rack: str | None
    ) -> None:
        """Begin without partitions.

        Raises:
            ConfigError: if the pattern is not a regular expression.
        """
        self._updater = updater
        self._rack = rack
        self.wanted = wanted
        self.topics = wanted.matching(())
        self.group_topics: frozenset[str] = frozenset()
        self.assignment: frozenset[PartitionKey] = frozenset()
        self.pending_revocation: frozenset[PartitionKey] = frozenset()
        self.snapshot = self._snapshot()

    @property
    def cluster(self) -> Cluster:
        """Return the latest metadata."""
        return self._updater.cluster

    def subscribe(self, wanted: TopicSubscription) -> None:
        """Want something else from now on.

        Raises:
            ConfigError: if the pattern is not a regular expression.
        """
        self.topics = wanted.matching(self._visible())
        self.wanted = wanted
        self._follow()

    def group_subscribe(self, topics: Collection[str]) -> None:
        """Watch the topics of all members, as their leader."""
        self.group_topics = frozenset(topics)
        self.snapshot = self._snapshot()
        self._follow()

    def update(self) -> None:
        """Look at new metadata, if there are any."""
        if self._updater.update_count == self.snapshot.version:
            return
        if self.wanted.pattern is not None:
            self.topics = self.wanted.matching(self._visible())
        self.snapshot = self._snapshot()

    def assign(self, partitions: Collection[PartitionKey]) -> None:
        """Own these partitions, and no others."""
        self.assignment = frozenset(partitions)
        self.pending_revocation = frozenset()

    def fits(self, partitions: Collection[PartitionKey]) -> bool:
        """Return whether an assignment is one of topics that are still wanted."""
        assigned = frozenset(key.topic for key in partitions)
        return self.wanted.matching(assigned) >= assigned

    def add_matching(
        self, partitions: Collection[PartitionKey], joined: frozenset[str] | None
    ) -> frozenset[str] | None:
        """Want also the topics of an assignment that match the pattern: the leader knew of more.

        Args:
            partitions: the assignment.
            joined: the topics with which the member joined.

        Returns:
            the topics with which it would have joined, had it known.
        """
        if joined is None or self.wanted.pattern is None:
            return joined
        added = {key.topic for key in partitions} - joined
        self.topics |= added
        return joined | added

    def _follow(self) -> None:
        """Have the metadata of all that matters kept fresh."""
        is_pattern = self.wanted.pattern is not None
        self._updater.follow(None if is_pattern else self.topics | self.group_topics)

    def _visible(self) -> list[str]:
        """Return the topics that a pattern may match: none of Kafka's own."""
        topics = self.cluster.topics
        return [name for name, each in topics.items() if name and not each.is_internal]

    def _snapshot(self) -> MetadataSnapshot:
        """Return the partitions of the latest metadata."""
        version = self._updater.update_count
        topics = sorted(self.topics | self.group_topics)
        racks = partition_racks_of(self.cluster, topics)
        if not self._rack:
            racks = {name: [frozenset()] * len(each) for name, each in racks.items()}
        return MetadataSnapshot(version, {name: tuple(racks.get(name, ())) for name in topics})
