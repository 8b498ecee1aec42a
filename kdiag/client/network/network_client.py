"""The network client: connects to nodes, sends them requests and tells how each request ended.

Everything happens in `poll`, in this order:

1. what was given up since the last poll; then nothing else
2. metadata, if it is time
3. the selector: bytes in and out
4. sends that are complete, receives, disconnections, new connections: in this order, so that an
   answer that came before its connection ended counts
5. ApiVersions on new connections
6. connections and requests that take too long
7. the callbacks of all responses

A response belongs to the oldest request of its connection. Neither a broker nor the network makes
`poll` raise: what went wrong with a request is in its `ClientResponse`, what went wrong with a
connection is kept for `connection_error`.

Source: Kafka's `NetworkClient`.
"""

from kdiag.client.network.connection_states import FOREVER_NS
from kdiag.client.network.least_loaded import LeastLoaded, Load, least_loaded_node
from kdiag.client.network.metadata_updater import MetadataUpdater
from kdiag.client.network.network_settings import DEFAULT_SETTINGS, NetworkSettings
from kdiag.client.network.node import Node
from kdiag.client.network.node_api_versions import NodeApiVersions
from kdiag.client.network.observer import ExchangeObserver
from kdiag.client.network.poll_steps import PollSteps
from kdiag.client.network.request import (
    Callback,
    ClientRequest,
    ClientResponse,
    RequestBuilder,
)
from kdiag.clock import Clock
from kdiag.errors import ConnectError, DisconnectedError
from kdiag.net.selector.selector import Selector
from kdiag.net.tcp_info import SocketFacts, read_socket_facts


class NetworkClient:
    """Connections to the nodes of a cluster and the requests on them.

    Only `wakeup` and `initiate_close` may be called from another thread than the one that polls.
    """

    def __init__(
        self,
        selector: Selector,
        updater: MetadataUpdater,
        clock: Clock,
        settings: NetworkSettings = DEFAULT_SETTINGS,
        observer: ExchangeObserver | None = None,
    ) -> None:
        """Begin without connections.

        Args:
            selector: carries the bytes; nobody else polls it, and `close` closes it.
            updater: knows the nodes.
            clock: all times are its own.
            settings: sizes and times.
            observer: is told of every exchange.
        """
        self._selector = selector
        self._updater = updater
        self._clock = clock
        self._steps = PollSteps(selector, updater, clock, settings, observer)
        self._connections = self._steps.connections
        self._states = self._connections.states
        self._in_flight = self._steps.said.in_flight
        self._is_active = True
        self._is_closed = False

    @property
    def clock(self) -> Clock:
        """Return the clock that everything here goes by."""
        return self._clock

    @property
    def updater(self) -> MetadataUpdater:
        """Return who knows the nodes."""
        return self._updater

    def ready(self, node: Node) -> bool:
        """Return whether a request can be sent to a node; begin to connect to it if need be."""
        if self.is_ready(node.id):
            return True
        if self.can_connect(node.id):
            self.initiate_connect(node)
        return False

    def is_ready(self, node_id: str) -> bool:
        """Return whether a request can be sent, and no metadata is due first."""
        is_update_due = self._updater.is_update_due(self._clock.monotonic_ns())
        return not is_update_due and self.can_send_request(node_id)

    def can_send_request(self, node_id: str) -> bool:
        """Return whether a node is READY, not throttled, and has room for one more request."""
        return self._is_usable(node_id) and self._in_flight.can_send_more(node_id)

    def can_connect(self, node_id: str) -> bool:
        """Return whether a connection may be begun now."""
        return self._states.can_connect(node_id, self._clock.monotonic_ns())

    def is_any_connecting(self) -> bool:
        """Return whether a connection to any known node is being prepared."""
        return any(self._states.is_preparing(node.id) for node in self._updater.nodes())

    def initiate_connect(self, node: Node) -> None:
        """Begin to connect to a node that is disconnected."""
        error = self._connections.begin(node)
        if error is not None:
            self._updater.handle_disconnect(None, self._clock.monotonic_ns())

    def connection_delay_ns(self, node_id: str) -> int:
        """Return how long to wait before looking at a node's connection again."""
        return self._states.connection_delay_ns(node_id, self._clock.monotonic_ns())

    def poll_delay_ns(self, node_id: str) -> int:
        """Return the same, with the time for which the node is throttled."""
        return self._states.poll_delay_ns(node_id, self._clock.monotonic_ns())

    def connection_failed(self, node_id: str) -> bool:
        """Return whether the connection to a node has ended, or failed to come about."""
        return self._states.state(node_id).is_disconnected and self._states.is_known(node_id)

    def connection_error(self, node_id: str) -> ConnectError | None:
        """Return why the last connection to a node ended; None if it is in use, or never was."""
        return self._connections.error(node_id)

    def silence(self, node_id: str) -> ConnectError | None:
        """Return what a connection waits for that is still being prepared; None if none is."""
        if not self._states.is_preparing(node_id):
            return None
        return self._connections.silence(node_id)

    def api_versions(self, node_id: str) -> NodeApiVersions | None:
        """Return the versions that a connected node speaks, as far as known."""
        return self._connections.negotiation.known(node_id)

    def socket_facts(self, node_id: str) -> SocketFacts | None:
        """Return what the system tells now of the connection to a node; None without one."""
        channel = self._selector.channel(node_id)
        return None if channel is None else read_socket_facts(channel.transport.fileno())

    def in_flight_count(self, node_id: str | None = None) -> int:
        """Return how many requests are in flight to a node, or to all."""
        return self._in_flight.count(node_id)

    def least_loaded_node(self) -> LeastLoaded:
        """Return which node to ask when any will do.

        That is one that can be asked now, else one that is being connected to, else one to try.
        """
        now_ns = self._clock.monotonic_ns()
        return least_loaded_node(self._updater.nodes(), self._load_of, self._states, now_ns)

    def request(
        self,
        node_id: str,
        builder: RequestBuilder,
        *,
        timeout_ns: int | None = None,
        on_complete: Callback | None = None,
    ) -> ClientRequest:
        """Return a new request for a node, to be sent once the node is ready."""
        return self._steps.new_request(node_id, builder, timeout_ns, on_complete)

    def send(self, request: ClientRequest) -> None:
        """Send a request to a node that is ready.

        A version that the node lacks, and a message that cannot be written in the version that it
        has, are told by the response that the next poll gives.

        Raises:
            RuntimeError: if the node cannot be sent a request now.
            DisconnectedError: if the client is being closed.
        """
        self._check_active()
        if not self.can_send_request(request.node_id):
            raise RuntimeError(f"node {request.node_id} is not ready for a request")
        self._steps.send(request)

    def send_internal(self, node_id: str, builder: RequestBuilder) -> None:
        """Send a request whose response goes to the metadata updater."""
        self._steps.send(self._steps.new_request(node_id, builder, None, is_internal=True))

    def poll(self, timeout_ns: int) -> list[ClientResponse]:
        """Do what can be done, waiting for it if need be, and return how requests ended.

        Args:
            timeout_ns: how long to wait at the most.

        Raises:
            DisconnectedError: if the client is being closed.
        """
        self._check_active()
        if not self._steps.has_ended:
            now_ns = self._clock.monotonic_ns()
            update_ns = self._updater.maybe_update(self, now_ns)
            wait_ns = min(timeout_ns, update_ns, self._next_timeout_ns(now_ns))
            self._selector.poll(None if wait_ns == FOREVER_NS else wait_ns)
            self._steps.run()
        return self._steps.call_back()

    def wakeup(self) -> None:
        """End a poll that waits, or the next one; safe from any thread, also after `close`."""
        if not self._is_closed:
            self._selector.wakeup()

    def disconnect(self, node_id: str) -> None:
        """End a connection; the next poll gives its requests back. One that is ended stays so."""
        if self._states.state(node_id).is_disconnected:
            return
        self._connections.close(node_id)
        address = self._connections.address(node_id)
        self._steps.cancel(node_id, DisconnectedError(f"{address}: disconnected from here"))

    def close_node(self, node_id: str) -> None:
        """End a connection and forget the node; nobody hears of its requests again."""
        self._steps.drop(node_id)
        self._connections.forget(node_id)

    def initiate_close(self) -> None:
        """Refuse further requests and polls, and end a poll that waits; safe from any thread."""
        self._is_active = False
        self.wakeup()

    def close(self) -> None:
        """Close every connection; nobody hears of requests in flight again."""
        if self._is_closed:
            return
        self._is_active = False
        self._is_closed = True
        for node_id in {each.request.node_id for each in self._in_flight}:
            self.close_node(node_id)
        self._selector.close()

    def _check_active(self) -> None:
        """Raise DisconnectedError if the client is being closed."""
        if not self._is_active:
            raise DisconnectedError("the client is closed")

    def _is_usable(self, node_id: str) -> bool:
        """Return whether a node is READY and not throttled."""
        return self._states.is_ready(
            node_id, self._clock.monotonic_ns()
        ) and self._selector.is_channel_ready(node_id)

    def _load_of(self, node_id: str) -> Load:
        """Return how busy the connection to a node is."""
        return Load(
            self._is_usable(node_id),
            self._in_flight.can_send_more(node_id),
            self._in_flight.count(node_id),
        )

    def _next_timeout_ns(self, now_ns: int) -> int:
        """Return how long until a connection or a request has taken too long."""
        deadlines_ns = self._states.next_timeout_ns(), self._in_flight.next_deadline_ns()
        soonest_ns = min(deadlines_ns)
        return FOREVER_NS if soonest_ns == FOREVER_NS else max(0, soonest_ns + 1 - now_ns)
