"""Which brokers get the replicas of new partitions: striped over all of them.

With brokers 1, 2, 3, two replicas, and the first partition beginning at broker 2:

    partition 0    2, 3
    partition 1    3, 1
    partition 2    1, 2

Each broker leads as many partitions as any other, give or take one, and follows as many. Where the
first begins differs from topic to topic, or topics of one partition would all be led by one broker.

Source: Kafka's `StripedReplicaPlacer`; racks are left out, a lab is in one.
"""

from collections.abc import Sequence

from kdiag.lab.controller.refusal import RequestRefusedError


def place_replicas(
    brokers: Sequence[int], *, count: int, replication_factor: int, start: int
) -> list[tuple[int, ...]]:
    """Return the replicas of new partitions.

    Args:
        brokers: those that run, ascending.
        count: how many partitions.
        replication_factor: how many replicas each has.
        start: where the first begins, as a number of any size.

    Raises:
        RequestRefusedError: INVALID_REPLICATION_FACTOR if there are fewer brokers than that.
    """
    if replication_factor <= 0:
        why = f"a replication factor of {replication_factor}: expected 1 or more"
        raise RequestRefusedError("INVALID_REPLICATION_FACTOR", why)
    if replication_factor > len(brokers):
        why = f"{replication_factor} replicas were asked for, {len(brokers)} brokers run"
        raise RequestRefusedError("INVALID_REPLICATION_FACTOR", why)
    return [
        tuple(
            brokers[(start + partition + replica) % len(brokers)]
            for replica in range(replication_factor)
        )
        for partition in range(count)
    ]
