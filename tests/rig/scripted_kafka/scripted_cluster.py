"""Scripted brokers that say they are one cluster, and a client that knows them.

with ScriptedCluster(3) as cluster, cluster.client() as client:
    cluster.on("ListGroups", ListGroupsResponse())   # all of them
    cluster.brokers[2].on("ListGroups", CLOSE)       # broker 2 alone
"""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Final, Self

from kdiag.client.cluster_client import ClusterClient, ClusterSettings
from kdiag.clock import Clock, SystemClock
from kdiag.net.authenticator import NoAuthenticator
from kdiag.net.channel import Channel
from kdiag.net.transport import PlaintextTransport
from kdiag.wire.api.metadata import (
    MetadataRequest,
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponseTopic,
)
from kdiag.wire.error_code import CODE_BY_NAME
from scripted_kafka.scripted_broker import Received, Reply, ScriptedBroker

_SETTINGS: Final = ClusterSettings(())


class ScriptedCluster:
    """Brokers 1, 2 ... on loopback; they know each other and the topics that they are given.

    Attributes:
        brokers: by id.
        topics: what Metadata tells of topics; a topic that is not here is unknown.
    """

    def __init__(self, count: int) -> None:
        self.brokers = {number: ScriptedBroker() for number in range(1, count + 1)}
        self.topics: list[MetadataResponseTopic] = []
        self._opened = ExitStack()

    def __enter__(self) -> Self:
        """Start all brokers."""
        for broker in self.brokers.values():
            self._opened.enter_context(broker)
        self.on("Metadata", self.tell)
        return self

    def __exit__(self, *_: object) -> None:
        """Stop them."""
        self._opened.close()

    @property
    def bootstrap(self) -> str:
        """Return the brokers as clients take them."""
        return ",".join(f"127.0.0.1:{each.port}" for each in self.brokers.values())

    def on(self, name: str, reply: Reply) -> None:
        """Have every broker answer an API so."""
        for broker in self.brokers.values():
            broker.on(name, reply)

    @contextmanager
    def client(
        self, clock: Clock | None = None, settings: ClusterSettings = _SETTINGS
    ) -> Iterator[ClusterClient]:
        """Return a client that has learnt of the cluster."""
        clock = clock or SystemClock()
        servers = [("127.0.0.1", each.port) for each in self.brokers.values()]

        def make(channel_id: str, sock: object, peer: str, _host: str) -> Channel:
            transport = PlaintextTransport(sock, peer)  # type: ignore[arg-type]
            return Channel(channel_id, transport, NoAuthenticator(), clock)

        with ClusterClient(settings._replace(servers=servers), make, clock) as client:
            client.connect()
            yield client

    def tell(self, received: Received) -> None:
        """Answer Metadata, as every broker does unless it is told else."""
        request = received.message()
        assert isinstance(request, MetadataRequest)
        asked = request.topics
        topics = self.topics if asked is None else [self._topic(each.name or "") for each in asked]
        received.reply(MetadataResponse(brokers=self._nodes(), topics=topics, controller_id=1))

    def _nodes(self) -> list[MetadataResponseBroker]:
        return [
            MetadataResponseBroker(number, "127.0.0.1", broker.port, f"rack-{number}")
            for number, broker in self.brokers.items()
        ]

    def _topic(self, name: str) -> MetadataResponseTopic:
        known = next((each for each in self.topics if each.name == name), None)
        unknown = CODE_BY_NAME["UNKNOWN_TOPIC_OR_PARTITION"]
        return known or MetadataResponseTopic(error_code=unknown, name=name)
