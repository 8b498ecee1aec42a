"""The connections of a client: begun, found to be made, used and ended, and why they ended.

It keeps three things in step for each node: the channel in the selector, the state with its
backoffs, and the stage, which tells in which layer a connection was when it broke.

Source: Kafka's `NetworkClient` (its part that is about connections).
"""

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from kdiag.client.network.api_versions import VersionNegotiation
from kdiag.client.network.connection_states import ClusterConnectionStates, ConnectionTimes
from kdiag.client.network.failure import Stage, cut_short, failure, silence
from kdiag.client.network.metadata import Node
from kdiag.client.network.observer import UNKNOWN_END
from kdiag.clock import Clock
from kdiag.errors import AuthenticationError, ConnectError
from kdiag.net.address import Address, host_and_port, resolve
from kdiag.net.authenticator import NoAuthenticator
from kdiag.net.channel import Channel, Disconnection
from kdiag.net.selector.selector import Selector
from kdiag.net.tcp import ends_of

Lookup = Callable[[str, int], Sequence[Address]]
"""Returns the addresses of a host and port; raises ConnectError if there are none."""


class NodeConnections:
    """The connections of one client, by node id.

    Attributes:
        states: their states and backoffs.
        negotiation: the versions that their nodes speak.
    """

    def __init__(
        self, selector: Selector, lookup: Lookup, clock: Clock, times: ConnectionTimes
    ) -> None:
        self.states = ClusterConnectionStates(self._resolve, times)
        self.negotiation = VersionNegotiation()
        self._selector = selector
        self._lookup = lookup
        self._clock = clock
        self._nodes: dict[str, Node] = {}
        self._stages: dict[str, Stage] = {}
        self._has_sasl: dict[str, bool] = {}
        self._failures: dict[str, ConnectError] = {}

    def error(self, node_id: str) -> ConnectError | None:
        """Return why the last connection to a node ended; None if it is in use, or never was."""
        return self._failures.get(node_id)

    def begin(self, node: Node) -> ConnectError | None:
        """Begin to connect; return the error if it failed at once."""
        now_ns = self._clock.monotonic_ns()
        self._nodes[node.id] = node
        self._stages[node.id] = Stage.TCP
        try:
            self._selector.connect(node.id, self.states.connecting(node, now_ns))
        except (OSError, ConnectError) as error:
            return self._end(node.id, failure(self.address(node.id), Stage.TCP, error))
        return None

    def made(self, node_id: str) -> tuple[str, str]:
        """Take that TCP has connected; return `ip:port` of both ends."""
        channel = self._selector.channel(node_id)
        address = self.states.last_address(node_id)
        assert channel is not None
        assert address is not None
        self._stages[node_id] = _stage_of(channel)
        self._has_sasl[node_id] = not isinstance(channel.authenticator, NoAuthenticator)
        try:
            return ends_of(channel.transport.fileno())
        except OSError:  # the other end has reset it already
            return UNKNOWN_END, host_and_port(address.ip, address.port)

    def askable(self) -> list[str]:
        """Return the nodes that are ready to be asked for their versions."""
        return [node_id for node_id in self.negotiation.to_ask() if self._is_prepared(node_id)]

    def checking_versions(self, node_id: str) -> None:
        """Take that a node is asked for its versions."""
        self.states.checking_api_versions(node_id)
        self._stages[node_id] = Stage.API_VERSIONS

    def ready(self, node_id: str) -> None:
        """Take that a node can be asked anything."""
        self.states.ready(node_id)
        self._failures.pop(node_id, None)
        self._stages[node_id] = Stage.READY if self._has_sasl[node_id] else Stage.FIRST_REQUEST

    def answered(self, node_id: str) -> None:
        """Take that a node has answered a request."""
        if self._stages[node_id] is Stage.FIRST_REQUEST:
            self._stages[node_id] = Stage.READY

    def broke(self, node_id: str, disconnection: Disconnection) -> ConnectError:
        """Take what the selector tells of the end of a connection."""
        stage = self._stages[node_id]
        return self._end(node_id, failure(self.address(node_id), stage, disconnection.error))

    def refuse(self, node_id: str, error: ConnectError) -> ConnectError:
        """End a connection whose other end does not behave."""
        self._selector.close_channel(node_id)
        return self._end(node_id, error)

    def give_up(self, node_id: str, waited_ns: int) -> ConnectError:
        """End a connection on which something took too long."""
        return self.refuse(node_id, self._silence(node_id, waited_ns))

    def silence(self, node_id: str) -> ConnectError:
        """Return what the attempt to connect to a node has waited for until now."""
        waited_ns = self._clock.monotonic_ns() - self.states.last_attempt_ns(node_id)
        return self._silence(node_id, waited_ns)

    def close(self, node_id: str) -> None:
        """End a connection that is no longer wanted; the node backs off as if it had failed."""
        self._selector.close_channel(node_id)
        self.negotiation.forget(node_id)
        self.states.disconnected(node_id, self._clock.monotonic_ns())

    def forget(self, node_id: str) -> None:
        """End a connection, if there is one, and forget the node."""
        self._selector.close_channel(node_id)
        self.negotiation.forget(node_id)
        self.states.remove(node_id)
        self._failures.pop(node_id, None)

    def address(self, node_id: str) -> str:
        """Return where a node is: `host:port`, and the IP address if the host is a name."""
        node = self._nodes[node_id]
        tried = self.states.last_address(node_id)
        if tried is None or tried.ip == node.host:
            return node.endpoint
        return f"{node.endpoint} ({tried.ip})"

    def _is_prepared(self, node_id: str) -> bool:
        """Return whether a node's channel is ready, and note how far it is."""
        channel = self._selector.channel(node_id)
        if channel is not None and self._stages[node_id] in (Stage.TLS, Stage.SASL):
            self._stages[node_id] = _stage_of(channel)
        return channel is not None and channel.is_ready

    def _silence(self, node_id: str, waited_ns: int) -> ConnectError:
        """Return what a node has not answered."""
        self._is_prepared(node_id)
        channel = self._selector.channel(node_id)
        receive = None if channel is None else channel.receive
        if receive is not None and receive.missing_bytes:
            return cut_short(self.address(node_id), self._stages[node_id], receive, waited_ns)
        return silence(self.address(node_id), self._stages[node_id], waited_ns)

    def _end(self, node_id: str, error: ConnectError) -> ConnectError:
        """Keep why a connection ended; if the host has more addresses, try the next at once."""
        now_ns = self._clock.monotonic_ns()
        self.negotiation.forget(node_id)
        self._failures[node_id] = error
        if isinstance(error, AuthenticationError):
            self.states.authentication_failed(node_id, now_ns, error)
        else:
            self.states.disconnected(node_id, now_ns)
            if self._stages[node_id] is Stage.TCP and self.states.has_next_address(node_id):
                self.begin(self._nodes[node_id])
        return error

    def _resolve(self, node: Node) -> Sequence[Address]:
        """Return the addresses of a node."""
        return [node.address] if node.address else self._lookup(node.host, node.port)


def _stage_of(channel: Channel) -> Stage:
    """Return what a connected channel waits for."""
    if not channel.transport.is_ready:
        return Stage.TLS
    return Stage.API_VERSIONS if channel.authenticator.is_complete else Stage.SASL


_S: Final = 1_000_000_000


class NetworkSettings(NamedTuple):
    """What a network client may be told; the defaults are Kafka's own.

    Attributes:
        client_id: `client.id`, which every request names.
        times: how long to wait for connections.
        request_timeout_ns: `request.timeout.ms`.
        max_in_flight: `max.in.flight.requests.per.connection`.
        discovers_versions: whether each connection begins with ApiVersions.
        lookup: finds the addresses of a host.
    """

    client_id: str | None = "kdiag"
    times: ConnectionTimes = ConnectionTimes()
    request_timeout_ns: int = 30 * _S
    max_in_flight: int = 5
    discovers_versions: bool = True
    lookup: Lookup = resolve


DEFAULT_SETTINGS: Final = NetworkSettings()
