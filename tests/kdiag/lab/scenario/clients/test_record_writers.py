from typing import Literal

import pytest

from kdiag.clock import SystemClock
from kdiag.lab.broker.seed_records import append_batch
from kdiag.lab.plugin.kafka_lab import KafkaLab
from kdiag.lab.purgatory.operation_key import TopicPartitionOperationKey
from kdiag.lab.scenario.clients.record_writers import RecordProducer, TransactionWriter
from kdiag.lab.scenario.clients.scenario_thread import ScenarioThread, config_of
from kdiag.lab.scenario.lab_moments import LabWatch
from kdiag.lab.scenario.looks import LabLooks
from kdiag.lab.scenario.scenario import ProducerClient, TransactionClient, WantedFinding

HANGS = WantedFinding(by="txn", finding="KD3501")


def ended(watch: LabWatch, client: ScenarioThread) -> str | None:
    """Run a client to its end, and return its failure."""
    client.start()
    watch.await_ends({client.name: client})
    return client.failure


@pytest.mark.thorough
def test_records_are_written_as_many_in_each_request_as_wanted(
    lab: KafkaLab, watch: LabWatch, deadline_ns: int
) -> None:
    """With each of the acks; what is refused is told by its error."""
    config, clock = config_of(lab.bootstrap, "writer"), SystemClock()
    for acks in (-1, 0, 1):
        wanted = ProducerClient(name="writer", topic="orders", records=5, per_request=2, acks=acks)
        assert ended(watch, RecordProducer(wanted, config, clock, deadline_ns)) is None
    lab.fault("Produce error=NOT_ENOUGH_REPLICAS times=2")
    wanted = ProducerClient(name="writer", topic="orders", records=3, value="ab", value_bytes=5)
    failure = ended(watch, RecordProducer(wanted, config, clock, deadline_ns))
    assert failure == "writer: NOT_ENOUGH_REPLICAS 2"
    assert len(lab.exchanges("Produce")) == 12
    key = TopicPartitionOperationKey("orders", 0)
    assert lab.cluster.nodes[0].replicas.partitions[key].log.log_end_offset == 16


@pytest.mark.thorough
def test_a_transaction_hangs_if_a_record_arrives_behind_its_end(
    lab: KafkaLab, watch: LabWatch, deadline_ns: int
) -> None:
    """And not before, whether it is committed or aborted."""
    config, clock = config_of(lab.bootstrap, "payer"), SystemClock()
    kinds: tuple[Literal["commit", "abort"], ...] = ("commit", "abort")
    writers = []
    for ends in kinds:
        wanted = TransactionClient(
            name=ends, transactional_id=ends, topic="orders", records=2, ends=ends
        )
        writers.append(TransactionWriter(wanted, config, clock, deadline_ns))
        assert ended(watch, writers[-1]) is None, ends
        assert LabLooks(lab, clock).at(HANGS) == [], ends
    for writer in writers:
        key = TopicPartitionOperationKey(*writer.place)
        append_batch(lab.cluster.nodes[0], key, writer.next_batch())
    assert [each.kind for each in LabLooks(lab, clock).at(HANGS)] == ["KD3501"] * 2
