import threading
from pathlib import Path
from typing import Any

import confluent_kafka
import pytest
from confluent_kafka import admin as foreign_admin

from kdiag.clock import SystemClock
from kdiag.errors import ConfigError
from kdiag.lab.broker.lab_cluster import LabCluster, LabSettings
from kdiag.lab.controller.quorum_controller import NewTopic
from kdiag.lab.purgatory.operation_key import TopicPartitionOperationKey
from kdiag.lab.security.certificates import make_certificates
from kdiag.lab.security.listener import ListenerSettings
from kdiag.net.tls.context import TlsSettings
from kdiag.wire.api.metadata import MetadataRequest, MetadataResponse
from kdiag.wire.api.produce import ProduceResponse
from lab_ends.lab_client import LabClient
from lab_ends.one_node import batch
from lab_ends.requests import produce_request
from lab_ends.several.stepped_lab import SteppedLab
from tiers.cases import for_each
from tiers.sampling import sample

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
DEADLINE_S = 30


@pytest.mark.thorough
def test_librdkafka_creates_a_topic_produces_with_every_codec_and_acks_and_consumes(
    lab: LabCluster,
) -> None:
    """A client of somebody else's is the judge."""
    common: dict[str, Any] = {"bootstrap.servers": lab.bootstrap}
    admin = foreign_admin.AdminClient(common)
    new = foreign_admin.NewTopic("made", 1, 1)  # type: ignore[attr-defined]
    for future in admin.create_topics([new]).values():
        future.result(DEADLINE_S)
    sent, errors = [], []
    for codec in CODECS:
        for acks in ("0", "1", "all"):
            producer = confluent_kafka.Producer(
                {**common, "compression.type": codec, "acks": acks, "linger.ms": 0}
            )
            value = f"{codec} {acks} " * 40
            sent.append(value.encode())
            producer.produce("made", value, on_delivery=lambda error, _: errors.append(error))
            assert producer.flush(DEADLINE_S) == 0
    idempotent = confluent_kafka.Producer({**common, "enable.idempotence": True})
    idempotent.produce("made", "once", on_delivery=lambda error, _: errors.append(error))
    assert idempotent.flush(DEADLINE_S) == 0
    assert errors == [None] * 16
    consumer = confluent_kafka.Consumer({**common, "group.id": "none", "enable.auto.commit": False})
    consumer.assign([confluent_kafka.TopicPartition("made", 0, 0)])
    messages: list[confluent_kafka.Message] = []
    while len(messages) < 16:
        messages += consumer.consume(16, DEADLINE_S)
    assert [message.value() for message in messages] == [*sent, b"once"]
    assert [message.offset() for message in messages] == list(range(16))


@pytest.mark.thorough
@for_each("release", sample("librdkafka", ["0.11.0", "1.0", "2.8", "3.9", "4.0", "4.3"], 3))
def test_librdkafka_uses_a_lab_that_speaks_as_an_old_release(release: str) -> None:
    """It asks for nothing that such a broker does not know, and gets what it wrote."""
    topics = (NewTopic("orders", 1),)
    with LabCluster(LabSettings(topics, release=release)) as lab:
        common: dict[str, Any] = {"bootstrap.servers": lab.bootstrap}
        producer = confluent_kafka.Producer({**common, "linger.ms": 0})
        producer.produce("orders", b"value")
        assert producer.flush(DEADLINE_S) == 0
        settings = {"group.id": "none", "enable.auto.commit": False}
        consumer = confluent_kafka.Consumer({**common, **settings})
        consumer.assign([confluent_kafka.TopicPartition("orders", 0, 0)])
        (message,) = consumer.consume(1, DEADLINE_S)
        consumer.close()
    assert (message.error(), message.value()) == (None, b"value")


@pytest.mark.thorough
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_kafka_python_produces_and_consumes(lab: LabCluster) -> None:
    """Another one."""
    kafka = pytest.importorskip("kafka")
    producer = kafka.KafkaProducer(bootstrap_servers=lab.bootstrap, acks="all")
    sent = producer.send("orders", b"value", partition=1).get(DEADLINE_S)
    producer.close()
    assert sent.offset == 0
    consumer = kafka.KafkaConsumer(bootstrap_servers=lab.bootstrap, enable_auto_commit=False)
    partition = kafka.TopicPartition("orders", 1)
    consumer.assign([partition])
    consumer.seek(partition, 0)
    assert next(iter(consumer)).value == b"value"
    consumer.close()


def test_topics_and_records_are_there_again_at_the_next_start(tmp_path: Path) -> None:
    """In a folder; a topic that is there already stays as it is."""
    settings = LabSettings(folder=tmp_path, topics=(NewTopic("orders", 1),))
    ids, offsets = [], []
    for count in (1, 3):
        topics = (NewTopic("orders", count),)
        with (
            LabCluster(settings._replace(topics=topics)) as lab,
            LabClient(lab.nodes[0].port) as client,
        ):
            ids.append(lab.controller.image.cluster_id)
            response = client.ask(produce_request("orders", 0, batch(2)), ProduceResponse, 9)
            offsets.append(response.responses[0].partition_responses[0].base_offset)
            assert len(lab.controller.image.topics["orders"].partitions) == 1
    assert ids[0] == ids[1]
    assert offsets == [0, 2]


def test_what_a_lab_keeps_is_its_owners_alone(tmp_path: Path) -> None:
    """The folder, those above it that it makes, and the files in one that was there before."""
    old = tmp_path / "old"
    old.mkdir(mode=0o755)
    for folder in (tmp_path / "new" / "data", old):
        settings = LabSettings(folder=folder, topics=(NewTopic("orders", 1),))
        with LabCluster(settings) as lab, LabClient(lab.nodes[0].port) as client:
            client.ask(produce_request("orders", 0, batch(2)), ProduceResponse, 9)
    left = [*(tmp_path / "new").rglob("*"), tmp_path / "new", *old.rglob("*")]
    assert "cluster.json" in [each.name for each in left]
    assert [each for each in left if each.stat().st_mode & 0o077] == []


def test_nothing_is_left_when_it_ends() -> None:
    """Neither threads nor files."""
    before = set(threading.enumerate())
    with LabCluster() as lab:
        folder = lab.nodes[0].replicas.logs.folder
        assert folder.exists()
        with LabClient(lab.nodes[0].port) as client:
            client.ask(MetadataRequest(topics=None), MetadataResponse, 12)
            assert repr(lab) == "<LabCluster of 1 brokers>"
    assert not folder.exists()
    assert set(threading.enumerate()) <= before


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        (LabSettings(release="0.9"), "'0.9' is not a release"),
        (LabSettings(topics=(NewTopic("a/b"),)), "a/b"),
        (LabSettings(topics=(NewTopic("a", 1, 3),)), "3 replicas were asked for, 1 brokers run"),
    ],
)
def test_what_cannot_be_started_is_said(settings: LabSettings, why: str) -> None:
    """And nothing runs."""
    before = set(threading.enumerate())
    with pytest.raises(ConfigError, match=why), LabCluster(settings):
        pass
    assert set(threading.enumerate()) <= before


def described(lab: LabCluster, node: int = 0) -> MetadataResponse:
    """Return what a broker tells."""
    with LabClient(lab.nodes[node].port) as client:
        return client.ask(MetadataRequest(topics=None), MetadataResponse, 12)


@pytest.mark.thorough
def test_several_brokers_tell_the_same_and_each_listens_by_itself() -> None:
    """Partitions are spread over them; `bootstrap.servers` has all."""
    topics = (NewTopic("orders", 3, 3),)
    with LabCluster(LabSettings(topics, node_count=3)) as lab:
        told = [described(lab, at) for at in range(3)]
        assert told[0] == told[1] == told[2]
        ports = [broker.port for broker in told[0].brokers]
        assert lab.bootstrap == ",".join(f"127.0.0.1:{port}" for port in ports)
        (orders,) = told[0].topics
        assert sorted(each.leader_id for each in orders.partitions) == [1, 2, 3]
        assert all(len(each.isr_nodes) == 3 for each in orders.partitions)
        assert lab.nodes[1].replicas.logs.folder.name == "broker-2"


@pytest.mark.thorough
@pytest.mark.parametrize("is_clean", [True, False])
def test_a_broker_stops_and_starts_again_where_it_was(*, is_clean: bool) -> None:
    """Others lead meanwhile; one that was killed is missed at the latest when it is back."""
    topics = (NewTopic("orders", 3, 3),)
    with LabCluster(LabSettings(topics, node_count=3)) as lab:
        port = lab.node(2).port
        lab.stop_node(2, is_clean=is_clean)
        if is_clean:
            (orders,) = described(lab).topics
            assert all(each.leader_id in {1, 3} for each in orders.partitions)
            assert all(each.offline_replicas == [2] for each in orders.partitions)
            assert all(2 not in each.isr_nodes for each in orders.partitions)
        with pytest.raises(ConfigError, match="those that do: 1, 3"):
            lab.stop_node(2)
        assert lab.start_node(2).port == port
        told = described(lab, 1)
        assert [broker.node_id for broker in told.brokers] == [1, 2, 3]
        assert all(each.leader_id in {1, 3} for each in told.topics[0].partitions)
        with pytest.raises(ConfigError, match="it was not stopped"):
            lab.start_node(2)


def test_brokers_have_ports_one_after_the_other() -> None:
    """Two listeners cannot have the same."""
    listeners = (ListenerSettings("PLAINTEXT", 9092), ListenerSettings("SASL_PLAINTEXT", 9093))
    settings = LabSettings(listeners=listeners, node_count=2)
    why = "9093 would be that of SASL_PLAINTEXT of broker 1 and of PLAINTEXT of broker 2"
    with pytest.raises(ConfigError, match=why), LabCluster(settings):
        pass


def test_brokers_that_ask_clients_for_passwords_replicate_whatever_release_they_speak_as(
    tmp_path: Path,
) -> None:
    """What they send to each other goes by no listener."""
    files = make_certificates(tmp_path, ["localhost", "127.0.0.1"], SystemClock())
    tls = TlsSettings(truststore_location=str(files.authority), keystore_location=str(files.broker))
    listeners = (ListenerSettings("SASL_SSL", tls=tls._replace(client_auth="required")),)
    settings = LabSettings(listeners=listeners, node_count=3, release="1.0")
    with SteppedLab(NewTopic("orders", 1, 3), settings=settings) as lab:
        key = TopicPartitionOperationKey("orders", 0)
        lab.produce(key, batch(2))
        lab.until(lambda: lab.answers)
        assert lab.answers == ["NONE"]
        assert {end for _, end in lab.ends(key)} == {2}
