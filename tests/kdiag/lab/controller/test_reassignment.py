import msgspec

from kdiag.lab.controller.cluster_image import PartitionRegistration
from kdiag.lab.controller.reassignment import cancelled, completed, started

RUNNING = {1, 2, 3, 4}
BOTH = PartitionRegistration((1, 2), (1, 2), 1, 5, 9)


def test_a_partition_moves_when_those_that_are_added_are_in_sync() -> None:
    """Another leads then if who led is removed."""
    moving = started(BOTH, [2, 3], RUNNING)
    assert (moving.replicas, moving.adding, moving.removing) == ((2, 3, 1), (3,), (1,))
    assert (moving.isr, moving.leader, moving.leader_epoch) == ((2, 1), 1, 5)
    assert completed(moving, RUNNING) is moving
    moved = completed(msgspec.structs.replace(moving, isr=(2, 3, 1)), RUNNING)
    assert moved == PartitionRegistration((2, 3), (2, 3), 2, 6, moving.partition_epoch + 1)


def test_a_move_that_adds_nobody_is_done_at_once() -> None:
    """Also one that changes the order alone: another leader is preferred."""
    assert started(BOTH, [2], RUNNING).replicas == (2,)
    assert started(BOTH, [2], RUNNING).leader == 2
    other = started(BOTH, [2, 1], RUNNING)
    assert (other.replicas, other.leader, other.adding) == ((2, 1), 1, ())


def test_a_move_is_cancelled_or_replaced() -> None:
    """What was to be added goes; what was there stays."""
    moving = started(BOTH, [3, 4], RUNNING)
    assert moving.replicas == (3, 4, 1, 2)
    back = cancelled(moving, RUNNING)
    assert (back.replicas, back.adding, back.removing) == ((1, 2), (), ())
    assert (back.isr, back.leader) == ((1, 2), 1)
    other = started(moving, [1, 4], RUNNING)
    assert (other.replicas, other.adding, other.removing) == ((1, 4, 2), (4,), (2,))
