"""A node's partitions, without a network, and batches as producers send them."""

from pathlib import Path
from typing import Final

from kdiag.clock import NS_PER_S, ManualClock
from kdiag.lab.controller.cluster_image import BrokerRegistration
from kdiag.lab.controller.quorum_controller import NewTopic, QuorumController
from kdiag.lab.log.log_directory import LogDirectory
from kdiag.lab.replication.replica_manager import ReplicaManager
from kdiag.wire.records.record import BatchHeader, Record
from kdiag.wire.records.writer import AS_RECORDS_SAY, write_batch

NOW_MS: Final = 1_700_000_000_000


def batch(count: int = 1, timestamp: int = NOW_MS, header: BatchHeader = AS_RECORDS_SAY) -> bytes:
    """Return a batch as a producer sends it."""
    records = [
        Record(offset=each, timestamp=timestamp, key=b"k", value=b"v") for each in range(count)
    ]
    return write_batch(records, header)


class OneNode:
    """A broker of a cluster that has another one, which does not run really.

    Attributes:
        clock: stands still.
        controller: the cluster's state.
        replicas: the node's partitions.
    """

    def __init__(self, folder: Path) -> None:
        self.clock = ManualClock(1_700_000_000 * NS_PER_S)
        self.controller = QuorumController()
        self.replicas = ReplicaManager(1, LogDirectory(folder, self.clock), self.clock)
        for node_id in (1, 2):
            self.controller.register_broker(BrokerRegistration(node_id, "localhost", 9090))
        self.controller.subscribe(self.replicas.handle_image)

    def create(self, name: str, *replicas: int, **configs: str) -> None:
        """Create a topic of one partition."""
        texts = {key.replace("_", "."): value for key, value in configs.items()}
        self.controller.create_topic(NewTopic(name, assignments={0: replicas}, configs=texts))

    def lack_replicas(self, topic: str) -> None:
        """Have too few replicas of a topic in sync for acks=all, until it changes next."""
        for key, partition in self.replicas.partitions.items():
            if key.topic == topic:
                partition.min_insync_replicas = len(partition.registration.isr) + 1
