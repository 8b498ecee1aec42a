"""A real Kafka for tests: one to three KRaft nodes on free ports, on loopback unless told else.

    with KafkaCluster("4.3.1", folder, ports=free_ports(3)) as cluster:
        ...  # cluster.bootstrap is "127.0.0.1:40001,127.0.0.1:40002,127.0.0.1:40003"

Every node is broker and controller at once. A node counts as up when its own log says so.
"""

import random
import signal
import socket
import subprocess
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from itertools import islice
from pathlib import Path
from threading import Condition, Event, Thread
from types import TracebackType
from typing import Final, NamedTuple, Self

from real_kafka import kafka_jars

_CLUSTER_ID: Final = "MkU3OEVBNTcwNTJENDM2Qg"
_START_TIMEOUT_S: Final = 180
_JVM_OPTIONS: Final = [
    "-Xmx512m",
    "-Xms128m",
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",
    "-Dorg.slf4j.simpleLogger.defaultLogLevel=info",
    "-Dorg.slf4j.simpleLogger.showDateTime=true",
    "-Dorg.slf4j.simpleLogger.dateTimeFormat=yyyy-MM-dd HH:mm:ss,SSS",
    "-Duser.timezone=UTC",
]
_IS_UP: Final = "Kafka Server started"
_PORTS: Final = range(20_000, 32_000)
"""Below what Linux gives to whoever connects (32768 and up)."""
_formatted: dict[tuple[object, ...], dict[Path, bytes]] = {}
"""The files of storages just formatted: the next node of the same version and number copies them,
as a JVM more for each node is what starting a cluster would cost most."""


class Ports(NamedTuple):
    """The ports of one node."""

    plaintext: int
    sasl: int
    controller: int


class Place(NamedTuple):
    """Where nodes run.

    Attributes:
        host: their address there.
        runner: the command that runs another there.
    """

    host: str = "127.0.0.1"
    runner: Sequence[str] = ()


class KafkaCluster:
    """Real Kafka nodes that run while the `with` block does.

    Attributes:
        version: Kafka's version.
        folder: where configurations and data are: `data-1` and so on.
        place: where the nodes run.
        jvm_options: Java's options for the nodes; else they begin with the archive of classes.
        bootstrap: the brokers as clients take them.
        sasl_bootstrap: the same for SASL/PLAIN over plaintext; of use with `users` only.
        ports: the ports of each node.
    """

    place = Place()
    jvm_options: Sequence[str] = ()

    def __init__(
        self,
        version: str,
        folder: Path,
        *,
        ports: Sequence[Ports] = (),
        properties: Mapping[str, str] | None = None,
        users: Mapping[str, str] | None = None,
    ) -> None:
        """Prepare, but do not start, a cluster.

        Args:
            version: Kafka's version.
            folder: an existing folder for configurations, data and logs.
            ports: those of each node; by default one node on free ports.
            properties: added to each node's `server.properties`.
            users: passwords by user name, for SASL/PLAIN.
        """
        self._jars = kafka_jars.jars(version)
        self.version = version
        self.folder = folder
        self.ports = ports or free_ports(1)
        self._properties = dict(properties or {})
        self._users = dict(users or {})
        self._running = ExitStack()
        self._nodes: dict[int, _Node] = {}
        host = self.place.host
        self.bootstrap = ",".join(f"{host}:{ports.plaintext}" for ports in self.ports)
        self.sasl_bootstrap = ",".join(f"{host}:{ports.sasl}" for ports in self.ports)

    def __enter__(self) -> Self:
        """Start all nodes and wait until each is up.

        Raises:
            RuntimeError: if a node ends, or is not up in time; with the end of its log.
        """
        with ExitStack() as starting:
            starting.callback(self._kill_all)
            for number in range(1, len(self.ports) + 1):
                self._format(number)
                self._launch(number)
            for node in self._nodes.values():
                node.wait_until_up()
            self._running = starting.pop_all()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Stop all nodes."""
        self._running.close()

    def wait_for_log(
        self, number: int, is_enough: Callable[[Sequence[str]], bool], timeout_s: float = 60
    ) -> list[str]:
        """Return the log of a node so far, once it has what is waited for.

        Raises:
            TimeoutError: if that does not come; with the end of the log.
        """
        return self._nodes[number].wait_for_log(is_enough, timeout_s)

    def kill(self, number: int) -> None:
        """End a node at once, as `kill -9` does; its data stays for `restart`."""
        self._nodes.pop(number).stop()

    def shut_down(self, number: int) -> None:
        """Have a node end as it should."""
        self._nodes.pop(number).shut_down()

    def restart(self, number: int) -> None:
        """Start a node that was killed, with the data it has, and wait until it is up.

        Raises:
            RuntimeError: if it ends, or is not up in time.
        """
        self._launch(number).wait_until_up()

    def pause(self, number: int) -> None:
        """Have a node hang, as one in a long garbage collection; its connections stay open."""
        self._nodes[number].send_signal(signal.SIGSTOP)

    def resume(self, number: int) -> None:
        """Have a node that hangs go on."""
        self._nodes[number].send_signal(signal.SIGCONT)

    def _kill_all(self) -> None:
        for number in list(self._nodes):
            self.kill(number)

    def _launch(self, number: int) -> "_Node":
        options = self.jvm_options or kafka_jars.archive_options(self._jars)
        java = [*self.place.runner, "java", *_JVM_OPTIONS, *options, "-cp", f"{self._jars}/*"]
        self._nodes[number] = _Node([*java, "kafka.Kafka", str(self._config(number))])
        return self._nodes[number]

    def _config(self, number: int) -> Path:
        return self.folder / f"node-{number}.properties"

    def _format(self, number: int) -> None:
        """Write one node's configuration and format its storage."""
        config = self._config(number)
        lines = [f"{key}={value}" for key, value in self.node_properties(number).items()]
        config.write_text("\n".join(lines) + "\n", encoding="utf-8")
        storage = self.folder / f"data-{number}"
        key = (self.version, number, *self.format_arguments())
        if key in _formatted:
            _write_files(storage, _formatted[key])
            return
        command = kafka_jars.java_command(self._jars, "kafka.tools.StorageTool", "format")
        formatted = subprocess.run(
            [*command, "-t", _CLUSTER_ID, "-c", str(config), *self.format_arguments()],
            capture_output=True,
            text=True,
            check=False,
        )
        if formatted.returncode:
            raise RuntimeError(formatted.stdout + formatted.stderr)
        _formatted[key] = _read_files(storage)

    def format_arguments(self) -> list[str]:
        """Return more arguments for `StorageTool format`."""
        return []

    def node_properties(self, number: int) -> dict[str, str]:
        """Return the `server.properties` of one node."""
        ports, host = self.ports[number - 1], self.place.host
        voters = [f"{i}@{host}:{each.controller}" for i, each in enumerate(self.ports, 1)]
        clients = f"PLAINTEXT://{host}:{ports.plaintext}"
        if self._users:
            clients += f",SASL_PLAINTEXT://{host}:{ports.sasl}"
        replication = str(len(self.ports))
        return {
            "process.roles": "broker,controller",
            "node.id": str(number),
            "controller.quorum.voters": ",".join(voters),
            "listeners": f"{clients},CONTROLLER://{host}:{ports.controller}",
            "advertised.listeners": clients,
            "controller.listener.names": "CONTROLLER",
            "inter.broker.listener.name": "PLAINTEXT",
            "listener.security.protocol.map": (
                "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,SASL_PLAINTEXT:SASL_PLAINTEXT"
            ),
            "log.dirs": str(self.folder / f"data-{number}"),
            "offsets.topic.num.partitions": "3",
            "offsets.topic.replication.factor": replication,
            "transaction.state.log.num.partitions": "3",
            "transaction.state.log.replication.factor": replication,
            "transaction.state.log.min.isr": "1",
            "share.coordinator.state.topic.replication.factor": replication,
            "share.coordinator.state.topic.min.isr": "1",
            "group.initial.rebalance.delay.ms": "0",
            "auto.create.topics.enable": "false",
            **self._sasl_properties(),
            **self._properties,
        }

    def _sasl_properties(self) -> dict[str, str]:
        """Return what a listener for SASL/PLAIN needs."""
        if not self._users:
            return {}
        users = " ".join(f'user_{name}="{word}"' for name, word in self._users.items())
        module = "org.apache.kafka.common.security.plain.PlainLoginModule"
        return {
            "sasl.enabled.mechanisms": "PLAIN",
            "listener.name.sasl_plaintext.plain.sasl.jaas.config": f"{module} required {users};",
        }


class _Node:
    """One Kafka process, and a thread that reads its log."""

    def __init__(self, command: Sequence[str]) -> None:
        self._log: list[str] = []
        self._has_said = Condition()
        self._is_up = False
        self._up_or_ended = Event()
        self._process = subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self._reader = Thread(target=self._read_log, daemon=True)
        self._reader.start()

    def _read_log(self) -> None:
        """Keep the log and say when it tells that the node is up, or ends."""
        assert self._process.stdout is not None
        with self._process.stdout as lines:
            for line in lines:
                with self._has_said:
                    self._log.append(line)
                    self._has_said.notify_all()
                if _IS_UP in line:
                    self._is_up = True
                    self._up_or_ended.set()
        self._up_or_ended.set()

    def wait_until_up(self) -> None:
        """Return when the node is up.

        Raises:
            RuntimeError: if it ends or is not up in time.
        """
        self._up_or_ended.wait(_START_TIMEOUT_S)
        if not self._is_up:
            raise RuntimeError("Kafka did not start:\n" + "".join(self._log[-50:]))

    def wait_for_log(
        self, is_enough: Callable[[Sequence[str]], bool], timeout_s: float
    ) -> list[str]:
        """Return the log so far, once it has what is waited for."""
        with self._has_said:
            if not self._has_said.wait_for(lambda: is_enough(self._log), timeout_s):
                raise TimeoutError("".join(self._log[-50:]))
            return list(self._log)

    def send_signal(self, number: signal.Signals) -> None:
        """Send the process a signal."""
        self._process.send_signal(number)

    def shut_down(self) -> None:
        """Ask the process to end, and wait until it has."""
        self._process.terminate()
        self._process.wait(_START_TIMEOUT_S)
        self._reader.join()

    def stop(self) -> None:
        """End the process at once: its data is thrown away."""
        self._process.kill()
        self._process.wait()
        self._reader.join()


def _read_files(folder: Path) -> dict[Path, bytes]:
    """Return the files below a folder by their paths within it."""
    files = (each for each in folder.rglob("*") if each.is_file())
    return {each.relative_to(folder): each.read_bytes() for each in files}


def _write_files(folder: Path, files: Mapping[Path, bytes]) -> None:
    """Write files below a folder."""
    for path, data in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(data)


def free_ports(nodes: int) -> list[Ports]:
    """Return three ports for each node that nobody listens on now."""
    numbers = free_port_numbers(3 * nodes)
    return [Ports(*numbers[start : start + 3]) for start in range(0, len(numbers), 3)]


def free_port_numbers(count: int) -> list[int]:
    """Return different ports that nobody listens on now.

    No connection is given one of them as its own port before it is used: those lie higher.
    """
    ports = random.SystemRandom().sample(_PORTS, len(_PORTS))
    return list(islice(filter(_is_free, ports), count))


def _is_free(port: int) -> bool:
    with socket.socket() as opened, suppress(OSError):
        opened.bind(("127.0.0.1", port))
        return True
    return False
