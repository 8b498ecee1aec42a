"""Connection states: how far the connection to each node is, and when to try again.

    DISCONNECTED -> CONNECTING -> CHECKING_API_VERSIONS -> READY
         ^              |                |                  |
         +--------------+----------------+------------------+   each failure
                                         AUTHENTICATION_FAILED  if an end refused the other

A node that fails is left alone for its reconnect backoff, which doubles with each failure until the
node is READY: a broker that accepts and drops at once keeps backing off. A node that is CONNECTING
has its setup timeout to become usable (TCP, TLS and SASL); that doubles with each attempt that
fails, and CHECKING_API_VERSIONS resets it.

A host name may have several addresses. Each attempt uses the next one; after the last, and after a
connection that had worked, the name is looked up again.

`is_backing_off` and `has_ready_nodes` are for consumer groups, which are to come.

Source: Kafka's `ClusterConnectionStates`; KIP-144, KIP-302 (all addresses), KIP-601.
"""

from collections.abc import Callable, Sequence
from enum import Enum
from typing import Final

from kdiag.client.network.backoff import ExponentialBackoff
from kdiag.client.network.metadata import Node
from kdiag.client.network.settings import ConnectionTimes
from kdiag.errors import KdiagError
from kdiag.net.address import Address

FOREVER_NS: Final = (1 << 63) - 1
"""A delay that does not end by itself."""


class ConnectionState(Enum):
    """How far the connection to a node is."""

    DISCONNECTED = "disconnected"
    CONNECTING = "connecting"
    CHECKING_API_VERSIONS = "checking API versions"
    READY = "ready"
    AUTHENTICATION_FAILED = "authentication failed"

    @property
    def is_disconnected(self) -> bool:
        """Return whether there is no connection and none is being made."""
        return self in (ConnectionState.DISCONNECTED, ConnectionState.AUTHENTICATION_FAILED)

    @property
    def is_connected(self) -> bool:
        """Return whether requests can cross: the channel was ready once."""
        return self in (ConnectionState.CHECKING_API_VERSIONS, ConnectionState.READY)


class _NodeState:
    """The state of one node."""

    __slots__ = (
        "addresses",
        "authentication_error",
        "failed_attempts",
        "failed_setups",
        "host",
        "last_address",
        "last_attempt_ns",
        "position",
        "reconnect_backoff_ns",
        "setup_timeout_ns",
        "state",
        "throttled_until_ns",
    )

    def __init__(self, host: str) -> None:
        self.host = host
        self.state = ConnectionState.DISCONNECTED
        self.last_attempt_ns = 0
        self.failed_attempts = 0
        self.failed_setups = 0
        self.reconnect_backoff_ns = 0
        self.setup_timeout_ns = 0
        self.throttled_until_ns = 0
        self.authentication_error: KdiagError | None = None
        self.addresses: Sequence[Address] = ()
        self.position = 0
        self.last_address: Address | None = None

    def move_to_next_address(self) -> None:
        """Use the next address of the host; after the last one the host is looked up again."""
        self.position += 1
        if self.position >= len(self.addresses):
            self.forget_addresses()

    def forget_addresses(self) -> None:
        """Look the host up again before the next attempt."""
        self.addresses = ()
        self.position = 0


class ClusterConnectionStates:
    """The states of all nodes of a cluster, by node id.

    Every `now_ns` is a reading of one monotonic clock.
    """

    def __init__(
        self, resolve: Callable[[Node], Sequence[Address]], times: ConnectionTimes | None = None
    ) -> None:
        """Start without nodes.

        Args:
            resolve: returns the addresses of a node's host, at least one; may raise ConnectError.
            times: how long to wait for what.
        """
        self._resolve = resolve
        times = times or ConnectionTimes()
        self._reconnect_backoff = ExponentialBackoff(
            times.reconnect_backoff_ns, times.reconnect_backoff_max_ns, jitter=times.jitter
        )
        self._setup_timeout = ExponentialBackoff(
            times.setup_timeout_ns, times.setup_timeout_max_ns, jitter=times.jitter
        )
        self._nodes: dict[str, _NodeState] = {}

    def can_connect(self, node_id: str, now_ns: int) -> bool:
        """Return whether a connection may be started now."""
        node = self._nodes.get(node_id)
        return node is None or (node.state.is_disconnected and _backoff_left_ns(node, now_ns) <= 0)

    def is_backing_off(self, node_id: str, now_ns: int) -> bool:
        """Return whether the node has failed and is left alone for now."""
        node = self._nodes.get(node_id)
        return (
            node is not None and node.state.is_disconnected and _backoff_left_ns(node, now_ns) > 0
        )

    def connection_delay_ns(self, node_id: str, now_ns: int) -> int:
        """Return how long to wait before looking at the node's connection again."""
        node = self._nodes.get(node_id)
        if node is None:
            return 0
        if node.state is ConnectionState.CONNECTING:
            return node.setup_timeout_ns
        if node.state.is_disconnected:
            return max(0, _backoff_left_ns(node, now_ns))
        return FOREVER_NS

    def poll_delay_ns(self, node_id: str, now_ns: int) -> int:
        """Return how long to wait before a request may be possible; the throttle counts too."""
        return self.throttle_delay_ns(node_id, now_ns) or self.connection_delay_ns(node_id, now_ns)

    def connecting(self, node: Node, now_ns: int) -> Address:
        """Start an attempt and return the address for it.

        Raises:
            ConnectError: if the host has no address; the attempt counts.
        """
        known = self._nodes.get(node.id)
        if known is None or known.host != node.host:
            known = self._nodes[node.id] = _NodeState(node.host)
            known.reconnect_backoff_ns = self._reconnect_backoff.after(0)
            known.setup_timeout_ns = self._setup_timeout.after(0)
        elif known.addresses:
            known.move_to_next_address()
        known.state = ConnectionState.CONNECTING
        known.last_attempt_ns = now_ns
        if not known.addresses:
            known.addresses = _not_first(known.last_address, self._resolve(node))
        known.last_address = known.addresses[known.position]
        return known.last_address

    def disconnected(self, node_id: str, now_ns: int) -> None:
        """Record the end of a connection, or of an attempt."""
        node = self._nodes[node_id]
        self._fail(node, now_ns)
        if node.state is ConnectionState.CONNECTING:
            node.failed_setups += 1
            node.setup_timeout_ns = self._setup_timeout.after(node.failed_setups)
        else:
            self._reset_setup_timeout(node)
            if node.state.is_connected:
                node.forget_addresses()
        node.state = ConnectionState.DISCONNECTED

    def authentication_failed(self, node_id: str, now_ns: int, error: KdiagError) -> None:
        """Record that either end refused the other."""
        node = self._nodes[node_id]
        self._fail(node, now_ns)
        node.authentication_error = error
        node.state = ConnectionState.AUTHENTICATION_FAILED

    def checking_api_versions(self, node_id: str) -> None:
        """Record that an ApiVersions request is queued on the node's channel."""
        node = self._nodes[node_id]
        node.state = ConnectionState.CHECKING_API_VERSIONS
        self._reset_setup_timeout(node)

    def ready(self, node_id: str) -> None:
        """Record that the node can be sent any request."""
        node = self._nodes[node_id]
        node.state = ConnectionState.READY
        node.authentication_error = None
        node.failed_attempts = 0
        node.reconnect_backoff_ns = self._reconnect_backoff.after(0)
        self._reset_setup_timeout(node)

    def remove(self, node_id: str) -> None:
        """Forget a node and its backoff."""
        self._nodes.pop(node_id, None)

    def throttle(self, node_id: str, until_ns: int) -> None:
        """Leave the node alone until a time, unless it is already left alone for longer."""
        node = self._nodes.get(node_id)
        if node is not None:
            node.throttled_until_ns = max(node.throttled_until_ns, until_ns)

    def throttle_delay_ns(self, node_id: str, now_ns: int) -> int:
        """Return how long a connected node must still be left alone."""
        node = self._nodes.get(node_id)
        if node is None or not node.state.is_connected:
            return 0
        return max(0, node.throttled_until_ns - now_ns)

    def state(self, node_id: str) -> ConnectionState:
        """Return the state of a node; an unknown one is DISCONNECTED."""
        node = self._nodes.get(node_id)
        return ConnectionState.DISCONNECTED if node is None else node.state

    def node_ids(self) -> list[str]:
        """Return the nodes that there was an attempt to connect to."""
        return list(self._nodes)

    def is_known(self, node_id: str) -> bool:
        """Return whether there was an attempt to connect to the node."""
        return node_id in self._nodes

    def is_ready(self, node_id: str, now_ns: int) -> bool:
        """Return whether the node can be sent any request now."""
        return (
            self.state(node_id) is ConnectionState.READY
            and self.throttle_delay_ns(node_id, now_ns) == 0
        )

    def has_ready_nodes(self, now_ns: int) -> bool:
        """Return whether any node can be sent a request now."""
        return any(self.is_ready(node_id, now_ns) for node_id in self._nodes)

    def is_preparing(self, node_id: str) -> bool:
        """Return whether a connection is on its way to READY."""
        return self.state(node_id) in (
            ConnectionState.CONNECTING,
            ConnectionState.CHECKING_API_VERSIONS,
        )

    def authentication_error(self, node_id: str) -> KdiagError | None:
        """Return why either end refused the other, until the node is READY."""
        node = self._nodes.get(node_id)
        return None if node is None else node.authentication_error

    def last_attempt_ns(self, node_id: str) -> int:
        """Return when the last attempt began or failed; 0 for an unknown node."""
        node = self._nodes.get(node_id)
        return 0 if node is None else node.last_attempt_ns

    def setup_timeout_ns(self, node_id: str) -> int:
        """Return how long the node's connection may take to become usable."""
        return self._nodes[node_id].setup_timeout_ns

    def last_address(self, node_id: str) -> Address | None:
        """Return the address of the last attempt; None if the host has none."""
        node = self._nodes.get(node_id)
        return None if node is None else node.last_address

    def has_next_address(self, node_id: str) -> bool:
        """Return whether the host has an address not tried since it was looked up."""
        node = self._nodes.get(node_id)
        return node is not None and node.position + 1 < len(node.addresses)

    def timed_out_connections(self, now_ns: int) -> list[str]:
        """Return the nodes that have been CONNECTING for longer than their setup timeout."""
        return [
            node_id
            for node_id, node in self._nodes.items()
            if node.state is ConnectionState.CONNECTING
            and now_ns - node.last_attempt_ns > node.setup_timeout_ns
        ]

    def next_timeout_ns(self) -> int:
        """Return when the next setup timeout ends; FOREVER_NS if no node is CONNECTING."""
        return min(
            (
                node.last_attempt_ns + node.setup_timeout_ns
                for node in self._nodes.values()
                if node.state is ConnectionState.CONNECTING
            ),
            default=FOREVER_NS,
        )

    def _fail(self, node: _NodeState, now_ns: int) -> None:
        """Count a failure."""
        node.last_attempt_ns = now_ns
        node.reconnect_backoff_ns = self._reconnect_backoff.after(node.failed_attempts)
        node.failed_attempts += 1

    def _reset_setup_timeout(self, node: _NodeState) -> None:
        """Restore the first setup timeout."""
        node.failed_setups = 0
        node.setup_timeout_ns = self._setup_timeout.after(0)


def _backoff_left_ns(node: _NodeState, now_ns: int) -> int:
    """Return how long a failed node must still be left alone."""
    return node.last_attempt_ns + node.reconnect_backoff_ns - now_ns


def _not_first(tried: Address | None, addresses: Sequence[Address]) -> Sequence[Address]:
    """Return the addresses, the first one last if it was tried just before."""
    if len(addresses) > 1 and addresses[0] == tried:
        return [*addresses[1:], addresses[0]]
    return addresses
