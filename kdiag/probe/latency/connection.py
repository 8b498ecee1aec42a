"""Separate connections, so that one kind of request never waits for another.

A broker answers the requests of a connection in their order. After a fetch that waits for records,
or a Produce that waits for replicas, any other request would seem slow.
"""

from collections.abc import Callable
from functools import partial
from typing import Final, NamedTuple

from kdiag.client.cluster_client import ClusterClient
from kdiag.client.consumer_network_client import ResponseFuture
from kdiag.client.network.metadata import LeaderNews
from kdiag.client.network.request import ClientResponse, RequestBuilder
from kdiag.clock import NS_PER_MS
from kdiag.diagnosis.latency.split import RequestTimes
from kdiag.errors import KdiagError
from kdiag.net.tcp.tcp_info import SocketFacts
from kdiag.wire.schema import Struct

_FRESH_NS: Final = 100 * NS_PER_MS
"""How long a round trip that the system reported counts as current."""


class Ended(NamedTuple):
    """The end of a request.

    Attributes:
        body: the answer; None if there is none.
        error: why there is none; None also if none is expected.
        due_ns: when the request was due.
        written_ns: when its last byte was written to the socket; None if it was not.
        first_ns: when the answer's first byte arrived; None without an answer.
        last_ns: when the answer's last byte arrived.
        rtt_ns: the network's round trip on the connection, 0 if the system does not report it.
    """

    body: Struct | None
    error: KdiagError | None
    due_ns: int
    written_ns: int | None = None
    first_ns: int | None = None
    last_ns: int | None = None
    rtt_ns: int = 0

    def times(self, done_ns: int) -> RequestTimes:
        """Return the times of a request that has an answer.

        Args:
            done_ns: when the program had read the answer.
        """
        assert self.written_ns is not None
        assert self.first_ns is not None
        assert self.last_ns is not None
        return RequestTimes(self.due_ns, self.written_ns, self.first_ns, self.last_ns, done_ns)


OnEnd = Callable[[Ended], None]


class OwnConnection:
    """A connection to a broker for one kind of requests.

    Attributes:
        node_id: the broker; another one once its leader has moved.
        purpose: different for each connection to a broker.
        waiting: when the requests that have not ended were due, since 1970.
    """

    def __init__(self, client: ClusterClient, node_id: int, purpose: str) -> None:
        """Prepare a connection; the first request connects.

        Args:
            client: knows its cluster; its clock's two readings keep their distance.
            node_id: a broker of the cluster.
            purpose: different for each connection to a broker.
        """
        self.node_id = node_id
        self.purpose = purpose
        self.waiting: list[int] = []
        self._client = client
        self._origin = node_id
        self._leader_epoch = -1
        self._node = client.node(node_id)._replace(id=f"{node_id}:{purpose}")
        self._rtt_ns = 0
        self._facts: SocketFacts | None = None
        self._stale_ns = 0

    def connect(self) -> None:
        """Begin to connect, and to negotiate versions."""
        self._client.network.ready(self._node)

    @property
    def pending(self) -> int:
        """Return how many requests have not ended."""
        return len(self.waiting)

    @property
    def is_settled(self) -> bool:
        """Return whether it is ready or has failed."""
        network = self._client.network
        return network.is_ready(self._node.id) or network.connection_failed(self._node.id)

    @property
    def facts(self) -> SocketFacts | None:
        """Return the last facts of the socket; None before the first request."""
        return self._facts

    def follow(self, news: LeaderNews | None) -> None:
        """Send further requests to the leader that an answer names, if it is newer (KIP-951)."""
        if news is None or news.leader_epoch <= self._leader_epoch:
            return
        client = self._client
        client.cluster = client.cluster.with_broker(news.broker)
        broker = client.cluster.brokers.get(news.leader_id)
        if broker is None:
            return
        self._leader_epoch, self.node_id = news.leader_epoch, broker.id
        # What has another origin has the same purpose there, and a connection of its own.
        self._node = broker.node._replace(id=f"{broker.id}:{self.purpose}:{self._origin}")
        self._rtt_ns = self._stale_ns = 0

    def ask(self, request: RequestBuilder, due_ns: int, on_end: OnEnd) -> None:
        """Queue a request; a later poll of the client sends it.

        Args:
            request: to send.
            due_ns: when it is due, since 1970.
            on_end: is called with its end.
        """
        self.waiting.append(due_ns)
        future = self._client.client.send(self._node, request)
        future.add_listener(partial(self._end, due_ns, on_end))

    def _end(self, due_ns: int, on_end: OnEnd, future: ResponseFuture) -> None:
        self.waiting.remove(due_ns)
        if future.failed:
            on_end(Ended(None, future.error(), due_ns))
        else:
            on_end(self._ended(due_ns, future.value()))

    def _ended(self, due_ns: int, response: ClientResponse) -> Ended:
        first_ns = None
        if response.written_ns is not None and response.rtt_ns is not None:
            first_ns = response.written_ns + response.rtt_ns
        return Ended(
            response.body,
            response.error,
            due_ns,
            response.written_ns,
            first_ns,
            response.last_byte_ns,
            self._round_trip_ns(),
        )

    def _round_trip_ns(self) -> int:
        """Return the least round trip of the last minutes.

        The smoothed one includes the broker's time: an acknowledgement that travels with the answer
        comes only when the broker has one.
        """
        now_ns = self._client.clock.monotonic_ns()
        if now_ns >= self._stale_ns:
            self._stale_ns = now_ns + _FRESH_NS
            self._facts = self._client.network.socket_facts(self._node.id) or self._facts
            self._rtt_ns = (self._facts and self._facts.min_rtt_ns) or 0
        return self._rtt_ns
