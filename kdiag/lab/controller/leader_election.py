"""Who leads a partition when brokers come and go: values in, values out.

    replicas 1, 2, 3    isr 1, 2       leader 1, epoch 4
    broker 1 stops      isr 2          leader 2, epoch 5     the first replica in sync that runs
    broker 2 stops      isr 2          no leader, epoch 6    the last one in sync stays in the isr
    broker 3 comes      isr 2          no leader             it may lack records: not clean
    broker 2 comes      isr 2          leader 2, epoch 7
    broker 1 comes      isr 2          leader 2              it follows, and is in sync later

The first replica is preferred: those that run and are in sync lead again when they are asked to, so
that a broker that was away does not stay without work.

An election is clean if the leader was in sync. Where `unclean.leader.election.enable` is true, any
replica that runs is better than none: it is alone in sync then, and what it lacks is lost.

Source: Kafka's `PartitionChangeBuilder`, `ReplicationControlManager`.
"""

from collections.abc import Collection, Iterable

import msgspec

from kdiag.lab.controller.cluster_image import NO_LEADER, PartitionRegistration


def elected(
    partition: PartitionRegistration, running: Collection[int], *, is_unclean: bool = False
) -> PartitionRegistration:
    """Return a partition with a leader that runs, or without any; the leader that runs stays.

    Args:
        partition: as it was.
        running: the brokers that run.
        is_unclean: whether a replica that is not in sync may lead if no other runs.
    """
    if partition.leader in running:
        return partition
    in_sync = (each for each in partition.replicas if each in partition.isr)
    leader = _first_of(in_sync, running)
    isr = partition.isr
    if leader == NO_LEADER and is_unclean:
        leader = _first_of(partition.replicas, running)
        isr = partition.isr if leader == NO_LEADER else (leader,)
    return changed(partition, isr, leader)


def without(
    partition: PartitionRegistration, node_id: int, running: Collection[int], *, is_unclean: bool
) -> PartitionRegistration:
    """Return a partition after a broker has stopped: it is not in sync, and does not lead.

    Args:
        partition: as it was.
        node_id: the broker that has stopped.
        running: those that run.
        is_unclean: whether a replica that is not in sync may lead if no other runs.
    """
    if node_id not in partition.replicas:
        return partition
    left = tuple(each for each in partition.isr if each != node_id) or partition.isr
    leader = NO_LEADER if partition.leader == node_id else partition.leader
    stopped = changed(partition, left, leader)
    found = elected(stopped, running, is_unclean=is_unclean)
    if found.leader_epoch > partition.leader_epoch:
        # One change, not two: the epochs count what brokers hear of.
        return changed(partition, found.isr, found.leader)
    return found


def led_by_preferred(
    partition: PartitionRegistration, running: Collection[int]
) -> PartitionRegistration:
    """Return a partition with its first replica as the leader, if that runs and is in sync."""
    preferred = partition.replicas[0]
    if preferred not in partition.isr or preferred not in running:
        return partition
    return changed(partition, partition.isr, preferred)


def changed(
    partition: PartitionRegistration, isr: tuple[int, ...], leader: int
) -> PartitionRegistration:
    """Return a partition with another isr or leader, and the epochs that count them."""
    if (isr, leader) == (partition.isr, partition.leader):
        return partition
    return msgspec.structs.replace(
        partition,
        isr=isr,
        leader=leader,
        leader_epoch=partition.leader_epoch + (leader != partition.leader),
        partition_epoch=partition.partition_epoch + 1,
    )


def _first_of(replicas: Iterable[int], running: Collection[int]) -> int:
    return next((each for each in replicas if each in running), NO_LEADER)
