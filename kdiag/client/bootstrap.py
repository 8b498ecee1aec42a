"""Bootstrap: learns of a cluster from the servers that the user named.

All addresses are tried at once, each on a connection of its own. The first node that is ready is
asked for metadata; if it does not answer soon, the next that is ready is asked as well. The first
response wins.

    servers  a:9092 (two addresses)  b:9092
    nodes    -1, -2                  -3

They are asked again when no broker answers any more (`kdiag.client.network.rebootstrap`).

Source: KIP-302 (all addresses). Kafka's own `NetworkClient` tries one server at a time.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from kdiag.client.consumer_network_client import ConsumerNetworkClient, ResponseFuture
from kdiag.client.network.failure import asked_in_tls, most_telling, no_metadata
from kdiag.client.network.metadata import Cluster, Node, metadata_request
from kdiag.client.network.network_client import NetworkClient
from kdiag.clock import NS_PER_MS, Clock
from kdiag.errors import ConnectError, Fault, RequestTimeoutError
from kdiag.net.address import Address, Resolve, look_up_all
from kdiag.net.tls.question import LIMIT_NS, speaks_tls
from kdiag.wire.api.metadata import MetadataResponse

ASK_ANOTHER_AFTER_NS: Final = 300 * NS_PER_MS
"""How long the first node may take to answer before the next is asked as well."""

DNS_LIMIT_NS: Final = 2_500 * NS_PER_MS
"""How long looking up the servers may take: somebody waits at a terminal."""


class BootstrapNodes:
    """The servers that the user named, as nodes: one for each address of each server.

    Names are looked up anew each time. An address that is found again keeps its node, and so its
    connection and its backoff.

    Attributes:
        by_id: every node so far.
        errors: why names were not found, the last time.
    """

    def __init__(self, servers: Sequence[tuple[str, int]], lookup: Resolve, clock: Clock) -> None:
        self.by_id: Mapping[int, Node] = {}
        self.errors: list[ConnectError] = []
        self._servers = servers
        self._lookup = lookup
        self._clock = clock

    def look_up(self, limit_ns: int) -> list[Node]:
        """Look all servers up at once, within `DNS_LIMIT_NS`, and return their nodes."""
        limit_ns = min(DNS_LIMIT_NS, limit_ns)
        results = look_up_all(self._servers, self._lookup, self._clock, limit_ns)
        self.errors = [each.error for each in results.values() if each.error is not None]
        return [
            self._node(host, port, address)
            for (host, port), result in results.items()
            for address in result.addresses
        ]

    def _node(self, host: str, port: int, address: Address) -> Node:
        """Return the node of an address, a new one if it has none."""
        for node in self.by_id.values():
            if (node.host, node.port, node.address) == (host, port, address):
                return node
        number = min(self.by_id, default=0) - 1
        node = Node(str(number), host, port, address)
        self.by_id = {**self.by_id, number: node}  # another thread may be reading it
        return node


class Bootstrap:
    """One attempt to learn the brokers of a cluster.

    Attributes:
        nodes: one for each address of each server.
    """

    def __init__(
        self, network: NetworkClient, client: ConsumerNetworkClient, servers: BootstrapNodes
    ) -> None:
        self.nodes: list[Node] = []
        self._network = network
        self._client = client
        self._servers = servers
        self._asked: dict[str, ResponseFuture] = {}
        self._ask_another_at_ns = 0

    def run(self, deadline_ns: int) -> tuple[Node, Cluster]:
        """Return the node that answered first, and its metadata.

        Raises:
            ConnectError: the most telling of all if nobody answered.
            RequestTimeoutError: if there is no time to ask.
        """
        left_ns = deadline_ns - self._network.clock.monotonic_ns()
        if left_ns <= 0:
            raise RequestTimeoutError("the time was up before a bootstrap server could be asked")
        self.nodes = self._servers.look_up(left_ns)
        for node in self.nodes:
            self._network.ready(node)
        self._wait(deadline_ns)
        for node in self.nodes:
            future = self._asked.get(node.id)
            if future is not None and future.succeeded:
                body = future.value().body
                assert isinstance(body, MetadataResponse)
                return node, Cluster.from_response(body)
        raise most_telling(
            [*self._servers.errors, *(self._why_not(each, deadline_ns) for each in self.nodes)]
        )

    def _wait(self, deadline_ns: int) -> None:
        """Wait until it is over; check now and then whether to ask another node."""
        clock = self._network.clock
        is_over = False
        while not is_over and clock.monotonic_ns() < deadline_ns:
            soon_ns = clock.monotonic_ns() + ASK_ANOTHER_AFTER_NS
            is_over = self._client.await_condition(self._is_over, min(soon_ns, deadline_ns))

    def _is_over(self) -> bool:
        """Return whether a node has answered or none will; ask the next one if it is time."""
        now_ns = self._network.clock.monotonic_ns()
        for node in self.nodes:
            is_new = node.id not in self._asked and self._network.is_ready(node.id)
            if is_new and (now_ns >= self._ask_another_at_ns or self._have_all_failed()):
                self._asked[node.id] = self._client.send(node, metadata_request([]))
                self._ask_another_at_ns = now_ns + ASK_ANOTHER_AFTER_NS
        if any(future.succeeded for future in self._asked.values()):
            return True
        return all(self._is_lost(node) for node in self.nodes)

    def _have_all_failed(self) -> bool:
        """Return whether every node that was asked has failed."""
        return all(future.failed for future in self._asked.values())

    def _is_lost(self, node: Node) -> bool:
        """Return whether a node has failed."""
        future = self._asked.get(node.id)
        if future is not None:
            return future.failed
        return self._network.connection_failed(node.id)

    def _why_not(self, node: Node, deadline_ns: int) -> ConnectError:
        """Return why a node did not help."""
        error = self._network.connection_error(node.id) or self._network.silence(node.id)
        if error is not None:
            left_ns = deadline_ns - self._network.clock.monotonic_ns()
            return explained(error, node, left_ns)
        future = self._asked.get(node.id)
        is_failed = future is not None and future.failed
        return no_metadata(node.endpoint, future.error() if future and is_failed else None)


def explained(error: ConnectError, node: Node, left_ns: int) -> ConnectError:
    """Return an error of a node; a port that hung up on plaintext is asked whether it wants TLS.

    Args:
        error: as the connection ended.
        node: the node.
        left_ns: how long that may take at most.
    """
    if error.fault is not Fault.HUNG_UP or node.address is None:
        return error
    return asked_in_tls(error, speaks_tls=speaks_tls(node.address, min(left_ns, LIMIT_NS)))
