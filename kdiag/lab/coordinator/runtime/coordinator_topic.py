"""The internal topic of a coordinator: made on first use; which partition keeps a key, and who.

    GROUP_TOPIC.ensure(controller)                  __consumer_offsets, 50 partitions, compacted
    GROUP_TOPIC.partition_of("billing", image)      12: the hash of Java's String, modulo 50
    GROUP_TOPIC.coordinator_of("billing", image)    the broker that leads partition 12

It gets as many replicas as there are brokers, up to `replication_factor`: where Kafka waits for a
third broker, a lab of one is to work.

Source: Kafka's `AutoTopicCreationManager`, `GroupCoordinatorService.partitionFor`.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple

from kdiag.lab.controller.cluster_image import (
    GROUP_METADATA_TOPIC,
    BrokerRegistration,
    ClusterImage,
    TopicImage,
)
from kdiag.lab.controller.quorum_controller import NewTopic, QuorumController
from kdiag.lab.controller.refusal import RequestRefusedError
from kdiag.wire.coordinator_partition import coordinator_partition

PARTITION_COUNT: Final = 50
REPLICATION_FACTOR: Final = 3


class CoordinatorTopic(NamedTuple):
    """A topic that brokers make for themselves.

    Attributes:
        name: its name.
        configs: its settings.
        partition_count: how many partitions it is made with.
        replication_factor: how many replicas at the most.
    """

    name: str
    configs: Mapping[str, str]
    partition_count: int = PARTITION_COUNT
    replication_factor: int = REPLICATION_FACTOR

    def ensure(self, controller: QuorumController) -> TopicImage:
        """Return the topic; create it if it is not there.

        Raises:
            RequestRefusedError: if it cannot be created.
            LogFileError: if the controller cannot write it down.
        """
        topic = controller.image.topics.get(self.name)
        if topic is not None:
            return topic
        factor = min(self.replication_factor, len(controller.image.brokers))
        new = NewTopic(self.name, self.partition_count, factor, configs=self.configs)
        try:
            return controller.create_topic(new)
        except RequestRefusedError as error:
            topic = controller.image.topics.get(self.name)
            if topic is None or error.error != "TOPIC_ALREADY_EXISTS":
                raise
            return topic  # another node was faster

    def partition_of(self, key: str, image: ClusterImage) -> int:
        """Return the partition that keeps a key."""
        topic = image.topics.get(self.name)
        count = self.partition_count if topic is None else len(topic.partitions)
        return coordinator_partition(key, count)

    def coordinator_of(self, key: str, image: ClusterImage) -> BrokerRegistration | None:
        """Return the broker that coordinates a key; None as long as there is none."""
        registration = image.partition_of(self.name, self.partition_of(key, image))
        return None if registration is None else image.brokers.get(registration.leader)


GROUP_TOPIC: Final = CoordinatorTopic(
    GROUP_METADATA_TOPIC,
    {"cleanup.policy": "compact", "compression.type": "producer", "segment.bytes": "104857600"},
)
"""`offsets.topic.num.partitions`, `offsets.topic.replication.factor`, `offsets.topic.segment.bytes`
have Kafka's defaults."""
