"""The clients of a round: impatient ones, by the clock of the lab, made anew after an error.

with RoundClients(clock, lambda: lab.nodes, time) as clients:
    client = clients.connect("fuzz-writer")
    clients.close(client)
"""

from collections.abc import Callable
from contextlib import suppress
from typing import Final, Self, TypeVar

from kdiag.client.cluster_client import ClusterClient, ClusterSettings
from kdiag.client.network.settings import ConnectionTimes, NetworkSettings
from kdiag.clock import NS_PER_MS, NS_PER_S
from kdiag.errors import KdiagError
from kdiag.lab.broker.lab_cluster import LOOPBACK
from kdiag.net.server.processor import plaintext_channels
from lab_ends.rounds.idle_time import IdleTime, Nodes, NotedClock

FAULTY: Final = "fuzz-*"
"""The names of the clients that faults are for."""

PATIENT_NS: Final = 30 * NS_PER_S
"""The `request.timeout.ms` of whoever judges."""

_TIMES: Final = ConnectionTimes(20 * NS_PER_MS, 500 * NS_PER_MS, 10 * NS_PER_S, 20 * NS_PER_S)
_REQUEST_NS: Final = 3 * NS_PER_S
_CONNECT_NS: Final = 10 * NS_PER_S
_ATTEMPTS: Final = 20

T = TypeVar("T")


class RoundClients:
    """Clients of one lab, all of which are closed when the `with` block ends.

    Attributes:
        clock: of all of them.
    """

    def __init__(self, clock: NotedClock, nodes: Nodes, time: IdleTime) -> None:
        """Begin without clients.

        Args:
            clock: of the lab.
            nodes: returns its brokers, all of which run when the block begins.
            time: tells them how late it is.
        """
        self.clock = clock
        self._nodes = nodes
        self._time = time
        self._open: list[ClusterClient] = []
        self._servers: list[tuple[str, int]] = []

    def __enter__(self) -> Self:
        """Note where all brokers are: some may end."""
        self._servers = [(LOOPBACK, each.port) for each in self._nodes()]
        return self

    def __exit__(self, *_: object) -> None:
        """Close those that are left."""
        for each in [*self._open]:
            self.close(each)

    def connect(self, client_id: str, request_timeout_ns: int = _REQUEST_NS) -> ClusterClient:
        """Return a client that knows the brokers.

        Raises:
            KdiagError: if no broker answers.
        """
        network = NetworkSettings(client_id, _TIMES, request_timeout_ns)
        settings = ClusterSettings(self._servers, network)
        client = ClusterClient(settings, plaintext_channels(self.clock), self.clock)
        self._open.append(client)
        self._time.watch(client)
        try:
            client.connect(self.clock.monotonic_ns() + max(_CONNECT_NS, request_timeout_ns))
        except KdiagError:
            self.close(client)
            raise
        return client

    @staticmethod
    def surely(ask: Callable[[], T]) -> T:
        """Return the result of an attempt that succeeds: a broker may not be up yet.

        Raises:
            KdiagError: if none has.
        """
        for _ in range(_ATTEMPTS):
            with suppress(KdiagError):
                return ask()
        return ask()

    def close(self, client: ClusterClient) -> None:
        """Close a client."""
        self._time.forget(client)
        self._open.remove(client)
        with suppress(KdiagError):
            client.close()
