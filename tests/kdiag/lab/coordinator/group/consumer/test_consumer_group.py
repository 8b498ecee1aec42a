"""The intents of Kafka's ConsumerGroupTest.

Left out, with reasons: testClassicMembers*, testFromClassicGroup, testAllUseClassicProtocol* (a
consumer group has no members by JoinGroup); testStateTransitionMetrics (no metrics).
"""

from contextlib import nullcontext

import pytest

from kdiag.lab.controller.refusal import RequestRefusedError
from kdiag.lab.coordinator.group.consumer.assignor.group_spec import Partitions, TopicIdPartition
from kdiag.lab.coordinator.group.consumer.consumer_group import (
    ConsumerGroup,
    preferred_assignor,
)
from kdiag.lab.coordinator.group.consumer.consumer_member import (
    ConsumerGroupMember,
    ReconciliationState,
)
from tiers.cases import for_each


def orders(*numbers: int) -> Partitions:
    """Return partitions of a topic."""
    return frozenset(TopicIdPartition(b"o" * 16, number) for number in numbers)


def test_a_partition_is_held_until_it_is_given_up() -> None:
    """By whoever has it, or is to give it up."""
    group = ConsumerGroup("billing")
    group.set_member(ConsumerGroupMember("a", epoch=1, assigned=orders(0), revoked=orders(1)))
    assert [group.is_held(each) for each in sorted(orders(0, 1, 2))] == [True, True, False]
    group.set_member(ConsumerGroupMember("a", epoch=2, assigned=orders(0)))
    assert not group.is_held(TopicIdPartition(b"o" * 16, 1))
    group.remove_member("a")
    assert not group.is_held(TopicIdPartition(b"o" * 16, 0))
    group.remove_member("a")


def test_what_another_has_by_now_stays_held() -> None:
    """Records may come in another order after compaction."""
    group = ConsumerGroup("billing")
    group.set_member(ConsumerGroupMember("a", epoch=1, assigned=orders(0)))
    group.set_member(ConsumerGroupMember("b", epoch=2, assigned=orders(0)))
    group.release_member("a")
    assert group.is_held(TopicIdPartition(b"o" * 16, 0))
    group.release_member("stranger")


def test_a_group_has_a_state() -> None:
    """Empty, Assigning, Reconciling, Stable."""
    group = ConsumerGroup("billing")
    seen = [group.state]
    group.set_member(ConsumerGroupMember("a", epoch=2))
    group.epoch = 2
    seen.append(group.state)
    group.assignment_epoch = 2
    seen.append(group.state)
    group.set_member(
        ConsumerGroupMember("a", epoch=2, state=ReconciliationState.UNRELEASED_PARTITIONS)
    )
    seen.append(group.state)
    assert seen == ["Empty", "Assigning", "Stable", "Reconciling"]


def test_a_name_belongs_to_the_last_that_came_with_it() -> None:
    """The one before takes nothing with it when it is removed."""
    group = ConsumerGroup("billing")
    group.set_member(ConsumerGroupMember("a", instance_id="one"))
    group.set_member(ConsumerGroupMember("b", instance_id="one"))
    group.remove_member("a")
    assert group.static_members == {"one": "b"}
    group.remove_member("b")
    assert group.static_members == {}


def test_topics_are_read_by_name_and_by_pattern() -> None:
    """As far as the pattern was resolved."""
    group = ConsumerGroup("billing")
    group.set_member(ConsumerGroupMember("a", topics=frozenset({"orders"}), regex="pay.*"))
    assert group.is_subscribed_to("orders")
    assert not group.is_subscribed_to("payments")
    group.resolved["pay.*"] = frozenset({"payments"})
    assert group.is_subscribed_to("payments")


def test_most_members_choose_the_assignor() -> None:
    """Nobody need choose."""
    members = [
        ConsumerGroupMember("a"),
        ConsumerGroupMember("b", server_assignor="range"),
        ConsumerGroupMember("c", server_assignor="uniform"),
        ConsumerGroupMember("d", server_assignor="uniform"),
    ]
    assert preferred_assignor(members) == "uniform"
    assert preferred_assignor(members[:1]) is None


@for_each(
    ("member_id", "epoch", "version", "is_transactional", "error"),
    [
        ("a", 5, 9, False, ""),
        ("a", 4, 9, False, "STALE_MEMBER_EPOCH"),
        ("a", 4, 3, True, "ILLEGAL_GENERATION"),
        ("a", 5, 3, True, ""),
        ("a", 5, 8, False, "UNSUPPORTED_VERSION"),
        ("b", 5, 9, False, "UNKNOWN_MEMBER_ID"),
        ("", -1, 9, False, "UNKNOWN_MEMBER_ID"),
    ],
)
def test_a_member_commits_in_its_epoch(
    member_id: str, epoch: int, version: int, *, is_transactional: bool, error: str
) -> None:
    """By version 9 or later."""
    group = ConsumerGroup("billing")
    group.check_offset_commit("", None, -1, is_transactional=False, version=9)
    group.set_member(ConsumerGroupMember("a", epoch=5))
    expected = pytest.raises(RequestRefusedError, match=error) if error else nullcontext()
    with expected:
        group.check_offset_commit(
            member_id, None, epoch, is_transactional=is_transactional, version=version
        )


def test_a_member_fetches_in_its_epoch() -> None:
    """Who is no member may always."""
    group = ConsumerGroup("billing")
    group.set_member(ConsumerGroupMember("a", epoch=5))
    group.check_offset_fetch(None, -1)
    group.check_offset_fetch("a", 5)
    for member_id, epoch, error in (("a", 4, "STALE_MEMBER_EPOCH"), ("b", 5, "UNKNOWN_MEMBER_ID")):
        with pytest.raises(RequestRefusedError, match=error):
            group.check_offset_fetch(member_id, epoch)


def test_only_a_group_without_members_is_deleted() -> None:
    """Its offsets may be, always."""
    group = ConsumerGroup("billing")
    group.check_delete()
    group.set_member(ConsumerGroupMember("a"))
    group.check_offset_delete()
    assert group.expiry_base_ms(5) == 5
    with pytest.raises(RequestRefusedError, match="NON_EMPTY_GROUP"):
        group.check_delete()
