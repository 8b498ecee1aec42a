"""Kills and restarts brokers, the leader of one partition of a topic after the other.

killer = LeaderKiller(cluster, "orders", rounds=20)
killer.start()
while killer.is_alive():
    ...
"""

from collections.abc import Callable
from functools import partial
from threading import Event, Thread
from typing import Any, Final

from confluent_kafka.admin import AdminClient

from real_kafka.kafka_cluster import KafkaCluster

_TIMEOUT_S: Final = 60
_PAUSE_S: Final = 0.2


class LeaderKiller(Thread):
    """Goes on only when all replicas are in sync; every second time another leader comes first.

    Attributes:
        killed: the brokers, in order.
    """

    def __init__(self, cluster: KafkaCluster, topic: str, rounds: int) -> None:
        super().__init__(daemon=True)
        self.killed: list[int] = []
        self._cluster = cluster
        self._topic = topic
        self._rounds = rounds
        self._admin = AdminClient({"bootstrap.servers": cluster.bootstrap, "log_level": 0})

    def run(self) -> None:
        """Kill and restart."""
        for number in range(self._rounds):
            self._await(_is_in_sync)
            partition = number % len(self._partitions())
            victim = self._partitions()[partition].leader
            self.killed.append(victim)
            self._cluster.kill(victim)
            if number % 2:
                self._await(partial(_is_led_by_others, victim))
            self._cluster.restart(victim)

    def _partitions(self) -> list[Any]:
        """Return what the cluster says of the topic."""
        topic = self._admin.list_topics(self._topic, _TIMEOUT_S).topics[self._topic]
        return [each for _, each in sorted(topic.partitions.items())]

    def _await(self, condition: Callable[[list[Any]], bool]) -> None:
        """Ask until something holds; whoever waits for this thread loses patience at last."""
        while not condition(self._partitions()):
            Event().wait(_PAUSE_S)


def _is_in_sync(partitions: list[Any]) -> bool:
    return all(len(each.isrs) == len(each.replicas) for each in partitions)


def _is_led_by_others(broker: int, partitions: list[Any]) -> bool:
    return all(each.leader not in {-1, broker} for each in partitions)
