from kdiag.lab.coordinator.group.consumer.assignor.group_spec import TopicIdPartition
from kdiag.lab.coordinator.group.consumer.consumer_group import FIRST_EPOCH, ConsumerGroup
from kdiag.lab.coordinator.group.consumer.consumer_member import (
    ConsumerGroupMember,
    ReconciliationState,
)
from kdiag.lab.coordinator.group.consumer.consumer_records import (
    consumer_group_tombstones,
    current_record,
    epoch_record,
    member_record,
    member_tombstones,
    regex_record,
    regex_tombstone,
    replay_into,
    target_epoch_record,
    target_record,
)
from kdiag.lab.coordinator.runtime.coordinator_record import CoordinatorRecord, write_records
from kdiag.wire.records.batches import read_batches
from kdiag.wire.records.internal import InternalRecord, read_internal_record

ORDERS = frozenset(TopicIdPartition(b"o" * 16, number) for number in (0, 2))
OTHER = frozenset({TopicIdPartition(b"p" * 16, 1)})
MEMBER = ConsumerGroupMember(
    "a",
    instance_id="one",
    rack_id="r1",
    client_id="client",
    client_host="/127.0.0.1",
    rebalance_timeout_ms=60_000,
    topics=frozenset({"orders", "payments"}),
    regex="au.*",
    server_assignor="range",
    epoch=7,
    previous_epoch=6,
    state=ReconciliationState.UNREVOKED_PARTITIONS,
    assigned=ORDERS,
    revoked=OTHER,
)


def written(*records: CoordinatorRecord) -> list[InternalRecord]:
    """Return records as they are read from the log."""
    (batch,) = read_batches(write_records(records, 0)).batches
    read = [read_internal_record("__consumer_offsets", each) for each in batch.records()]
    return [each for each in read if each is not None]


def test_a_group_is_read_as_it_was_written() -> None:
    """In the records that Kafka has for it."""
    group = ConsumerGroup("billing")
    records = written(
        epoch_record("billing", 8, -5),
        member_record("billing", MEMBER),
        target_record("billing", "a", ORDERS),
        target_epoch_record("billing", 8, 1000),
        current_record("billing", MEMBER),
        regex_record("billing", "au.*", frozenset({"audit"}), 3, 1000),
    )
    assert len(records) == 6
    for record in records:
        replay_into(group, record)
    assert (group.epoch, group.metadata_hash, group.assignment_epoch) == (8, -5, 8)
    assert group.members == {"a": MEMBER}
    assert group.targets == {"a": ORDERS}
    assert group.resolved == {"au.*": frozenset({"audit"})}


def test_tombstones_take_away_what_was_written() -> None:
    """In an order in which nothing is left over."""
    group = ConsumerGroup("billing")
    for record in written(
        member_record("billing", MEMBER),
        target_record("billing", "a", ORDERS),
        current_record("billing", MEMBER),
        regex_record("billing", "au.*", frozenset({"audit"}), 3, 1000),
        *member_tombstones("billing", "a"),
        regex_tombstone("billing", "au.*"),
    ):
        replay_into(group, record)
    assert (group.members, group.targets, group.resolved) == ({}, {}, {})
    assert not group.is_held(TopicIdPartition(b"o" * 16, 0))


def test_the_tombstones_of_a_group_name_every_part() -> None:
    """The last one is that of the group itself."""
    group = ConsumerGroup("billing")
    group.set_member(MEMBER)
    group.resolved["au.*"] = frozenset()
    types = [record.type for record in consumer_group_tombstones(group)]
    assert types[-1] == "ConsumerGroupMetadata"
    assert len(types) == 6
    for record in written(*consumer_group_tombstones(group)):
        replay_into(group, record)
    assert group.members == {}


def test_a_record_that_does_not_concern_a_group_changes_nothing() -> None:
    """Such as that of the partitions of topics, which older brokers wrote."""
    group = ConsumerGroup("billing")
    record = written(epoch_record("billing", 8, 0))[0]._replace(
        type="ConsumerGroupPartitionMetadata"
    )
    replay_into(group, record)
    assert group.epoch == FIRST_EPOCH
