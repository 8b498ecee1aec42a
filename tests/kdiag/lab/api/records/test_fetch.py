import time

import pytest

from kdiag.lab.broker.lab_cluster import LabCluster
from kdiag.lab.controller.cluster_image import BrokerRegistration
from kdiag.lab.controller.quorum_controller import NewTopic
from kdiag.lab.purgatory.operation_key import TopicPartitionOperationKey
from kdiag.wire.api.fetch import (
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    ForgottenTopic,
    PartitionData,
)
from kdiag.wire.error_code import error_name
from kdiag.wire.records.batches import read_batches
from lab_ends.lab_client import LabClient
from lab_ends.one_node import batch

MUCH = 1 << 20
_LARGE = 3000
"""So many records take more than what is copied: they leave by `sendfile`."""


def fetch(
    *partitions: FetchPartition, wait_ms: int = 0, topic_id: bytes = b"", topic: str = "orders"
) -> FetchRequest:
    """Return a request for partitions of a topic."""
    named = FetchTopic(topic=topic, partitions=list(partitions))
    if topic_id:
        named = FetchTopic(topic_id=topic_id, partitions=list(partitions))
    asked = [named] if partitions else []
    return FetchRequest(max_wait_ms=wait_ms, min_bytes=1, max_bytes=MUCH, topics=asked)


def part(index: int = 0, offset: int = 0) -> FetchPartition:
    """Return what is asked of a partition."""
    return FetchPartition(partition=index, fetch_offset=offset, partition_max_bytes=MUCH)


def partitions_of(response: FetchResponse) -> list[PartitionData]:
    """Return what partitions give."""
    return [data for topic in response.responses for data in topic.partitions]


def append(lab: LabCluster, count: int, index: int = 0) -> None:
    """Append a batch in the broker's thread."""
    node = lab.nodes[0]
    key = TopicPartitionOperationKey("orders", index)
    node.processor.call(
        lambda: node.replicas.append_records({key: batch(count)}, 1, 0, lambda _: None)
    )


@pytest.mark.parametrize("version", range(4, 19))
@pytest.mark.parametrize("count", [1, _LARGE])
def test_records_are_read_in_every_version(
    lab: LabCluster, client: LabClient, version: int, count: int
) -> None:
    """As they were appended, small or large."""
    append(lab, count)
    topic_id = lab.controller.image.topics["orders"].topic_id if version >= 13 else b""
    response = client.ask(
        fetch(part(), part(1), wait_ms=5000, topic_id=topic_id), FetchResponse, version
    )
    full, empty = partitions_of(response)
    assert full.records is not None
    (read,) = read_batches(full.records).batches
    assert (read.record_count, read.crc_ok, full.high_watermark) == (count, True, count)
    assert (len(empty.records or b""), empty.high_watermark) == (0, 0)
    if version < 13:
        assert response.responses[0].topic == "orders"
    else:
        assert response.responses[0].topic_id == topic_id


def test_a_fetch_waits_until_there_is_something(lab: LabCluster, client: LabClient) -> None:
    """An append answers it, long before its time is up."""
    client.send(fetch(part(), wait_ms=50_000), 11)
    began = time.monotonic()
    append(lab, 1)
    (data,) = partitions_of(client.receive(FetchResponse, 11))
    assert data.records
    assert time.monotonic() - began < 50


def test_a_fetch_is_answered_with_nothing_when_its_time_is_up(client: LabClient) -> None:
    """After `max_wait_ms`, not before."""
    began = time.monotonic()
    (data,) = partitions_of(client.ask(fetch(part(), wait_ms=20), FetchResponse, 11))
    assert not data.records
    assert time.monotonic() - began >= 0.02


@pytest.mark.parametrize(
    ("asked", "error"),
    [
        (part(7), "UNKNOWN_TOPIC_OR_PARTITION"),
        (part(0, 5), "OFFSET_OUT_OF_RANGE"),
        (
            FetchPartition(partition=0, current_leader_epoch=3, partition_max_bytes=MUCH),
            "UNKNOWN_LEADER_EPOCH",
        ),
    ],
)
def test_an_error_is_told_at_once(client: LabClient, asked: FetchPartition, error: str) -> None:
    """Though the fetch would wait for others."""
    (data,) = partitions_of(client.ask(fetch(asked, wait_ms=50_000), FetchResponse, 11))
    assert error_name(data.error_code) == error


def test_an_id_that_no_topic_has_is_told_at_once(client: LabClient) -> None:
    """In its place."""
    asked = fetch(part(3), wait_ms=50_000, topic_id=b"x" * 16)
    response = client.ask(asked, FetchResponse, 13)
    (data,) = partitions_of(response)
    assert (error_name(data.error_code), data.partition_index) == ("UNKNOWN_TOPIC_ID", 3)
    assert response.responses[0].topic_id == b"x" * 16


def test_a_session_tells_only_what_is_new(lab: LabCluster, client: LabClient) -> None:
    """KIP-227: partitions with records, and those whose ends have moved."""
    opened = client.ask(_in_session(fetch(part(), part(1)), 0, 0), FetchResponse, 11)
    assert opened.session_id > 0
    assert len(partitions_of(opened)) == 2
    quiet = client.ask(_in_session(fetch(), opened.session_id, 1), FetchResponse, 11)
    assert (quiet.session_id, partitions_of(quiet)) == (opened.session_id, [])
    append(lab, 2, index=1)
    asked = _in_session(fetch(wait_ms=5000), opened.session_id, 2)
    (data,) = partitions_of(client.ask(asked, FetchResponse, 11))
    assert (data.partition_index, bool(data.records)) == (1, True)
    asked = _in_session(fetch(part(1, 2)), opened.session_id, 3)
    asked.forgotten_topics_data = [ForgottenTopic(topic="orders", partitions=[0])]
    assert partitions_of(client.ask(asked, FetchResponse, 11)) == []


def test_a_session_that_is_not_known_is_said(client: LabClient) -> None:
    """And so is a request that is not the next one."""
    lost = client.ask(_in_session(fetch(), 77, 1), FetchResponse, 11)
    assert error_name(lost.error_code) == "FETCH_SESSION_ID_NOT_FOUND"
    opened = client.ask(_in_session(fetch(part()), 0, 0), FetchResponse, 11)
    wrong = client.ask(_in_session(fetch(), opened.session_id, 5), FetchResponse, 11)
    assert error_name(wrong.error_code) == "INVALID_FETCH_SESSION_EPOCH"


def test_followers_read_beyond_the_high_watermark(lab: LabCluster, client: LabClient) -> None:
    """A broker that is not a replica reads nothing, whoever it says it is."""
    append(lab, 1)
    asked = fetch(part())
    asked.replica_id = 5
    (data,) = partitions_of(client.ask(asked, FetchResponse, 11))
    assert error_name(data.error_code) == "NOT_LEADER_OR_FOLLOWER"
    asked = fetch(part(), wait_ms=5000, topic_id=lab.controller.image.topics["orders"].topic_id)
    asked.replica_state.replica_id = 1
    (data,) = partitions_of(client.ask(asked, FetchResponse, 17))
    assert data.records


def test_a_partition_that_is_led_elsewhere_is_told_with_its_leader(
    lab: LabCluster, client: LabClient
) -> None:
    """And where that one is (KIP-951)."""
    lab.controller.register_broker(BrokerRegistration(2, "elsewhere", 9092))
    topic = lab.controller.create_topic(NewTopic("there", assignments={0: [2]}))
    response = client.ask(fetch(part(), topic_id=topic.topic_id), FetchResponse, 16)
    (data,) = partitions_of(response)
    assert error_name(data.error_code) == "NOT_LEADER_OR_FOLLOWER"
    assert data.current_leader.leader_id == 2
    assert [(each.node_id, each.host) for each in response.node_endpoints] == [(2, "elsewhere")]


def _in_session(request: FetchRequest, session_id: int, epoch: int) -> FetchRequest:
    request.session_id, request.session_epoch = session_id, epoch
    return request
