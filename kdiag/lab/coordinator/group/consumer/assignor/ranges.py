"""The range assignor: of each topic, a member gets a run of neighbouring partitions.

    a, b and c read orders (7 partitions) and payments (7)
    a    orders 0 1 2    payments 0 1 2
    b    orders 3 4      payments 3 4
    c    orders 5 6      payments 5 6

Topics with as many partitions and the same readers are divided alike, so that one member gets the
same numbers of both. Static members come first, by their names, so they keep their place when they
come back with another id.

Source: Kafka's `RangeAssignor` (server side).
"""

from kdiag.lab.coordinator.group.consumer.assignor.group_spec import (
    Members,
    MemberSpec,
    PartitionCounts,
    Partitions,
    TopicIdPartition,
)


def assign_ranges(members: Members, partition_counts: PartitionCounts) -> dict[str, Partitions]:
    """Return what each member gets."""
    in_order = sorted(members, key=lambda member_id: _order(member_id, members[member_id]))
    given: dict[str, set[TopicIdPartition]] = {member_id: set() for member_id in in_order}
    for topic_id, count in partition_counts.items():
        readers = [each for each in in_order if topic_id in members[each].topic_ids]
        if not readers:
            continue
        least, extra = divmod(count, len(readers))
        start = 0
        for at, member_id in enumerate(readers):
            end = start + least + (at < extra)
            given[member_id].update(TopicIdPartition(topic_id, each) for each in range(start, end))
            start = end
    return {member_id: frozenset(partitions) for member_id, partitions in given.items()}


def _order(member_id: str, member: MemberSpec) -> tuple[bool, str]:
    """Return the place of a member: static ones first."""
    is_dynamic = member.instance_id is None
    return is_dynamic, member_id if member.instance_id is None else member.instance_id
