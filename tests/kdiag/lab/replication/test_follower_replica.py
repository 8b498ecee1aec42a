from kdiag.lab.replication.follower_replica import FollowerReplica


def test_a_follower_that_fetches_from_the_end_is_caught_up() -> None:
    """And for some time afterwards, though more has come."""
    follower = FollowerReplica(2, None)
    assert not follower.is_caught_up(10, 0, 1000)
    follower.handle_fetch(10, 10, 5, 7)
    assert (follower.log_end_offset, follower.broker_epoch, follower.caught_up_ns) == (10, 7, 5)
    assert follower.is_caught_up(10, 99_999, 1000)
    assert follower.is_caught_up(20, 1005, 1000)
    assert not follower.is_caught_up(20, 1006, 1000)
    assert repr(follower) == "<FollowerReplica 2 at 10>"


def test_a_follower_that_has_all_of_the_fetch_before_was_caught_up_then() -> None:
    """Or a busy partition would have nobody in sync."""
    follower = FollowerReplica(2, None)
    follower.handle_fetch(90, 100, 0, 7)
    assert repr(follower.caught_up_ns) == "None"
    follower.handle_fetch(100, 150, 10, 7)
    assert follower.caught_up_ns == 0
    follower.handle_fetch(140, 200, 20, 7)
    assert follower.caught_up_ns == 0
    follower.handle_fetch(200, 210, 30, 7)
    assert follower.caught_up_ns == 20


def test_one_that_is_in_sync_has_time_to_say_how_far_it_is() -> None:
    """When another leader begins."""
    follower = FollowerReplica(2, 50)
    assert follower.log_end_offset == -1
    assert follower.is_caught_up(10, 60, 10)
    assert not follower.is_caught_up(10, 61, 10)
