"""Brokers that hang and brokers that die, one after the other, at random moments.

with TroubleMaker(cluster, Random(7)) as trouble:
    ...
trouble.made            ["broker 2 hangs for 3.1 s", ...]

The next trouble comes once the one before is over, so that two of three brokers always work.
"""

from random import Random
from threading import Event, Thread
from typing import Final, Self

from real_kafka.kafka_cluster import KafkaCluster

_TIMEOUT_S: Final = 120


class TroubleMaker:
    """Goes on until the block ends, which leaves all brokers well.

    Attributes:
        made: what was done, in order.
    """

    def __init__(self, cluster: KafkaCluster, random: Random) -> None:
        self.made: list[str] = []
        self._cluster = cluster
        self._random = random
        self._is_over = Event()
        self._thread = Thread(target=self._run, daemon=True)

    def __enter__(self) -> Self:
        """Begin."""
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """End the last trouble."""
        self._is_over.set()
        self._thread.join(_TIMEOUT_S)

    def _run(self) -> None:
        while not self._is_over.wait(self._random.uniform(0.2, 2)):
            number = self._random.choice((1, 2, 3))
            lasts_s = self._random.uniform(0.5, 6)
            if self._random.random() < 0.5:
                self.made.append(f"broker {number} hangs for {lasts_s:.1f} s")
                self._cluster.pause(number)
                self._is_over.wait(lasts_s)
                self._cluster.resume(number)
            else:
                self.made.append(f"broker {number} is dead for {lasts_s:.1f} s")
                self._cluster.kill(number)
                self._is_over.wait(lasts_s)
                self._cluster.restart(number)
