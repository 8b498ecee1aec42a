"""Clients that speak as to brokers of 0.9, with a lab that speaks as an old release.

They write messages of magic 0, and are given in that format what others have written in magic 1 or
2. The others ask which versions the lab speaks, and take the newest.
"""

from collections.abc import Iterator
from typing import Any, Final

import confluent_kafka
import pytest

from kdiag.lab.broker.lab_cluster import LabCluster, LabSettings
from kdiag.lab.controller.quorum_controller import NewTopic
from kdiag.wire.records.batches import read_batches

pytestmark = pytest.mark.soak

DEADLINE_S: Final = 60
OLD: Final = "0.9.0"
NEW: Final = "new"
"""How clients are called, and what they write to."""
CODECS: Final = ("none", "gzip", "snappy", "lz4")


@pytest.fixture(params=["0.10.2", "1.0", "2.8"])
def lab(request: pytest.FixtureRequest) -> Iterator[LabCluster]:
    """Return a lab as brokers of some release."""
    topics = NewTopic(NEW, 1), NewTopic(OLD, 1)
    with LabCluster(LabSettings(topics=topics, release=request.param)) as running:
        yield running


def options(lab: LabCluster, client: str) -> dict[str, Any]:
    """Return what a client is told."""
    old = {"api.version.request": False, "broker.version.fallback": OLD, "log_level": 0}
    return {"bootstrap.servers": lab.bootstrap, **(old if client == OLD else {})}


def produce(lab: LabCluster, client: str, *, has_headers: bool) -> list[bytes]:
    """Write a record with each codec, and return the values."""
    values = []
    for codec in CODECS:
        producer = confluent_kafka.Producer(
            {**options(lab, client), "compression.type": codec, "linger.ms": 0}
        )
        headers: list[tuple[str, str | bytes | None]] = [("trace", b"1")] if has_headers else []
        values.append(f"{codec} {client} ".encode() * 40)
        producer.produce(client, values[-1], b"key", 0, headers=headers)
        assert producer.flush(DEADLINE_S) == 0
    return values


def read(lab: LabCluster, client: str, topic: str) -> list[bytes]:
    """Return the values of a topic to its end."""
    consumer = confluent_kafka.Consumer(
        {**options(lab, client), "group.id": "readers", "enable.auto.commit": False}
    )
    consumer.assign([confluent_kafka.TopicPartition(topic, 0, 0)])
    values: list[bytes] = []
    while len(values) < len(CODECS):
        message = consumer.poll(DEADLINE_S)
        assert message is not None, values
        assert message.error() is None, message.error()
        values.append(message.value() or b"")
    consumer.close()
    return values


def test_old_and_new_clients_read_each_other(
    lab: LabCluster, request: pytest.FixtureRequest
) -> None:
    """Each in the format that it knows; the log keeps what was written."""
    newest = 1 if request.node.callspec.params["lab"] == "0.10.2" else 2
    for topic, magic in ((NEW, newest), (OLD, 0)):
        values = produce(lab, topic, has_headers=magic == 2)
        log = lab.nodes[0].replicas.logs.logs[topic, 0]
        data = b"".join(segment.log.path.read_bytes() for segment in log.segments)
        assert {batch.magic for batch in read_batches(data).batches} == {magic}
        for client in (NEW, OLD):
            assert read(lab, client, topic) == values, (topic, client)
