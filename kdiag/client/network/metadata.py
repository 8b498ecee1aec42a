"""Metadata: the nodes of a cluster, its brokers, topics and the leader of each partition.

A `Cluster` is a snapshot: one Metadata response as values. Error codes in it are values too. A
`Node` is where to connect to; a `Broker` is a member of the cluster, which has a node.

Answers to Fetch and Produce have a little of it: `LeaderNews`.

Source: Kafka's `Cluster`, `MetadataSnapshot`; KIP-700, KIP-516 (topic ids), KIP-951 (leaders).
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from kdiag.client.network.request import RequestBuilder
from kdiag.net.address import Address, Resolve, host_and_port
from kdiag.wire import api_keys
from kdiag.wire.api.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from kdiag.wire.catalog import API_BY_KEY
from kdiag.wire.schema import ALL_VERSIONS

if TYPE_CHECKING:  # which most commands do not need
    from kdiag.wire.api.fetch import FetchResponse, PartitionData
    from kdiag.wire.api.produce import PartitionProduceResponse, ProduceResponse

_METADATA_KEY: Final = 3
_FIRST_WITHOUT_CREATION: Final = 4


class Node(NamedTuple):
    """An endpoint of a broker, under the id of its connection.

    Attributes:
        id: of its connection: a broker's id as text, `-1`, `-2` ... for bootstrap servers; a
            second connection to the same broker has an id of its own.
        host: as configured, or as the broker advertises it.
        port: the same.
        address: the one address to connect to; None to look `host` up.
    """

    id: str
    host: str
    port: int
    address: Address | None = None

    @property
    def is_bootstrap(self) -> bool:
        """Return whether it is a bootstrap server, of which the broker's id is not known."""
        return self.id.startswith("-")

    @property
    def endpoint(self) -> str:
        """Return `host:port`, an IPv6 address in brackets."""
        return host_and_port(self.host, self.port)

    def resolve(self, lookup: Resolve) -> Sequence[Address]:
        """Return the addresses to connect to.

        Raises:
            ConnectError: as `lookup` does.
        """
        return [self.address] if self.address else lookup(self.host, self.port)


class Broker(NamedTuple):
    """One broker, or a bootstrap server before its response.

    Attributes:
        id: its number; -1, -2 ... for bootstrap servers.
        host: as it advertises itself to clients of the listener that was asked.
        port: the same.
        rack: `broker.rack`, if set.
    """

    id: int
    host: str
    port: int
    rack: str | None = None

    @property
    def node(self) -> Node:
        """Return the node to connect to."""
        return Node(str(self.id), self.host, self.port)


class Partition(NamedTuple):
    """One partition of a topic.

    Attributes:
        topic: its topic's name.
        partition_index: its number, from 0.
        leader_id: the broker that leads it; -1 for none.
        leader_epoch: counts its leaders; -1 if unknown.
        replica_ids, isr_ids, offline_ids: the brokers that hold it, that are in sync, that are off.
        error_code: as in the response.
    """

    topic: str
    partition_index: int
    leader_id: int
    leader_epoch: int
    replica_ids: tuple[int, ...]
    isr_ids: tuple[int, ...]
    offline_ids: tuple[int, ...]
    error_code: int = 0


class Topic(NamedTuple):
    """One topic.

    Attributes:
        name: empty if the broker knows only the requested id.
        topic_id: sixteen bytes; zeros before Kafka 2.8.
        is_internal: whether it is Kafka's own.
        partitions: by ascending index.
        error_code: as in the response.
    """

    name: str
    topic_id: bytes
    is_internal: bool
    partitions: tuple[Partition, ...]
    error_code: int = 0


class Cluster(NamedTuple):
    """A snapshot of a cluster.

    Attributes:
        brokers: by id, ascending.
        topics: the requested ones, by name.
        cluster_id: None before the first response, and from Kafka before 0.10.1.
        controller_id: the broker to send the controller's requests to; -1 if unknown.
        is_bootstrap: whether `brokers` are the configured servers: nobody has answered yet.
    """

    brokers: Mapping[int, Broker]
    topics: Mapping[str, Topic]
    cluster_id: str | None = None
    controller_id: int = -1
    is_bootstrap: bool = False

    @classmethod
    def bootstrap(cls, servers: Iterable[tuple[str, int]]) -> "Cluster":
        """Return the cluster before any response: (host, port) of brokers -1, -2 ..."""
        brokers = (Broker(-number, *server) for number, server in enumerate(servers, 1))
        return cls({each.id: each for each in brokers}, {}, is_bootstrap=True)

    @classmethod
    def from_response(cls, response: MetadataResponse) -> "Cluster":
        """Return the cluster of a Metadata response."""
        brokers = sorted(Broker(e.node_id, e.host, e.port, e.rack) for e in response.brokers)
        return cls(
            {each.id: each for each in brokers},
            {each.name or "": _topic(each) for each in response.topics},
            response.cluster_id,
            response.controller_id,
        )

    def with_broker(self, broker: Broker | None) -> "Cluster":
        """Return the cluster with a broker that is new, or elsewhere by now; None for the same."""
        if broker is None:
            return self
        return self._replace(brokers={**self.brokers, broker.id: broker})

    def leader(self, topic: str, index: int) -> Broker | None:
        """Return the leader of a partition; None if there is none, or it is unknown."""
        found = self.partition(topic, index)
        return None if found is None else self.brokers.get(found.leader_id)

    def leader_id(self, topic: str, index: int) -> int | None:
        """Return the broker that leads a partition; None as for `leader`."""
        broker = self.leader(topic, index)
        return None if broker is None else broker.id

    def partition(self, topic: str, index: int) -> Partition | None:
        """Return a partition; None if it is unknown."""
        found = self.topics.get(topic)
        known = () if found is None else found.partitions
        if 0 <= index < len(known) and known[index].partition_index == index:
            return known[index]  # as nearly always: they count from 0, and none is left out
        return next((each for each in known if each.partition_index == index), None)

    def nodes(self) -> list[Node]:
        """Return the nodes of the brokers."""
        return [each.node for each in self.brokers.values()]


class LeaderNews(NamedTuple):
    """The leader of a partition, as the answer to a Fetch or Produce names it (KIP-951).

    Attributes:
        leader_id, leader_epoch: who, and its epoch.
        broker: where it listens; None if the answer does not say.
    """

    leader_id: int
    leader_epoch: int
    broker: Broker | None = None


def leader_news(
    data: "PartitionData | PartitionProduceResponse", response: "FetchResponse | ProduceResponse"
) -> LeaderNews | None:
    """Return who leads a partition by an answer with an error; None if that does not say."""
    leader = data.current_leader
    if leader.leader_id < 0:
        return None
    brokers = {
        each.node_id: Broker(each.node_id, each.host, each.port, each.rack)
        for each in response.node_endpoints
    }
    return LeaderNews(leader.leader_id, leader.leader_epoch, brokers.get(leader.leader_id))


def metadata_request(topics: Iterable[str] | None) -> RequestBuilder:
    """Return a Metadata request; it creates no topic, in the versions that can forbid that.

    Args:
        topics: the names of the topics; None for all. Version 0 cannot ask for no topic, and its
            response has all.
    """
    named = None if topics is None else [MetadataRequestTopic(name=each) for each in topics]

    def build(version: int) -> MetadataRequest:
        return MetadataRequest(
            topics=named if version > 0 else named or [],
            allow_auto_topic_creation=version < _FIRST_WITHOUT_CREATION,
        )

    return RequestBuilder(API_BY_KEY[api_keys.METADATA], ALL_VERSIONS, build)


def _topic(topic: MetadataResponseTopic) -> Topic:
    """Return a topic of a response."""
    name = topic.name or ""
    partitions = sorted(topic.partitions, key=lambda each: each.partition_index)
    return Topic(
        name,
        topic.topic_id,
        topic.is_internal,
        tuple(_partition(name, each) for each in partitions),
        topic.error_code,
    )


def _partition(topic: str, partition: MetadataResponsePartition) -> Partition:
    """Return a partition of a response."""
    return Partition(
        topic,
        partition.partition_index,
        partition.leader_id,
        partition.leader_epoch,
        tuple(partition.replica_nodes),
        tuple(partition.isr_nodes),
        tuple(partition.offline_replicas),
        partition.error_code,
    )
