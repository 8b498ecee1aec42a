from kdiag.clock import NS_PER_S, ManualClock
from kdiag.lab.coordinator.group.classic.group_member import (
    ClassicGroupMember,
    MemberProtocol,
    MemberTimeouts,
)
from kdiag.lab.coordinator.group.classic.group_metadata import GroupMetadata
from kdiag.lab.coordinator.group.classic.group_records import (
    group_record,
    group_tombstone,
    read_group,
)
from kdiag.lab.coordinator.group.classic.group_state import ClassicGroupState
from kdiag.lab.coordinator.runtime.coordinator_record import write_records
from kdiag.wire.internal.group_metadata import GroupMetadataValue, MemberMetadata
from kdiag.wire.records.batches import read_batches
from kdiag.wire.records.internal import InternalRecord, read_internal_record
from lab_ends.one_coordinator import subscription

CLOCK = ManualClock(1000 * NS_PER_S)


def group() -> GroupMetadata:
    """Return a group of one in its first generation."""
    made = GroupMetadata("billing", CLOCK)
    member = ClassicGroupMember(
        "one-1",
        group_instance_id="one",
        client_id="client",
        client_host="/127.0.0.1",
        protocol_type="consumer",
        protocols=[MemberProtocol("range", subscription("orders")), MemberProtocol("sticky", b"")],
        timeouts=MemberTimeouts(60_000, 10_000),
    )
    made.add(member)
    made.transition_to(ClassicGroupState.PREPARING_REBALANCE)
    made.init_next_generation()
    return made


def written(made: GroupMetadata, assignments: dict[str, bytes]) -> InternalRecord:
    """Return the record of a group, as it is read from the log."""
    (batch,) = read_batches(write_records([group_record(made, assignments)], 0)).batches
    (record,) = batch.records()
    read = read_internal_record("__consumer_offsets", record)
    assert read is not None
    return read


def test_a_group_is_read_as_it_was_written() -> None:
    """Stable, with the protocol that was chosen."""
    record = written(group(), {"one-1": b"orders-0"})
    assert record.key is not None
    assert record.value is not None
    assert (record.type, record.value.version) == ("GroupMetadata", 3)
    read = read_group(record.key.message.group, record.value.message, CLOCK)
    assert (read.group_id, read.generation_id, read.state) == ("billing", 1, "Stable")
    assert (read.protocol_type, read.protocol_name, read.leader_id) == (
        "consumer",
        "range",
        "one-1",
    )
    assert read.state_timestamp_ms == 1_000_000
    assert read.subscribed_topics == frozenset({"orders"})
    (member,) = read.members.values()
    assert member.protocols == [MemberProtocol("range", subscription("orders"))]
    assert (member.assignment, member.group_instance_id) == (b"orders-0", "one")
    assert (member.client_id, member.client_host) == ("client", "/127.0.0.1")
    assert member.timeouts == MemberTimeouts(60_000, 10_000)


def test_a_group_without_members_is_empty() -> None:
    """One that had only offsets has no type."""
    record = written(GroupMetadata("billing", CLOCK), {})
    assert record.value is not None
    read = read_group("billing", record.value.message, CLOCK)
    assert (read.state, read.protocol_type, read.leader_id) == ("Empty", None, None)


def test_records_of_old_brokers_lack_some_facts() -> None:
    """Members then join within their session; nobody knows since when it is so."""
    value = GroupMetadataValue(
        protocol_type="consumer",
        protocol="range",
        generation=4,
        leader="a",
        members=[MemberMetadata(member_id="a", session_timeout=10_000)],
    )
    read = read_group("billing", value, CLOCK)
    assert read.members["a"].timeouts == MemberTimeouts(10_000, 10_000)
    assert read.state_timestamp_ms is None


def test_a_tombstone_has_no_value() -> None:
    """Its key is that of the group."""
    tombstone = group_tombstone("billing")
    assert (tombstone.type, tombstone.value) == ("GroupMetadata", None)
