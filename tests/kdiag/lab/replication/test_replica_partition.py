import msgspec
import pytest

from kdiag.clock import NS_PER_S
from kdiag.lab.controller.refusal import RequestRefusedError
from kdiag.lab.log.offset_lookup import OffsetPlace
from kdiag.lab.log.partition_log import FetchIsolation
from kdiag.lab.log.refusal import LogRefusedError
from kdiag.lab.purgatory.delayed_fetch import EpochEnd
from kdiag.lab.purgatory.delayed_produce import ReplicasReached
from kdiag.lab.purgatory.operation_key import TopicPartitionOperationKey
from kdiag.lab.replication.replica_partition import ReplicaPartition
from kdiag.wire.error_code import CODE_BY_NAME
from lab_ends.one_node import NOW_MS, OneNode, batch

ORDERS = TopicPartitionOperationKey("orders", 0)


@pytest.fixture
def partition(node: OneNode) -> ReplicaPartition:
    """Return a partition that the node alone has."""
    node.create("orders", 1)
    return node.replicas.partition(ORDERS)


def test_what_the_only_replica_has_is_replicated(partition: ReplicaPartition) -> None:
    """The high watermark follows the end of the log."""
    partition.append_as_leader(batch(3), -1)
    assert partition.maybe_increment_high_watermark()
    assert partition.log.high_watermark == 3
    assert not partition.maybe_increment_high_watermark()
    assert partition.check_enough_replicas_reach_offset(3) == ReplicasReached(True, 0)  # noqa: FBT003
    assert partition.check_enough_replicas_reach_offset(4) == ReplicasReached(False, 0)  # noqa: FBT003
    assert repr(partition) == "<ReplicaPartition orders-0: 1 leads>"


def test_a_replica_that_is_behind_holds_the_high_watermark_back(node: OneNode) -> None:
    """Nothing is replicated as long as nobody says how far the other one is."""
    node.create("orders", 1, 2)
    partition = node.replicas.partition(ORDERS)
    partition.append_as_leader(batch(), -1)
    assert not partition.maybe_increment_high_watermark()
    assert partition.log.high_watermark == 0


def test_acks_all_needs_enough_replicas_in_sync(node: OneNode) -> None:
    """Other acks do not; if there are too few afterwards it is another error."""
    node.create("orders", 1, 2, min_insync_replicas="2")
    partition = node.replicas.partition(ORDERS)
    partition.append_as_leader(batch(), -1)
    assert partition.handle_follower_fetch(2, 1, 1, -1)
    assert partition.check_enough_replicas_reach_offset(1) == (True, 0)
    node.controller.remove_broker(2)
    code = CODE_BY_NAME["NOT_ENOUGH_REPLICAS_AFTER_APPEND"]
    assert partition.check_enough_replicas_reach_offset(1) == (True, code)
    with pytest.raises(RequestRefusedError, match="NOT_ENOUGH_REPLICAS: 1 replicas"):
        partition.append_as_leader(batch(), -1)
    partition.append_as_leader(batch(), 1)
    assert not partition.maybe_increment_high_watermark(), "with too few in sync it stays"
    assert partition.log.high_watermark == 1


def test_no_more_replicas_have_to_be_in_sync_than_there_are(node: OneNode) -> None:
    """Or a partition with one replica could not be written to."""
    node.create("orders", 1, min_insync_replicas="2")
    partition = node.replicas.partition(ORDERS)
    partition.append_as_leader(batch(), -1)
    assert partition.maybe_increment_high_watermark()


@pytest.fixture
def followed(node: OneNode) -> ReplicaPartition:
    """Return a partition with four records that another broker follows, and is in sync."""
    node.create("orders", 1, 2)
    partition = node.replicas.partition(ORDERS)
    partition.append_as_leader(batch(4), 1)
    return partition


def test_the_high_watermark_is_what_all_in_sync_have(followed: ReplicaPartition) -> None:
    """A follower has everything before the offset that it asks from; it never goes back."""
    assert not followed.handle_follower_fetch(2, 0, 4, -1)
    assert followed.handle_follower_fetch(2, 3, 4, -1)
    assert followed.log.high_watermark == 3
    assert not followed.handle_follower_fetch(2, 1, 4, -1)
    assert followed.log.high_watermark == 3
    assert not followed.handle_follower_fetch(9, 4, 4, -1), "it is not a replica"


def test_a_follower_that_lags_is_not_in_sync_and_then_is_again(
    node: OneNode, followed: ReplicaPartition
) -> None:
    """By the time, not by the number of records; with all that is replicated it is in sync."""
    lag_ns = 30 * NS_PER_S
    node.clock.advance(lag_ns)
    assert followed.isr_without_slow() is None
    node.clock.advance(1)
    assert followed.isr_without_slow() == {1: -1}
    followed.handle_follower_fetch(2, 4, 4, 17)
    assert followed.isr_without_slow() is None
    registration = msgspec.structs.replace(followed.registration, isr=(1,), partition_epoch=1)
    followed.update(registration, 1)
    followed.append_as_leader(batch(), 1)
    followed.maybe_increment_high_watermark()
    assert followed.log.high_watermark == 4, "it waits for one that is caught up"
    assert followed.isr_with(2) == {1: -1, 2: 17}
    node.clock.advance(lag_ns + 1)
    assert followed.maybe_increment_high_watermark()
    assert followed.isr_with(2) is None
    followed.handle_follower_fetch(2, 5, 5, 17)
    assert followed.isr_with(2) == {1: -1, 2: 17}
    assert followed.isr_with(9) is None


def test_the_high_watermark_does_not_wait_for_who_has_stopped(
    node: OneNode, followed: ReplicaPartition
) -> None:
    """Though he was caught up a moment ago."""
    followed.handle_follower_fetch(2, 4, 4, -1)
    node.controller.remove_broker(2)
    followed.append_as_leader(batch(), 1)
    assert followed.maybe_increment_high_watermark()


def test_a_follower_has_to_have_what_its_leader_began_with(
    node: OneNode, followed: ReplicaPartition
) -> None:
    """The high watermark alone is less: that of a new leader may be old."""
    registration = msgspec.structs.replace(followed.registration, isr=(1,), leader_epoch=1)
    followed.registration = msgspec.structs.replace(followed.registration, leader=2)
    node.clock.advance(31 * NS_PER_S)
    followed.update(registration, 1)
    followed.handle_follower_fetch(2, 3, 4, -1)
    assert followed.isr_with(2) is None
    followed.handle_follower_fetch(2, 4, 4, -1)
    assert followed.isr_with(2) == {1: -1, 2: -1}


@pytest.mark.parametrize(
    ("diverging", "end", "epochs"),
    [
        (EpochEnd(2, 9), 9, [0, 2]),
        (EpochEnd(2, 20), 10, [0, 2]),
        (EpochEnd(1, 6), 4, [0]),
        (EpochEnd(0, 2), 2, [0]),
        (EpochEnd(5, 12), 12, [0, 2, 5]),
    ],
)
def test_a_follower_drops_what_its_leader_has_not(
    node: OneNode, diverging: EpochEnd, end: int, epochs: list[int]
) -> None:
    """Where both know the epoch up to the smaller end of it, else up to the last it knows."""
    node.create("orders", 1)
    partition = node.replicas.partition(ORDERS)
    for epoch, count in ((0, 4), (2, 6), (5, 2)):
        partition.update(msgspec.structs.replace(partition.registration, leader_epoch=epoch), 1)
        for _ in range(count):
            partition.append_as_leader(batch(), 1)
    assert partition.truncate_to_leader(diverging) == (end < 12)
    assert partition.log.log_end_offset == end
    assert [each.epoch for each in partition.log.epochs.entries] == epochs


def test_a_follower_drops_an_epoch_in_which_it_has_written_nothing(node: OneNode) -> None:
    """Or it would be told for ever that it diverges."""
    node.create("orders", 1)
    partition = node.replicas.partition(ORDERS)
    partition.append_as_leader(batch(2), 1)
    partition.update(msgspec.structs.replace(partition.registration, leader_epoch=3), 1)
    assert not partition.truncate_to_leader(EpochEnd(0, 2))
    assert [each.epoch for each in partition.log.epochs.entries] == [0]


def test_a_follower_that_knows_no_epochs_keeps_what_is_replicated(node: OneNode) -> None:
    """Nothing else tells whether its leader has the rest."""
    node.create("orders", 1)
    partition = node.replicas.partition(ORDERS)
    for _ in range(4):
        partition.append_as_leader(batch(), 1)
    partition.log.update_high_watermark(3)
    partition.log.epochs.clear()
    partition.update(msgspec.structs.replace(partition.registration, leader=2, leader_epoch=1), 1)
    assert partition.log.log_end_offset == 3


def test_who_does_not_lead_appends_nothing(node: OneNode) -> None:
    """Nor is anything read, found or deleted."""
    node.create("orders", 2, 1)
    partition = node.replicas.partition(ORDERS)
    for refused in (
        lambda: partition.append_as_leader(batch(), 1),
        lambda: partition.find_offset(-1, FetchIsolation.HIGH_WATERMARK, -1),
        lambda: partition.delete_records(0),
    ):
        with pytest.raises(RequestRefusedError, match="NOT_LEADER_OR_FOLLOWER"):
            refused()
    assert partition.fetch_offset_snapshot(-1, is_only_from_leader=True) is None
    assert partition.fetch_offset_snapshot(-1, is_only_from_leader=False) is not None
    code = CODE_BY_NAME["NOT_LEADER_OR_FOLLOWER"]
    assert partition.check_enough_replicas_reach_offset(0) == (False, code)


def test_another_leader_epoch_is_refused(partition: ReplicaPartition) -> None:
    """An older one is fenced, a newer one not known yet; none at all is right."""
    registration = msgspec.structs.replace(partition.registration, leader_epoch=5)
    assert partition.update(registration, 1)
    assert not partition.update(registration, 1)
    partition.check_leader(-1)
    partition.check_leader(5)
    for epoch, error in ((4, "FENCED_LEADER_EPOCH"), (6, "UNKNOWN_LEADER_EPOCH")):
        with pytest.raises(RequestRefusedError, match=error):
            partition.check_leader(epoch)
        assert partition.fetch_offset_snapshot(epoch, is_only_from_leader=False) is None
        assert partition.last_offset_for_leader_epoch(epoch, 0) is None


def test_leader_epochs_end_where_the_next_begins(partition: ReplicaPartition) -> None:
    """Also one that has written nothing."""
    partition.append_as_leader(batch(2), 1)
    partition.update(msgspec.structs.replace(partition.registration, leader_epoch=3), 1)
    partition.append_as_leader(batch(), 1)
    assert partition.last_offset_for_leader_epoch(3, 0) == EpochEnd(0, 2)
    assert partition.last_offset_for_leader_epoch(3, 3) == EpochEnd(3, 3)
    assert partition.epoch_end(9) is None


def test_a_consumer_is_told_offsets_that_it_may_read(node: OneNode) -> None:
    """The end is the high watermark; a record beyond it is not found."""
    node.create("orders", 1, 2)
    partition = node.replicas.partition(ORDERS)
    partition.append_as_leader(batch(2), 1)
    partition.log.update_high_watermark(1)
    partition.append_as_leader(batch(1, NOW_MS + 50), 1)

    def offset(timestamp: int, isolation: FetchIsolation) -> int | None:
        found = partition.find_offset(timestamp, isolation, -1)
        return None if found is None else found.offset

    assert offset(OffsetPlace.LATEST, FetchIsolation.HIGH_WATERMARK) == 1
    assert offset(OffsetPlace.LATEST, FetchIsolation.TXN_COMMITTED) == 1
    assert offset(OffsetPlace.LATEST, FetchIsolation.LOG_END) == 3
    assert offset(OffsetPlace.EARLIEST, FetchIsolation.HIGH_WATERMARK) == 0
    assert offset(NOW_MS + 1, FetchIsolation.LOG_END) == 2
    assert offset(NOW_MS + 1, FetchIsolation.HIGH_WATERMARK) is None
    assert offset(NOW_MS + 51, FetchIsolation.LOG_END) is None


def test_a_new_leader_tells_no_end_before_it_knows_what_is_replicated(
    followed: ReplicaPartition,
) -> None:
    """Its high watermark is old until its followers fetch; what lies before that is known."""
    followed.update(msgspec.structs.replace(followed.registration, leader_epoch=1), 1)

    for timestamp in (OffsetPlace.LATEST, NOW_MS + 999):
        with pytest.raises(RequestRefusedError, match="OFFSET_NOT_AVAILABLE"):
            followed.find_offset(timestamp, FetchIsolation.HIGH_WATERMARK, 1)
    assert followed.find_offset(OffsetPlace.EARLIEST, FetchIsolation.HIGH_WATERMARK, 1)
    assert followed.find_offset(OffsetPlace.LATEST, FetchIsolation.LOG_END, 1) == (-1, 4, 1)

    followed.handle_follower_fetch(2, 4, 4, -1)
    told = followed.find_offset(OffsetPlace.LATEST, FetchIsolation.HIGH_WATERMARK, 1)
    assert told == (-1, 4, 1)


def test_records_are_deleted_up_to_the_high_watermark(partition: ReplicaPartition) -> None:
    """-1 stands for it; beyond it nothing is deleted."""
    partition.append_as_leader(batch(5), 1)
    partition.maybe_increment_high_watermark()
    assert partition.delete_records(2) == 2
    assert partition.delete_records(1) == 2
    assert partition.delete_records(-1) == 5
    with pytest.raises(LogRefusedError, match="OFFSET_OUT_OF_RANGE"):
        partition.delete_records(6)
    with pytest.raises(RequestRefusedError, match="OFFSET_OUT_OF_RANGE"):
        partition.delete_records(-2)


def test_a_compacted_log_keeps_its_records(node: OneNode) -> None:
    """Its policy has to allow deletion."""
    node.create("orders", 1, cleanup_policy="compact")
    with pytest.raises(RequestRefusedError, match="POLICY_VIOLATION"):
        node.replicas.partition(ORDERS).delete_records(0)
