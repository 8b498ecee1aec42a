"""A real Kafka behind a delayed link: what a client far away from its broker sees.

    with WanCluster("4.3.1", tmp_path, "--delay-ms", "10") as wan:
        with wan.client_side():
            ...  # sockets made here, by this thread, reach wan.bootstrap
        wan.run([sys.executable, "-m", "..."])

The round trip is twice the delay. Needs root, and Java.
"""

import subprocess
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from typing import Self

from delays.delayed_network import ADDRESSES, DelayedNetwork
from real_kafka.kafka_cluster import KafkaCluster, Place


class WanCluster:
    """One node of Kafka in a namespace of its own, while it runs.

    Attributes:
        network: the two ends.
        bootstrap: the broker, as the client's end reaches it.
    """

    def __init__(
        self,
        version: str,
        folder: Path,
        *link_options: str,
        properties: Mapping[str, str] | None = None,
    ) -> None:
        self.network = DelayedNetwork(*link_options)
        place = Place(ADDRESSES["broker"], self.network.command("broker", []))
        self._cluster = _FarCluster(place, version, folder, properties)
        self.bootstrap = self._cluster.bootstrap
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            stack.enter_context(self.network)
            stack.enter_context(self._cluster)
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def client_side(self) -> AbstractContextManager[None]:
        """Be at the client's end for a while, with this thread."""
        return self.network.inside("client")

    def run(self, command: Sequence[str]) -> subprocess.CompletedProcess[str]:
        """Run a program at the client's end, and return what it printed.

        Raises:
            subprocess.CalledProcessError: if it fails.
        """
        command = self.network.command("client", command)
        return subprocess.run(command, capture_output=True, text=True, check=True)


class _FarCluster(KafkaCluster):
    """A node somewhere else."""

    def __init__(
        self, place: Place, version: str, folder: Path, properties: Mapping[str, str] | None
    ) -> None:
        self.place = place
        super().__init__(version, folder, properties=properties)
