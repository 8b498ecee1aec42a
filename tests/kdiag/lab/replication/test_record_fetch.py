import pytest

from kdiag.lab.log.partition_log import FetchIsolation
from kdiag.lab.purgatory.delayed_fetch import EpochEnd
from kdiag.lab.purgatory.operation_key import TopicPartitionOperationKey
from kdiag.lab.replication.record_fetch import (
    FetchedRecords,
    PartitionFetch,
    ReadLimits,
    read_from_log,
)
from kdiag.wire.error_code import error_name
from lab_ends.one_node import OneNode, batch

FIRST = TopicPartitionOperationKey("first", 0)
SECOND = TopicPartitionOperationKey("second", 0)
MUCH = 1 << 20


@pytest.fixture
def filled(node: OneNode) -> OneNode:
    """Return a node with three batches in each of two partitions."""
    for key in (FIRST, SECOND):
        node.create(key.topic, 1)
        partition = node.replicas.partition(key)
        for _ in range(3):
            partition.append_as_leader(batch(10), 1)
        partition.maybe_increment_high_watermark()
    return node


def read(
    node: OneNode, *asked: PartitionFetch, max_bytes: int = MUCH, replica_id: int = -1
) -> list[FetchedRecords]:
    """Return what the two partitions give."""
    limits = ReadLimits(replica_id, max_bytes, FetchIsolation.HIGH_WATERMARK)
    keys = dict(zip((FIRST, SECOND), asked, strict=False))
    return list(read_from_log(keys, limits, node.replicas.partition).values())


def test_partitions_give_records_and_their_ends(filled: OneNode) -> None:
    """From the batch that holds the offset on."""
    size = len(batch(10))
    first, second = read(filled, PartitionFetch(0, MUCH), PartitionFetch(15, MUCH))
    assert (first.size, second.size) == (3 * size, 2 * size)
    assert (first.high_watermark, first.last_stable_offset, first.log_start_offset) == (30, 30, 0)
    assert first.start is not None
    assert first.start.message_offset == 0


def test_partitions_share_a_limit(filled: OneNode) -> None:
    """What the first takes is not left for the second."""
    size = len(batch(10))
    first, second = read(
        filled, PartitionFetch(0, 2 * size), PartitionFetch(0, MUCH), max_bytes=3 * size
    )
    assert (first.size, second.size) == (2 * size, size)


def test_the_first_records_are_a_whole_batch_however_large(filled: OneNode) -> None:
    """A partition that gives nothing leaves that to the next; all others keep the limit."""
    size = len(batch(10))
    first, second = read(filled, PartitionFetch(0, 1), PartitionFetch(0, 1), max_bytes=1)
    assert (first.size, second.size) == (size, 0)
    first, second = read(filled, PartitionFetch(30, 1), PartitionFetch(0, 1), max_bytes=1)
    assert (first.size, second.size) == (0, size)
    first, second = read(filled, PartitionFetch(0, MUCH), PartitionFetch(0, size - 1))
    assert (first.size, second.size) == (3 * size, 0)


@pytest.mark.parametrize(
    ("fetch", "error"),
    [
        (PartitionFetch(31, MUCH), "OFFSET_OUT_OF_RANGE"),
        (PartitionFetch(-1, MUCH), "OFFSET_OUT_OF_RANGE"),
        (PartitionFetch(0, MUCH, current_leader_epoch=7), "UNKNOWN_LEADER_EPOCH"),
        (PartitionFetch(0, MUCH, last_fetched_epoch=7), "OFFSET_OUT_OF_RANGE"),
    ],
)
def test_an_error_of_one_is_none_of_the_other(
    filled: OneNode, fetch: PartitionFetch, error: str
) -> None:
    """The other one gives its records."""
    first, second = read(filled, fetch, PartitionFetch(0, MUCH))
    assert error_name(first.error_code) == error
    assert (first.size, first.high_watermark, first.start) == (0, -1, None)
    assert second.size == 3 * len(batch(10))


def test_a_broker_that_is_no_replica_gets_nothing(filled: OneNode) -> None:
    """It does not belong there."""
    (first,) = read(filled, PartitionFetch(0, MUCH), replica_id=2)
    assert error_name(first.error_code) == "NOT_LEADER_OR_FOLLOWER"
    (first,) = read(filled, PartitionFetch(0, MUCH), replica_id=1)
    assert first.size


def test_a_log_that_has_diverged_is_told_where(filled: OneNode) -> None:
    """Nothing is given to it then; one that has not is given records."""
    log = filled.replicas.partition(FIRST).log
    log.epochs.assign(4, 20)
    (first,) = read(filled, PartitionFetch(25, MUCH, last_fetched_epoch=0))
    assert (first.diverging, first.size) == (EpochEnd(0, 20), 0)
    (first,) = read(filled, PartitionFetch(25, MUCH, last_fetched_epoch=4))
    assert first.diverging is None
    assert first.size == len(batch(10))
