from group_stories.story import share
from kdiag.diagnosis.rebalance.moves import Move, moved_between


def test_a_partition_moves_from_one_owner_to_another() -> None:
    """Those that stay are counted among all."""
    moved = moved_between({"a": share(0, 1)}, {"a": share(0), "b": share(1)})

    assert moved.moves == (Move("clicks", 1, "a", "b"),)
    assert moved.partition_count == 2


def test_a_partition_may_come_from_nobody_or_go_to_nobody() -> None:
    """As with cooperative members, which first give up what another one is to have."""
    given_up = moved_between({"a": share(0, 1)}, {"a": share(0)})
    taken = moved_between({"a": share(0)}, {"a": share(0, 1)})

    assert given_up.moves == (Move("clicks", 1, "a", None),)
    assert taken.moves == (Move("clicks", 1, None, "a"),)


def test_moves_stand_in_order_of_topics_and_numbers() -> None:
    """10 is behind 9."""
    after = {"a": share(10, 9) | share(3, topic="ads")}

    places = [(each.topic, each.partition) for each in moved_between({}, after).moves]

    assert places == [("ads", 3), ("clicks", 9), ("clicks", 10)]


def test_of_two_owners_the_first_by_id_counts() -> None:
    """A wrong assignment is told the same way every time."""
    both = {"b": share(0), "a": share(0)}

    assert moved_between(both, {"a": share(0)}).moves == ()
