"""A call: one request on one connection, and what its handler may use to answer it.

    def handle(request: MetadataRequest, call: ApiCall) -> MetadataResponse | None:
        image = call.node.controller.image
        ...
        return response          # or None, and later call.respond(response)

Source: Kafka's `RequestChannel.Request`, `KafkaApis`.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from kdiag.clock import Clock
from kdiag.lab.api.cluster.features import FeatureLevels
from kdiag.lab.api.records.fetch_session import FetchSessionCache
from kdiag.lab.api.transactions.producer_ids import ProducerIds
from kdiag.lab.controller.cluster_image import BrokerRegistration
from kdiag.lab.controller.quorum_controller import QuorumController
from kdiag.lab.coordinator.group.group_config import GroupClient
from kdiag.lab.coordinator.group.group_coordinator import GroupCoordinator
from kdiag.lab.coordinator.runtime.coordinator_topic import CoordinatorTopic
from kdiag.lab.coordinator.transaction.add_partitions_manager import AddPartitionsManager
from kdiag.lab.coordinator.transaction.marker_writer import MarkerWriter
from kdiag.lab.coordinator.transaction.transaction_coordinator import TransactionCoordinator
from kdiag.lab.replication.replica_manager import ReplicaManager
from kdiag.lab.security.users import UserStore
from kdiag.wire.coordinator_partition import CoordinatorKind
from kdiag.wire.schema import Struct, Versions

NOT_ASKED: Final = -(1 << 31)
"""The operations that a client may use, where it has not asked for them."""


class NodeServices(NamedTuple):
    """What the handlers of a node use.

    Attributes:
        node_id: the node.
        clock: the time.
        controller: the cluster's state.
        replicas: the node's partitions.
        versions: what the node speaks, by API key.
        features: what it tells in ApiVersions, by name.
        fetch_sessions: of its readers.
        producer_ids: those that it gives to producers.
        users: who may log in by SASL.
        coordinator_topics: the internal topics of its coordinators.
        groups: those that it coordinates.
        transactions: likewise.
        markers: writes the markers that end transactions.
        added_partitions: adds partitions to transactions, whoever coordinates them.
        is_creating_topics: whether a topic that is asked for is created (`auto.create.topics`).
        listener: the one that the client came by; empty for the first.
    """

    node_id: int
    clock: Clock
    controller: QuorumController
    replicas: ReplicaManager
    versions: Mapping[int, Versions]
    features: Mapping[str, FeatureLevels]
    fetch_sessions: FetchSessionCache
    producer_ids: ProducerIds
    users: UserStore
    coordinator_topics: Mapping[CoordinatorKind, CoordinatorTopic]
    groups: GroupCoordinator
    transactions: TransactionCoordinator
    markers: MarkerWriter
    added_partitions: AddPartitionsManager
    is_creating_topics: bool = True
    listener: str = ""

    @property
    def brokers(self) -> list[BrokerRegistration]:
        """Return the brokers that run, by id, with their addresses for this client."""
        brokers = self.controller.image.brokers
        return [brokers[node_id].as_seen_at(self.listener) for node_id in sorted(brokers)]


class ApiCall(NamedTuple):
    """A request, apart from what it asks.

    Attributes:
        node: what may be used to answer it.
        version: of the request and of its response.
        client_id: the client's name, if it gives one.
        peer: `host:port` of the client.
        respond: sends a response; None sends none, as the client expects.
        hang_up: closes the connection instead.
        set_client_software: records what the client says it is (KIP-511).
    """

    node: NodeServices
    version: int
    client_id: str | None
    peer: str
    respond: Callable[[Struct | None], None]
    hang_up: Callable[[], None]
    set_client_software: Callable[[str, str], None]

    @property
    def group_client(self) -> GroupClient:
        """Return who asks, as groups note it: the address as Java writes it, without the port."""
        host = self.peer.rpartition(":")[0].strip("[]")
        return GroupClient(self.client_id or "", f"/{host}", self.version)


Handle = Callable[[Any, ApiCall], Struct | None]
"""Answers a request, or returns None and answers it later."""
