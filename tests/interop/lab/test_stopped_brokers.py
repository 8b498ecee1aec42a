"""Brokers that stop, one after the other, while librdkafka writes, reads and commits.

Each round stops a broker that leads something at that moment, as if it had been killed or in an
orderly way, waits until others have gone on without it, and starts it again. All acks are asked
for, and two replicas have to be in sync. `KDIAG_EXHAUSTIVE=1` does twenty rounds.
"""

from random import Random
from typing import Final

import pytest

from kdiag.clock import NS_PER_S
from kdiag.lab.broker.lab_cluster import LabCluster, LabSettings
from kdiag.lab.controller.quorum_controller import NewTopic
from kdiag.lab.coordinator.group.group_config import GroupCoordinatorConfig
from lab_ends.several.image_waits import until_image
from lab_ends.several.number_clients import (
    PARTITIONS,
    TOPIC,
    CommittingReader,
    NumberWriter,
    check_numbers,
)
from tiers.sampling import IS_EXHAUSTIVE, SEED

pytestmark = pytest.mark.soak

ROUNDS: Final = 20 if IS_EXHAUSTIVE else 3
SETTINGS: Final = LabSettings(
    (NewTopic(TOPIC, PARTITIONS, 3, configs={"min.insync.replicas": "2"}),),
    node_count=3,
    session_timeout_ns=3 * NS_PER_S,
    group_config=GroupCoordinatorConfig(group_initial_rebalance_delay_ms=0),
)


def wait_for_replicas(lab: LabCluster) -> None:
    """Wait until every replica of the topic is in sync."""
    until_image(
        lab.controller,
        lambda image: all(
            len(each.isr) == len(each.replicas) for each in image.topics[TOPIC].partitions
        ),
    )


def logs_of(lab: LabCluster) -> dict[int, set[bytes]]:
    """Return what the brokers have of each partition, once if it is the same."""
    logs: dict[int, set[bytes]] = {number: set() for number in range(PARTITIONS)}
    for node in lab.nodes:
        for key, partition in node.replicas.partitions.items():
            if key.topic == TOPIC:
                segments = partition.log.segments
                data = b"".join(each.log.read(0, each.size) for each in segments)
                logs[key.partition].add(data)
    return logs


def test_nothing_acknowledged_is_lost_when_brokers_stop() -> None:
    """No record, no commit; nothing of an idempotent producer is there twice."""
    random = Random(f"{SEED} stop")
    with LabCluster(SETTINGS) as lab:
        bootstrap = lab.bootstrap
        with (
            NumberWriter(bootstrap, is_idempotent=True) as once,
            NumberWriter(bootstrap, is_idempotent=False) as again,
        ):
            reader = CommittingReader(bootstrap)
            for number in range(ROUNDS):
                reader.commit_more(2)
                partitions = lab.controller.image.topics[TOPIC].partitions
                leader = random.choice(partitions).leader
                lab.stop_node(leader, is_clean=number % 3 == 2)
                wanted = len(once.acked) + random.randrange(500, 3000)
                reader.commit_more(2)
                while len(once.acked) < wanted:
                    reader.consumer.poll(0.01)
                lab.start_node(leader)
                wait_for_replicas(lab)
                assert reader.forgotten() == {}
            for each in (once, again):
                each.finish()
            assert reader.forgotten() == {}
            reader.consumer.close()
            check_numbers(bootstrap, once, again)
        wait_for_replicas(lab)
        assert {number: len(each) for number, each in logs_of(lab).items()} == dict.fromkeys(
            range(PARTITIONS), 1
        )
