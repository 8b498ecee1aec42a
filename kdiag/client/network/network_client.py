"""The network client: connects to nodes, sends them requests and reports how each ended.

Everything happens in `poll`, in this order, which is also that of the methods below it:

1. report the requests that were given up since the last poll, if any, and do nothing else
2. update the metadata if that is due
3. let the selector read and write
4. handle completed sends, receives, lost connections and new ones: in this order, so that a
   response counts that came before its connection ended
5. send ApiVersions on new connections
6. end connections that are too slow, and those with a request that is
7. call back

A response belongs to the oldest request of its connection. Neither a broker nor the network makes
`poll` raise: the error of a request is in its `ClientResponse`, and that of a connection is kept
for `connection_error`.

Source: Kafka's `NetworkClient`.
"""

from typing import Final

from kdiag.client.network.api_versions import NodeApiVersions, VersionNegotiation
from kdiag.client.network.connection_states import FOREVER_NS, ClusterConnectionStates
from kdiag.client.network.connections import NodeConnections
from kdiag.client.network.in_flight import InFlightRequests
from kdiag.client.network.least_loaded import NodeLoad, least_loaded_node
from kdiag.client.network.matching import RequestMatcher, throttle_ns
from kdiag.client.network.metadata import Node
from kdiag.client.network.metadata_updater import MetadataUpdater
from kdiag.client.network.observer import ExchangeObserver
from kdiag.client.network.request import (
    Callback,
    ClientRequest,
    ClientResponse,
    RequestBuilder,
)
from kdiag.client.network.settings import DEFAULT_SETTINGS, NetworkSettings
from kdiag.clock import Clock
from kdiag.errors import (
    AuthenticationError,
    ConnectError,
    DecodeError,
    DisconnectedError,
    EncodeError,
    Fault,
    KdiagError,
    Layer,
    RequestTimeoutError,
    UnsupportedVersionError,
)
from kdiag.net.selector.selector import Selector
from kdiag.net.tcp.tcp_info import SocketFacts, read_socket_facts
from kdiag.wire import api_keys
from kdiag.wire.api.api_versions import ApiVersionsResponse
from kdiag.wire.header import RESERVED_FOR_SASL

_NOT_A_BROKER_FIX: Final = "Give the address of a Kafka broker; if it is one, its answer is a bug"


class NetworkClient:
    """Connections to the nodes of a cluster and the requests on them.

    Its state is in four places: `_states` (how far each connection is, and its backoff),
    `_versions` (what each node speaks), `_in_flight` (requests without a response) and `_ended`
    (responses not returned yet). `_connections` and `_requests` act on the first three.

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
            observer: records every exchange.
        """
        self._selector = selector
        self._updater = updater
        self._clock = clock
        self._settings = settings
        self._states = ClusterConnectionStates(
            lambda node: node.resolve(settings.lookup), settings.times
        )
        self._versions = VersionNegotiation(settings.release)
        self._in_flight = InFlightRequests(settings.max_in_flight)
        self._ended: list[ClientResponse] = []
        self._connections = NodeConnections(selector, self._states, self._versions, clock)
        self._requests = RequestMatcher(
            selector, self._in_flight, clock, settings.client_id, observer
        )
        self._next_correlation_id = 0
        self._is_active = True
        self._is_closed = False

    @property
    def clock(self) -> Clock:
        """Return the clock of all times here."""
        return self._clock

    @property
    def updater(self) -> MetadataUpdater:
        """Return the metadata updater, which knows the nodes."""
        return self._updater

    def ready(self, node: Node) -> bool:
        """Return whether a request can be sent to a node; start to connect to it if need be."""
        if self.is_ready(node.id):
            return True
        self._connections.forget_former_address(node)
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
        """Return whether a connection may be started now."""
        return self._states.can_connect(node_id, self._clock.monotonic_ns())

    def is_any_connecting(self) -> bool:
        """Return whether a connection to any known node is being prepared."""
        return any(self._states.is_preparing(node.id) for node in self._updater.nodes())

    def initiate_connect(self, node: Node) -> None:
        """Start to connect to a node that is disconnected."""
        error = self._connections.connect(node)
        if error is not None:
            self._updater.handle_disconnect(None, self._clock.monotonic_ns())

    def connection_delay_ns(self, node_id: str) -> int:
        """Return how long to wait before looking at a node's connection again."""
        return self._states.connection_delay_ns(node_id, self._clock.monotonic_ns())

    def poll_delay_ns(self, node_id: str) -> int:
        """Return the same, including the time for which the node is throttled."""
        return self._states.poll_delay_ns(node_id, self._clock.monotonic_ns())

    def connection_failed(self, node_id: str) -> bool:
        """Return whether the connection to a node has ended, or could not be made."""
        return self._states.state(node_id).is_disconnected and self._states.is_known(node_id)

    def connection_error(self, node_id: str) -> ConnectError | None:
        """Return why the last connection to a node ended; None if it is in use, or never was."""
        return self._connections.error(node_id)

    def silence(self, node_id: str) -> ConnectError | None:
        """Return the error for a connection that is still being prepared; None if none is."""
        if not self._states.is_preparing(node_id):
            return None
        return self._connections.silence(node_id)

    def api_versions(self, node_id: str) -> NodeApiVersions | None:
        """Return the versions that a connected node speaks, as far as known."""
        return self._versions.known(node_id)

    def socket_facts(self, node_id: str) -> SocketFacts | None:
        """Return the system's facts of the connection to a node; None without one."""
        channel = self._selector.channel(node_id)
        return None if channel is None else read_socket_facts(channel.transport.fileno())

    def in_flight_count(self, node_id: str | None = None) -> int:
        """Return how many requests are in flight to a node, or to all."""
        return self._in_flight.count(node_id)

    def least_loaded_node(self) -> Node | None:
        """Return the node to ask when any will do; None if none can be asked now.

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
        return self._new_request(node_id, builder, timeout_ns, on_complete)

    def send(self, request: ClientRequest) -> None:
        """Send a request to a node that is ready.

        A version that the node lacks, and a message that cannot be written in its version, are
        errors of the response that the next poll returns.

        Raises:
            RuntimeError: if the node cannot be sent a request now.
            DisconnectedError: if the client is being closed.
        """
        self._check_active()
        if not self.can_send_request(request.node_id):
            raise RuntimeError(f"node {request.node_id} is not ready for a request")
        self._send(request)

    def send_internal(self, node_id: str, builder: RequestBuilder) -> None:
        """Send a request whose response goes to the metadata updater."""
        self._send(self._new_request(node_id, builder, None, is_internal=True))

    def poll(self, timeout_ns: int) -> list[ClientResponse]:
        """Do all that can be done, wait for more if need be, and return how requests ended.

        Args:
            timeout_ns: how long to wait at most.

        Raises:
            DisconnectedError: if the client is being closed.
        """
        self._check_active()
        if not self._ended:
            now_ns = self._clock.monotonic_ns()
            update_ns = self._updater.maybe_update(self, now_ns)
            wait_ns = min(timeout_ns, update_ns, self._next_timeout_ns(now_ns))
            self._selector.poll(None if wait_ns == FOREVER_NS else wait_ns)
            self._handle_completed_sends()
            self._handle_receives()
            self._handle_disconnections()
            self._handle_connections()
            self._send_api_versions()
            self._end_slow_connections()
            self._end_slow_requests()
        return self._call_back()

    def wakeup(self) -> None:
        """End a poll that waits, or the next one; safe from any thread, also after `close`."""
        if not self._is_closed:
            self._selector.wakeup()

    def disconnect(self, node_id: str) -> None:
        """End a connection, if there is one; the next poll returns its requests."""
        if self._states.state(node_id).is_disconnected:
            return
        self._connections.close(node_id)
        address = self._connections.address(node_id)
        self._cancel(node_id, DisconnectedError(f"{address}: disconnected from here"))

    def close_node(self, node_id: str) -> None:
        """End a connection and forget the node; its requests are dropped without a response."""
        now_ns = self._clock.monotonic_ns()
        for response in self._requests.cancel(node_id, DisconnectedError("closed"), now_ns):
            if response.request.is_internal:
                self._complete(response)
        self._requests.observe_disconnect(node_id)
        self._connections.forget(node_id)

    def close_nodes(self) -> None:
        """Do so with every connection."""
        for node_id in self._states.node_ids():
            self.close_node(node_id)

    def initiate_close(self) -> None:
        """Refuse further requests and polls, and end a poll that waits; safe from any thread."""
        self._is_active = False
        self.wakeup()

    def close(self) -> None:
        """Close every connection; requests in flight are dropped without a response."""
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

    def _load_of(self, node_id: str) -> NodeLoad:
        return NodeLoad(
            self._is_usable(node_id),
            self._in_flight.can_send_more(node_id),
            self._in_flight.count(node_id),
        )

    def _next_timeout_ns(self, now_ns: int) -> int:
        """Return how long until a connection or a request has taken too long."""
        deadlines_ns = self._states.next_timeout_ns(), self._in_flight.next_deadline_ns()
        soonest_ns = min(deadlines_ns)
        return FOREVER_NS if soonest_ns == FOREVER_NS else max(0, soonest_ns + 1 - now_ns)

    def _new_request(
        self,
        node_id: str,
        builder: RequestBuilder,
        timeout_ns: int | None,
        on_complete: Callback | None = None,
        *,
        is_internal: bool = False,
    ) -> ClientRequest:
        """Return a request with a correlation id that no other in flight has."""
        correlation_id = self._next_correlation_id
        following = correlation_id + 1
        self._next_correlation_id = 0 if following in RESERVED_FOR_SASL else following
        return ClientRequest(
            node_id=node_id,
            builder=builder,
            correlation_id=correlation_id,
            created_ns=self._clock.monotonic_ns(),
            timeout_ns=self._settings.request_timeout_ns if timeout_ns is None else timeout_ns,
            on_complete=on_complete,
            is_internal=is_internal,
        )

    def _send(self, request: ClientRequest) -> None:
        """Send a request, or end it with the reason why it cannot be sent."""
        version = None
        try:
            version = self._versions.version_for(request.node_id, request.builder)
            self._requests.send(request, version)
        except (UnsupportedVersionError, EncodeError) as error:
            now_ns = self._clock.monotonic_ns()
            response = ClientResponse(
                request=request, version=version, body=None, received_ns=now_ns, error=error
            )
            self._complete(response)

    # The steps of `poll`, in its order.

    def _handle_completed_sends(self) -> None:
        """End the requests that are written and expect no response."""
        for send in self._selector.completed_sends:
            response = self._requests.complete_send(send, self._clock.monotonic_ns())
            if response is not None:
                self._complete(response)

    def _handle_receives(self) -> None:
        """End the requests that are answered."""
        for receive in self._selector.completed_receives:
            node_id = receive.channel_id
            try:
                response = self._requests.match(receive, self._clock.monotonic_ns())
            except DecodeError as error:
                self._refuse(node_id, f"it breaks the protocol: {error}")
                continue
            finally:
                receive.close()
            if response.body is None:
                self._complete(response)
                self._refuse(
                    node_id, f"its answer is not a response to {response.request.api.name}"
                )
            else:
                self._throttle(node_id, response)
                self._complete(response)

    def _handle_disconnections(self) -> None:
        """Handle the connections that have ended by themselves."""
        for node_id, disconnection in self._selector.disconnected.items():
            if not self._states.state(node_id).is_disconnected:  # else it was refused above
                error = self._connections.handle_disconnection(node_id, disconnection)
                self._handle_loss(node_id, error)

    def _handle_connections(self) -> None:
        """Handle the TCP connections that were made: each needs its ApiVersions."""
        for node_id in self._selector.connected:
            self._requests.observe_connect(node_id, self._connections.handle_connect(node_id))

    def _send_api_versions(self) -> None:
        """Ask the nodes on new connections for their versions, once their channels are ready."""
        for node_id in self._connections.ready_for_api_versions():
            if self._settings.discovers_versions:
                self._send_api_versions_to(node_id)
            else:
                self._versions.forget(node_id)
                self._connections.ready(node_id)

    def _send_api_versions_to(self, node_id: str) -> None:
        """Ask a node for its versions, for as long as connecting may take."""
        times = self._settings.request_timeout_ns, self._states.setup_timeout_ns(node_id)
        self._connections.checking_api_versions(node_id)
        builder = self._versions.next_request(node_id)
        self._send(self._new_request(node_id, builder, min(times), is_internal=True))

    def _end_slow_connections(self) -> None:
        """End the attempts to connect that take too long."""
        for node_id in self._states.timed_out_connections(self._clock.monotonic_ns()):
            waited_ns = self._states.setup_timeout_ns(node_id)
            self._handle_loss(node_id, self._connections.give_up(node_id, waited_ns))

    def _end_slow_requests(self) -> None:
        """End the connections on which a response takes too long."""
        now_ns = self._clock.monotonic_ns()
        for node_id in self._in_flight.timed_out_nodes(now_ns):
            waited_ns = self._in_flight.timed_out(node_id, now_ns).request.timeout_ns
            error = self._connections.give_up(node_id, waited_ns)
            self._handle_loss(node_id, error, is_timed_out=True)

    def _call_back(self) -> list[ClientResponse]:
        """Give each response to its callback, even if one before it raises, and return all."""
        responses, self._ended = self._ended, []
        errors: list[Exception] = []
        for response in responses:
            try:
                response.call_back()
            except Exception as error:  # noqa: BLE001 - the first is raised below
                errors.append(error)
        if errors:
            raise errors[0]
        return responses

    # How a request ends, and how a connection does.

    def _complete(self, response: ClientResponse) -> None:
        """Give a response to whoever asked: the caller, the negotiation or the updater."""
        node_id = response.request.node_id
        if not response.request.is_internal:
            if response.body is not None:
                self._connections.record_response(node_id)
            self._ended.append(response)
        elif isinstance(response.body, ApiVersionsResponse):
            self._handle_api_versions(node_id, response.version or 0, response.body)
        elif response.body is not None:
            self._connections.record_response(node_id)
            self._updater.handle_response(response, response.received_ns)
        elif response.request.api.key != api_keys.API_VERSIONS:
            fatal = None if response.is_disconnected else response.error
            self._updater.handle_failed_request(fatal, response.received_ns)

    def _handle_api_versions(self, node_id: str, version: int, body: ApiVersionsResponse) -> None:
        """Learn the versions of a node, which is READY after the last response."""
        try:
            if self._versions.handle_response(node_id, version, body):
                self._connections.ready(node_id)
        except UnsupportedVersionError as error:
            self._refuse(node_id, str(error))

    def _throttle(self, node_id: str, response: ClientResponse) -> None:
        """Leave a node alone for as long as its response asks for."""
        assert response.version is not None
        assert response.body is not None
        wait_ns = throttle_ns(response.request.api, response.version, response.body)
        if wait_ns:
            self._states.throttle(node_id, response.received_ns + wait_ns)
            self._in_flight.add_throttle(node_id, wait_ns)

    def _refuse(self, node_id: str, why: str) -> None:
        """End the connection to a node that does not behave like a broker."""
        address = self._connections.address(node_id)
        error = ConnectError(address, Layer.KAFKA, why, _NOT_A_BROKER_FIX, Fault.BROKEN_PROTOCOL)
        self._handle_loss(node_id, self._connections.refuse(node_id, error))

    def _handle_loss(
        self, node_id: str, error: ConnectError, *, is_timed_out: bool = False
    ) -> None:
        """Handle the loss of a connection: end its requests, and inform the updater."""
        fatal = error if isinstance(error, AuthenticationError) else None
        ended = RequestTimeoutError if is_timed_out else DisconnectedError
        self._cancel(node_id, fatal or ended(str(error)), is_timed_out=is_timed_out)
        self._updater.handle_disconnect(fatal, self._clock.monotonic_ns())

    def _cancel(self, node_id: str, error: KdiagError, *, is_timed_out: bool = False) -> None:
        """End the requests on a connection that has ended."""
        now_ns = self._clock.monotonic_ns()
        for response in self._requests.cancel(node_id, error, now_ns, is_timed_out=is_timed_out):
            self._complete(response)
        self._requests.observe_disconnect(node_id)
