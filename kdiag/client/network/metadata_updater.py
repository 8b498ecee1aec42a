"""Metadata updaters: give a NetworkClient the nodes of its cluster, and keep them fresh.

`ManualMetadataUpdater` holds a list that others set. So does `FollowingMetadataUpdater`, until a
member of a group wants to follow topics: from then on it asks the cluster itself, on whichever node
is the least loaded, one request at a time; `MetadataRefresh` says when.

Source: Kafka's `MetadataUpdater`, `ManualMetadataUpdater`, `NetworkClient.DefaultMetadataUpdater`;
KIP-899 and KIP-1102 (start over from the bootstrap servers).
"""

from collections.abc import Iterable
from typing import Final, NamedTuple, Protocol

from kdiag.client.config.keys import default_ns
from kdiag.client.network.backoff import ExponentialBackoff
from kdiag.client.network.connection_states import FOREVER_NS
from kdiag.client.network.metadata import Cluster, Node, metadata_request
from kdiag.client.network.rebootstrap import Rebootstrapping
from kdiag.client.network.request import ClientResponse, RequestBuilder
from kdiag.clock import NS_PER_MS, NS_PER_S
from kdiag.errors import AuthorizationError, KdiagError
from kdiag.wire.api.metadata import MetadataResponse
from kdiag.wire.error_code import CODE_BY_NAME, ERROR_BY_CODE

_REBOOTSTRAP_AFTER_NS: Final = 300 * NS_PER_S
"""Kafka's own default of `metadata.recovery.rebootstrap.trigger.ms`."""
_LOOK_UP_NS: Final = NS_PER_S
"""How long a poll may look up the bootstrap servers: a member has heartbeats to send."""

_RECONNECT_BACKOFF_NS: Final = 50 * NS_PER_MS
_TOPIC_DENIED: Final = CODE_BY_NAME["TOPIC_AUTHORIZATION_FAILED"]


class RefreshTimes(NamedTuple):
    """How often metadata may and must be requested, with Kafka's defaults.

    Attributes:
        max_age_ns: `metadata.max.age.ms`.
        retry_backoff_ns, retry_backoff_max_ns: `retry.backoff.ms` and its maximum.
        jitter: by which part of itself a backoff may differ.
    """

    max_age_ns: int = default_ns("metadata.max.age.ms")
    retry_backoff_ns: int = default_ns("retry.backoff.ms")
    retry_backoff_max_ns: int = default_ns("retry.backoff.max.ms")
    jitter: float = 0.2


class MetadataRefresh:
    """Decides when the next update is due; every `now_ns` reads one monotonic clock."""

    def __init__(self, times: RefreshTimes | None = None) -> None:
        times = times or RefreshTimes()
        self._max_age_ns = times.max_age_ns
        self._backoff = ExponentialBackoff(
            times.retry_backoff_ns, times.retry_backoff_max_ns, jitter=times.jitter
        )
        self._is_requested = True
        self._last_update_ns: int | None = None
        self._not_before_ns = 0
        self._failures = 0
        self._equivalents = 0

    @property
    def is_requested(self) -> bool:
        """Return whether an update was requested."""
        return self._is_requested

    def request_update(self, *, reset_equivalents: bool = False) -> None:
        """Request an update as soon as the backoffs allow.

        Args:
            reset_equivalents: whether something new is expected, so that former responses without
                news no longer delay it.
        """
        self._is_requested = True
        if reset_equivalents:
            self._equivalents = 0
            if not self._failures:
                self._not_before_ns = 0

    def succeeded(self, now_ns: int, *, is_equivalent: bool) -> None:
        """Record a response; `is_equivalent` if it has no news for whoever requested it."""
        was_requested = self._is_requested
        self._is_requested = False
        self._last_update_ns = now_ns
        self._failures = 0
        self._equivalents = self._equivalents + 1 if is_equivalent and was_requested else 0
        self._back_off(now_ns, self._equivalents)

    def failed(self, now_ns: int) -> None:
        """Record an attempt without a usable response."""
        self._failures += 1
        self._back_off(now_ns, self._failures)

    def delay_ns(self, now_ns: int) -> int:
        """Return how long to wait before the next update is due; 0 is now."""
        due_ns = 0
        if not self._is_requested and self._last_update_ns is not None:
            due_ns = self._last_update_ns + self._max_age_ns
        return max(0, due_ns - now_ns, self._not_before_ns - now_ns)

    def _back_off(self, now_ns: int, attempts: int) -> None:
        """Allow the next attempt after the backoff for so many useless ones."""
        self._not_before_ns = now_ns + self._backoff.after(attempts - 1) if attempts else 0


class MetadataLink(Protocol):
    """The part of a NetworkClient that a metadata updater uses."""

    def least_loaded_node(self) -> Node | None:
        """Return the node to ask; None if none can be asked now."""
        ...

    def can_send_request(self, node_id: str) -> bool:
        """Return whether the node can be sent a request now."""
        ...

    def can_connect(self, node_id: str) -> bool:
        """Return whether a connection may be started now."""
        ...

    def connection_failed(self, node_id: str) -> bool:
        """Return whether the connection to a node has ended, or could not be made."""
        ...

    def close_node(self, node_id: str) -> None:
        """Forget a node."""
        ...

    def is_any_connecting(self) -> bool:
        """Return whether a connection to any node is being prepared."""
        ...

    def initiate_connect(self, node: Node) -> None:
        """Start a connection."""
        ...

    def send_internal(self, node_id: str, builder: RequestBuilder) -> None:
        """Send a request whose response goes to the updater."""
        ...


class MetadataUpdater(Protocol):
    """Knows the nodes of a cluster; every `now_ns` reads one monotonic clock."""

    def nodes(self) -> list[Node]:
        """Return the nodes that are known."""
        ...

    def is_update_due(self, now_ns: int) -> bool:
        """Return whether an update comes before any other request."""
        ...

    def maybe_update(self, link: MetadataLink, now_ns: int) -> int:
        """Request an update if it is due, and return the ns after which to look again."""
        ...

    def handle_response(self, response: ClientResponse, now_ns: int) -> None:
        """Handle the response to a request of the updater."""
        ...

    def handle_failed_request(self, error: KdiagError | None, now_ns: int) -> None:
        """Handle a request of the updater that failed."""
        ...

    def handle_disconnect(self, error: KdiagError | None, now_ns: int) -> None:
        """Handle the loss of a connection; `error` if it is fatal, else None."""
        ...

    @property
    def update_count(self) -> int:
        """Return how often the nodes were updated."""
        ...

    def request_update(self) -> None:
        """Request an update."""
        ...

    def pop_error(self) -> KdiagError | None:
        """Return, once, an error that only the user can fix."""
        ...


class ManualMetadataUpdater:
    """Holds the nodes that others set.

    Attributes:
        known: the nodes.
        update_count: does not change.
    """

    update_count = 0

    def __init__(self, nodes: Iterable[Node] = ()) -> None:
        self.known = list(nodes)

    def nodes(self) -> list[Node]:
        """Return the nodes."""
        return self.known

    def is_update_due(self, now_ns: int) -> bool:  # noqa: ARG002 - the protocol's
        """Return False: no update is ever due."""
        return False

    def maybe_update(self, link: MetadataLink, now_ns: int) -> int:  # noqa: ARG002 - as above
        """Do nothing, for ever."""
        return FOREVER_NS

    def handle_response(self, response: ClientResponse, now_ns: int) -> None:
        """Do nothing: it sends no requests."""

    def handle_failed_request(self, error: KdiagError | None, now_ns: int) -> None:
        """Do nothing: it sends no requests."""

    def handle_disconnect(self, error: KdiagError | None, now_ns: int) -> None:
        """Do nothing: the requests of whoever set the nodes fail."""

    def request_update(self) -> None:
        """Do nothing: others set the nodes."""

    def pop_error(self) -> KdiagError | None:
        """Return None."""
        return None


class FollowingMetadataUpdater:
    """Holds the nodes that others set; once it follows topics, it asks the cluster for those.

    It turns to the bootstrap servers when no known broker can be reached, or none has answered for
    five minutes, or one asks for it. A topic that does not exist, or has no leader yet, is asked
    about again, less and less often, up to a backoff of `retry.backoff.max.ms`.

    Attributes:
        cluster: the newest snapshot that it asked for.
        refresh: when the next update is due.
        topics: which topics to ask about; None for all.
        update_count: how many snapshots there were.
        known: the nodes.
        is_following: whether it asks.
        rebootstrapping: finds the bootstrap servers, and reports that.
    """

    def __init__(
        self,
        nodes: Iterable[Node] = (),
        *,
        times: RefreshTimes | None = None,
        rebootstrapping: Rebootstrapping | None = None,
    ) -> None:
        """Begin without topics.

        Args:
            nodes: the nodes.
            times: how often to ask.
            rebootstrapping: finds the bootstrap servers; None if there are none.
        """
        self.cluster = Cluster({}, {})
        self.refresh = MetadataRefresh(times)
        self.topics: list[str] | None = []
        self.update_count = 0
        self.known = list(nodes)
        self.is_following = False
        self.rebootstrapping = rebootstrapping or Rebootstrapping(lambda _limit_ns: ())
        self._is_asking = False
        self._due_since_ns: int | None = None
        self._error: KdiagError | None = None
        self._asked: list[str] | None = []
        self._answered: list[str] | None = []

    @property
    def is_stale(self) -> bool:
        """Return whether the newest snapshot is not of the topics that are followed."""
        return self.update_count == 0 or self._answered != self.topics

    def follow(self, topics: Iterable[str] | None, times: RefreshTimes | None = None) -> None:
        """Ask for topics from now on, None for all, and soon if those are not the same.

        Args:
            topics: their names.
            times: how often to ask; None for as before.
        """
        wanted = None if topics is None else sorted(topics)
        if times is not None:
            self.refresh = MetadataRefresh(times)
        if wanted != self.topics or not self.is_following:
            self.topics = wanted
            self.refresh.request_update(reset_equivalents=True)
        self.is_following = True

    def nodes(self) -> list[Node]:
        """Return the nodes."""
        return self.known

    def is_update_due(self, now_ns: int) -> bool:
        """Return whether it follows topics, and an update is due and none is under way."""
        return self.is_following and not self._is_asking and self.refresh.delay_ns(now_ns) == 0

    def maybe_update(self, link: MetadataLink, now_ns: int) -> int:
        """Request an update if it is due, and return the ns after which to look again."""
        if self._is_asking or not self.is_following:
            return FOREVER_NS
        delay_ns = self.refresh.delay_ns(now_ns)
        if delay_ns > 0:
            return delay_ns
        if self._due_since_ns is None:
            self._due_since_ns = now_ns
        is_overdue = now_ns - self._due_since_ns > _REBOOTSTRAP_AFTER_NS
        if is_overdue or all(link.connection_failed(each.id) for each in self.known):
            self.rebootstrap(link, now_ns, _LOOK_UP_NS, forgets_brokers=is_overdue)
            self._due_since_ns = now_ns
        node = link.least_loaded_node()
        return _RECONNECT_BACKOFF_NS if node is None else self._ask(link, node)

    def rebootstrap(
        self, link: MetadataLink, now_ns: int, limit_ns: int, *, forgets_brokers: bool = False
    ) -> None:
        """Begin to connect to all bootstrap servers, which are nodes besides the brokers then.

        Args:
            link: connects.
            now_ns: the time, on the monotonic clock.
            limit_ns: how long looking up their names may take.
            forgets_brokers: whether what the brokers answer is of no use.
        """
        brokers = [each for each in self.known if not each.is_bootstrap]
        servers = self.rebootstrapping.find_servers(brokers, now_ns, limit_ns)
        if servers is None:
            return
        self.known = [*servers, *(() if forgets_brokers else brokers)]
        for node in servers:
            if link.connection_failed(node.id):
                link.close_node(node.id)  # so that it has no backoff: look-ups are seldom enough
            if link.can_connect(node.id):
                link.initiate_connect(node)

    def accept(self, cluster: Cluster) -> None:
        """Use the brokers of a snapshot, besides the bootstrap servers."""
        servers = [each for each in self.known if each.is_bootstrap]
        self.known = [*servers, *cluster.nodes()]
        self.rebootstrapping.end(cluster)

    def refuse(self, body: MetadataResponse) -> KdiagError | None:
        """Return why metadata cannot be used, and forget all nodes then; None if it can be."""
        objection = self.rebootstrapping.objection(body)
        if objection is not None:
            self.known = []
        return objection

    def handle_response(self, response: ClientResponse, now_ns: int) -> None:
        """Keep a snapshot and its nodes, and ask again if that is not all there should be.

        One without brokers comes from a broker that is not up yet.
        """
        self._is_asking = False
        body = response.body
        assert isinstance(body, MetadataResponse)
        if self.refuse(body) is not None or not body.brokers:
            self.refresh.failed(now_ns)
            self.refresh.request_update()
            return
        cluster = Cluster.from_response(body)
        self.refresh.succeeded(now_ns, is_equivalent=cluster == self.cluster)
        self.cluster = cluster
        self.update_count += 1
        self._due_since_ns = None
        self._answered = self._asked
        self.accept(cluster)
        errors = {each.error_code for each in cluster.topics.values()} - {0}
        if any(ERROR_BY_CODE[code].is_retriable for code in errors & ERROR_BY_CODE.keys()):
            self.refresh.request_update()
        if self.is_stale:
            self.refresh.request_update(reset_equivalents=True)
        self._keep_refusal()

    def handle_failed_request(self, error: KdiagError | None, now_ns: int) -> None:
        """Try again after the backoff; keep a fatal error for the caller."""
        self._is_asking = False
        self.refresh.failed(now_ns)
        self._error = error or self._error

    def handle_disconnect(self, error: KdiagError | None, now_ns: int) -> None:
        """Request an update if it follows topics: the cluster may have changed.

        Else the requests of whoever set the nodes fail.
        """
        if not self.is_following:
            return
        if self.is_update_due(now_ns):
            self.refresh.failed(now_ns)
        self._error = error or self._error
        self.refresh.request_update()

    def request_update(self) -> None:
        """Request an update as soon as the backoffs allow."""
        self.refresh.request_update()

    def pop_error(self) -> KdiagError | None:
        """Return, once, the newest fatal error."""
        error, self._error = self._error, None
        return error

    def _ask(self, link: MetadataLink, node: Node) -> int:
        """Send a node the request, or start to connect to it; return when to look again, in ns."""
        if link.can_send_request(node.id):
            self._is_asking = True
            self._asked = self.topics
            link.send_internal(node.id, metadata_request(self.topics))
            return FOREVER_NS
        if not link.is_any_connecting() and link.can_connect(node.id):
            link.initiate_connect(node)
        return _RECONNECT_BACKOFF_NS

    def _keep_refusal(self) -> None:
        """Keep an error for the caller if there are topics that the user may not see."""
        denied = [
            name for name, each in self.cluster.topics.items() if each.error_code == _TOPIC_DENIED
        ]
        if denied:
            names = ", ".join(sorted(denied))
            self._error = AuthorizationError(
                f"the user may not see {names}; allow the operation DESCRIBE on what is read"
            )
