"""The uniform assignor: as even as can be, and as much as before as can be.

    a had 0 1 2 3, b comes     a keeps 0 1, b gets 2 3
    a and b had two each, c    a keeps 0 1, b keeps 2, c gets 3

If all read the same topics, each has a quota: what a member has above its own is taken away, and
goes to those that have less. Otherwise each partition stays where it is as long as its member reads
the topic, or goes to the reader that has least; then partitions move from members that have more to
readers of them that have fewer by two or more, until there is none.

Source: Kafka's `UniformAssignor`, `UniformHomogeneousAssignmentBuilder`. Members that read
different topics are balanced to the same bound as by `UniformHeterogeneousAssignmentBuilder`, by
another way: which of several equal assignments comes out may differ.
"""

from kdiag.lab.coordinator.group.consumer.assignor.group_spec import (
    Members,
    PartitionCounts,
    Partitions,
    TopicIdPartition,
    are_alike,
)

_Given = dict[str, set[TopicIdPartition]]


def assign_uniformly(members: Members, partition_counts: PartitionCounts) -> dict[str, Partitions]:
    """Return what each member gets."""
    if not members:
        return {}
    given, left = _kept(members, partition_counts)
    if are_alike(members):
        _divide_by_quota(given, left)
    else:
        _divide_by_readers(members, given, left)
    return {member_id: frozenset(partitions) for member_id, partitions in given.items()}


def _kept(
    members: Members, partition_counts: PartitionCounts
) -> tuple[_Given, list[TopicIdPartition]]:
    """Return what members keep at first, and the partitions that nobody has."""
    read = {topic_id for member in members.values() for topic_id in member.topic_ids}
    left = {
        TopicIdPartition(topic_id, number): None
        for topic_id, count in partition_counts.items()
        if topic_id in read
        for number in range(count)
    }
    given: _Given = {}
    for member_id, member in members.items():
        kept = {each for each in member.had if each in left and each.topic_id in member.topic_ids}
        given[member_id] = kept
        for each in kept:
            del left[each]
    return given, list(left)


def _divide_by_quota(given: _Given, left: list[TopicIdPartition]) -> None:
    """Take from members what is above their quota, and fill those that are below theirs."""
    count = len(left) + sum(map(len, given.values()))
    least, extra = divmod(count, len(given))
    unfilled = []
    for at, (member_id, partitions) in enumerate(given.items()):
        quota = least + (at < extra)
        above = sorted(partitions)[quota:]
        partitions.difference_update(above)
        left += above
        unfilled.append((member_id, quota - len(partitions)))
    for member_id, missing in unfilled:
        given[member_id].update(left[:missing])
        del left[:missing]


def _divide_by_readers(members: Members, given: _Given, left: list[TopicIdPartition]) -> None:
    """Give each partition to the reader that has least, and even out what members have."""
    readers: dict[bytes, list[str]] = {}
    for member_id, member in members.items():
        for topic_id in member.topic_ids:
            readers.setdefault(topic_id, []).append(member_id)
    for partition in sorted(left, key=lambda each: (len(readers[each.topic_id]), each)):
        poorest = min(readers[partition.topic_id], key=lambda each: len(given[each]))
        given[poorest].add(partition)
    while _move_one_each(readers, given):
        pass


def _move_one_each(readers: dict[bytes, list[str]], given: _Given) -> bool:
    """Move partitions to members that have fewer by two or more; return whether one moved."""
    has_moved = False
    for partitions in sorted(given.values(), key=len, reverse=True):
        for partition in sorted(partitions):
            poorest = min(readers[partition.topic_id], key=lambda each: len(given[each]))
            if len(given[poorest]) + 1 < len(partitions):
                partitions.remove(partition)
                given[poorest].add(partition)
                has_moved = True
    return has_moved
