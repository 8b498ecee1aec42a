"""A broker: one thread that reads requests, answers them, and does what is due; and a listener.

    with BrokerServer(1, controller, logs, settings) as node:
        node.port

A change of the cluster that another thread makes is handed to the node's thread; one that the node
makes itself, such as a new topic, is applied before the response goes out. What it asks of other
nodes goes over connections of its own (`peer_channels`), in the same thread.

Source: Kafka's `BrokerServer`, `BrokerMetadataPublisher`.
"""

import logging
from collections.abc import Callable
from contextlib import ExitStack
from threading import Thread, get_ident
from typing import Any, Final, NamedTuple, Self

from kdiag.clock import NS_PER_S, Clock
from kdiag.lab.api.call import NodeServices
from kdiag.lab.api.cluster.features import features_of
from kdiag.lab.api.records.fetch_session import FetchSessionCache
from kdiag.lab.api.registry import spoken_versions
from kdiag.lab.api.transactions.producer_ids import ProducerIds
from kdiag.lab.broker.peer_channels import Dial, PeerChannels, dial_nobody
from kdiag.lab.broker.request_dispatch import OnRequest, RequestDispatch
from kdiag.lab.broker.traffic_recorder import TrafficRecorder
from kdiag.lab.controller.cluster_image import BrokerRegistration, ClusterImage
from kdiag.lab.controller.quorum_controller import QuorumController
from kdiag.lab.coordinator.group.group_config import GroupCoordinatorConfig
from kdiag.lab.coordinator.group.group_coordinator import GroupCoordinator
from kdiag.lab.coordinator.runtime.coordinator_topic import GROUP_TOPIC
from kdiag.lab.coordinator.transaction.add_partitions_manager import AddPartitionsManager
from kdiag.lab.coordinator.transaction.marker_channels import MarkerChannels
from kdiag.lab.coordinator.transaction.marker_writer import MarkerWriter
from kdiag.lab.coordinator.transaction.transaction_config import (
    TRANSACTION_TOPIC,
    TransactionConfig,
)
from kdiag.lab.coordinator.transaction.transaction_coordinator import TransactionCoordinator
from kdiag.lab.fault.fault_book import FaultBook
from kdiag.lab.fault.fault_gate import FaultGate
from kdiag.lab.log.log_directory import LogDirectory
from kdiag.lab.replication.replica_manager import ClusterLinks, ReplicaManager
from kdiag.lab.replication.replication_config import ReplicationConfig
from kdiag.lab.security.listener import ListenerChannels, ListenerSettings
from kdiag.lab.security.users import UserStore
from kdiag.net.memory_pool import SimpleMemoryPool
from kdiag.net.selector.selector import SelectorSettings
from kdiag.net.server.listener import ServerListener
from kdiag.net.server.processor import Processor
from kdiag.wire.client_release import ClientRelease
from kdiag.wire.coordinator_partition import CoordinatorKind
from kdiag.wire.frame import DEFAULT_MAX_FRAME_BYTES

LOG: Final = logging.getLogger(__name__)

_QUIET_S: Final = 10.0
"""How long its thread may need to handle what has arrived."""
MAX_IDLE_NS: Final = 600 * NS_PER_S
"""`connections.max.idle.ms`."""
MAX_FRAME_NS: Final = 30 * NS_PER_S
"""How long a frame may make no progress: Kafka's clients give up a request after as long."""
QUEUED_BYTES: Final = 4 * DEFAULT_MAX_FRAME_BYTES
"""`queued.max.request.bytes`: requests that are being read take no more than this."""


class NodeSettings(NamedTuple):
    """What a broker is started with.

    Attributes:
        release: the release that it speaks as.
        host: where it listens, and what clients are told.
        port: likewise; 0 for any that is free.
        is_creating_topics: `auto.create.topics.enable`.
        on_request: hears of each request.
        listeners: what it speaks, the first of them on `port` unless it has one of its own.
        users: who may log in by SASL; None is nobody yet.
        recorder: records the traffic.
        group_config: times and limits of its groups.
        transaction_config: likewise of transactions.
        dial: connects to other nodes.
        faults: what goes wrong on purpose; None if nothing ever does.
        replication: times and limits of replication.
        is_threaded: whether it has a thread; without one somebody calls its processor.
    """

    release: ClientRelease
    host: str = "127.0.0.1"
    port: int = 0
    is_creating_topics: bool = True
    on_request: OnRequest | None = None
    listeners: tuple[ListenerSettings, ...] = (ListenerSettings(),)
    users: UserStore | None = None
    recorder: TrafficRecorder | None = None
    group_config: GroupCoordinatorConfig = GroupCoordinatorConfig()
    transaction_config: TransactionConfig = TransactionConfig()
    dial: Dial = dial_nobody
    faults: FaultBook | None = None
    replication: ReplicationConfig = ReplicationConfig()
    is_threaded: bool = True


class BrokerServer:
    """A broker, while a `with` block lasts.

    Attributes:
        node_id: its id.
        replicas: its partitions.
        groups: those that it coordinates.
        transactions: likewise.
        dispatch: hands out its requests.
        processor: its connections.
        peers: those to other nodes.
        port: where it listens first.
        ports: where it listens, by the names of its listeners.
    """

    def __init__(
        self,
        node_id: int,
        controller: QuorumController,
        logs: LogDirectory,
        clock: Clock,
        settings: NodeSettings,
    ) -> None:
        """Listen, and answer when the `with` block begins.

        Args:
            node_id: its id.
            controller: the cluster's state.
            logs: its own.
            clock: the time.
            settings: what it is started with.

        Raises:
            ConnectError: if it cannot listen there.
        """
        # First what may fail: nothing else is to be closed then.
        versions = spoken_versions(settings.release)
        users = settings.users or UserStore()
        channels = ListenerChannels(
            settings.listeners,
            users,
            versions,
            clock,
            None if settings.recorder is None else settings.recorder.recorded,
        )
        self._listeners = _listeners(settings, self._accept)
        self.ports = {name: each.port for name, each in self._listeners.items()}
        self.port = next(iter(self.ports.values()))
        self.node_id = node_id
        self.peers = PeerChannels(node_id, clock, settings.dial)
        self.replicas = ReplicaManager(
            node_id,
            logs,
            clock,
            ClusterLinks(self.peers.send, controller.alter_partitions, settings.replication),
        )
        self.groups = GroupCoordinator(self.replicas, clock, settings.group_config)
        producer_ids = ProducerIds(controller)
        markers = MarkerWriter(self.replicas, clock, self.groups.complete_transaction)
        channels_of_markers = MarkerChannels(self.replicas, markers, self.peers.send)
        self.transactions = TransactionCoordinator(
            self.replicas,
            clock,
            channels_of_markers,
            producer_ids.generate,
            settings.transaction_config,
        )
        self._clock = clock
        self._controller = controller
        self._settings = settings
        self._heartbeat_ns = clock.monotonic_ns()
        self._applied_version: int | None = None
        services = NodeServices(
            node_id=node_id,
            clock=clock,
            controller=controller,
            replicas=self.replicas,
            versions=versions,
            features=features_of(settings.release),
            fetch_sessions=FetchSessionCache(clock),
            producer_ids=producer_ids,
            coordinator_topics={
                CoordinatorKind.GROUP: GROUP_TOPIC,
                CoordinatorKind.TRANSACTION: TRANSACTION_TOPIC,
            },
            groups=self.groups,
            transactions=self.transactions,
            markers=markers,
            added_partitions=AddPartitionsManager(
                self.replicas, self.transactions, self.peers.send
            ),
            is_creating_topics=settings.is_creating_topics,
            users=users,
        )
        self._gate = None
        if settings.faults is not None:
            self._gate = FaultGate(settings.faults, node_id, self._topic_name, clock)
        self.dispatch = RequestDispatch(services, self._advance, settings.on_request, self._gate)
        channels.answer_versions = self.dispatch.answer_versions
        for each in settings.listeners:
            channels.add(self.ports[each.protocol], each)
        self.processor = self.dispatch.processor = Processor(
            clock,
            self.dispatch,
            make_channel=channels.make_channel,
            settings=SelectorSettings(
                max_idle_ns=MAX_IDLE_NS,
                max_frame_ns=MAX_FRAME_NS,
                pool=SimpleMemoryPool(QUEUED_BYTES, DEFAULT_MAX_FRAME_BYTES),
            ),
        )
        self.peers.processor = self.processor
        if self._gate is not None:
            self._gate.connect(self.processor)
        self._thread = Thread(target=self.processor.run, name=f"broker-{node_id}", daemon=True)

    def __enter__(self) -> Self:
        """Register with the controller, unless that is done, and answer."""
        if self.node_id not in self._controller.image.brokers:
            self._controller.register_broker(self.registration)
        self._controller.subscribe(self._handle_image)
        if self._settings.is_threaded:
            self._thread.start()
        for each in self._listeners.values():
            each.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        """Close connections and logs."""
        self._stop()
        self.replicas.close()

    def kill(self) -> None:
        """Stop at once, as a process that is killed: nothing is flushed, and nobody is told."""
        self._stop()
        self.replicas.logs.abandon()

    def discard(self) -> None:
        """Close what was made, and was never started."""
        for each in self._listeners.values():
            each.__exit__()
        self.processor.close()
        self.replicas.close()

    @property
    def registration(self) -> BrokerRegistration:
        """Return what the controller is told of it."""
        return BrokerRegistration(self.node_id, self._settings.host, self.port, ports=self.ports)

    def connect(self, sock: Any) -> None:
        """Take over a connection from another node; from any thread."""
        self.processor.accept(sock, is_internal=True)

    def await_quiet(self) -> None:
        """Wait until all is handled, and recorded, that has arrived by now; from any thread.

        In its own thread, or without one, there is nothing to wait for. If it takes too long, the
        log has a line.
        """
        if not self._settings.is_threaded or self._thread.ident == get_ident():
            return
        if not self.processor.await_quiet(_QUIET_S):
            LOG.warning("broker %d has not handled all that has arrived", self.node_id)

    def _stop(self) -> None:
        """Close connections; the thread ends."""
        for each in self._listeners.values():
            each.__exit__()
        if self._settings.is_threaded:
            self.processor.stop()
            self._thread.join()
        else:
            self.processor.close()
        self._controller.unsubscribe(self._handle_image)

    def __repr__(self) -> str:
        return f"<BrokerServer {self.node_id} at {self._settings.host}:{self.port}>"

    def _accept(self, sock: Any) -> None:
        self.processor.accept(sock)

    def _handle_image(self, image: ClusterImage) -> None:
        """Apply a change in the node's thread; at once if it is this one, or the first."""
        is_own = self._thread.ident == get_ident() or not self._settings.is_threaded
        if self._applied_version is None or is_own:
            self._apply(image)
        else:
            self.processor.call(lambda: self._apply(image))

    def _apply(self, image: ClusterImage) -> None:
        if self._applied_version is not None and image.version <= self._applied_version:
            return  # a change of this node's own, which came later, has overtaken it
        self._applied_version = image.version
        self.replicas.handle_image(image)
        self.groups.handle_image(image)
        self.transactions.handle_image(image)

    def _topic_name(self, topic_id: bytes) -> str | None:
        topic = self._controller.image.topic_of(topic_id)
        return None if topic is None else topic.name

    def _advance(self) -> int | None:
        """Do what is due, and return when something is due next."""
        due = [
            self.replicas.advance(),
            self.groups.advance(),
            self.transactions.advance(),
            self.peers.advance(),
            self._heartbeat(),
        ]
        if self._gate is not None:
            due.append(self._gate.advance())
        return min((each for each in due if each is not None), default=None)

    def _heartbeat(self) -> int:
        """Tell the controller that it runs, if that is due; return when it is due next."""
        now_ns = self._clock.monotonic_ns()
        if now_ns >= self._heartbeat_ns:
            self._heartbeat_ns = now_ns + self._controller.sessions.heartbeat_interval_ns
            if not self._controller.heartbeat(self.node_id, now_ns):
                self._controller.register_broker(self.registration)  # it was silent for too long
        return self._heartbeat_ns


def _listeners(settings: NodeSettings, accept: Callable[[Any], None]) -> dict[str, ServerListener]:
    """Return what listens, by name.

    Raises:
        ConnectError: if one cannot; none does then.
    """
    listeners: dict[str, ServerListener] = {}
    with ExitStack() as closing:
        for at, each in enumerate(settings.listeners):
            port = each.port or (0 if at else settings.port)
            listener = ServerListener(settings.host, port, accept)
            closing.callback(listener.__exit__)
            listeners[each.protocol] = listener
        closing.pop_all()
    return listeners
