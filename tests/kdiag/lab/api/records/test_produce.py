import pytest

from kdiag.lab.broker.lab_cluster import LabCluster
from kdiag.lab.controller.quorum_controller import NewTopic
from kdiag.lab.purgatory.operation_key import TopicPartitionOperationKey
from kdiag.wire.api.metadata import MetadataRequest, MetadataResponse
from kdiag.wire.api.produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from kdiag.wire.error_code import error_name
from kdiag.wire.records.record import BatchHeader
from lab_ends.lab_client import LabClient
from lab_ends.one_node import batch


def request(
    *partitions: PartitionProduceData, acks: int = -1, topic: str = "orders", topic_id: bytes = b""
) -> ProduceRequest:
    """Return a request for partitions of a topic."""
    data = TopicProduceData(name=topic, partition_data=list(partitions))
    if topic_id:
        data = TopicProduceData(topic_id=topic_id, partition_data=list(partitions))
    return ProduceRequest(acks=acks, timeout_ms=1000, topic_data=[data])


def data(index: int = 0, records: bytes | None = None) -> PartitionProduceData:
    """Return a batch for a partition."""
    return PartitionProduceData(index=index, records=batch() if records is None else records)


def produce(client: LabClient, asked: ProduceRequest, version: int = 12) -> list[str]:
    """Return the errors of the partitions."""
    return [error_name(each.error_code) for each in responses(client, asked, version)]


def responses(
    client: LabClient, asked: ProduceRequest, version: int = 12
) -> list[PartitionProduceResponse]:
    """Return the responses of the partitions."""
    (topic,) = client.ask(asked, ProduceResponse, version).responses
    return topic.partition_responses


@pytest.mark.parametrize("version", range(3, 14))
@pytest.mark.parametrize("acks", [1, -1])
def test_records_are_appended_in_every_version(
    lab: LabCluster, client: LabClient, version: int, acks: int
) -> None:
    """The response has the offset of the first."""
    topic_id = lab.controller.image.topics["orders"].topic_id if version >= 13 else b""
    asked = request(data(0), data(1), acks=acks, topic_id=topic_id)
    assert [each.base_offset for each in responses(client, asked, version)] == [0, 0]
    assert [each.base_offset for each in responses(client, asked, version)] == [1, 1]


def test_acks_0_gets_no_response(lab: LabCluster, client: LabClient) -> None:
    """The next request is answered; the records are there."""
    client.send(request(data(), acks=0), 9)
    client.ask(MetadataRequest(topics=[]), MetadataResponse, 12)
    key = TopicPartitionOperationKey("orders", 0)
    assert lab.nodes[0].replicas.partition(key).log.log_end_offset == 1


def test_acks_0_with_an_error_ends_the_connection(client: LabClient) -> None:
    """There is no other way to tell."""
    client.send(request(data(7), acks=0), 9)
    assert client.receive_frame() == b""


def test_each_partition_has_its_error(client: LabClient) -> None:
    """Those that have none are appended."""
    asked = request(data(1), PartitionProduceData(index=0, records=None), data(9))
    assert sorted(produce(client, asked)) == [
        "INVALID_RECORD",
        "NONE",
        "UNKNOWN_TOPIC_OR_PARTITION",
    ]


@pytest.mark.parametrize(
    ("asked", "version", "error"),
    [
        (request(data(), acks=2), 9, "INVALID_REQUIRED_ACKS"),
        (request(data(), topic="__consumer_offsets"), 9, "INVALID_TOPIC_EXCEPTION"),
        (request(data(), topic_id=b"x" * 16), 13, "UNKNOWN_TOPIC_ID"),
        (request(data(records=batch()[:-1] + b"\1")), 9, "CORRUPT_MESSAGE"),
    ],
)
def test_what_is_refused_is_not_appended(
    client: LabClient, asked: ProduceRequest, version: int, error: str
) -> None:
    """The whole topic, or a partition."""
    assert produce(client, asked, version) == [error]
    assert responses(client, request(data()))[0].base_offset == 0


def test_an_idempotent_batch_that_comes_again_gets_its_offset_again(client: LabClient) -> None:
    """A sequence that is not the next one is refused."""

    def batch_of(sequence: int) -> bytes:
        header = BatchHeader(producer_id=7, producer_epoch=0, base_sequence=sequence)
        return batch(2, header=header)

    def send(sequence: int) -> tuple[str, int]:
        (response,) = responses(client, request(data(records=batch_of(sequence))))
        return error_name(response.error_code), response.base_offset

    assert [send(0), send(2), send(0), send(2)] == [
        ("NONE", 0),
        ("NONE", 2),
        ("NONE", 0),
        ("NONE", 2),
    ]
    assert send(6)[0] == "OUT_OF_ORDER_SEQUENCE_NUMBER"


def test_a_partition_that_is_led_elsewhere_is_told_with_its_leader(
    lab: LabCluster, client: LabClient
) -> None:
    """From version 10 on (KIP-951)."""
    lab.controller.register_broker(lab.controller.image.brokers[1].__class__(2, "elsewhere", 9092))
    lab.controller.create_topic(NewTopic("there", assignments={0: [2]}))
    asked = request(data(), topic="there")
    assert produce(client, asked, 9) == ["NOT_LEADER_OR_FOLLOWER"]
    response = client.ask(asked, ProduceResponse, 10)
    assert response.responses[0].partition_responses[0].current_leader.leader_id == 2
    assert [(each.node_id, each.host) for each in response.node_endpoints] == [(2, "elsewhere")]
