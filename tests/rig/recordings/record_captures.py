"""Records the captures of `captures/`: real clients talk to a real Kafka, tcpdump listens.

    python tests/rig/recordings/record_captures.py [NAME...]

writes `captures/NAME.pcap` for each name, or for all, and what the clients counted themselves to
`captures/clients.json`. Needs root (tcpdump), Java and Maven, and the `dev` extra.
"""

import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from confluent_kafka import Consumer, KafkaError, Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic
from kafka import KafkaConsumer, KafkaProducer

from folders import CAPTURES
from real_kafka import kafka_jars
from real_kafka.kafka_cluster import KafkaCluster, Ports
from recordings.packet_recorder import recording

MAX_FILE_BYTES: Final = 60_000
_POLL_S: Final = 1.0
_USERS: Final = {"alice": "alice-invented"}

Counts = dict[str, object]


class Scene(NamedTuple):
    """A capture to record.

    Attributes:
        kafka: the broker's version.
        play: runs the clients and returns what they counted.
        topics: partition counts of the topics to create beforehand.
        cluster: further arguments of `KafkaCluster`.
    """

    kafka: str
    play: Callable[[KafkaCluster], Counts]
    topics: Mapping[str, int]
    cluster: Mapping[str, Any] = {}


def produce_consume_group(cluster: KafkaCluster) -> Counts:
    """Write with lz4, read in a group, commit, leave."""
    common = {"bootstrap.servers": cluster.bootstrap}
    produced = _produce(common | {"client.id": "order-writer", "compression.type": "lz4"}, 30)
    consumed = _consume(common | {"client.id": "order-reader"}, produced)
    return {"produced": produced, "consumed": consumed, "committed": True}


def acks(cluster: KafkaCluster) -> Counts:
    """Write five records each with acks=0, 1 and all, one record per request."""
    counts: Counts = {}
    for level in ("0", "1", "all"):
        config = {"bootstrap.servers": cluster.bootstrap, "client.id": f"acks-{level}"}
        counts[f"acks={level}"] = _produce(config | {"acks": level, "batch.num.messages": 1}, 5)
    return counts


def rebalance(cluster: KafkaCluster) -> Counts:
    """Let a second member join a group and leave it again, then the first."""
    seen: list[str] = []
    first = _member(cluster, "first", seen)
    _poll_until([first], lambda: len(first.assignment()) == 4)
    second = _member(cluster, "second", seen)
    _poll_until([first, second], lambda: len(first.assignment()) == len(second.assignment()) == 2)
    second.close()
    _poll_until([first], lambda: len(first.assignment()) == 4)
    first.close()
    return {"callbacks": seen}


def sasl_plain(cluster: KafkaCluster) -> Counts:
    """Authenticate with the right password and with a wrong one."""
    common = {
        "bootstrap.servers": cluster.sasl_bootstrap,
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "PLAIN",
        "sasl.username": "alice",
    }
    right = common | {"sasl.password": _USERS["alice"]}
    produced = _produce(right | {"client.id": "alice-writer"}, 10)
    consumed = _consume(right | {"client.id": "alice-reader"}, produced)
    errors: list[int] = []
    wrong = common | {"sasl.password": "not-the-word", "client.id": "stranger"}
    stranger = Producer({**wrong, "error_cb": lambda error: errors.append(error.code())})
    while KafkaError._AUTHENTICATION not in errors:
        stranger.poll(_POLL_S)
    return {"produced": produced, "consumed": consumed, "refused": True}


def old_versions(cluster: KafkaCluster) -> Counts:
    """Speak as clients of 0.9 (message sets of magic 0) and of 0.10.2 (magic 1) did."""
    counts: Counts = {}
    for version in ((0, 9), (0, 10, 2)):
        name = ".".join(map(str, version))
        common = {"bootstrap_servers": cluster.bootstrap, "api_version": version}
        writer = KafkaProducer(
            **common, client_id=f"writer-{name}", compression_type="gzip", linger_ms=50
        )
        for number in range(8):
            writer.send("old", key=b"key-%d" % number, value=b"written as %s" % name.encode())
        writer.flush()
        writer.close()
        reader = KafkaConsumer(
            "old",
            **common,
            client_id=f"reader-{name}",
            group_id=f"readers-{name}",
            auto_offset_reset="earliest",
            consumer_timeout_ms=1000,
        )
        counts[name] = {"produced": 8, "consumed": sum(1 for _ in reader)}
        reader.close()
    return counts


def admin(cluster: KafkaCluster) -> Counts:
    """Administer with Kafka's console tools: some calls end in an error."""
    tools = "org.apache.kafka.tools"
    topics = f"{tools}.TopicCommand --topic"
    create = f"{topics} invoices --create --partitions 2 --replication-factor 1"
    configs = "kafka.admin.ConfigCommand --topic invoices"
    calls = {
        "create": create,
        "create again": create,
        "too many replicas": f"{topics} safe --create --partitions 1 --replication-factor 3",
        "describe": f"{topics} invoices --describe",
        "configs": f"{configs} --describe --all",
        "alter config": f"{configs} --alter --add-config retention.ms=60000",
        "unknown group": f"{tools}.consumer.group.ConsumerGroupCommand --describe --group nobody",
        "delete": f"{topics} invoices --delete",
    }
    folder, where = kafka_jars.jars("4.3.1"), cluster.bootstrap
    return {
        name: subprocess.run(
            kafka_jars.java_command(folder, *f"{call} --bootstrap-server {where}".split()),
            capture_output=True,
            check=False,
        ).returncode
        for name, call in calls.items()
    }


def transaction(cluster: KafkaCluster) -> Counts:
    """Read, write and commit offsets in one transaction, abort another (Java 4.4.0)."""
    return _run_java_client("transaction", cluster)


def kafka_4_4(cluster: KafkaCluster) -> Counts:
    """Speak the APIs and versions that came with Kafka 4.4.0."""
    return _run_java_client("kafka_4_4", cluster)


SCENES: Final = {
    "produce_consume_group": Scene(
        "4.3.1", produce_consume_group, {"orders": 3}, {"ports": [Ports(9092, 9093, 9094)]}
    ),
    "acks": Scene("4.3.1", acks, {"orders": 1}),
    "rebalance": Scene("4.3.1", rebalance, {"orders": 4}),
    "sasl_plain": Scene("4.3.1", sasl_plain, {"orders": 1}, {"users": _USERS}),
    "old_versions": Scene("3.9.1", old_versions, {"old": 1}),
    "admin": Scene("4.3.1", admin, {}),
    "transaction": Scene("4.4.0", transaction, {"orders": 1, "payments": 1}),
    "kafka_4_4": Scene(
        "4.4.0",
        kafka_4_4,
        {"words": 2},
        {
            "properties": {
                "group.streams.initial.rebalance.delay.ms": "0",
                "group.streams.topology.description.plugin.class": (
                    "org.apache.kafka.server.streams.InMemoryTopologyDescriptionPlugin"
                ),
            }
        },
    ),
}


def _produce(config: Mapping[str, Any], count: int) -> int:
    """Write records to `orders`; return how many were acknowledged (or sent, with acks=0)."""
    errors: list[object] = []
    producer = Producer(dict(config))
    for number in range(count):
        producer.produce(
            "orders",
            key=None if number % 10 == 0 else f"order-{number}",
            value=f'{{"order": {number}, "item": "a thing that repeats", "item2": "a thing"}}',
            headers=[("source", b"recorder"), ("number", None)],
            on_delivery=lambda error, _: errors.append(error),
        )
        if config.get("batch.num.messages") == 1:
            producer.flush()
    producer.flush()
    return errors.count(None)


def _consume(config: Mapping[str, Any], count: int) -> int:
    """Read `count` records of `orders` in a group, commit and leave; return how many came."""
    group = {"group.id": "billing", "auto.offset.reset": "earliest", "enable.auto.commit": False}
    consumer = Consumer({**config, **group})
    consumer.subscribe(["orders"])
    received = 0
    while received < count:
        received += len([each for each in consumer.consume(count, _POLL_S) if not each.error()])
    consumer.commit(asynchronous=False)
    consumer.close()
    return received


def _member(cluster: KafkaCluster, name: str, seen: list[str]) -> Consumer:
    """Return a group member that notes its assignments and revocations."""
    member = Consumer(
        {
            "bootstrap.servers": cluster.bootstrap,
            "client.id": name,
            "group.id": "pair",
            "heartbeat.interval.ms": 300,
            "session.timeout.ms": 6000,
            "auto.offset.reset": "latest",
        }
    )
    member.subscribe(
        ["orders"],
        on_assign=lambda _, got: seen.append(f"{name} assigned {len(got)}"),
        on_revoke=lambda _, lost: seen.append(f"{name} revoked {len(lost)}"),
    )
    return member


def _poll_until(members: list[Consumer], condition: Callable[[], bool]) -> None:
    """Poll the members in turn until the condition holds."""
    while not condition():
        for member in members:
            member.poll(0.1)


def _run_java_client(scene: str, cluster: KafkaCluster) -> Counts:
    """Run a scene of `Clients.java` and return what it said, line by line."""
    source = Path(kafka_jars.__file__).with_name("Clients.java")
    command = kafka_jars.java_command(kafka_jars.jars("4.4.0"), str(source), scene)
    address = cluster.bootstrap.split(":")
    done = subprocess.run([*command, *address], capture_output=True, text=True, check=True)
    return {"said": done.stdout.splitlines()}


def _create_topics(cluster: KafkaCluster, topics: Mapping[str, int]) -> None:
    """Create topics before the recording starts, and be gone before it does."""
    if topics:
        client = AdminClient({"bootstrap.servers": cluster.bootstrap})
        wanted = [NewTopic(name, num_partitions=count) for name, count in topics.items()]
        for created in client.create_topics(wanted).values():
            created.result()


def record(name: str, scene: Scene) -> Counts:
    """Record one scene and return what its clients counted.

    Raises:
        RuntimeError: if the file grows too big to ship.
    """
    file = CAPTURES / f"{name}.pcap"
    with (
        tempfile.TemporaryDirectory() as folder,
        KafkaCluster(scene.kafka, Path(folder), **scene.cluster) as cluster,
    ):
        _create_topics(cluster, scene.topics)
        with recording(file, [cluster.ports[0].plaintext, cluster.ports[0].sasl]):
            counts = scene.play(cluster)
    if file.stat().st_size > MAX_FILE_BYTES:
        raise RuntimeError(f"{file.name} has {file.stat().st_size} bytes")
    return {"kafka": scene.kafka, **counts}


def main(names: list[str]) -> None:
    """Record the named scenes, or all, and keep what their clients counted."""
    notes = CAPTURES / "clients.json"
    counts = json.loads(notes.read_text(encoding="utf-8")) if notes.exists() else {}
    for name in names or SCENES:
        counts[name] = record(name, SCENES[name])
        sys.stdout.write(f"{name}: {json.dumps(counts[name])}\n")
    notes.write_text(json.dumps(counts, indent=2, sort_keys=True) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
