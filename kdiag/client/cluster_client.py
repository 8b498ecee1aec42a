"""The cluster client: asks one broker, any broker, or all of them at once.

    with ClusterClient(settings, make_channel, clock) as client:
        client.connect()
        answers = client.ask_all({each.id: request for each in client.brokers}, FooResponse)

Probes use it. Brokers are known by their numbers, and each is reached at the address that it
advertises; one that cannot be reached fails alone. No call outlasts `deadline_ns`.
"""

from collections.abc import Mapping, Sequence
from typing import Generic, NamedTuple, Self, TypeVar

from kdiag.client.bootstrap import Bootstrap, BootstrapNodes
from kdiag.client.config.keys import default_ns
from kdiag.client.consumer_network_client import ConsumerNetworkClient, ResponseFuture
from kdiag.client.network.api_versions import NodeApiVersions
from kdiag.client.network.connection_states import FOREVER_NS
from kdiag.client.network.metadata import Broker, Cluster, Node, metadata_request
from kdiag.client.network.metadata_updater import FollowingMetadataUpdater
from kdiag.client.network.network_client import NetworkClient
from kdiag.client.network.observer import ExchangeObserver
from kdiag.client.network.rebootstrap import Rebootstrapping
from kdiag.client.network.request import RequestBuilder, builder_of
from kdiag.client.network.settings import IMPATIENT, NetworkSettings
from kdiag.clock import NS_PER_S, Clock
from kdiag.errors import ConnectError, DisconnectedError, KdiagError, RequestTimeoutError
from kdiag.net.selector.selector import MakeChannel, Selector, SelectorSettings
from kdiag.net.tcp.tcp_info import SocketFacts
from kdiag.wire.api.metadata import MetadataResponse
from kdiag.wire.schema import Struct

R = TypeVar("R", bound=Struct)


class ClusterSettings(NamedTuple):
    """The settings of a cluster client.

    Attributes:
        servers: host and port of each bootstrap server.
        network: of its connections and requests.
        selector: of its sockets.
    """

    servers: Sequence[tuple[str, int]]
    network: NetworkSettings = NetworkSettings(times=IMPATIENT)
    selector: SelectorSettings = SelectorSettings(default_ns("connections.max.idle.ms"))


class Answer(NamedTuple, Generic[R]):
    """How one request ended.

    Attributes:
        body: the response; None without one: `error` says why, unless Produce expects none.
        error: ConnectError if the broker could not be reached or the connection broke,
            RequestTimeoutError, UnsupportedVersionError, EncodeError or DecodeError.
        rtt_ns: from the request's last byte to the response's first.
        version: the version it was sent in.
        correlation_id: of the request, if it was answered or expected no response.
    """

    body: R | None
    error: KdiagError | None = None
    rtt_ns: int | None = None
    version: int | None = None
    correlation_id: int | None = None


class ClusterClient:
    """Connections to all brokers of one cluster; for one thread.

    Attributes:
        deadline_ns: when every call ends at the latest, on the monotonic clock.
        cluster: the latest metadata.
        settings: as given.
        clock: all times are its own.
        client: the client beneath, for what is not offered here.
    """

    def __init__(
        self,
        settings: ClusterSettings,
        make_channel: MakeChannel,
        clock: Clock,
        observer: ExchangeObserver | None = None,
    ) -> None:
        """Begin without connections.

        Args:
            settings: the servers, and how patient to be.
            make_channel: makes the channel of a socket: plaintext or TLS, with or without SASL.
            clock: all times are its own.
            observer: records every exchange; the authenticators report to it, too.
        """
        self.deadline_ns = FOREVER_NS
        self.cluster = Cluster.bootstrap(settings.servers)
        self.settings = settings
        self.clock = clock
        self._servers = BootstrapNodes(settings.servers, settings.network.lookup, clock)
        rebootstrapping = Rebootstrapping(self._servers.look_up)
        self._updater = FollowingMetadataUpdater(rebootstrapping=rebootstrapping)
        selector = Selector(clock, make_channel=make_channel, settings=settings.selector)
        self._network = NetworkClient(selector, self._updater, clock, settings.network, observer)
        self.client = ConsumerNetworkClient(
            self._network, request_timeout_ns=settings.network.request_timeout_ns
        )
        self._former_nodes: dict[int, Node] = {}

    def __enter__(self) -> Self:
        """Return itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close every connection."""
        self.close()

    @property
    def network(self) -> NetworkClient:
        """Return the network client, to start connections with; `client` polls it."""
        return self._network

    @property
    def updater(self) -> FollowingMetadataUpdater:
        """Return the metadata updater, for whoever follows topics; `cluster` stays as it is."""
        return self._updater

    @property
    def brokers(self) -> list[Broker]:
        """Return the brokers of the cluster, by ascending id; empty before `connect`."""
        return [] if self.cluster.is_bootstrap else list(self.cluster.brokers.values())

    def connect(self, deadline_ns: int | None = None) -> Cluster:
        """Get the cluster's metadata from whichever bootstrap server answers first.

        Args:
            deadline_ns: when to give up; by default `deadline_ns` of the client.

        Raises:
            ConnectError: the most telling of all if none answers.
            RequestTimeoutError: if there is no time to ask.
        """
        bootstrap = Bootstrap(self._network, self.client, self._servers)
        until_ns = self.deadline_ns if deadline_ns is None else deadline_ns
        node, cluster = bootstrap.run(until_ns)
        self.join(cluster, node, bootstrap.nodes)
        return cluster

    def join(self, cluster: Cluster, node: Node, nodes: Sequence[Node]) -> None:
        """Use metadata that somebody else has got, as `connect` does.

        Args:
            cluster: the metadata.
            node: the node that answered.
            nodes: the addresses of all bootstrap servers, with the ids -1, -2 ...
        """
        self.cluster = cluster
        self._servers.by_id = {**self._servers.by_id, **{int(each.id): each for each in nodes}}
        self._updater.known = [node] if node.is_bootstrap else []
        self._updater.accept(cluster)

    def refresh(
        self, topics: Sequence[str] | None = (), *, timeout_ns: int | None = None
    ) -> Cluster:
        """Ask any broker for brokers and topics, and return them as the new `cluster`.

        Args:
            topics: names of the topics to ask about; None for all.
            timeout_ns: how long that may take.

        Raises:
            KdiagError: as `ask_any`.
        """
        request = metadata_request(topics)
        until_ns = self.clock.monotonic_ns() + self._allowed(timeout_ns)
        body = self.ask_any(request, MetadataResponse, timeout_ns=timeout_ns, is_harmless=True)
        if self._updater.refuse(body) is not None:
            left_ns = until_ns - self.clock.monotonic_ns()
            body = self.ask_any(request, MetadataResponse, timeout_ns=left_ns, is_harmless=True)
            if (objection := self._updater.refuse(body)) is not None:
                raise objection
        self._former_nodes |= {each.id: each.node for each in self.brokers}
        self.cluster = Cluster.from_response(body)
        self._updater.accept(self.cluster)
        return self.cluster

    def send(
        self,
        node_id: int,
        message: Struct | RequestBuilder,
        *,
        version: int | None = None,
        timeout_ns: int | None = None,
    ) -> ResponseFuture:
        """Queue a request; `client.await_future` sends it and waits.

        Args:
            node_id: a broker of the cluster, or a bootstrap server (-1, -2 ...).
            message: the request, or its builder.
            version: the only version to use; None for the newest that fits.
            timeout_ns: how long it may wait to be sent, and then for its response.

        Raises:
            ValueError: if there is no such node, or the message is not a request.
        """
        return self.client.send(
            self.node(node_id), builder_of(message, version), timeout_ns=self._allowed(timeout_ns)
        )

    def ask(
        self,
        node_id: int,
        message: Struct | RequestBuilder,
        answer: type[R],
        *,
        version: int | None = None,
        timeout_ns: int | None = None,
    ) -> R:
        """Return a broker's response; the arguments are those of `send`, and the response's class.

        Raises:
            KdiagError: as in `Answer.error`.
        """
        questions = {node_id: message}
        result = self.ask_all(questions, answer, version=version, timeout_ns=timeout_ns)[node_id]
        if result.error is not None:
            raise result.error
        assert result.body is not None
        return result.body

    def ask_all(
        self,
        questions: Mapping[int, Struct | RequestBuilder],
        answer: type[R],
        *,
        version: int | None = None,
        timeout_ns: int | None = None,
    ) -> dict[int, Answer[R]]:
        """Ask brokers at the same time, and return how each request ended, in the same order.

        Args:
            questions: node id -> request.
            answer: the class of the responses.
            version: the only version to use; None for the newest that each broker speaks.
            timeout_ns: how long all of it may take.

        Raises:
            ValueError: as `send`.
        """
        asked = list(questions.items())
        answers = self.ask_each(asked, answer, version=version, timeout_ns=timeout_ns)
        return dict(zip(questions, answers, strict=True))

    def ask_each(
        self,
        questions: Sequence[tuple[int, Struct | RequestBuilder]],
        answer: type[R],
        *,
        version: int | None = None,
        timeout_ns: int | None = None,
    ) -> list[Answer[R]]:
        """Send many requests at the same time, some to the same broker; return an answer for each.

        Args:
            questions: node id and request.
            answer: the class of the responses.
            version: the only version to use; None for the newest that each broker speaks.
            timeout_ns: how long all of it may take.

        Raises:
            ValueError: as `send`.
        """
        allowed_ns = self._allowed(timeout_ns)
        until_ns = self.clock.monotonic_ns() + allowed_ns
        futures = [
            self.send(node_id, message, version=version, timeout_ns=allowed_ns)
            for node_id, message in questions
        ]
        self.client.await_condition(lambda: all(each.is_done for each in futures), until_ns)
        return [
            self._answer(self.node(node_id), future, answer, allowed_ns)
            for (node_id, _), future in zip(questions, futures, strict=True)
        ]

    def ask_any(
        self,
        message: Struct | RequestBuilder,
        answer: type[R],
        *,
        version: int | None = None,
        timeout_ns: int | None = None,
        is_harmless: bool = False,
    ) -> R:
        """Return the response of the least loaded node; if it cannot be reached, that of the next.

        The last to be asked are the bootstrap servers, whose names are looked up again.

        Args:
            message: the request.
            answer: the class of the response.
            version: the only version to use; None for the newest that fits.
            timeout_ns: how long all of it may take.
            is_harmless: whether it changes nothing, and so may be asked twice: where a node does
                not answer, the next is asked in time, too.

        Raises:
            KdiagError: as in `Answer.error`, of the last node that was asked.
        """
        until_ns = self.clock.monotonic_ns() + self._allowed(timeout_ns)
        tried: set[str] = set()
        failure = self._updater.rebootstrapping.reason
        while (node := self._untried(tried, until_ns)) is not None:
            tried.add(node.id)
            same = {each.id for each in self._updater.known if each.endpoint == node.endpoint}
            elsewhere = {each.id for each in self._updater.known} - tried - same
            if is_harmless:
                left_ns = until_ns - self.clock.monotonic_ns()
                is_shared = elsewhere or self._updater.rebootstrapping.is_under_way
                timeout_ns = left_ns // 2 if is_shared else left_ns
            allowed_ns = self._allowed(timeout_ns)
            future = self.client.send(node, builder_of(message, version), timeout_ns=allowed_ns)
            self.client.await_future(future, self.clock.monotonic_ns() + allowed_ns)
            result = self._answer(node, future, answer, allowed_ns)
            if result.error is None:
                assert result.body is not None
                return result.body
            failure = result.error
            if isinstance(failure, RequestTimeoutError) and is_harmless:
                tried |= same
            elif not isinstance(failure, ConnectError | DisconnectedError):
                break
        raise failure

    def node(self, node_id: int) -> Node:
        """Return the node of a broker, or of a bootstrap server (-1, -2 ...).

        A broker that has left the cluster keeps its node: the next request shows that it is gone.

        Raises:
            ValueError: if there never was such a node.
        """
        node = self._servers.by_id.get(node_id)
        if node is not None:
            return node
        broker = self.cluster.brokers.get(node_id)
        node = self._former_nodes.get(node_id) if broker is None else broker.node
        if node is None:
            raise ValueError(f"the cluster has no broker {node_id}")
        return node

    def any_node(self) -> int:
        """Return the node that `ask_any` would ask first: after `connect`, one that is connected.

        It is a bootstrap server (-1, -2 ...) until brokers are connected to.
        """
        node = self._untried(set(), self.deadline_ns)
        assert node is not None
        return int(node.id)

    def reach_all(self, *, timeout_ns: int | None = None) -> dict[int, ConnectError | None]:
        """Connect to every broker by the address that it advertises.

        Returns:
            broker id -> why it cannot be reached from here; None if it can.
        """
        until_ns = self.clock.monotonic_ns() + self._allowed(timeout_ns)
        nodes = {each.id: each.node for each in self.brokers}
        for node in nodes.values():
            self._network.ready(node)
        self.client.await_condition(lambda: all(map(self._is_settled, nodes.values())), until_ns)
        return {broker_id: self._unreachable(node) for broker_id, node in nodes.items()}

    def wait(self, time_ns: int) -> None:
        """Wait on the client's clock, sending and receiving all the while.

        Nobody who polls a client may sleep: connections would go unattended.
        """
        until_ns = self.clock.monotonic_ns() + time_ns
        self.client.await_condition(lambda: False, until_ns)

    def connection_error(self, node_id: int) -> ConnectError | None:
        """Return why the last connection to a node ended; None if it is in use, or never was."""
        return self._network.connection_error(str(node_id))

    def api_versions(self, node_id: int) -> NodeApiVersions | None:
        """Return the versions that a node speaks; None if it is not connected."""
        return self._network.api_versions(str(node_id))

    def socket_facts(self, node_id: int) -> SocketFacts | None:
        """Return the system's facts of the connection to a node; None without one."""
        return self._network.socket_facts(str(node_id))

    def hang_up(self) -> None:
        """End every connection, that to a coordinator too; the next request makes a new one.

        A signal comes between any two steps: a request may be written and not be noted, or an
        answer be read and not be handled. What follows on such a connection does not match.
        """
        with self.client.network() as network:
            network.close_nodes()

    def close(self) -> None:
        """Close every connection."""
        self.client.close()

    def _allowed(self, timeout_ns: int | None) -> int:
        """Return how long a call may take."""
        if timeout_ns is None:
            timeout_ns = self.settings.network.request_timeout_ns
        return max(0, min(timeout_ns, self.deadline_ns - self.clock.monotonic_ns()))

    def _untried(self, tried: set[str], until_ns: int) -> Node | None:
        """Return the least loaded node that was not tried, None if all were.

        If all known ones were, bootstrap servers are nodes as well; this waits for one of them.
        """
        node = self._network.least_loaded_node()
        if node is not None and node.id not in tried:
            return node
        untried = [each for each in self._updater.known if each.id not in tried]
        if untried:
            return untried[0]
        with self.client.network() as network:
            now_ns = self.clock.monotonic_ns()
            self._updater.rebootstrap(network, now_ns, until_ns - now_ns)
        servers = [each for each in self._updater.known if each.id not in tried]
        self.client.await_condition(
            lambda: (
                any(self._network.is_ready(each.id) for each in servers)
                or all(map(self._is_settled, servers))
            ),
            until_ns,
        )
        ready = [each for each in servers if self._network.is_ready(each.id)]
        return next(iter(ready or servers), None)

    def _answer(
        self, node: Node, future: ResponseFuture, answer: type[R], allowed_ns: int
    ) -> Answer[R]:
        """Return how a request ended."""
        if future.succeeded:
            response = future.value()
            body = response.body
            assert body is None or isinstance(body, answer)
            number = response.request.correlation_id
            return Answer(body, None, response.rtt_ns, response.version, number)
        return Answer(None, self._why_not(node, future, allowed_ns))

    def _why_not(self, node: Node, future: ResponseFuture, allowed_ns: int) -> KdiagError:
        """Return why a request was not answered; the connection's own reason says most."""
        if not future.is_done:
            within = f"within {allowed_ns / NS_PER_S:.3g} s"
            late = RequestTimeoutError(f"{node.endpoint}: no answer {within}")
            return self._network.silence(node.id) or late
        error = future.error()
        if isinstance(error, DisconnectedError):
            return self._network.connection_error(node.id) or error
        return error

    def _is_settled(self, node: Node) -> bool:
        """Return whether a node is connected, or could not be."""
        return self._network.is_ready(node.id) or self._network.connection_failed(node.id)

    def _unreachable(self, node: Node) -> ConnectError | None:
        """Return why a node cannot be reached; None if it can."""
        if self._network.is_ready(node.id):
            return None
        return self._network.connection_error(node.id) or self._network.silence(node.id)
