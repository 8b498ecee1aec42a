"""A lab of several brokers without threads, under a clock that stands still.

with SteppedLab(NewTopic("orders", 1, 3)) as lab:
    lab.produce(ORDERS, batch(2))
    lab.until(lambda: lab.answers)
    lab.advance(NS_PER_S)

The brokers speak to each other over their real connections; each turn lets each of them do what it
can, so that nothing happens in between.
"""

from collections.abc import Callable, Mapping

from kdiag.clock import NS_PER_MS, NS_PER_S, ManualClock
from kdiag.lab.broker.broker_server import BrokerServer
from kdiag.lab.broker.lab_cluster import LabCluster, LabSettings
from kdiag.lab.controller.cluster_image import PartitionRegistration
from kdiag.lab.controller.quorum_controller import NewTopic
from kdiag.lab.purgatory.operation_key import TopicPartitionOperationKey
from kdiag.lab.replication.replica_partition import ReplicaPartition
from kdiag.wire.api.produce import PartitionProduceResponse
from kdiag.wire.error_code import error_name
from kdiag.wire.records.batches import read_batches

Key = TopicPartitionOperationKey

_MOST_TURNS = 2_000
_QUICK_TURNS = 100
_STEP_NS = NS_PER_S // 10
_LOOPBACK_NS = NS_PER_MS // 10


class SteppedLab(LabCluster):
    """A lab whose brokers act when a test says so.

    Attributes:
        clock: stands still.
        answers: the errors of produces that were answered, in that order.
        paused: brokers that do nothing, as if the machine did not let them.
    """

    def __init__(self, *topics: NewTopic, settings: LabSettings | None = None) -> None:
        self.clock = ManualClock(1_700_000_000 * NS_PER_S)
        self.answers: list[str] = []
        self.paused: set[int] = set()
        base = settings or LabSettings(node_count=3)
        super().__init__(base._replace(topics=topics, is_threaded=False), self.clock)

    def turn(self, count: int = 1, wait_ns: int = 0) -> None:
        """Let each broker do what it can, some times.

        Args:
            count: how often.
            wait_ns: how long each waits for what the system may not have brought yet.
        """
        for _ in range(count):
            for node in self.nodes:
                if node.node_id not in self.paused:
                    node.processor.process_once(wait_ns)

    def until(self, is_so: Callable[[], object]) -> None:
        """Let the brokers act until something is so."""
        for number in range(_MOST_TURNS):
            if is_so():
                return
            self.turn(wait_ns=0 if number < _QUICK_TURNS else NS_PER_MS)
        raise AssertionError("it never was so")

    def advance(self, ns: int) -> None:
        """Let time pass, and the brokers act meanwhile."""
        while ns > 0:
            self.clock.advance(min(ns, _STEP_NS))
            ns -= _STEP_NS
            self.turn(2)
            self.turn(2, _LOOPBACK_NS)

    def until_elected(self, killed: int) -> None:
        """Let time pass until a broker that was killed is missed."""
        for _ in range(30):
            if killed not in self.controller.image.brokers:
                return
            self.advance(NS_PER_S)
        raise AssertionError(f"broker {killed} is not missed")

    def registration(self, key: Key) -> PartitionRegistration:
        """Return what the controller knows of a partition."""
        found = self.controller.image.partition_of(key.topic, key.partition)
        assert found is not None
        return found

    def leader(self, key: Key) -> BrokerServer:
        """Return the broker that leads a partition."""
        return self.node(self.registration(key).leader)

    def replica(self, key: Key, node_id: int) -> ReplicaPartition:
        """Return a partition as a broker has it."""
        return self.node(node_id).replicas.partitions[key]

    def replicas(self, key: Key) -> list[ReplicaPartition]:
        """Return a partition as each of its brokers has it that runs."""
        running = {node.node_id for node in self.nodes}
        return [
            self.replica(key, each) for each in self.registration(key).replicas if each in running
        ]

    def produce(
        self, key: Key, records: bytes, acks: int = -1, timeout_ns: int = 30 * NS_PER_S
    ) -> None:
        """Have the leader append a batch; its error is in `answers` when it is answered."""

        def respond(responses: Mapping[Key, PartitionProduceResponse]) -> None:
            self.answers.append(error_name(responses[key].error_code))

        self.leader(key).replicas.append_records({key: records}, acks, timeout_ns, respond)

    def ends(self, key: Key) -> list[tuple[int, int]]:
        """Return high watermark and end of the log on each broker that runs."""
        return [(each.log.high_watermark, each.log.log_end_offset) for each in self.replicas(key)]

    def contents(self, key: Key) -> list[list[tuple[int, int]]]:
        """Return first offset and leader epoch of each batch, on each broker that runs."""
        return [
            [
                (batch.base_offset, batch.partition_leader_epoch)
                for segment in each.log.segments
                for batch in read_batches(segment.log.read(0, segment.size)).batches
            ]
            for each in self.replicas(key)
        ]
