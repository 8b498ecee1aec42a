"""What `kdiag find-coordinator --watch` tells is true, and told in time.

A witness asks the brokers by plain sockets ten times a second. Through a kill, a stop, a restart of
all brokers and a leader that moves, the outages that are told are those that the witness saw.

`KDIAG_WATCH_STOP_S=20` makes the stop as long; by default it is shorter.
"""

import json
import os
import struct
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from threading import Event, Thread
from typing import Any, Final, NamedTuple, Self

import pytest

from client_ends.broker_socket import BrokerSocket
from kdiag.clock import NS_PER_S, SystemClock
from kdiag.errors import KdiagError
from kdiag.wire.api.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from kdiag.wire.coordinator_partition import coordinator_partition
from programs.child_program import ChildProgram
from programs.kdiag_program import start_kdiag
from real_kafka import topic_changes
from real_kafka.kafka_cluster import KafkaCluster, free_ports
from real_kafka.releases import USUAL
from tiers.attempts import measure_again

pytestmark = pytest.mark.soak
STOP_S: Final = float(os.environ.get("KDIAG_WATCH_STOP_S", "8"))
CLOCK: Final = SystemClock()
GROUP: Final = "orders"
OFFSETS: Final = "__consumer_offsets"
OFFSETS_PARTITIONS: Final = 3
"""The rig's `offsets.topic.num.partitions`."""

NOTICED_S: Final = 3
EXACT_S: Final = 1
ATTEMPTS: Final = 3
"""How often to watch: a busy machine tells later, and a witness on it sees less."""
_EVERY_S: Final = 0.1
_PATIENCE_S: Final = 0.4
_WITNESS_S: Final = _EVERY_S + _PATIENCE_S
"""So exact is the witness itself."""


class Outage(NamedTuple):
    """When there was no coordinator that answers, in seconds of the monotonic clock."""

    began_s: float
    ended_s: float

    @property
    def lasted_s(self) -> float:
        """Return how long it was."""
        return self.ended_s - self.began_s


class Witness(Thread):
    """Asks every broker ten times a second.

    Attributes:
        outages: those that are over.
        coordinator: the last one that answered; None while there is none.
    """

    def __init__(self, bootstrap: str) -> None:
        super().__init__(daemon=True)
        self.outages: list[Outage] = []
        self.coordinator: int | None = None
        self._addresses = bootstrap.split(",")
        self._is_over = Event()
        self._lost_s: float | None = None

    def __enter__(self) -> Self:
        """Begin to ask."""
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop."""
        self._is_over.set()
        self.join()

    def run(self) -> None:
        """Ask until the block ends."""
        while not self._is_over.wait(_EVERY_S):
            began_s = CLOCK.monotonic_ns() / NS_PER_S
            coordinator = self._ask_all()
            if coordinator is None:
                self._lost_s = self._lost_s or began_s
            elif self._lost_s is not None:
                self.outages.append(Outage(self._lost_s, CLOCK.monotonic_ns() / NS_PER_S))
                self._lost_s = None
            self.coordinator = coordinator

    def _ask_all(self) -> int | None:
        """Return the broker that most brokers name, if it answers itself."""
        answers: dict[int, int] = {}
        threads = [
            Thread(target=self._ask, args=[number, address, answers])
            for number, address in enumerate(self._addresses, 1)
        ]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
        named = list(answers.values())
        most = max(set(named), key=named.count, default=-1)
        return most if most in answers else None

    def _ask(self, number: int, address: str, answers: dict[int, int]) -> None:
        request = FindCoordinatorRequest(coordinator_keys=[GROUP])
        with suppress(OSError, KdiagError, ValueError, struct.error), ExitStack() as opened:
            broker = opened.enter_context(BrokerSocket(address, _PATIENCE_S))
            (found,) = broker.ask(request, 4, FindCoordinatorResponse).coordinators
            if not found.error_code:
                answers[number] = found.node_id


class Watch:
    """A watch that runs, and all it has told.

    Attributes:
        told: when each line came, in seconds of the monotonic clock, and the line.
    """

    def __init__(self, process: ChildProgram) -> None:
        self.told: list[tuple[float, dict[str, Any]]] = []
        self._process = process
        self._thread = Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self.told.append((CLOCK.monotonic_ns() / NS_PER_S, json.loads(line)))

    def changes(self, since_s: float = 0) -> list[tuple[float, str]]:
        """Return what was told since a moment."""
        return [(at, text) for at, line in self.told if at >= since_s for text in line["changes"]]

    def outages(self) -> list[float]:
        """Return how long the outages were that were told."""
        return [
            float(text.rpartition(", after ")[2].removesuffix(" s without"))
            for _, text in self.changes()
            if text.endswith(" s without")
        ]


@pytest.fixture
def cluster(get_kafka_jars: Callable[[str], Path], tmp_path: Path) -> Iterator[KafkaCluster]:
    """Three nodes."""
    get_kafka_jars(USUAL)
    with KafkaCluster(USUAL, tmp_path, ports=free_ports(3)) as cluster:
        yield cluster


def wait_for(condition: Callable[[], bool], watch: Watch, timeout_s: float = 60) -> None:
    """Wait until something holds."""
    until_ns = CLOCK.monotonic_ns() + round(timeout_s * NS_PER_S)
    while not condition():
        assert CLOCK.monotonic_ns() < until_ns, watch.changes()
        Event().wait(_EVERY_S)


@pytest.mark.bench
def test_what_a_watch_tells_is_true_and_told_in_time(cluster: KafkaCluster) -> None:
    """Each outage within a second of what it was, each loss within three."""
    measure_again(lambda: _watch_trouble(cluster), ATTEMPTS)


def _watch_trouble(cluster: KafkaCluster) -> None:
    options = ["-b", cluster.bootstrap, GROUP, "--watch", "-o", "json"]
    with (
        Witness(cluster.bootstrap) as witness,
        start_kdiag("find-coordinator", *options, stdout=subprocess.PIPE) as process,
    ):
        watch = Watch(process)
        try:
            _make_trouble(cluster, witness, watch)
        finally:
            process.terminate()
    real = [each for each in witness.outages if each.began_s > watch.told[0][0]]
    long = [each.lasted_s for each in real if each.lasted_s > 2 * EXACT_S]
    told = [each for each in watch.outages() if each > 2 * EXACT_S]
    assert len(told) == len(long), (real, watch.changes())
    for each, lasted_s in zip(told, long, strict=True):
        assert abs(each - lasted_s) <= EXACT_S + _WITNESS_S, (told, long)
    assert not [text for _, text in watch.changes() if "gone" in text]


def _make_trouble(cluster: KafkaCluster, witness: Witness, watch: Watch) -> None:
    """Kill, stop and restart brokers, and move a leader; each loss must be told in time."""

    def is_well() -> bool:
        last = watch.told[-1][1] if watch.told else None
        if last is None or witness.coordinator is None or not last["reachable"]:
            return False
        all_answer = all(each["coordinator_id"] for each in last["answers"])
        return last["coordinator"]["node_id"] == witness.coordinator and all_answer

    def lose(do: Callable[[], None]) -> None:
        at_s = CLOCK.monotonic_ns() / NS_PER_S
        do()
        wait_for(lambda: bool(watch.changes(at_s)), watch, NOTICED_S)

    def coordinator() -> int:
        wait_for(is_well, watch)
        assert witness.coordinator is not None
        return witness.coordinator

    first = coordinator()
    try:
        lose(lambda: cluster.kill(first))
        wait_for(lambda: witness.coordinator not in {None, first}, watch)
    finally:
        cluster.restart(first)

    second = coordinator()
    try:
        lose(lambda: cluster.pause(second))
        Event().wait(STOP_S)
    finally:
        cluster.resume(second)

    coordinator()
    for number in (1, 2, 3):
        cluster.kill(number)
    restarts = [Thread(target=cluster.restart, args=[number]) for number in (1, 2, 3)]
    for each in restarts:
        each.start()
    for each in restarts:
        each.join()

    third = coordinator()
    wait_for(lambda: len(watch.told[-1][1]["partition"]["isr"]) == len(cluster.ports), watch)
    others = [number for number in (1, 2, 3) if number != third]
    partition = coordinator_partition(GROUP, OFFSETS_PARTITIONS)
    replicas = [[1, 2, 3]] * OFFSETS_PARTITIONS
    replicas[partition] = [*others, third]
    at_s = CLOCK.monotonic_ns() / NS_PER_S
    topic_changes.move_leaders(cluster.bootstrap, OFFSETS, replicas)
    moved = f"coordinator is broker {others[0]} "
    wait_for(lambda: any(moved in text for _, text in watch.changes(at_s)), watch)
