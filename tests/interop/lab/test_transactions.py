"""Other people's transactional producers commit and abort against a lab, in this process."""

import asyncio
from collections.abc import Iterator

import pytest
from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition

from kdiag.lab.broker.lab_cluster import LabCluster, LabSettings
from kdiag.lab.controller.quorum_controller import NewTopic

_TIMEOUT_S = 20


@pytest.fixture
def lab() -> Iterator[LabCluster]:
    """Return a lab with small internal topics, for files take time."""
    internal = [NewTopic(name, 1) for name in ("__transaction_state", "__consumer_offsets")]
    with LabCluster(LabSettings(topics=(NewTopic("orders", 1), *internal))) as running:
        yield running


def read(lab: LabCluster, count: int, isolation: str = "read_committed") -> list[bytes | None]:
    """Return the values that a consumer gets from the start on."""
    options = {
        "bootstrap.servers": lab.bootstrap,
        "group.id": "readers",
        "isolation.level": isolation,
        "enable.auto.commit": False,
    }
    consumer = Consumer(options)
    try:
        consumer.assign([TopicPartition("orders", 0, 0)])
        return [each.value() for each in consumer.consume(count, timeout=_TIMEOUT_S)]
    finally:
        consumer.close()


def librdkafka(lab: LabCluster) -> Producer:
    """Return a producer that has initialized."""
    producer = Producer({"bootstrap.servers": lab.bootstrap, "transactional.id": "payments"})
    producer.init_transactions(_TIMEOUT_S)
    return producer


@pytest.mark.thorough
def test_librdkafka_commits_and_aborts(lab: LabCluster) -> None:
    """A reader of committed records gets no other; the next producer fences the first."""
    producer = librdkafka(lab)
    for number in range(4):
        producer.begin_transaction()
        producer.produce("orders", b"%d" % number)
        producer.flush(_TIMEOUT_S)  # an abort forgets what was not sent
        end = producer.abort_transaction if number % 2 else producer.commit_transaction
        end(_TIMEOUT_S)
    assert read(lab, 2) == [b"0", b"2"]
    assert read(lab, 4, "read_uncommitted") == [b"0", b"1", b"2", b"3"]
    librdkafka(lab)
    producer.begin_transaction()
    producer.produce("orders", b"late")
    with pytest.raises(KafkaException, match="fenced by a newer instance"):
        producer.commit_transaction(_TIMEOUT_S)


@pytest.mark.thorough
def test_librdkafka_commits_offsets_in_a_transaction(lab: LabCluster) -> None:
    """They count when it is committed."""
    producer = librdkafka(lab)
    options = {"bootstrap.servers": lab.bootstrap, "group.id": "billing"}
    consumer = Consumer(options | {"isolation.level": "read_uncommitted"})
    try:
        read_so_far = [TopicPartition("orders", 0, 7)]
        for end, expected in (
            (producer.abort_transaction, -1001),
            (producer.commit_transaction, 7),
        ):
            producer.begin_transaction()
            group = consumer.consumer_group_metadata()
            producer.send_offsets_to_transaction(read_so_far, group, _TIMEOUT_S)
            end(_TIMEOUT_S)
            (told,) = consumer.committed([TopicPartition("orders", 0)], _TIMEOUT_S)
            assert told.offset == expected
    finally:
        consumer.close()


@pytest.mark.thorough
def test_aiokafka_commits_and_aborts(lab: LabCluster) -> None:
    """With versions of its own."""
    aiokafka = pytest.importorskip("aiokafka")

    async def write() -> None:
        producer = aiokafka.AIOKafkaProducer(
            bootstrap_servers=lab.bootstrap, transactional_id="payments"
        )
        async with producer:
            for number in range(4):
                await producer.begin_transaction()
                await producer.send("orders", b"%d" % number)
                await (producer.abort_transaction if number % 2 else producer.commit_transaction)()

    asyncio.run(write())
    assert read(lab, 2) == [b"0", b"2"]


@pytest.mark.thorough
def test_the_next_producer_aborts_what_the_first_left_open(lab: LabCluster) -> None:
    """Readers of committed records do not wait for it any longer."""
    producer = librdkafka(lab)
    producer.begin_transaction()
    producer.produce("orders", b"open")
    producer.flush(_TIMEOUT_S)
    node = lab.nodes[0]
    metadata = node.transactions.find("payments")
    assert metadata is not None
    assert metadata.now.state.text == "Ongoing"
    second = librdkafka(lab)
    second.begin_transaction()
    second.produce("orders", b"second")
    second.commit_transaction(_TIMEOUT_S)
    assert read(lab, 1) == [b"second"]
