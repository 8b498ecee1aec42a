"""Where the reading of a partition stands."""

from kdiag.client.fetch.position import OPEN_END, FetchPosition, PartitionKey

KEY = PartitionKey("orders", 3)


def test_a_partition_is_named_with_its_number_in_brackets() -> None:
    """As everywhere in kdiag."""
    assert str(KEY) == "orders[3]"


def test_a_position_is_done_when_it_has_reached_its_stop() -> None:
    """One without a stop never is."""
    assert FetchPosition(key=KEY, offset=5, stop=5).is_done
    assert not FetchPosition(key=KEY, offset=4, stop=5).is_done
    assert not FetchPosition(key=KEY, offset=OPEN_END - 1).is_done


def test_a_follower_that_the_leader_prefers_is_asked_instead() -> None:
    """KIP-392."""
    position = FetchPosition(key=KEY, offset=0, leader_id=1)
    assert position.node_id == 1
    position.replica_id = 2
    assert position.node_id == 2
