"""The intents of Kafka's UniformHomogeneous- and UniformHeterogeneousAssignmentBuilderTest.

Left out, with reasons: a topic that does not exist (an assignor is told only of those that do);
exact assignments where several are as even (Kafka's own differ by the order of its maps).
"""

import pytest
from hypothesis import given as drawn
from hypothesis import settings
from hypothesis import strategies as st

from kdiag.lab.coordinator.group.consumer.assignor.group_spec import (
    MemberSpec,
    Partitions,
    TopicIdPartition,
)
from kdiag.lab.coordinator.group.consumer.assignor.uniform import assign_uniformly

ORDERS, PAYMENTS, AUDIT = b"o" * 16, b"p" * 16, b"a" * 16
TOPICS = (ORDERS, PAYMENTS, AUDIT)


def orders(*numbers: int) -> Partitions:
    """Return partitions of orders."""
    return frozenset(TopicIdPartition(ORDERS, number) for number in numbers)


def reader(*numbers: int) -> MemberSpec:
    """Return a reader of orders that had some partitions."""
    return MemberSpec(frozenset({ORDERS}), orders(*numbers))


def test_a_group_without_members_or_topics_gets_nothing() -> None:
    """Nor does who reads what is not there."""
    assert assign_uniformly({}, {ORDERS: 2}) == {}
    assert assign_uniformly({"a": MemberSpec(frozenset())}, {ORDERS: 2}) == {"a": frozenset()}


def test_the_first_members_get_one_more() -> None:
    """As even as can be."""
    given = assign_uniformly({"a": reader(), "b": reader(), "c": reader()}, {ORDERS: 4})
    assert sorted(map(len, given.values())) == [1, 1, 2]
    assert frozenset().union(*given.values()) == orders(0, 1, 2, 3)


def test_only_what_is_above_the_quota_moves() -> None:
    """When a member comes."""
    given = assign_uniformly({"a": reader(0, 1, 2, 3), "b": reader()}, {ORDERS: 4})
    assert given == {"a": orders(0, 1), "b": orders(2, 3)}


def test_who_stays_keeps_what_it_had() -> None:
    """When a member goes, or a topic grows."""
    given = assign_uniformly({"a": reader(0, 1), "b": reader(2)}, {ORDERS: 6})
    assert orders(0, 1) <= given["a"]
    assert orders(2) <= given["b"]
    assert [len(given["a"]), len(given["b"])] == [3, 3]


def test_what_is_no_longer_read_or_there_is_given_up() -> None:
    """By whoever had it."""
    spec = MemberSpec(frozenset({PAYMENTS}), orders(0, 1))
    given = assign_uniformly({"a": spec}, {ORDERS: 2, PAYMENTS: 1})
    assert given == {"a": frozenset({TopicIdPartition(PAYMENTS, 0)})}
    assert assign_uniformly({"a": reader(0, 5)}, {ORDERS: 1}) == {"a": orders(0)}


def test_a_partition_goes_to_a_reader_of_its_topic() -> None:
    """Members that read different topics."""
    members = {
        "a": MemberSpec(frozenset({ORDERS, PAYMENTS})),
        "b": MemberSpec(frozenset({PAYMENTS})),
    }
    given = assign_uniformly(members, {ORDERS: 2, PAYMENTS: 2})
    assert given["a"] == orders(0, 1)
    assert {each.topic_id for each in given["b"]} == {PAYMENTS}
    assert len(given["b"]) == 2


@pytest.mark.thorough
@settings(max_examples=60, deadline=None)
@drawn(st.data())
def test_whatever_was_every_partition_has_one_reader_and_nobody_has_two_more_than_it_need_have(
    data: st.DataObject,
) -> None:
    """And what nobody need give up is kept, if it is computed again."""
    counts = {topic_id: data.draw(st.integers(0, 6)) for topic_id in TOPICS}
    every = [TopicIdPartition(each, number) for each in TOPICS for number in range(counts[each])]
    left = data.draw(st.permutations(every))
    members = {}
    for member_id in data.draw(st.lists(st.sampled_from("abcde"), unique=True, min_size=1)):
        topics = data.draw(st.frozensets(st.sampled_from(TOPICS)))
        had = frozenset(left[: data.draw(st.integers(0, len(left)))])
        left = [each for each in left if each not in had]
        members[member_id] = MemberSpec(topics, had)
    given = assign_uniformly(members, counts)
    read = {topic_id for member in members.values() for topic_id in member.topic_ids}
    got = [each for partitions in given.values() for each in partitions]
    assert sorted(got) == sorted(each for each in every if each.topic_id in read)
    for member_id, partitions in given.items():
        for each in partitions:
            readers = [key for key, member in members.items() if each.topic_id in member.topic_ids]
            assert member_id in readers
            assert len(partitions) <= min(len(given[key]) for key in readers) + 1
    again = {key: member._replace(had=given[key]) for key, member in members.items()}
    assert assign_uniformly(again, counts) == given
