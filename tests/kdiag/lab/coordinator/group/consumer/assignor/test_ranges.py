"""The intents of Kafka's RangeAssignorTest.

Left out, with reasons: a topic that does not exist (an assignor is told only of those that do).
"""

from kdiag.lab.coordinator.group.consumer.assignor.group_spec import MemberSpec, Partitions
from kdiag.lab.coordinator.group.consumer.assignor.ranges import assign_ranges

ORDERS, PAYMENTS, AUDIT = b"o" * 16, b"p" * 16, b"a" * 16


def numbers(partitions: Partitions, topic_id: bytes) -> list[int]:
    """Return the numbers of the partitions of a topic."""
    return sorted(each.partition for each in partitions if each.topic_id == topic_id)


def test_each_gets_neighbours_and_the_first_get_one_more() -> None:
    """The same numbers of topics that are alike."""
    both = MemberSpec(frozenset({ORDERS, PAYMENTS}))
    given = assign_ranges(dict.fromkeys("cab", both), {ORDERS: 7, PAYMENTS: 7})
    for topic_id in (ORDERS, PAYMENTS):
        assert [numbers(given[each], topic_id) for each in "abc"] == [[0, 1, 2], [3, 4], [5, 6]]


def test_only_readers_get_partitions_of_a_topic() -> None:
    """Others get theirs."""
    members = {
        "a": MemberSpec(frozenset({ORDERS})),
        "b": MemberSpec(frozenset({ORDERS, PAYMENTS})),
        "c": MemberSpec(frozenset()),
    }
    given = assign_ranges(members, {ORDERS: 3, PAYMENTS: 2, AUDIT: 5})
    assert numbers(given["a"], ORDERS) == [0, 1]
    assert (numbers(given["b"], ORDERS), numbers(given["b"], PAYMENTS)) == ([2], [0, 1])
    assert given["c"] == frozenset()


def test_more_members_than_partitions() -> None:
    """The last ones get nothing; nobody is given nothing."""
    given = assign_ranges(dict.fromkeys("abc", MemberSpec(frozenset({ORDERS}))), {ORDERS: 2})
    assert [len(given[each]) for each in "abc"] == [1, 1, 0]
    assert assign_ranges({}, {ORDERS: 2}) == {}


def test_static_members_keep_their_places_under_other_ids() -> None:
    """They come first, by their names."""
    spec = MemberSpec(frozenset({ORDERS}))
    members = {
        "z": spec._replace(instance_id="one"),
        "a": spec,
        "y": spec._replace(instance_id="two"),
    }
    before = assign_ranges(members, {ORDERS: 3})
    members["b"] = members.pop("z")
    after = assign_ranges(members, {ORDERS: 3})
    assert numbers(before["z"], ORDERS) == numbers(after["b"], ORDERS) == [0]
    assert numbers(after["a"], ORDERS) == [2]
