from kdiag.client.group.consumer.local_assignment import (
    NO_ASSIGNMENT,
    LocalAssignment,
    by_name,
    partitions_of,
    topic_ids,
)
from kdiag.wire.api.consumer_group_heartbeat import TopicPartitions

A, B = b"a" * 16, b"b" * 16
GIVEN = [TopicPartitions(B, [1, 0]), TopicPartitions(A, [2])]


def test_partitions_go_by_the_ids_of_their_topics() -> None:
    """As heartbeats have them, in both directions."""
    partitions = partitions_of(GIVEN)
    assert partitions == {(A, 2), (B, 0), (B, 1)}
    assert topic_ids(partitions) == {A, B}
    assert LocalAssignment(0, partitions).by_topic() == [
        TopicPartitions(A, [2]),
        TopicPartitions(B, [0, 1]),
    ]


def test_each_assignment_that_differs_has_an_epoch_of_its_own() -> None:
    """Also the first one that is empty, and one that was there before the last."""
    empty = NO_ASSIGNMENT.followed_by(frozenset())
    assert (NO_ASSIGNMENT.is_none, empty) == (True, LocalAssignment(0, frozenset()))
    assert empty.followed_by(frozenset()) is empty
    first = empty.followed_by(frozenset({(A, 0)}))
    again = first.followed_by(frozenset()).followed_by(frozenset({(A, 0)}))
    assert (first.epoch, again.epoch) == (1, 3)
    assert first != again


def test_topics_without_a_name_are_left_for_later() -> None:
    """The others need not wait for them."""
    assert by_name(partitions_of(GIVEN), {A: "orders"}) == {(A, 2)}
