"""What a network client does with whatever its selector has done: the steps of one poll.

The order of the steps is part of the contract: an answer counts that came before its connection
ended, and a node whose connection was just lost is not asked for its versions.

Source: Kafka's `NetworkClient.poll`.
"""

from typing import Final

from kdiag.client.network.connections import NodeConnections
from kdiag.client.network.matching import Correspondence
from kdiag.client.network.metadata_updater import MetadataUpdater
from kdiag.client.network.network_settings import NetworkSettings
from kdiag.client.network.node_api_versions import newest_version
from kdiag.client.network.observer import ExchangeObserver
from kdiag.client.network.request import Callback, ClientRequest, ClientResponse, RequestBuilder
from kdiag.client.network.throttle import throttle_ns
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
from kdiag.wire.api.api_versions import ApiVersionsResponse
from kdiag.wire.catalog import API_VERSIONS_KEY
from kdiag.wire.header import RESERVED_FOR_SASL

_NO_BROKER: Final = "Give the address of a Kafka broker; if it is one, its answer is a bug"


class PollSteps:
    """The state of a network client and the steps that change it.

    Attributes:
        connections: the connections to its nodes.
        said: the requests on them.
    """

    def __init__(
        self,
        selector: Selector,
        updater: MetadataUpdater,
        clock: Clock,
        settings: NetworkSettings,
        observer: ExchangeObserver | None,
    ) -> None:
        self.connections = NodeConnections(selector, settings.lookup, clock, settings.times)
        self.said = Correspondence(
            selector, clock, settings.client_id, settings.max_in_flight, observer
        )
        self._selector = selector
        self._updater = updater
        self._clock = clock
        self._settings = settings
        self._ended: list[ClientResponse] = []
        self._next_correlation_id = 0

    @property
    def has_ended(self) -> bool:
        """Return whether requests have ended that nobody was told of."""
        return bool(self._ended)

    def run(self) -> None:
        """Take what the selector has done in its last poll, and end what takes too long."""
        self._take_completed_sends()
        self._take_receives()
        self._take_disconnections()
        self._take_connections()
        self._ask_versions()
        self._end_slow_connections()
        self._end_slow_requests()

    def call_back(self) -> list[ClientResponse]:
        """Give each response to whoever asked; a callback that raises keeps none from its own."""
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

    def new_request(
        self,
        node_id: str,
        builder: RequestBuilder,
        timeout_ns: int | None,
        on_complete: Callback | None = None,
        *,
        is_internal: bool = False,
    ) -> ClientRequest:
        """Return a request with an id that no other in flight has."""
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

    def send(self, request: ClientRequest) -> None:
        """Send a request, or have its response tell why it was not sent."""
        known = self.connections.negotiation.known(request.node_id)
        version = None
        try:
            if known is None:
                version = newest_version(request.builder)
            else:
                version = known.usable_version(request.builder)
            self.said.send(request, version)
        except (UnsupportedVersionError, EncodeError) as error:
            now_ns = self._clock.monotonic_ns()
            response = ClientResponse(
                request=request, version=version, body=None, received_ns=now_ns, error=error
            )
            self._take_end(response)

    def cancel(self, node_id: str, error: KdiagError, *, is_timed_out: bool = False) -> None:
        """End the requests on a connection that has ended."""
        now_ns = self._clock.monotonic_ns()
        for response in self.said.cancel(node_id, error, now_ns, is_timed_out=is_timed_out):
            self._take_end(response)
        self.said.disconnected(node_id)

    def drop(self, node_id: str) -> None:
        """End the requests on a connection that is closed for good, without telling the caller."""
        now_ns = self._clock.monotonic_ns()
        for response in self.said.cancel(node_id, DisconnectedError("closed"), now_ns):
            if response.request.is_internal:
                self._take_end(response)
        self.said.disconnected(node_id)

    def _take_completed_sends(self) -> None:
        """End the requests that are written and need no response."""
        for send in self._selector.completed_sends:
            response = self.said.completed(send, self._clock.monotonic_ns())
            if response is not None:
                self._take_end(response)

    def _take_receives(self) -> None:
        """End the requests that are answered."""
        for receive in self._selector.completed_receives:
            node_id = receive.channel_id
            try:
                response = self.said.answered(receive, self._clock.monotonic_ns())
            except DecodeError as error:
                self._refuse(node_id, f"it breaks the protocol: {error}")
                continue
            finally:
                receive.close()
            if response.body is None:
                self._take_end(response)
                self._refuse(node_id, f"its answer is no {response.request.api.name} response")
            else:
                self._throttle(node_id, response)
                self._take_end(response)

    def _throttle(self, node_id: str, response: ClientResponse) -> None:
        """Leave a node alone for as long as it asks for."""
        assert response.version is not None
        assert response.body is not None
        wait_ns = throttle_ns(response.request.api, response.version, response.body)
        if wait_ns:
            self.connections.states.throttle(node_id, response.received_ns + wait_ns)
            self.said.in_flight.add_throttle(node_id, wait_ns)

    def _take_end(self, response: ClientResponse) -> None:
        """Hand a response to whoever asked: the caller, the negotiation or the updater."""
        node_id = response.request.node_id
        if not response.request.is_internal:
            if response.body is not None:
                self.connections.answered(node_id)
            self._ended.append(response)
        elif isinstance(response.body, ApiVersionsResponse):
            self._take_versions(node_id, response.version or 0, response.body)
        elif response.body is not None:
            self.connections.answered(node_id)
            self._updater.handle_response(response, response.received_ns)
        elif response.request.api.key != API_VERSIONS_KEY:
            fatal = None if response.is_disconnected else response.error
            self._updater.handle_failed_request(fatal, response.received_ns)

    def _take_versions(self, node_id: str, version: int, body: ApiVersionsResponse) -> None:
        """Take the versions that a node speaks; after the last answer it is READY."""
        try:
            if self.connections.negotiation.answered(node_id, version, body):
                self.connections.ready(node_id)
        except UnsupportedVersionError as error:
            self._refuse(node_id, str(error))

    def _take_disconnections(self) -> None:
        """Take what the selector tells of connections that have ended."""
        for node_id, disconnection in self._selector.disconnected.items():
            if not self.connections.states.state(node_id).is_disconnected:  # else it was refused
                self._lose(node_id, self.connections.broke(node_id, disconnection))

    def _take_connections(self) -> None:
        """Take what the selector tells of connections that have come about."""
        for node_id in self._selector.connected:
            self.said.connected(node_id, self.connections.made(node_id))
            self.connections.negotiation.begin(node_id)

    def _ask_versions(self) -> None:
        """Ask the nodes on new connections which versions they speak."""
        for node_id in self.connections.askable():
            if self._settings.discovers_versions:
                self._ask_versions_of(node_id)
            else:
                self.connections.negotiation.forget(node_id)
                self.connections.ready(node_id)

    def _ask_versions_of(self, node_id: str) -> None:
        """Ask a node; it may take as long for that as for connecting."""
        times = self._settings.request_timeout_ns, self.connections.states.setup_timeout_ns(node_id)
        self.connections.checking_versions(node_id)
        builder = self.connections.negotiation.ask(node_id)
        self.send(self.new_request(node_id, builder, min(times), is_internal=True))

    def _end_slow_connections(self) -> None:
        """End the attempts to connect that take too long."""
        for node_id in self.connections.states.timed_out_connections(self._clock.monotonic_ns()):
            waited_ns = self.connections.states.setup_timeout_ns(node_id)
            self._lose(node_id, self.connections.give_up(node_id, waited_ns))

    def _end_slow_requests(self) -> None:
        """End the connections on which an answer takes too long."""
        for node_id in self.said.in_flight.timed_out_nodes(self._clock.monotonic_ns()):
            waited_ns = self.said.in_flight.oldest(node_id).request.timeout_ns
            error = self.connections.give_up(node_id, waited_ns)
            self._lose(node_id, error, is_timed_out=True)

    def _refuse(self, node_id: str, why: str) -> None:
        """End the connection to a node that does not behave like a broker."""
        address = self.connections.address(node_id)
        error = ConnectError(address, Layer.KAFKA, why, _NO_BROKER, Fault.BROKEN_PROTOCOL)
        self._lose(node_id, self.connections.refuse(node_id, error))

    def _lose(self, node_id: str, error: ConnectError, *, is_timed_out: bool = False) -> None:
        """Take that a connection has ended by itself."""
        fatal = error if isinstance(error, AuthenticationError) else None
        ended = RequestTimeoutError if is_timed_out else DisconnectedError
        self.cancel(node_id, fatal or ended(str(error)), is_timed_out=is_timed_out)
        self._updater.handle_disconnect(fatal, self._clock.monotonic_ns())
