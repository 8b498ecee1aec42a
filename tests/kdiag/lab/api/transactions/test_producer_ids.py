from kdiag.lab.api.transactions.producer_ids import ProducerIds
from kdiag.lab.controller.quorum_controller import QuorumController


def test_ids_are_given_once_in_the_cluster() -> None:
    """Two nodes take them from different blocks."""
    controller = QuorumController()
    one, other = ProducerIds(controller), ProducerIds(controller)
    assert [one.generate(), one.generate(), other.generate(), one.generate()] == [0, 1, 1000, 2]
    assert "QuorumController" in repr(one)


def test_the_next_block_follows_when_one_is_used_up() -> None:
    """Nobody is given an id of another block meanwhile."""
    controller = QuorumController()
    ids, other = ProducerIds(controller), ProducerIds(controller)
    given = [ids.generate() for _ in range(1000)]
    given += [other.generate(), ids.generate()]
    assert given == [*range(1000), 1000, 2000]
