import pytest

from kdiag.lab.broker.lab_cluster import LabCluster
from kdiag.wire.api.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from kdiag.wire.api.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
    OffsetFetchResponse,
)
from kdiag.wire.api.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
    TxnOffsetCommitResponse,
)
from kdiag.wire.error_code import error_name
from lab_ends.transacting_client import NAME, TransactingClient

GROUP = "billing"


def committed(
    producer: TransactingClient, version: int, *, topic_id: bytes, partition: int = 0
) -> str:
    """Commit offset 5 in the transaction, and return the error."""
    offset = TxnOffsetCommitRequestPartition(partition_index=partition, committed_offset=5)
    topic = TxnOffsetCommitRequestTopic(name="orders", topic_id=topic_id, partitions=[offset])
    request = TxnOffsetCommitRequest(
        transactional_id=NAME,
        group_id=GROUP,
        producer_id=producer.producer_id,
        producer_epoch=producer.producer_epoch,
        topics=[topic],
    )
    response = producer.client.ask(request, TxnOffsetCommitResponse, version)
    return error_name(response.topics[0].partitions[0].error_code)


def fetched(producer: TransactingClient, *, is_stable: bool = False) -> tuple[str, int]:
    """Return the group's offset, or why it is not told."""
    topic = OffsetFetchRequestTopics(name="orders", partition_indexes=[0])
    group = OffsetFetchRequestGroup(group_id=GROUP, topics=[topic])
    request = OffsetFetchRequest(groups=[group], require_stable=is_stable)
    response = producer.client.ask(request, OffsetFetchResponse, 8)
    told = response.groups[0].topics[0].partitions[0]
    return error_name(told.error_code), told.committed_offset


@pytest.mark.parametrize("version", range(7))
@pytest.mark.parametrize("is_commit", [True, False])
def test_offsets_count_when_the_transaction_is_committed(
    lab: LabCluster, producer: TransactingClient, version: int, *, is_commit: bool
) -> None:
    """Until then they are not told, and who wants stable ones has to wait."""
    topic_id = lab.controller.image.topics["orders"].topic_id
    ask = FindCoordinatorRequest(key_type=0, coordinator_keys=[GROUP])
    producer.client.ask(ask, FindCoordinatorResponse, 4)
    if version < 5:  # later ones add the group's partition by themselves
        assert producer.add_group(GROUP) == "NONE"
    assert committed(producer, version, topic_id=topic_id) == "NONE"
    unknown = committed(producer, version, topic_id=topic_id, partition=9)
    assert unknown == "UNKNOWN_TOPIC_OR_PARTITION"
    assert fetched(producer) == ("NONE", -1)
    assert fetched(producer, is_stable=True)[0] == "UNSTABLE_OFFSET_COMMIT"
    producer.end(is_commit=is_commit)
    assert fetched(producer, is_stable=True) == ("NONE", 5 if is_commit else -1)


def test_an_unknown_topic_id_and_a_fenced_producer_are_refused(
    lab: LabCluster, producer: TransactingClient
) -> None:
    """Nothing is written."""
    ask = FindCoordinatorRequest(key_type=0, coordinator_keys=[GROUP])
    producer.client.ask(ask, FindCoordinatorResponse, 4)
    assert committed(producer, 6, topic_id=b"\1" * 16) == "UNKNOWN_TOPIC_ID"
    topic_id = lab.controller.image.topics["orders"].topic_id
    producer.producer_epoch += 1
    assert committed(producer, 5, topic_id=topic_id) == "INVALID_PRODUCER_EPOCH"
