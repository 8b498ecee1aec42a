"""`kdiag txn` on real Kafka: a transaction that hangs is found and ended, a live one left alone."""

import json
import shlex
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import confluent_kafka
import pytest

from group_stories.real_members import client_of
from kdiag.wire.api.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from kdiag.wire.api.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from kdiag.wire.api.produce import (
    PartitionProduceData,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from kdiag.wire.records.record import BatchHeader, Record
from kdiag.wire.records.writer import write_batch
from programs.kdiag_program import Done, kdiag
from real_kafka.kafka_cluster import KafkaCluster
from real_kafka.releases import OLDEST, USUAL
from real_kafka.topic_maker import create, open_transaction, produce

pytestmark = pytest.mark.soak

UNCHECKED = {"transaction.partition.verification.enable": "false"}
"""As before Kafka 3.6, which is how partitions came to hang."""


@pytest.fixture(scope="module", params=[USUAL, OLDEST])
def cluster(
    request: pytest.FixtureRequest,
    get_kafka_jars: Callable[[str], Path],
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[KafkaCluster]:
    """A broker that writes whatever a producer sends."""
    get_kafka_jars(request.param)
    folder = tmp_path_factory.mktemp("transactions")
    with KafkaCluster(request.param, folder, properties=UNCHECKED) as running:
        yield running


def seen(cluster: KafkaCluster, *arguments: str, code: int) -> list[dict[str, Any]]:
    """Return the open transactions in the document."""
    options = ("-b", cluster.bootstrap, "--timeout", "60s", "-o", "json")
    done = kdiag("txn", *options, *arguments)
    assert done.code == code, done
    found: list[dict[str, Any]] = json.loads(done.out)["data"]
    return found


def hang(cluster: KafkaCluster, topic: str, transactional_id: str, count: int) -> int:
    """Write records of a transaction that the coordinator never began; return the producer id."""
    with client_of(cluster.bootstrap) as client:
        client.connect()
        question = FindCoordinatorRequest(key_type=1, coordinator_keys=[transactional_id])
        named = client.ask_any(question, FindCoordinatorResponse).coordinators[0]
        initial = InitProducerIdRequest(transactional_id, 60_000)
        given = client.ask(named.node_id, initial, InitProducerIdResponse)
        while given.error_code:
            named = client.ask_any(question, FindCoordinatorResponse).coordinators[0]
            if not named.error_code:
                given = client.ask(named.node_id, initial, InitProducerIdResponse)
        header = BatchHeader(
            producer_id=given.producer_id,
            producer_epoch=given.producer_epoch,
            base_sequence=0,
            is_transactional=True,
        )
        batch = write_batch(
            [Record(n, 1_700_000_000_000, None, b"v") for n in range(count)], header
        )
        data = TopicProduceData(topic, partition_data=[PartitionProduceData(0, batch)])
        request = ProduceRequest(transactional_id, -1, 10_000, [data])
        client.refresh([topic])
        leader = client.cluster.leader(topic, 0)
        assert leader is not None
        answer = client.ask(leader.id, request, ProduceResponse, version=9)
        assert answer.responses[0].partition_responses[0].error_code == 0
        again = client.ask(named.node_id, initial, InitProducerIdResponse)
        assert again.producer_epoch == given.producer_epoch + 1
        return given.producer_id


def read_all(cluster: KafkaCluster, topic: str) -> list[bytes | None]:
    """Return the values that a reader of committed records gets."""
    options = {
        "bootstrap.servers": cluster.bootstrap,
        "group.id": "reader",
        "enable.partition.eof": True,
        "isolation.level": "read_committed",
    }
    consumer = confluent_kafka.Consumer(options)
    consumer.assign([confluent_kafka.TopicPartition(topic, 0, 0)])
    values: list[bytes | None] = []
    while True:
        message = consumer.poll(30)
        assert message is not None
        if message.error():
            consumer.close()
            return values
        values.append(message.value())


@pytest.mark.real
def test_a_transaction_that_hangs_is_found_and_ended(cluster: KafkaCluster) -> None:
    """In two commands; nothing is sent without --yes."""
    create(cluster.bootstrap, "orders")
    produce(cluster.bootstrap, "orders", [(b"k", b"before")])
    producer_id = hang(cluster, "orders", "t-hanging", 3)
    produce(cluster.bootstrap, "orders", [(b"k", b"after")])
    assert read_all(cluster, "orders") == [b"before"]

    (hanging,) = seen(cluster, "--hanging", code=1)
    assert (hanging["producer_id"], hanging["hanging"]) == (producer_id, True)
    assert (hanging["transactional_id"], hanging["producer_epoch"]) == ("t-hanging", 0)
    (partition,) = hanging["partitions"]
    assert (partition["start_offset"], partition["lso"], partition["end"]) == (1, 1, 5)
    command = shlex.split(hanging["abort_command"])
    assert command[0] == "kdiag"

    shown: Done = kdiag(*command[1:-1])
    assert f'"producerId":{producer_id}' in shown.out.replace(" ", "")
    assert len(seen(cluster, "--hanging", code=1)) == 1
    ended = kdiag(*command[1:])
    assert (ended.code, ended.err) == (0, "")
    assert "is aborted" in ended.out
    assert seen(cluster, "--hanging", code=0) == []
    assert read_all(cluster, "orders") == [b"before", b"after"]
    assert kdiag(*command[1:]).code == 1


def test_a_live_transaction_is_not_called_hanging(cluster: KafkaCluster) -> None:
    """Nor is it ended."""
    create(cluster.bootstrap, "payments")
    sender = open_transaction(cluster.bootstrap, "payments", "t-alive", 4)
    waiting = {"bootstrap.servers": cluster.bootstrap, "group.id": "g-waiting"}
    consumer = confluent_kafka.Consumer(waiting)
    start = confluent_kafka.TopicPartition("payments", 0, 0)
    consumer.commit(offsets=[start], asynchronous=False)
    consumer.close()
    told = seen(cluster, "--groups", code=0)
    live = [each for each in told if each["transactional_id"] == "t-alive"]
    place = ("-t", "payments", "-p", "0", "--start-offset", "0", "--yes")
    refused = kdiag("txn", "abort", "-b", cluster.bootstrap, *place)
    sender.abort_transaction()
    (transaction,) = live
    assert (transaction["hanging"], transaction["state"]) == (False, "Ongoing")
    assert transaction["age_ms"] < 60_000
    (partition,) = transaction["partitions"]
    assert (partition["blocked_records"], partition["waiting_groups"]) == (4, ["g-waiting"])
    assert refused.code == 2
    assert "transaction t-alive is alive (Ongoing)" in refused.err
    states = {each["transactional_id"]: each["state"] for each in seen(cluster, code=0)}
    assert states.get("t-alive") in {None, "PrepareAbort"}
