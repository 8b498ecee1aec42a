"""librdkafka sees each kind of fault, on the lab and through the proxy before Kafka.

All cases run at the same time, each with a topic, a group and a client of its own.
"""

import logging
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import confluent_kafka
import pytest
from confluent_kafka import admin as foreign_admin
from confluent_kafka.admin import NewTopic, OffsetSpec  # type: ignore[attr-defined]

from kdiag.clock import SystemClock
from kdiag.lab.broker.lab_cluster import LabCluster, LabSettings
from kdiag.lab.fault.fault_book import FaultBook
from kdiag.lab.fault.grammar import parse_fault
from kdiag.lab.proxy.proxy_server import ProxyServer, ProxySettings
from lab_ends.proxied_lab import client_config
from real_kafka.kafka_cluster import KafkaCluster
from real_kafka.releases import USUAL

if TYPE_CHECKING:
    from kdiag.lab.fault.rule import FaultRule

pytestmark = pytest.mark.soak

DEADLINE_S: Final = 30
SENT_MS: Final = 1_700_000_000_000
HOUR_MS: Final = 3_600_000


class Seen(NamedTuple):
    """What a client has seen.

    Attributes:
        took_s: how long it took.
        errors: the errors of its operation.
        log: what it said.
        value: of the operation.
        fired: how often faults have happened.
    """

    took_s: float
    errors: list[str]
    log: str
    value: Any
    fired: int


class Scene:
    """A client with a topic of its own, on a cluster on which something goes wrong.

    Attributes:
        name: of the case.
        errors: of its operations.
    """

    def __init__(self, name: str, bootstrap: str, book: FaultBook) -> None:
        self.name = name
        self.errors: list[str] = []
        self.lines: list[str] = []
        self._book = book
        self._rules: list[FaultRule] = []
        logger = logging.getLogger(f"faults.{name}")
        logger.propagate = False
        handler = logging.Handler()
        handler.emit = lambda record: self.lines.append(record.getMessage())  # type: ignore[method-assign]
        logger.addHandler(handler)
        self.settings: dict[str, Any] = {
            "bootstrap.servers": bootstrap,
            "client.id": name,
            "socket.timeout.ms": 1500,
            "retry.backoff.ms": 100,
            "reconnect.backoff.max.ms": 200,
            "logger": logger,
            "error_cb": lambda error: self.errors.append(error.name()),
        }
        quiet: dict[str, Any] = {"bootstrap.servers": bootstrap, "client.id": "setup"}
        setup = foreign_admin.AdminClient(quiet)  # whose futures end with it
        made = setup.create_topics([NewTopic(name, 2, 1)])
        made[name].result(DEADLINE_S)
        producer = confluent_kafka.Producer(quiet)
        producer.produce(name, b"v" * 20_000, partition=1, timestamp=SENT_MS)
        assert producer.flush(DEADLINE_S) == 0

    def add(self, text: str) -> None:
        """Let something go wrong for this client."""
        self._rules.append(self._book.add(parse_fault(f"{text} client_id={self.name}")).rule)

    @property
    def fired(self) -> int:
        """Return how often something went wrong."""
        found = self._book.listed()
        return sum(each.fired_count for each in found if each.rule in self._rules)

    def send(self, count: int = 1, **settings: Any) -> list[tuple[int, str | None]]:
        """Send records, each in a request of its own, and return what became of them."""
        given = {key.replace("_", "."): value for key, value in settings.items()}
        quick = {"linger.ms": 0, "request.timeout.ms": 1000, "batch.num.messages": 1}
        producer = confluent_kafka.Producer(self.settings | quick | given)
        found: list[tuple[int, str | None]] = []

        def note(number: int) -> Callable[[Any, Any], None]:
            return lambda error, _: found.append((number, error.name() if error else None))

        for number in range(count):
            producer.produce(self.name, b"v", partition=0, on_delivery=note(number))
        assert producer.flush(DEADLINE_S) == 0
        return found

    def read(self) -> Any:
        """Return the first record, or the error in its place."""
        consumer = confluent_kafka.Consumer(
            self.settings | {"group.id": self.name, "check.crcs": True}
        )
        consumer.assign([confluent_kafka.TopicPartition(self.name, 1, 0)])
        (message,) = consumer.consume(1, DEADLINE_S)
        consumer.close()
        error = message.error()
        return error.name() if error else len(message.value() or b"")

    def committed(self) -> int:
        """Return what the group has committed, once its coordinator says so."""
        consumer = confluent_kafka.Consumer(self.settings | {"group.id": self.name})
        place = confluent_kafka.TopicPartition(self.name, 0)
        until_s = monotonic() + DEADLINE_S
        offset = None
        while offset is None and monotonic() < until_s:
            try:
                offset = consumer.committed([place], DEADLINE_S)[0].offset
            except confluent_kafka.KafkaException as error:
                self.errors.append(error.args[0].name())
        consumer.close()
        assert offset is not None
        return offset

    def end_offset(self) -> int:
        """Return where partition 0 ends."""
        consumer = confluent_kafka.Consumer(self.settings | {"group.id": self.name})
        place = confluent_kafka.TopicPartition(self.name, 0)
        _, high = consumer.get_watermark_offsets(place, DEADLINE_S)
        consumer.close()
        end: int = high
        return end

    def metadata(self) -> Any:
        """Return what the cluster tells."""
        return foreign_admin.AdminClient(self.settings).list_topics(self.name, DEADLINE_S)

    def newest_timestamp(self) -> int:
        """Return the time of the newest record of partition 1."""
        admin = foreign_admin.AdminClient(self.settings)
        place = confluent_kafka.TopicPartition(self.name, 1)
        newest = OffsetSpec.max_timestamp()  # type: ignore[no-untyped-call]
        asked = admin.list_offsets({place: newest})
        timestamp: int = asked[place].result(DEADLINE_S).timestamp
        return timestamp

    def throttled_s(self) -> float:
        """Return for how long the client is told to wait."""
        told: list[float] = []
        self.settings["throttle_cb"] = lambda event: told.append(event.throttle_time)
        self.send(2)
        return max(told, default=0)


class Case(NamedTuple):
    """A fault, what a client does, and what it must see."""

    faults: tuple[str, ...]
    work: Callable[[Scene], Any]
    check: Callable[[Seen], bool]


def case(fault: str, work: Callable[[Scene], Any], check: Callable[[Seen], bool]) -> Case:
    """Return a case of one fault, or of several apart by semicolons."""
    return Case(tuple(each.strip() for each in fault.split(";")), work, check)


OK: Final = [(0, None)]
NOTHING: Final = -1001
"""The offset of a group that has committed none."""


def delivered_after(seconds: float) -> Callable[[Seen], bool]:
    """Return a check that a record was delivered, and not sooner."""
    return lambda seen: seen.value == OK and seen.took_s >= seconds


def had(*names: str, after_s: float = DEADLINE_S) -> Callable[[Seen], bool]:
    """Return a check that it was done in the end, after one of some errors or so much time.

    librdkafka tells an error or asks again by itself, as its threads come to run.
    """
    return lambda seen: (
        seen.value in (OK, NOTHING) and (bool({*names} & {*seen.errors}) or seen.took_s >= after_s)
    )


CASES: Final = {
    "error": case(
        "Produce error=INVALID_RECORD",
        Scene.send,
        lambda seen: seen.value == [(0, "INVALID_RECORD")],
    ),
    "handled": case(
        "Produce error=INVALID_RECORD handled",
        lambda scene: [scene.send(), scene.end_offset()],
        lambda seen: seen.value == [[(0, "INVALID_RECORD")], 1],
    ),
    "field": case(
        "Metadata error=INVALID_TOPIC_EXCEPTION field=topics.errorCode",
        lambda scene: str(scene.metadata().topics[scene.name].error),
        lambda seen: "TOPIC_EXCEPTION" in seen.value,
    ),
    "delay": case("Produce delay=400ms", Scene.send, delivered_after(0.4)),
    "jitter": case("Produce jitter=2s seed=1", Scene.send, delivered_after(0.26)),
    "drop-request": case("Produce drop=request times=1", Scene.send, delivered_after(0.9)),
    "drop-answer": case(
        "Produce drop=answer times=1",
        lambda scene: [scene.send(), scene.end_offset()],
        lambda seen: seen.value == [OK, 2],  # without idempotence it is there twice
    ),
    "close-before": case(
        "Produce close=before times=1", Scene.send, had("_ALL_BROKERS_DOWN", "_TRANSPORT")
    ),
    "close-middle": case(
        "Produce close=middle times=1", Scene.send, had("_ALL_BROKERS_DOWN", "_TRANSPORT")
    ),
    "close-after": case(
        "Produce close=after times=1",
        lambda scene: scene.send(2)[:1],
        had("_ALL_BROKERS_DOWN", "_TRANSPORT"),
    ),
    "truncate": case(
        "Fetch truncate=30 times=1", Scene.read, lambda seen: "PROTOUFLOW" in seen.log
    ),
    "corrupt": case("Fetch corrupt=-12", Scene.read, lambda seen: seen.value == "_BAD_MSG"),
    "empty": case("Fetch empty=3", Scene.read, lambda seen: seen.value == 20_000),
    "leave-out": case("Fetch leave_out times=2", Scene.read, lambda seen: seen.value == 20_000),
    "flip": case("Fetch flip=crc", Scene.read, lambda seen: seen.value == "_BAD_MSG"),
    "stall": case("Produce stall=10 times=1", Scene.send, delivered_after(0.9)),
    "bandwidth": case(
        "Fetch bandwidth=20kB/s",
        Scene.read,
        lambda seen: seen.value == 20_000 and seen.took_s >= 0.9,
    ),
    "throttle": case("Produce throttle=500ms", Scene.throttled_s, lambda seen: seen.value == 0.5),
    "split": case("split=1 version=0+", Scene.send, delivered_after(0)),
    "coalesce": case("Produce coalesce=2", Scene.send, delivered_after(0.9)),
    "reorder": case(
        "Produce reorder=2",
        lambda scene: scene.send(2),
        lambda seen: seen.value == [(1, None), (0, None)],
    ),
    "half-open": case("Produce half_open times=1", Scene.send, delivered_after(0.9)),
    "advertise": case(
        "Metadata advertise=192.0.2.1:9999",
        lambda scene: {(each.host, each.port) for each in scene.metadata().brokers.values()},
        lambda seen: seen.value == {("192.0.2.1", 9999)},
    ),
    "storm": case(
        "OffsetFetch nth=1 storm=1s",
        Scene.committed,
        had("NOT_COORDINATOR", after_s=1),
    ),
    "move-coordinator": case(
        "OffsetFetch nth=1 move_coordinator=1s",
        Scene.committed,
        had("NOT_COORDINATOR", after_s=1),
    ),
    "change-leader": case(
        "Produce nth=1 topic=change-leader change_leader=1s", Scene.send, delivered_after(1)
    ),
    "shrink-isr": case(
        "Produce nth=1 topic=shrink-isr shrink_isr=1s", Scene.send, delivered_after(0.9)
    ),
    "slow-disk": case("Produce slow_disk=400ms", Scene.send, delivered_after(0.4)),
    "clock-skew": case(
        "ListOffsets clock_skew=-1h",
        Scene.newest_timestamp,
        lambda seen: seen.value == SENT_MS - HOUR_MS,
    ),
    "api-versions": case(
        "ApiVersions api_versions=Produce:3-7; Produce version=7 error=INVALID_RECORD",
        Scene.send,
        lambda seen: seen.value == [(0, "INVALID_RECORD")],
    ),
    "partition": case(
        "Produce partition=1 error=INVALID_RECORD", Scene.send, lambda seen: seen.value == OK
    ),
    "every": case(
        "Produce every=2 error=INVALID_RECORD",
        lambda scene: [scene.send(max_in_flight=1)[0] for _ in range(4)],
        lambda seen: [error for _, error in seen.value] == [None, "INVALID_RECORD"] * 2,
    ),
}
NEVER_FIRES: Final = {"partition"}


def play(name: str, bootstrap: str, book: FaultBook) -> Seen:
    """Return what the client of a case has seen."""
    scene = Scene(name, bootstrap, book)
    for text in CASES[name].faults:
        scene.add(text)
    began_s = monotonic()
    value = CASES[name].work(scene)
    took_s = monotonic() - began_s
    return Seen(took_s, scene.errors, "\n".join(scene.lines), value, scene.fired)


@pytest.fixture(scope="module", params=["lab", f"the proxy before Kafka {USUAL}"])
def played(
    request: pytest.FixtureRequest,
    get_kafka_jars: Callable[[str], Path],
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[dict[str, Future[Seen]]]:
    """Yield what the clients of all cases see, at the same time."""
    clock = SystemClock()
    book = FaultBook(clock)
    with ExitStack() as running:
        if request.param == "lab":
            bootstrap = running.enter_context(LabCluster(LabSettings(faults=book))).bootstrap
        else:
            get_kafka_jars(USUAL)
            kafka = KafkaCluster(USUAL, tmp_path_factory.mktemp("kafka"))
            config = client_config(running.enter_context(kafka).bootstrap)
            proxy = ProxyServer(config, ProxySettings(faults=book), clock)
            bootstrap = running.enter_context(proxy).bootstrap
        players = running.enter_context(ThreadPoolExecutor(8))
        yield {name: players.submit(play, name, bootstrap, book) for name in CASES}


@pytest.mark.parametrize("name", CASES)
def test_a_client_sees_a_fault(played: dict[str, Future[Seen]], name: str) -> None:
    """And nothing else goes wrong."""
    seen = played[name].result(3 * DEADLINE_S)
    assert CASES[name].check(seen), seen
    assert (seen.fired > 0) == (name not in NEVER_FIRES)
