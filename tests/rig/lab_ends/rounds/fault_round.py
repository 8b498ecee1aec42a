"""A round: a lab, faults by chance, and clients of kdiag that write, read and commit through them.

    outcome = FaultRound("7-12", folder).run()

All that was acknowledged must be in the log, where the broker said, and be read by the group; an
idempotent producer's records are there once, and in order. No commit is beyond what was read. No
error but kdiag's own leaves the library, and when the faults have ended, everything goes on.
"""

import gc
import logging
import os
import sys
import threading
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Final, NamedTuple

from kdiag.client.cluster_client import ClusterClient
from kdiag.client.fetch.position import PartitionKey
from kdiag.client.group.classic.consumer_coordinator import ConsumerCoordinator
from kdiag.client.group.configured_member import assignors_named
from kdiag.client.group.member import MemberSettings, TopicSubscription
from kdiag.clock import NS_PER_S, SystemClock
from kdiag.lab.broker.broker_server import BrokerServer
from kdiag.lab.broker.lab_cluster import LabSettings
from kdiag.lab.controller.quorum_controller import NewTopic
from kdiag.lab.coordinator.group.group_config import GroupCoordinatorConfig
from kdiag.lab.coordinator.runtime.coordinator_topic import GROUP_TOPIC
from kdiag.lab.plugin.kafka_lab import KafkaLab
from kdiag.probe.tail.follower import Tail
from kdiag.probe.tail.offset_spec import At, OffsetSpec, Position
from kdiag.probe.tail.placement import TailRequest
from kdiag.probe.tail.topic_selection import TopicSelector
from lab_ends.rounds.drawn_faults import EFFECTS
from lab_ends.rounds.idle_time import IdleTime, NotedClock
from lab_ends.rounds.round_clients import PATIENT_NS, RoundClients
from lab_ends.rounds.round_layout import draw_layout
from lab_ends.rounds.round_reader import (
    ALONE,
    Delivered,
    NoListener,
    ReaderSettings,
    RoundError,
    RoundReader,
)
from lab_ends.rounds.round_writer import AckedBatch, RoundWriter

TOPIC: Final = "orders"
GROUP: Final = "billing"
DEADLINE_NS: Final = 600 * NS_PER_S
"""How long it may take, by the clock of the lab, until all is well after the faults."""

_COORDINATED: Final = 3
_LATEST_NS: Final = 20 * NS_PER_S
_PAUSES_NS: Final = (0, 0, 0, NS_PER_S, 4 * NS_PER_S)
_THREADS: Final = ("broker-", "listener-", "kdiag-heartbeat-")
_FILES: Final = Path("/proc/self/fd")
_QUICK: Final = GroupCoordinatorConfig(
    group_min_session_timeout_ms=1_000,
    group_initial_rebalance_delay_ms=0,
    group_consumer_session_timeout_ms=10_000,
    group_consumer_heartbeat_interval_ms=1_500,
)


class RoundOutcome(NamedTuple):
    """What a round has come to.

    Attributes:
        acked: how many records were acknowledged.
        errors: how often clients met one.
        fired: how often each kind of fault has happened.
    """

    acked: int
    errors: int
    fired: Counter[str]


def _offsets_topic(replicas: int) -> NewTopic:
    """Return the topic of the coordinators, with few partitions: each has files to open."""
    return NewTopic(GROUP_TOPIC.name, _COORDINATED, replicas, configs=GROUP_TOPIC.configs)


class FaultRound:
    """A round; it is played once.

    Attributes:
        layout: what it is played with.
        lab: its brokers.
        writer: its producer.
    """

    def __init__(self, seed: str, folder: Path) -> None:
        """Draw what is to happen.

        Args:
            seed: draws it.
            folder: gets the recording of the traffic.
        """
        self._chance = Random(seed)
        self.layout = layout = draw_layout(self._chance)
        self._clock = NotedClock(SystemClock().epoch_ns())
        configs = {"min.insync.replicas": str(layout.min_isr)}
        topic = NewTopic(TOPIC, layout.partitions, layout.replicas, configs=configs)
        settings = LabSettings(
            topics=(topic, _offsets_topic(layout.nodes)),
            node_count=layout.nodes,
            release=layout.release,
            group_config=_QUICK,
        )
        self.lab = KafkaLab(settings, folder, self._clock)
        self._time = IdleTime(self._clock, self._nodes)
        self._clients = RoundClients(self._clock, self._nodes, self._time)
        self._keys = [PartitionKey(TOPIC, number) for number in range(layout.partitions)]
        self.writer = RoundWriter(
            self._clients, self._keys, self._chance, is_idempotent=layout.is_idempotent
        )
        self._delivered = Delivered()
        self._followed = Delivered()
        self._readers = [
            self._reader(f"fuzz-reader-{number}", number) for number in range(layout.readers)
        ]
        if layout.is_followed:
            self._readers.append(self._reader("fuzz-follower", 0, ALONE))
        self._stopped: list[int] = []
        self._fired: Counter[str] = Counter()
        self._complaints: list[str] = []

    @property
    def errors(self) -> list[str]:
        """Return what clients have met until now."""
        found = [(each.errors, each.notices) for each in self._readers]
        return [*self.writer.errors, *(text for texts in found for each in texts for text in each)]

    def run(self) -> RoundOutcome:
        """Play it.

        Raises:
            RoundError: if something is not as it has to be.
        """
        sockets = _open_sockets()
        with _overheard(self._complaints), self.lab, self._time, self._clients:
            try:
                self._suffer()
                self._recover()
                self._judge()
            finally:
                for each in self._readers:
                    each.die()
        if self._complaints:
            raise RoundError("\n".join(self._complaints))
        left = [each.name for each in threading.enumerate() if each.name.startswith(_THREADS)]
        if left:
            raise RoundError(f"threads are left: {left}")
        if _open_sockets() > sockets:
            raise RoundError(f"{_open_sockets() - sockets} sockets are left open")
        acked = sum(len(each.values) for each in self.writer.acked)
        return RoundOutcome(acked, len(self.errors), self._fired)

    def _nodes(self) -> list[BrokerServer]:
        return self.lab.cluster.nodes

    def _reader(self, name: str, number: int, protocol: str = "") -> RoundReader:
        layout = self.layout
        settings = ReaderSettings(
            TOPIC,
            GROUP,
            name,
            protocol or layout.protocol,
            layout.assignor,
            f"till-{number}" if layout.is_static else None,
            layout.partition_max_bytes,
            layout.is_damaged,
        )
        delivered = self._followed if protocol == ALONE else self._delivered
        return RoundReader(self._clients, settings, delivered)

    def _suffer(self) -> None:
        """Write and read while there are faults."""
        for turn in range(self.layout.turns):
            for text in self.layout.faults.get(turn, ()):
                self.lab.fault(text)
            self._strike()
            self.writer.write(begins=True)
            self._read(self._clock.monotonic_ns() + self._chance.choice(_PAUSES_NS))
            self._check_commits()
        for listed in self.lab.faults.listed():
            names = (word.partition("=")[0] for word in listed.rule.text.split())
            self._fired[next(name for name in names if name in EFFECTS)] += listed.fired_count
        self.lab.faults.clear()
        for node_id in self._stopped:
            self.lab.cluster.start_node(node_id)
        self._stopped.clear()

    def _read(self, until_ns: int) -> None:
        """Have everybody read, and go on until some time."""
        while True:
            for each in self._readers:
                each.read()
            if self._clock.monotonic_ns() >= until_ns:
                return

    def _strike(self) -> None:
        """Stop or kill a broker, or start it again, or have a member die; seldom."""
        chance = self._chance.random()
        if chance < 0.05 and not self._stopped:
            node = self._chance.choice(self.lab.cluster.nodes)
            self.lab.cluster.stop_node(node.node_id, is_clean=self._chance.random() < 0.5)
            self._stopped.append(node.node_id)
        elif chance < 0.3 and self._stopped:
            self.lab.cluster.start_node(self._stopped.pop())
        elif chance > 0.95:
            self._chance.choice(self._readers).die()

    def _recover(self) -> None:
        """Write and read until everything that was acknowledged is read."""
        until_ns = self._clock.monotonic_ns() + DEADLINE_NS
        while not self.writer.is_done:
            self.writer.write(begins=False)
            self._read(0)
            self._check_time(until_ns, "not everything is acknowledged")
        while not self.layout.is_damaged and self._missing():
            self._read(0)
            self._check_time(until_ns, f"not delivered: {self._missing()[:5]}")
        for each in self._readers:
            each.leave()

    def _missing(self) -> list[str]:
        """Return which records were acknowledged and are not delivered yet."""
        wanted = [self._delivered, *([self._followed] if self.layout.is_followed else [])]
        return [
            f"{each.key}@{offset}"
            for delivered in wanted
            for each in self.writer.acked
            for offset in delivered.missing(each.key, each.offsets)
        ]

    def _check_time(self, until_ns: int, what: str) -> None:
        if self._clock.monotonic_ns() > until_ns:
            raise RoundError(f"{DEADLINE_NS // NS_PER_S} s after the last fault: {what}")

    def _check_commits(self) -> None:
        """Look now and then how far the group has committed."""
        if self._chance.random() < 0.2 and not self._stopped:
            client = self._clients.surely(lambda: self._clients.connect("judge", PATIENT_NS))
            self._check_committed(client)
            self._clients.close(client)

    def _check_committed(self, client: ClusterClient) -> dict[PartitionKey, int]:
        """Return the committed offsets, once it is clear that everything before them was read."""
        settings = MemberSettings(GROUP)
        asking = ConsumerCoordinator(
            client,
            settings,
            TopicSubscription.of(TOPIC),
            assignors_named(["range"]),
            NoListener(),
        )
        until_ns = self._clock.monotonic_ns() + DEADLINE_NS
        found = asking.committed(self._keys, until_ns)
        for key, each in found.items():
            unread = self._delivered.missing(key, range(each.offset))
            if unread and not self.layout.is_damaged:
                raise RoundError(f"{key}: committed {each.offset}, never read {unread[:5]}")
        return {key: each.offset for key, each in found.items()}

    def _judge(self) -> None:
        """Compare what is in the log with what was acknowledged, and with what was committed."""
        client = self._clients.surely(lambda: self._clients.connect("judge", PATIENT_NS))
        if self.layout.is_late:
            client.wait(_LATEST_NS)
        log = self._clients.surely(lambda: self._read_log(client))
        for each in self.writer.acked:
            self._judge_batch(each, log[each.key])
        for key, there in log.items():
            values = [there[offset] for offset in sorted(there)]
            if self.layout.is_idempotent and values != [f"once {n}" for n in range(len(values))]:
                raise RoundError(f"{key}: not once and in order: {values}")
        self._judge_commits(client, {key: len(there) for key, there in log.items()})

    def _judge_batch(self, acked: AckedBatch, there: Mapping[int, str]) -> None:
        found = [there.get(each) for each in acked.offsets]
        if self.layout.is_damaged:
            if not set(acked.values) <= set(there.values()):
                raise RoundError(f"lost: {acked}")
        elif found != acked.values:
            raise RoundError(f"acknowledged: {acked}; in the log: {found}")

    def _judge_commits(self, client: ClusterClient, ends: Mapping[PartitionKey, int]) -> None:
        """Have a member without faults read and commit the rest, and compare what it leaves."""
        last = self._reader("last", 9)
        self._readers.append(last)
        until_ns = self._clock.monotonic_ns() + DEADLINE_NS
        while last.positions != ends:
            last.read()
            self._check_time(until_ns, f"a member without faults reads to {last.positions}")
        last.leave()
        committed = self._check_committed(client)
        behind = {key: end for key, end in ends.items() if committed.get(key, 0) != end}
        if last.is_uncommitted or (behind and not self.layout.is_damaged):
            raise RoundError(f"committed {committed}, and not {behind}: {last.notices}")

    def _read_log(self, client: ClusterClient) -> dict[PartitionKey, dict[int, str]]:
        log: dict[PartitionKey, dict[int, str]] = {key: {} for key in self._keys}
        start = OffsetSpec(Position(At.BEGINNING))
        tail = Tail(client, TailRequest([TopicSelector(TOPIC)], start, stops_at_end=True))
        while not tail.is_done:
            for each in tail.poll(self._clock.monotonic_ns() + NS_PER_S):
                for record in each.batch.records():
                    if each.start <= record.offset:
                        log[each.key][record.offset] = (record.value or b"").decode(
                            errors="replace"
                        )
        if tail.is_partial:
            raise RoundError(f"the log cannot be read: {tail.take_notices()}")
        return log


def _open_sockets() -> int:
    """Return how many sockets this process has open, where that can be told."""
    gc.collect()
    if not _FILES.is_dir():
        return 0
    return sum(
        os.path.realpath(each).rpartition("/")[2].startswith("socket:") for each in _FILES.iterdir()
    )


class _Overheard(logging.Handler):
    """Keeps the errors that a lab logs."""

    def __init__(self, complaints: list[str]) -> None:
        super().__init__(logging.ERROR)
        self._complaints = complaints

    def emit(self, record: logging.LogRecord) -> None:
        """Keep one."""
        self._complaints.append(logging.Formatter().format(record))


@contextmanager
def _overheard(complaints: list[str]) -> Iterator[None]:
    """Collect the errors that the lab logs, and the exceptions that end threads."""
    handler = _Overheard(complaints)
    former = threading.excepthook

    def note(failed: threading.ExceptHookArgs) -> None:
        complaints.append(f"{failed.thread and failed.thread.name}: {failed.exc_value!r}")
        sys.excepthook(
            failed.exc_type, failed.exc_value or KeyboardInterrupt(), failed.exc_traceback
        )

    logger = logging.getLogger("kdiag")
    logger.addHandler(handler)
    threading.excepthook = note
    try:
        yield
    finally:
        threading.excepthook = former
        logger.removeHandler(handler)
