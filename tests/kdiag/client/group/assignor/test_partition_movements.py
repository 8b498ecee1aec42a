"""Which partition to move in place of another."""

from kdiag.client.fetch.position import PartitionKey
from kdiag.client.group.assignor.partition_movements import PartitionMovements

FIRST, SECOND, OTHER = PartitionKey("t", 0), PartitionKey("t", 1), PartitionKey("u", 0)


def test_a_partition_that_came_the_other_way_is_moved_back() -> None:
    """Only one of the same topic, and only between the same two members."""
    movements = PartitionMovements()
    assert movements.to_move(FIRST, "m", "n") == FIRST
    movements.move(FIRST, "m", "n")
    assert movements.to_move(SECOND, "n", "m") == FIRST
    assert movements.to_move(SECOND, "m", "n") == SECOND
    assert movements.to_move(SECOND, "n", "o") == SECOND
    assert movements.to_move(OTHER, "n", "m") == OTHER


def test_a_partition_that_moves_on_has_come_from_its_first_member() -> None:
    """From m over n to o is from m to o."""
    movements = PartitionMovements()
    movements.move(FIRST, "m", "n")
    movements.move(FIRST, "n", "o")
    assert movements.to_move(SECOND, "n", "m") == SECOND
    assert movements.to_move(SECOND, "o", "m") == FIRST
    assert movements.snapshot() == {(FIRST, ("m", "o"))}


def test_a_partition_that_is_back_has_not_moved() -> None:
    """Nothing is left of its way."""
    movements = PartitionMovements()
    movements.move(FIRST, "m", "n")
    movements.move(FIRST, "n", "m")
    assert movements.snapshot() == frozenset()
    assert movements.to_move(SECOND, "n", "m") == SECOND
