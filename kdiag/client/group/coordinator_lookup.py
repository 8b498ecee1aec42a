"""The lookup of a group's coordinator: who it is, and whether it can be used.

Any broker is asked, one request at a time. The coordinator gets a connection of its own, under the
id 2147483647 - its broker's id: a member's heartbeats do not queue behind its fetches. When that
connection fails, or the broker says that it coordinates the group no more, the coordinator is
unknown, and looked for again: by the thread that polls, or by the one that sends heartbeats.

Source: Kafka's `AbstractCoordinator.ensureCoordinatorReady`, `lookupCoordinator`,
`FindCoordinatorResponseHandler`, `markCoordinatorUnknown`.
"""

from collections.abc import Callable
from functools import partial
from threading import Condition
from typing import Any, Final, NamedTuple, Protocol, TypeVar

from kdiag.client.cluster_client import ClusterClient
from kdiag.client.consumer_network_client import ConsumerNetworkClient
from kdiag.client.error_reactions import LASTING_NS
from kdiag.client.group.member import MemberSettings
from kdiag.client.group.membership import Membership
from kdiag.client.group.refusals import named_refusal, refusal
from kdiag.client.network.backoff import ExponentialBackoff
from kdiag.client.network.metadata import Node
from kdiag.client.network.request import ClientResponse, RequestBuilder
from kdiag.client.request_future import RequestFuture, failed, is_retriable
from kdiag.clock import NS_PER_S, Clock
from kdiag.errors import (
    AuthenticationError,
    ConnectError,
    DisconnectedError,
    GroupError,
    KdiagError,
    RequestTimeoutError,
)
from kdiag.wire import api_keys
from kdiag.wire.api.find_coordinator import (
    Coordinator,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)
from kdiag.wire.catalog import API_BY_KEY
from kdiag.wire.schema import ALL_VERSIONS

T = TypeVar("T")

_LAST_CONNECTION_ID: Final = 2**31 - 1
_FIRST_WITH_MANY_KEYS: Final = 4
_SILENCE_NS: Final = 5 * NS_PER_S
_WAITS: Final = {
    "JoinGroup": ": it waits for the other members to join again, or to fail",
    "SyncGroup": ": it waits for the member that assigns the partitions",
}
"""Why an API may be answered late although all is well."""
_JOINS: Final = frozenset({"JoinGroup", "SyncGroup"})


class Coordinated(Protocol):
    """A member that has a coordinator.

    Attributes:
        settings, clock, client, membership, lookup: the member's own.
    """

    settings: MemberSettings
    clock: Clock
    client: ConsumerNetworkClient
    membership: Membership
    lookup: "CoordinatorLookup"


def connection_id(broker_id: int) -> str:
    """Return the id of the connection to a broker as a coordinator."""
    return str(_LAST_CONNECTION_ID - broker_id)


class _Refusals(NamedTuple):
    """The refusals of one API since it was last answered well.

    Attributes:
        error: the last.
        first_ns, last_ns: when the first and the last came.
    """

    error: KdiagError
    first_ns: int
    last_ns: int


def _name_of(error: KdiagError) -> str | None:
    return error.error if isinstance(error, GroupError) else None


class CoordinatorLookup:
    """Knows the coordinator of a group, or finds it; two threads may use it."""

    def __init__(
        self,
        client: ClusterClient,
        settings: MemberSettings,
        monitor: Condition,
        on_found: Callable[[], None],
    ) -> None:
        """Begin without a coordinator.

        Args:
            client: reaches the brokers.
            settings: of the member.
            monitor: the member's own lock.
            on_found: is called, with the lock, whenever the coordinator is found.
        """
        if not client.updater.is_following:
            client.updater.follow((), settings.refresh_times)  # to learn of new brokers
        self._client = client.client
        self._clock = client.clock
        self._settings = settings
        self._monitor = monitor
        self._on_found = on_found
        self._backoff = ExponentialBackoff(
            settings.retry_backoff_ns, settings.retry_backoff_max_ns, jitter=settings.jitter
        )
        self._node: Node | None = None
        self._future: RequestFuture[None] | None = None
        self._fatal: KdiagError | None = None
        self._refusals: dict[str, _Refusals] = {}
        self._unanswered_ns: dict[str, int] = {}

    @property
    def node(self) -> Node | None:
        """Return the coordinator; None if it is unknown, or its connection has failed."""
        with self._monitor:
            if self._node is not None and self._client.unavailable_ns(self._node.id):
                self.mark_unknown(is_disconnected=True)
            return self._node

    @property
    def is_unknown(self) -> bool:
        """Return whether there is no coordinator to send anything to."""
        return self.node is None

    @property
    def is_pending(self) -> bool:
        """Return whether it has been asked for, and nobody has looked at the answer."""
        with self._monitor:
            return self._future is not None

    def ensure_ready(self, deadline_ns: int, *, wakes: bool = True) -> bool:
        """Find the coordinator; return whether it is known by the deadline.

        Raises:
            GroupError: if the broker refuses for good to tell.
            KdiagError: if no broker can be asked, and none ever will.
            WakeupError: if another thread ends the wait.
        """
        with self._monitor:
            attempts = 0
            while self.is_unknown:
                self.raise_fatal()
                future = self.lookup()
                if not self._client.await_future(future, deadline_ns, wakes=wakes):
                    return False
                self.clear_future()
                if future.failed and not future.is_retriable:
                    self._fatal = None
                    raise future.error()
                if self.is_unknown:
                    self._back_off(attempts, deadline_ns, needs_metadata=future.failed, wakes=wakes)
                    attempts += 1
                if self._clock.monotonic_ns() >= deadline_ns:
                    break
            return not self.is_unknown

    def lookup(self) -> RequestFuture[None]:
        """Ask any broker for the coordinator, unless one is being asked."""
        with self._monitor:
            if self._future is None:
                node = self._client.least_loaded_node()
                if node is None:
                    return failed(named_refusal(self._settings, "COORDINATOR_NOT_AVAILABLE"))
                request = _find_coordinator(self._settings.group_id)
                future = self._client.send(node, request)
                self._future = future.compose(self._handle_response, self._handle_failure)
                self._future.add_listener(partial(self._note, request.api.name))
            return self._future

    def clear_future(self) -> None:
        """Let the next lookup ask again."""
        with self._monitor:
            self._future = None

    def send(
        self,
        builder: RequestBuilder,
        handle: Callable[[Any, RequestFuture[T]], None],
        *,
        timeout_ns: int | None = None,
    ) -> RequestFuture[T]:
        """Send the coordinator a request; if the connection ends, it is unknown from then on.

        Args:
            builder: the request.
            handle: is called with the response and the future to complete, by whichever thread
                polls.
            timeout_ns: how long it may wait to be sent, and then for its response.
        """
        node = self.node
        if node is None:
            return failed(named_refusal(self._settings, "COORDINATOR_NOT_AVAILABLE"))

        def pass_on(response: ClientResponse, future: RequestFuture[T]) -> None:
            handle(response.body, future)

        with self._monitor:
            self._unanswered_ns.setdefault(builder.api.name, self._clock.monotonic_ns())
        sent = self._client.send(node, builder, timeout_ns=timeout_ns)
        future = sent.compose(pass_on, self._handle_loss)
        future.add_listener(partial(self._note, builder.api.name))
        return future

    def lasting_refusal(self) -> str | None:
        """Return what requests are answered with again and again, or that they are not answered.

        None if all is well.

        It ends nothing, and nothing else would report it: a member tries again for ever.
        """
        with self._monitor:
            for api, (error, first_ns, last_ns) in self._refusals.items():
                if last_ns - first_ns >= LASTING_NS:
                    return f"{error} (answer to {api})"
            now_ns = self._clock.monotonic_ns()
            for api, sent_ns in self._unanswered_ns.items():
                if now_ns - sent_ns >= _SILENCE_NS:
                    silence = f"no answer to {api} for {_SILENCE_NS // NS_PER_S} s"
                    return f"group {self._settings.group_id}: {silence}{_WAITS.get(api, '')}"
        return None

    def _note(self, api: str, future: RequestFuture[Any]) -> None:
        """Keep how a request ended; a rebalance is no refusal, unless it keeps members out."""
        error = future.error() if future.failed else None
        name = None if error is None else _name_of(error)
        with self._monitor:
            self._unanswered_ns.pop(api, None)
        is_step = name == "MEMBER_ID_REQUIRED" and api == "JoinGroup"
        is_rebalance = name == "REBALANCE_IN_PROGRESS" and api not in _JOINS
        with self._monitor:
            if error is None or is_rebalance:
                self._refusals.pop(api, None)
                return
            now_ns = self._clock.monotonic_ns()
            former = self._refusals.get(api)
            if is_step and former is not None and _name_of(former.error) != name:
                return  # the first half of joining says nothing of how that ends
            first_ns = now_ns if former is None else former.first_ns
            self._refusals[api] = _Refusals(error, first_ns, now_ns)

    def mark_unknown(self, *, is_disconnected: bool = False) -> None:
        """Forget the coordinator and fail the requests to it.

        Args:
            is_disconnected: whether its connection has ended anyway.
        """
        with self._monitor:
            former, self._node = self._node, None
            if former is not None and not is_disconnected:
                self._client.disconnect_async(former.id)

    def raise_fatal(self) -> None:
        """Raise, once, an error of the other thread that only the user can fix."""
        with self._monitor:
            error, self._fatal = self._fatal, None
        if error is not None:
            raise error

    def _back_off(
        self, attempts: int, deadline_ns: int, *, needs_metadata: bool, wakes: bool
    ) -> None:
        """Wait before the next attempt; if none could answer, the brokers may be others."""
        until_ns = self._clock.monotonic_ns() + self._backoff.after(attempts)
        self._client.await_condition(lambda: False, min(until_ns, deadline_ns), wakes=wakes)
        if needs_metadata:
            self._client.await_metadata_update(deadline_ns, wakes=wakes)

    def _handle_response(self, response: ClientResponse, future: RequestFuture[None]) -> None:
        """Keep the coordinator, or fail with the broker's reason."""
        body = response.body
        assert isinstance(body, FindCoordinatorResponse)
        found = _coordinator(body)
        if found.error_code:
            future.fail(refusal(self._settings, found.error_code))
            return
        with self._monitor:
            self._node = Node(connection_id(found.node_id), found.host, found.port)
            self._client.try_connect(self._node)
            self._on_found()
        future.complete(None)

    def _handle_loss(self, error: KdiagError, future: RequestFuture[T]) -> None:
        """Forget a coordinator whose connection has ended."""
        is_lost = isinstance(error, ConnectError | DisconnectedError | RequestTimeoutError)
        if is_lost and not isinstance(error, AuthenticationError):
            self.mark_unknown(is_disconnected=True)
        future.fail(error)

    def _handle_failure(self, error: KdiagError, future: RequestFuture[None]) -> None:
        """Keep a fatal error for the thread that polls: the other one may have asked."""
        if not is_retriable(error):
            with self._monitor:
                self._fatal = error
        future.fail(error)


def _find_coordinator(group_id: str) -> RequestBuilder:
    """Return the request for the coordinator of a group."""

    def build(version: int) -> FindCoordinatorRequest:
        if version >= _FIRST_WITH_MANY_KEYS:
            return FindCoordinatorRequest(coordinator_keys=[group_id])
        return FindCoordinatorRequest(key=group_id)

    return RequestBuilder(API_BY_KEY[api_keys.FIND_COORDINATOR], ALL_VERSIONS, build)


def _coordinator(body: FindCoordinatorResponse) -> Coordinator:
    """Return the answer about the one group that was asked about, in any version."""
    if body.coordinators:
        return body.coordinators[0]
    return Coordinator("", body.node_id, body.host, body.port, body.error_code)
