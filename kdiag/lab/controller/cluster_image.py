"""The state of a cluster at one moment: values that nobody changes.

    ClusterImage
        brokers    1 -> BrokerRegistration(127.0.0.1:9092)
        topics     orders -> TopicImage
                       partitions   [PartitionRegistration(replicas [1], isr [1], leader 1)]
                       configs      {"segment.bytes": "1048576"}

A leader epoch counts the leaders that a partition has had; a partition epoch counts every change.

Source: Kafka's `MetadataImage`, `TopicImage`, `PartitionRegistration`, `BrokerRegistration`.
"""

from collections.abc import Mapping
from typing import Final, Self

import msgspec

NO_LEADER: Final = -1

GROUP_METADATA_TOPIC: Final = "__consumer_offsets"
TRANSACTION_STATE_TOPIC: Final = "__transaction_state"
SHARE_GROUP_STATE_TOPIC: Final = "__share_group_state"
INTERNAL_TOPICS: Final = frozenset(
    (GROUP_METADATA_TOPIC, TRANSACTION_STATE_TOPIC, SHARE_GROUP_STATE_TOPIC)
)


class BrokerRegistration(msgspec.Struct, frozen=True):
    """A broker, as its clients are told of it.

    Attributes:
        node_id: its id.
        host: the name or address that clients use.
        port: likewise.
        rack: its rack, if it has one.
        ports: of its other listeners, by their names.
        epoch: tells it from itself before it was started again.
    """

    node_id: int
    host: str
    port: int
    rack: str | None = None
    ports: Mapping[str, int] = {}
    epoch: int = 0

    def as_seen_at(self, listener: str) -> Self:
        """Return the broker with the port that those are told who came by a listener."""
        port = self.ports.get(listener, self.port)
        return self if port == self.port else msgspec.structs.replace(self, port=port)


class PartitionRegistration(msgspec.Struct, frozen=True):
    """A partition.

    Attributes:
        replicas: the brokers that are to have it; the first is preferred as its leader.
        isr: those that are in sync.
        leader: the one that leads it, or NO_LEADER.
        leader_epoch: how many leaders there have been before.
        partition_epoch: how many changes there have been.
        adding: the replicas that are being added, while it moves to other brokers (KIP-455).
        removing: likewise those that are being removed.
    """

    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    leader: int
    leader_epoch: int = 0
    partition_epoch: int = 0
    adding: tuple[int, ...] = ()
    removing: tuple[int, ...] = ()


class TopicImage(msgspec.Struct, frozen=True):
    """A topic.

    Attributes:
        name: its name.
        topic_id: sixteen bytes.
        partitions: by number.
        configs: the settings that were set, by name.
    """

    name: str
    topic_id: bytes
    partitions: tuple[PartitionRegistration, ...]
    configs: Mapping[str, str] = {}

    @property
    def is_internal(self) -> bool:
        """Return whether brokers keep it for themselves."""
        return self.name in INTERNAL_TOPICS


class ClusterImage(msgspec.Struct, frozen=True):
    """A cluster.

    Attributes:
        cluster_id: its id, as Kafka writes one: 22 characters.
        brokers: those that run, by id.
        fenced: those that ran and run no more, likewise.
        topics: by name.
        broker_configs: the settings of brokers that were set, by node id; "" is for all.
        next_producer_id: the first that was never given.
        version: how many changes there have been.
    """

    cluster_id: str
    brokers: Mapping[int, BrokerRegistration] = {}
    fenced: Mapping[int, BrokerRegistration] = {}
    topics: Mapping[str, TopicImage] = {}
    broker_configs: Mapping[str, Mapping[str, str]] = {}
    next_producer_id: int = 0
    version: int = 0

    @property
    def controller_id(self) -> int:
        """Return the broker that requests to the controller are sent to; -1 without any.

        As in Kafka's KRaft any broker takes them; the smallest id is told.
        """
        return min(self.brokers, default=NO_LEADER)

    def topic_of(self, topic_id: bytes) -> TopicImage | None:
        """Return the topic of an id."""
        return next((each for each in self.topics.values() if each.topic_id == topic_id), None)

    def partition_of(self, topic: str, partition: int) -> PartitionRegistration | None:
        """Return a partition; None if there is no such topic, or it has fewer."""
        image = self.topics.get(topic)
        if image is None or not 0 <= partition < len(image.partitions):
            return None
        return image.partitions[partition]
