"""Loads on a lab, each of which has a problem that traffic shows, or does the same without it.

    with LoadedLab(folder, LOADS["KD4202"], is_disturbed=True) as lab:
        lab.play()
    lab.findings()                 ["KD4202"]

The time of the lab, of its clients and of the recording passes while nobody works, so that seconds
of load take as long as their work.
"""

import random
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Final, NamedTuple, Self

from kdiag.client.cluster_client import ClusterClient
from kdiag.client.fetch.position import PartitionKey
from kdiag.client.fetch.session import FetchLimits
from kdiag.client.group.classic.consumer_coordinator import ConsumerCoordinator
from kdiag.client.group.configured_member import assignors_named
from kdiag.client.group.member import MemberSettings, OffsetAndMetadata, TopicSubscription
from kdiag.clock import NS_PER_MS, NS_PER_S
from kdiag.diagnosis.traffic.traffic import Traffic
from kdiag.errors import RequestTimeoutError
from kdiag.exchange.context.topic_names import TopicNames
from kdiag.exchange.dissection import Dissection
from kdiag.exchange.model import Exchange
from kdiag.findings.finding import Finding
from kdiag.lab.api.registry import DEFAULT_RELEASE
from kdiag.lab.broker.broker_server import BrokerServer
from kdiag.lab.broker.lab_cluster import LabCluster, LabSettings
from kdiag.lab.broker.traffic_recorder import TrafficRecorder
from kdiag.lab.controller.quorum_controller import NewTopic
from kdiag.lab.coordinator.group.group_config import GroupCoordinatorConfig
from kdiag.lab.fault.fault_book import FaultBook
from kdiag.lab.fault.grammar import parse_fault
from kdiag.pcap.decoder import decode_reader
from kdiag.pcap.reader import CaptureReader
from kdiag.probe.tail.follower import Tail
from kdiag.probe.tail.offset_spec import At, OffsetSpec, Position
from kdiag.probe.tail.placement import TailRequest
from kdiag.probe.tail.topic_selection import TopicSelector
from kdiag.probe.topic_requests import produce_request
from kdiag.wire.api.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from kdiag.wire.api.metadata import MetadataRequest, MetadataResponse
from kdiag.wire.api.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestTopic,
    OffsetFetchResponse,
)
from kdiag.wire.api.produce import ProduceResponse
from kdiag.wire.records.record import BatchHeader, Record
from kdiag.wire.records.writer import write_batch
from lab_ends.rounds.idle_time import IdleTime, NotedClock
from lab_ends.rounds.round_clients import RoundClients
from lab_ends.rounds.round_reader import NoListener

TOPIC: Final = "orders"
_EPOCH_NS: Final = 1_790_000_000 * NS_PER_S
_NODES: Final = 2
_PARTITIONS: Final = 6
_LARGEST_BYTES: Final = "3000000"
_WORDS: Final = b"the order was paid, packed and sent to the customer on the same day; "


class TrafficLoad(NamedTuple):
    """A load.

    Attributes:
        play: has clients do it, with its problem if the lab is disturbed.
        fault: what goes wrong at the brokers if so; empty for nothing.
        release: that the brokers speak as.
    """

    play: "Callable[[LoadedLab], None]"
    fault: str = ""
    release: str = DEFAULT_RELEASE


class LoadedLab:
    """A lab of two brokers with a load, while a `with` block lasts.

    Attributes:
        clock: of everything.
        is_disturbed: whether the load has its problem.
    """

    def __init__(self, folder: Path, load: TrafficLoad, *, is_disturbed: bool) -> None:
        """Prepare a lab.

        Args:
            folder: gets the recording.
            load: what clients do.
            is_disturbed: whether with its problem.
        """
        self._load = load
        self.is_disturbed = is_disturbed
        self._capture = folder / "traffic.pcapng"
        self.clock = NotedClock(_EPOCH_NS)
        faults = FaultBook(self.clock)
        if is_disturbed and load.fault:
            faults.add(parse_fault(load.fault))
        configs = {"max.message.bytes": _LARGEST_BYTES}
        self._settings = LabSettings(
            topics=(NewTopic(TOPIC, _PARTITIONS, configs=configs),),
            node_count=_NODES,
            release=load.release,
            group_config=GroupCoordinatorConfig(group_initial_rebalance_delay_ms=0),
            faults=faults,
        )
        self._lab: LabCluster
        self._time = IdleTime(self.clock, self._nodes)
        self._clients = RoundClients(self.clock, self._nodes, self._time)
        self._opened = ExitStack()

    def __enter__(self) -> Self:
        """Start it, and record what crosses the wire."""
        recorder = TrafficRecorder(self._capture, self.clock)
        settings = self._settings._replace(recorder=self._opened.enter_context(recorder))
        self._lab = self._opened.enter_context(LabCluster(settings, self.clock))
        self._opened.enter_context(self._time)
        self._opened.enter_context(self._clients)
        return self

    def __exit__(self, *_: object) -> None:
        """Stop it; the recording stays."""
        self._opened.close()

    def play(self) -> None:
        """Have clients do what they do."""
        self._load.play(self)

    def connect(self, client_id: str, request_timeout_ns: int = 30 * NS_PER_S) -> ClusterClient:
        """Return a client that knows the brokers."""
        return self._clients.connect(client_id, request_timeout_ns)

    def findings(self) -> list[Finding]:
        """Return what the recording shows; after the block."""
        names = TopicNames()
        traffic = Traffic(names)
        for item in decode_reader(CaptureReader([self._capture])):
            if isinstance(item, Exchange):
                dissection = Dissection(item)
                names.learn(dissection)
                traffic.add(dissection)
        return list(traffic.findings())

    def write(
        self,
        client: ClusterClient,
        values: Iterable[bytes],
        *,
        partition: int = 0,
        acks: int = -1,
        codec: str = "none",
    ) -> None:
        """Write records in one batch, and wait for the answer, if there is one."""
        cluster = client.cluster
        if TOPIC not in cluster.topics:
            cluster = client.refresh([TOPIC])
        now_ms = self.clock.epoch_ns() // NS_PER_MS
        records = [Record(at, now_ms, None, value) for at, value in enumerate(values)]
        batch = write_batch(records, BatchHeader(compression=codec))
        leader = cluster.leader_id(TOPIC, partition)
        assert leader is not None
        topic = _NamedTopic(TOPIC, cluster.topics[TOPIC].topic_id)
        request = produce_request(topic, partition, acks, batch)
        (answer,) = client.ask_each([(leader, request)], ProduceResponse)
        assert answer.error is None, answer

    def _nodes(self) -> list[BrokerServer]:
        return self._lab.nodes


class _NamedTopic(NamedTuple):
    topic: str
    topic_id: bytes


def _write_one_by_one(lab: LoadedLab) -> None:
    client = lab.connect("till")
    requests, records = (150, 1) if lab.is_disturbed else (3, 50)
    for _ in range(requests):
        lab.write(client, [_WORDS] * records)


def _write_tiny_batches(lab: LoadedLab) -> None:
    client = lab.connect("till")
    requests, records = (150, 3) if lab.is_disturbed else (3, 150)
    for number in range(requests):
        lab.write(client, [_WORDS] * records, partition=number % _PARTITIONS)


def _write_uncompressed(lab: LoadedLab) -> None:
    client = lab.connect("till")
    for _ in range(30):
        lab.write(client, [_WORDS] * 600, codec="none" if lab.is_disturbed else "lz4")


def _write_unacknowledged(lab: LoadedLab) -> None:
    client = lab.connect("till")
    for _ in range(5):
        lab.write(client, [_WORDS] * 20, acks=0 if lab.is_disturbed else 1)


def _write_oversized(lab: LoadedLab) -> None:
    client = lab.connect("till")
    noise = random.Random(1).randbytes(1_200_000 if lab.is_disturbed else 900_000)
    lab.write(client, [noise])


def _write_to_one_partition(lab: LoadedLab) -> None:
    client = lab.connect("till")
    chance = random.Random(1)
    for number in range(120):
        is_spread = not (lab.is_disturbed and number % 10)
        values = [chance.randbytes(4_000) for _ in range(3)]
        lab.write(client, values, partition=number % _PARTITIONS if is_spread else 2)


def _fetch(lab: LoadedLab) -> None:
    client = lab.connect("board")
    start = OffsetSpec(Position(At.BEGINNING))
    tail = Tail(
        client, TailRequest([TopicSelector(TOPIC)], start, limits=FetchLimits(max_wait_ms=50))
    )
    until_ns = lab.clock.monotonic_ns() + 4 * NS_PER_S
    while lab.clock.monotonic_ns() < until_ns:
        tail.poll(until_ns)


def _commit(lab: LoadedLab) -> None:
    client = lab.connect("board")
    key = PartitionKey(TOPIC, 0)
    member = ConsumerCoordinator(
        client,
        MemberSettings("billing"),
        TopicSubscription.of(TOPIC),
        assignors_named(["range"]),
        NoListener(),
    )
    until_ns = lab.clock.monotonic_ns() + 30 * NS_PER_S
    assert member.poll(until_ns)
    for number in range(80):
        if lab.is_disturbed or not number % 20:
            member.commit({key: OffsetAndMetadata(number)}, until_ns)
        client.wait(40 * NS_PER_MS)
    member.close(until_ns)


def _ask_for_metadata(lab: LoadedLab) -> None:
    client = lab.connect("board")
    for _ in range(100 if lab.is_disturbed else 5):
        client.refresh([TOPIC])
        client.wait(50 * NS_PER_MS)


def _write_slowly(lab: LoadedLab) -> None:
    client = lab.connect("till")
    for _ in range(10):
        lab.write(client, [_WORDS] * 20)


def _give_up(lab: LoadedLab) -> None:
    client = lab.connect("board", 8 * NS_PER_S)
    try:
        client.ask(1, FindCoordinatorRequest(coordinator_keys=["billing"]), FindCoordinatorResponse)
    except RequestTimeoutError:
        assert lab.is_disturbed
    client.ask(2, MetadataRequest(topics=[]), MetadataResponse)


def _ask_both_brokers(lab: LoadedLab) -> None:
    clients = [lab.connect(name) for name in ("till", "board", "audit")]
    asked = FindCoordinatorRequest(coordinator_keys=["billing"])
    for _ in range(40):
        for client in clients:
            client.ask_all({1: asked, 2: asked}, FindCoordinatorResponse)


def _ask_in_an_old_version(lab: LoadedLab) -> None:
    client = lab.connect("till")
    asked = OffsetFetchRequest(group_id="billing", topics=[OffsetFetchRequestTopic(TOPIC, [0])])
    client.ask(1, asked, OffsetFetchResponse, version=0 if lab.is_disturbed else 1)


LOADS: Final[Mapping[str, TrafficLoad]] = {
    "KD4101": TrafficLoad(_write_one_by_one),
    "KD4102": TrafficLoad(_write_tiny_batches),
    "KD4103": TrafficLoad(_write_uncompressed),
    "KD4104": TrafficLoad(_write_unacknowledged),
    "KD4105": TrafficLoad(_write_oversized),
    "KD4106": TrafficLoad(_write_to_one_partition),
    "KD4201": TrafficLoad(_fetch, "Fetch error=FETCH_SESSION_ID_NOT_FOUND field=errorCode"),
    "KD4202": TrafficLoad(_commit),
    "KD4301": TrafficLoad(_ask_for_metadata),
    "KD4302": TrafficLoad(_write_slowly, "Produce throttle=200ms"),
    "KD4303": TrafficLoad(_give_up, "FindCoordinator node=1 drop=request"),
    "KD4401": TrafficLoad(_ask_both_brokers, "FindCoordinator node=1 delay=300ms p=0.9"),
    "KD5101": TrafficLoad(_ask_in_an_old_version, release="3.9"),
}
"""By the finding that each shows."""
