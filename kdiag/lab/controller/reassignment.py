"""Partitions that move to other brokers: values in, values out (KIP-455).

    replicas 1, 2          asked for 2, 3
    replicas 2, 3, 1       adding 3, removing 1      3 follows as any replica does
    isr 1, 2, 3            3 is in sync: done        replicas 2, 3, led by 2 if 1 led

Until then it can be cancelled, which takes away what was to be added. A move that adds nobody is
done at once.

Source: Kafka's `PartitionReassignmentReplicas`, `PartitionReassignmentRevert`.
"""

from collections.abc import Collection, Sequence

import msgspec

from kdiag.lab.controller.cluster_image import NO_LEADER, PartitionRegistration
from kdiag.lab.controller.leader_election import changed, elected


def started(
    partition: PartitionRegistration, target: Sequence[int], running: Collection[int]
) -> PartitionRegistration:
    """Return a partition that begins to move; done already if nobody is added.

    Args:
        partition: as it was; a move that is under way is replaced.
        target: the brokers that are to have it.
        running: those that run.
    """
    before = [each for each in partition.replicas if each not in partition.adding or each in target]
    own = [each for each in before if each not in partition.adding]
    adding = tuple(each for each in target if each not in own)
    removing = tuple(each for each in own if each not in target)
    moving = _with_replicas(partition, (*target, *removing), running)
    return completed(msgspec.structs.replace(moving, adding=adding, removing=removing), running)


def completed(partition: PartitionRegistration, running: Collection[int]) -> PartitionRegistration:
    """Return a partition that has moved, if all that were added are in sync; else as it is."""
    is_moving = partition.adding or partition.removing
    left = tuple(each for each in partition.replicas if each not in partition.removing)
    is_done = {*partition.adding} <= {*partition.isr} and {*left} & {*partition.isr}
    if not is_moving or not is_done:
        return partition
    return _with_replicas(msgspec.structs.replace(partition, adding=(), removing=()), left, running)


def cancelled(partition: PartitionRegistration, running: Collection[int]) -> PartitionRegistration:
    """Return a partition that moves no more."""
    left = tuple(each for each in partition.replicas if each not in partition.adding)
    back = sorted(left, key=lambda each: each in partition.removing)
    return _with_replicas(
        msgspec.structs.replace(partition, adding=(), removing=()), tuple(back), running
    )


def _with_replicas(
    partition: PartitionRegistration, replicas: tuple[int, ...], running: Collection[int]
) -> PartitionRegistration:
    """Return a partition with other replicas; one that is not among them leads no more."""
    isr = tuple(each for each in replicas if each in partition.isr) or partition.isr
    leader = partition.leader if partition.leader in replicas else NO_LEADER
    led = elected(changed(partition, isr, leader), running)
    moved = changed(partition, led.isr, led.leader)
    epoch = partition.partition_epoch + 1
    return msgspec.structs.replace(moved, replicas=replicas, partition_epoch=epoch)
