"""What a cluster says of itself: brokers, controller, topics and who leads each partition.

A `Cluster` is a snapshot: one Metadata answer as values. Error codes in it are values too.

Source: Kafka's `Cluster`, `MetadataSnapshot`; KIP-700, KIP-516 (topic ids).
"""

from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from kdiag.client.network.request import RequestBuilder
from kdiag.net.address import Address, host_and_port
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


class Node(NamedTuple):
    """One place where a broker listens.

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
    def endpoint(self) -> str:
        """Return `host:port`, an IPv6 address in brackets."""
        return host_and_port(self.host, self.port)


_FIRST_WITHOUT_CREATION: Final = 4


class Broker(NamedTuple):
    """One broker, or a bootstrap server before its answer.

    Attributes:
        id: its number; -1, -2 ... for bootstrap servers.
        host: as it advertises itself to clients that come by the listener that was asked.
        port: the same.
        rack: `broker.rack`, if set.
    """

    id: int
    host: str
    port: int
    rack: str | None = None

    @property
    def node(self) -> Node:
        """Return where to connect to it."""
        return Node(str(self.id), self.host, self.port)


class Partition(NamedTuple):
    """One partition of a topic.

    Attributes:
        topic: its topic's name.
        partition_index: its number, from 0.
        leader_id: the broker that leads it; -1 for none.
        leader_epoch: counts its leaders; -1 if not told.
        replica_ids, isr_ids, offline_ids: the brokers that hold it, that are in sync, that are off.
        error_code: as told.
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
        name: empty if the broker knows only the id that was asked for.
        topic_id: sixteen bytes; zeros before Kafka 2.8.
        is_internal: whether it is Kafka's own.
        partitions: by ascending index.
        error_code: as told.
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
        topics: those that were asked for, by name.
        cluster_id: None before the first answer, and from Kafka before 0.10.1.
        controller_id: a broker to send the controller's work to; -1 if not told.
        is_bootstrap: whether `brokers` are the configured servers, as nobody has answered yet.
    """

    brokers: Mapping[int, Broker]
    topics: Mapping[str, Topic]
    cluster_id: str | None = None
    controller_id: int = -1
    is_bootstrap: bool = False

    @classmethod
    def bootstrap(cls, servers: Iterable[tuple[str, int]]) -> "Cluster":
        """Return what is known before anybody has answered: (host, port) of brokers -1, -2 ..."""
        brokers = (Broker(-number, *server) for number, server in enumerate(servers, 1))
        return cls({each.id: each for each in brokers}, {}, is_bootstrap=True)

    @classmethod
    def from_response(cls, response: MetadataResponse) -> "Cluster":
        """Return what a Metadata answer says."""
        brokers = sorted(Broker(e.node_id, e.host, e.port, e.rack) for e in response.brokers)
        return cls(
            {each.id: each for each in brokers},
            {each.name or "": _topic(each) for each in response.topics},
            response.cluster_id,
            response.controller_id,
        )

    def leader(self, topic: str, index: int) -> Broker | None:
        """Return the broker that leads a partition; None if there is none or it is not known."""
        found = self.partition(topic, index)
        return None if found is None else self.brokers.get(found.leader_id)

    def partition(self, topic: str, index: int) -> Partition | None:
        """Return a partition, or None if it is not known."""
        known = self.topics.get(topic)
        return (
            next((e for e in known.partitions if e.partition_index == index), None)
            if known
            else None
        )

    def nodes(self) -> list[Node]:
        """Return where to connect to the brokers."""
        return [each.node for each in self.brokers.values()]


def metadata_request(topics: Iterable[str] | None) -> RequestBuilder:
    """Return the question about brokers and topics; it creates no topic where that can be said.

    Args:
        topics: the names of the topics to ask about; None for all. Version 0 cannot ask for none,
            and answers with all.
    """
    named = None if topics is None else [MetadataRequestTopic(name=each) for each in topics]

    def build(version: int) -> MetadataRequest:
        return MetadataRequest(
            topics=named if version > 0 else named or [],
            allow_auto_topic_creation=version < _FIRST_WITHOUT_CREATION,
        )

    return RequestBuilder(API_BY_KEY[api_keys.METADATA], ALL_VERSIONS, build)


def _topic(topic: MetadataResponseTopic) -> Topic:
    """Return a topic of an answer."""
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
    """Return a partition of an answer."""
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
