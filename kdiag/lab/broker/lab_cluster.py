"""A lab: a cluster of brokers in this process, its data and its topics.

    with LabCluster(LabSettings(topics=(NewTopic("orders", 3),))) as lab:
        lab.bootstrap        # 127.0.0.1:39211, for bootstrap.servers

Without a folder its data goes to a temporary one, which is gone when it ends; with one, topics,
records and ids are there again at the next start. It listens on the loopback interface unless it is
told otherwise.

    lab.stop_node(2, is_clean=False)     as if it had been killed
    lab.start_node(2)                    with the logs and the ports that it had

Its brokers are numbered from 1 on. Where a port is given, broker N listens N - 1 further.

Source: Kafka's `KafkaRaftServer`.
"""

from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Self

from kdiag.clock import Clock, SystemClock
from kdiag.errors import ConfigError
from kdiag.lab.api.registry import DEFAULT_RELEASE
from kdiag.lab.broker.broker_server import BrokerServer, NodeSettings
from kdiag.lab.broker.request_dispatch import OnRequest
from kdiag.lab.broker.traffic_recorder import TrafficRecorder
from kdiag.lab.controller.broker_sessions import SESSION_TIMEOUT_NS
from kdiag.lab.controller.quorum_controller import NewTopic, QuorumController
from kdiag.lab.controller.refusal import RequestRefusedError
from kdiag.lab.controller.state_file import make_folder
from kdiag.lab.controller.topic_configs import check_configs
from kdiag.lab.coordinator.group.group_config import GroupCoordinatorConfig
from kdiag.lab.coordinator.transaction.transaction_config import TransactionConfig
from kdiag.lab.fault.fault_book import FaultBook
from kdiag.lab.log.config import LogConfig
from kdiag.lab.log.log_directory import LogDirectory
from kdiag.lab.replication.replication_config import ReplicationConfig
from kdiag.lab.security.listener import ListenerSettings
from kdiag.lab.security.users import UserStore
from kdiag.net.address import host_and_port
from kdiag.net.server.port_hold import PortHold
from kdiag.net.tcp.loopback_pair import loopback_pair
from kdiag.wire.client_release import CLIENT_RELEASES, ClientRelease, client_release

if TYPE_CHECKING:
    from collections.abc import Mapping

LOOPBACK: Final = "127.0.0.1"
FIRST_NODE_ID: Final = 1
MOST_NODES: Final = 9


class LabSettings(NamedTuple):
    """What a lab is started with.

    Attributes:
        topics: that are there from the beginning; those that are there already stay as they are.
        host: where it listens.
        port: 0 for any that is free.
        folder: keeps its data; None for a temporary one.
        release: the Kafka release that it speaks as, such as `2.8`.
        is_creating_topics: whether a topic that a client asks for is created.
        on_request: hears of each request.
        listeners: what its nodes speak, the first of them on `port` unless it has one of its own.
        users: who may log in by SASL; None is nobody yet.
        recorder: records the traffic.
        group_config: times and limits of groups.
        transaction_config: likewise of transactions.
        node_count: how many brokers, up to MOST_NODES.
        replication: times and limits of replication.
        session_timeout_ns: how long a broker may be silent before others lead its partitions.
        faults: what goes wrong on purpose, now or later; None if nothing ever does.
        is_threaded: whether each broker has a thread; without, somebody calls their processors.
    """

    topics: tuple[NewTopic, ...] = ()
    host: str = LOOPBACK
    port: int = 0
    folder: Path | None = None
    release: str = DEFAULT_RELEASE
    is_creating_topics: bool = True
    on_request: OnRequest | None = None
    listeners: tuple[ListenerSettings, ...] = (ListenerSettings(),)
    users: UserStore | None = None
    recorder: TrafficRecorder | None = None
    group_config: GroupCoordinatorConfig = GroupCoordinatorConfig()
    transaction_config: TransactionConfig = TransactionConfig()
    node_count: int = 1
    replication: ReplicationConfig = ReplicationConfig()
    session_timeout_ns: int = SESSION_TIMEOUT_NS
    faults: FaultBook | None = None
    is_threaded: bool = True


class LabCluster:
    """A lab, while a `with` block lasts.

    Attributes:
        controller: its state.
        nodes: its brokers that run, by id; another list after each that starts or stops.
    """

    controller: QuorumController
    nodes: list[BrokerServer]

    def __init__(self, settings: LabSettings | None = None, clock: Clock | None = None) -> None:
        """Prepare a lab; nothing is there before the `with` block.

        Args:
            settings: what it is started with.
            clock: its time; the system's by default.
        """
        self._settings = settings or LabSettings()
        self._clock = clock or SystemClock()
        self._closing = ExitStack()
        self._ports: dict[int, Mapping[str, int]] = {}
        self._held: dict[int, list[PortHold]] = {}
        self.nodes = []

    def __enter__(self) -> Self:
        """Start it.

        Raises:
            ConfigError: if there is no such release.
            ConnectError: if it cannot listen there.
            LogFileError: if the folder cannot be used.
            RequestRefusedError: if a topic cannot be created.
        """
        with self._closing as closing:
            self._start(closing)
            self._closing = closing.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop it; nothing is left but what a folder keeps."""
        self._closing.close()

    def __repr__(self) -> str:
        return f"<LabCluster of {len(self.nodes)} brokers>"

    @property
    def bootstrap(self) -> str:
        """Return its addresses, as `bootstrap.servers` takes them."""
        return self.bootstrap_of(self._settings.listeners[0].protocol)

    def bootstrap_of(self, listener: str) -> str:
        """Return the addresses of a listener, as `bootstrap.servers` takes them."""
        host = self._settings.host
        return ",".join(host_and_port(host, node.ports[listener]) for node in self.nodes)

    @property
    def node_ids(self) -> range:
        """Return the ids of all brokers, whether they run or not."""
        return range(FIRST_NODE_ID, FIRST_NODE_ID + self._settings.node_count)

    def node(self, node_id: int) -> BrokerServer:
        """Return a broker that runs.

        Raises:
            ConfigError: if it does not.
        """
        found = next((each for each in self.nodes if each.node_id == node_id), None)
        if found is None:
            running = ", ".join(str(each.node_id) for each in self.nodes) or "none"
            raise ConfigError(str(node_id), "broker", f"it does not run; those that do: {running}")
        return found

    def stop_node(self, node_id: int, *, is_clean: bool = True) -> None:
        """Stop a broker; nobody else gets its ports meanwhile.

        Args:
            node_id: of the broker.
            is_clean: whether it hands over what it leads and closes its logs; otherwise it ends as
                if it had been killed, and is missed when its session is over.

        Raises:
            ConfigError: if it does not run.
        """
        node = self.node(node_id)
        self.nodes = [each for each in self.nodes if each is not node]
        if is_clean:
            self.controller.remove_broker(node_id)
        if is_clean:
            node.__exit__()
        else:
            node.kill()
        self._held[node_id] = [PortHold(self._settings.host, port) for port in node.ports.values()]

    def start_node(self, node_id: int) -> BrokerServer:
        """Start a broker that was stopped, with the logs and the ports that it had.

        Raises:
            ConfigError: if it runs already, or never was there.
            LogFileError: if its folder cannot be used.
        """
        if node_id not in self._held:
            raise ConfigError(str(node_id), "broker", "it was not stopped")
        self.controller.remove_broker(node_id)
        node = self._make_node(node_id)
        for hold in self._held.pop(node_id):
            hold.close()
        node.__enter__()
        self.nodes = sorted([*self.nodes, node], key=lambda each: each.node_id)
        return node

    def _start(self, closing: ExitStack) -> None:
        settings = self._settings
        _check_ports(settings)
        folder = settings.folder
        if folder is None:
            folder = Path(closing.enter_context(TemporaryDirectory(prefix="kdiag-lab-")))
        make_folder(folder)
        self._folder = folder
        self._release = _release_of(settings)
        self.controller = QuorumController(folder, settings.session_timeout_ns)
        closing.callback(self._stop)
        nodes = []
        with ExitStack() as made:
            for node_id in self.node_ids:
                nodes.append(self._make_node(node_id))
                made.callback(nodes[-1].discard)
            made.pop_all()
        self.controller.register_broker(*(each.registration for each in nodes))
        self.nodes = nodes
        for node in nodes:
            node.__enter__()
        for topic in settings.topics:
            if topic.name not in self.controller.image.topics:
                self._create(topic)

    def _stop(self) -> None:
        """Stop what still runs."""
        for node in self.nodes:
            node.__exit__()
        for holds in self._held.values():
            for hold in holds:
                hold.close()
        self._held.clear()

    def _make_node(self, node_id: int) -> BrokerServer:
        """Return a broker that listens, and does nothing yet."""
        settings = self._settings
        logs = LogDirectory(self._folder / f"broker-{node_id}", self._clock, self._config_of)
        try:
            node = BrokerServer(
                node_id,
                self.controller,
                logs,
                self._clock,
                NodeSettings(
                    self._release,
                    settings.host,
                    0,
                    settings.is_creating_topics,
                    settings.on_request,
                    self._listeners_of(node_id),
                    settings.users or UserStore(),
                    settings.recorder,
                    settings.group_config,
                    settings.transaction_config,
                    dial=self._dial,
                    faults=settings.faults,
                    replication=settings.replication,
                    is_threaded=settings.is_threaded,
                ),
            )
        except BaseException:
            logs.close()
            raise
        self._ports[node_id] = node.ports
        return node

    def _listeners_of(self, node_id: int) -> tuple[ListenerSettings, ...]:
        """Return the listeners of a broker, with the ports that it had before."""
        known = self._ports.get(node_id)
        if known is not None:
            return tuple(
                each._replace(port=known[each.protocol]) for each in self._settings.listeners
            )
        return _listeners_of(self._settings, node_id)

    def _dial(self, node_id: int) -> Any:
        """Return a connection to a broker.

        Raises:
            ConnectionRefusedError: if it does not run.
        """
        node = next((each for each in self.nodes if each.node_id == node_id), None)
        if node is None:
            raise ConnectionRefusedError(f"broker {node_id} does not run")
        ours, theirs = loopback_pair()
        node.connect(theirs)
        return ours

    def _create(self, topic: NewTopic) -> None:
        try:
            self.controller.create_topic(topic)
        except RequestRefusedError as error:
            raise ConfigError(topic.name, "topic", error.why) from error

    def _config_of(self, topic: str) -> LogConfig:
        """Return the settings of a topic's logs."""
        image = self.controller.image.topics.get(topic)
        return LogConfig() if image is None else check_configs(topic, image.configs)


def _release_of(settings: LabSettings) -> ClientRelease:
    """Return the release that the brokers speak as.

    Raises:
        ConfigError: if there is none of this name.
    """
    release = client_release(settings.release)
    if release is None:
        known = ", ".join(CLIENT_RELEASES)
        why = f"{settings.release!r} is not a release of Kafka; known are {known}"
        raise ConfigError("release", "lab", why)
    return release


def _listeners_of(settings: LabSettings, node_id: int) -> tuple[ListenerSettings, ...]:
    """Return the listeners of a broker: those of the lab, with its own ports."""
    listeners = []
    for at, each in enumerate(settings.listeners):
        port = each.port or (0 if at else settings.port)
        listeners.append(each._replace(port=port and port + node_id - FIRST_NODE_ID))
    return tuple(listeners)


def _check_ports(settings: LabSettings) -> None:
    """Refuse ports that two listeners would have.

    Raises:
        ConfigError: if there are any.
    """
    taken: dict[int, str] = {}
    for node_id in range(FIRST_NODE_ID, FIRST_NODE_ID + settings.node_count):
        for each in _listeners_of(settings, node_id):
            name = f"{each.protocol} of broker {node_id}"
            if each.port and each.port in taken:
                why = f"{each.port} would be that of {taken[each.port]} and of {name}"
                raise ConfigError("port", "lab", why)
            taken[each.port] = name
