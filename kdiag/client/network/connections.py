"""The connections of a client: from the first attempt to the reason why they ended.

It keeps three things in step for each node: the channel in the selector, the state with its
backoffs, and the stage, which says in which layer a connection was when it broke.

It logs each step for DEBUG.

Source: Kafka's `NetworkClient` (the part about connections).
"""

import logging
from typing import Final

from kdiag.client.network.api_versions import VersionNegotiation
from kdiag.client.network.connection_states import ClusterConnectionStates
from kdiag.client.network.failure import ConnectionStage, cut_short, failure, silence
from kdiag.client.network.metadata import Node
from kdiag.client.network.observer import UNKNOWN_END
from kdiag.clock import Clock
from kdiag.errors import AuthenticationError, ConnectError
from kdiag.net.address import host_and_port
from kdiag.net.authenticator import NoAuthenticator
from kdiag.net.channel import Channel, Disconnection
from kdiag.net.selector.selector import Selector
from kdiag.net.tcp.sockets import ends_of

_LOG: Final = logging.getLogger(__name__)


class NodeConnections:
    """The connections of one client, by node id; they move its states and its negotiation."""

    def __init__(
        self,
        selector: Selector,
        states: ClusterConnectionStates,
        negotiation: VersionNegotiation,
        clock: Clock,
    ) -> None:
        self._selector = selector
        self._states = states
        self._negotiation = negotiation
        self._clock = clock
        self._nodes: dict[str, Node] = {}
        self._stages: dict[str, ConnectionStage] = {}
        self._has_sasl: dict[str, bool] = {}
        self._has_tls: dict[str, bool] = {}
        self._failures: dict[str, ConnectError] = {}

    def error(self, node_id: str) -> ConnectError | None:
        """Return why the last connection to a node ended; None if it is in use, or never was."""
        return self._failures.get(node_id)

    def connect(self, node: Node) -> ConnectError | None:
        """Start to connect; return the error if it failed at once."""
        now_ns = self._clock.monotonic_ns()
        self._nodes[node.id] = node
        self._stages[node.id] = ConnectionStage.TCP
        _LOG.debug("node %s: connecting to %s", node.id, node.endpoint)
        try:
            self._selector.connect(node.id, self._states.connecting(node, now_ns))
        except (OSError, ConnectError) as error:
            return self._end(node.id, failure(self.address(node.id), ConnectionStage.TCP, error))
        return None

    def handle_connect(self, node_id: str) -> tuple[str, str]:
        """Handle a TCP connection that was made; return `ip:port` of both ends."""
        channel = self._selector.channel(node_id)
        address = self._states.last_address(node_id)
        assert channel is not None
        assert address is not None
        self._negotiation.begin(node_id)
        self._stages[node_id] = _stage_of(channel)
        self._has_tls[node_id] = not channel.transport.is_ready  # plaintext is so from the start
        self._has_sasl[node_id] = not isinstance(channel.authenticator, NoAuthenticator)
        try:
            ends = ends_of(channel.transport.fileno())
        except OSError:  # the other end has reset it already
            ends = UNKNOWN_END, host_and_port(address.ip, address.port)
        _LOG.debug("node %s: connected, %s to %s", node_id, *ends)
        return ends

    def ready_for_api_versions(self) -> list[str]:
        """Return the nodes that still need an ApiVersions request and can be sent one."""
        return [node_id for node_id in self._negotiation.pending() if self._is_prepared(node_id)]

    def checking_api_versions(self, node_id: str) -> None:
        """Record that a node is sent its ApiVersions request."""
        self._states.checking_api_versions(node_id)
        self._stages[node_id] = ConnectionStage.API_VERSIONS

    def ready(self, node_id: str) -> None:
        """Record that a node can be sent any request."""
        self._states.ready(node_id)
        _LOG.debug("node %s: ready for requests", node_id)
        self._failures.pop(node_id, None)
        has_sasl = self._has_sasl[node_id]
        self._stages[node_id] = ConnectionStage.READY if has_sasl else ConnectionStage.FIRST_REQUEST

    def record_response(self, node_id: str) -> None:
        """Record that a node has answered a request."""
        if self._stages[node_id] is ConnectionStage.FIRST_REQUEST:
            self._stages[node_id] = ConnectionStage.READY

    def handle_disconnection(self, node_id: str, disconnection: Disconnection) -> ConnectError:
        """Handle the end of a connection; return why it ended."""
        stage = self._stages[node_id]
        has_tls = self._has_tls.get(node_id, False)
        why = failure(self.address(node_id), stage, disconnection.error, has_tls=has_tls)
        return self._end(node_id, why)

    def refuse(self, node_id: str, error: ConnectError) -> ConnectError:
        """End a connection for an error of the other end, and return that error."""
        self._selector.close_channel(node_id)
        return self._end(node_id, error)

    def give_up(self, node_id: str, waited_ns: int) -> ConnectError:
        """End a connection on which something took too long; return what."""
        return self.refuse(node_id, self._silence(node_id, waited_ns))

    def silence(self, node_id: str) -> ConnectError:
        """Return the error for an attempt to connect that has not ended yet."""
        waited_ns = self._clock.monotonic_ns() - self._states.last_attempt_ns(node_id)
        return self._silence(node_id, waited_ns)

    def close(self, node_id: str) -> None:
        """End a connection that nobody needs; the node backs off as if it had failed."""
        self._selector.close_channel(node_id)
        self._negotiation.forget(node_id)
        self._states.disconnected(node_id, self._clock.monotonic_ns())

    def forget_former_address(self, node: Node) -> None:
        """Forget that a node could not be reached where it was before."""
        former = self._nodes.get(node.id, node)
        if former != node and self._states.state(node.id).is_disconnected:
            self.forget(node.id)

    def forget(self, node_id: str) -> None:
        """End a connection, if there is one, and forget the node."""
        self._selector.close_channel(node_id)
        self._negotiation.forget(node_id)
        self._states.remove(node_id)
        self._failures.pop(node_id, None)

    def address(self, node_id: str) -> str:
        """Return a node's `host:port`, and the IP address if the host is a name."""
        node = self._nodes[node_id]
        tried = self._states.last_address(node_id)
        if tried is None or tried.ip == node.host:
            return node.endpoint
        return f"{node.endpoint} ({tried.ip})"

    def _is_prepared(self, node_id: str) -> bool:
        """Return whether a node's channel is ready, and update its stage."""
        channel = self._selector.channel(node_id)
        stage = self._stages[node_id]
        if channel is not None and stage in (ConnectionStage.TLS, ConnectionStage.SASL):
            self._stages[node_id] = _stage_of(channel)
        return channel is not None and channel.is_ready

    def _silence(self, node_id: str, waited_ns: int) -> ConnectError:
        """Return the error for a node that was silent for so long."""
        self._is_prepared(node_id)
        channel = self._selector.channel(node_id)
        receive = None if channel is None else channel.receive
        if receive is not None and receive.missing_bytes:
            return cut_short(self.address(node_id), self._stages[node_id], receive, waited_ns)
        return silence(self.address(node_id), self._stages[node_id], waited_ns)

    def _end(self, node_id: str, error: ConnectError) -> ConnectError:
        """Keep why a connection ended; if the host has more addresses, try the next at once."""
        now_ns = self._clock.monotonic_ns()
        _LOG.debug("node %s: the connection ended: %s", node_id, error)
        self._negotiation.forget(node_id)
        self._failures[node_id] = error
        if isinstance(error, AuthenticationError):
            self._states.authentication_failed(node_id, now_ns, error)
        else:
            self._states.disconnected(node_id, now_ns)
            is_tcp = self._stages[node_id] is ConnectionStage.TCP
            if is_tcp and self._states.has_next_address(node_id):
                self.connect(self._nodes[node_id])
        return error


def _stage_of(channel: Channel) -> ConnectionStage:
    """Return the stage of a connected channel."""
    if not channel.transport.is_ready:
        return ConnectionStage.TLS
    is_complete = channel.authenticator.is_complete
    return ConnectionStage.API_VERSIONS if is_complete else ConnectionStage.SASL
