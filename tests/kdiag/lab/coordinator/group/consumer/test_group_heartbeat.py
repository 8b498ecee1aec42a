"""The intents of Kafka's GroupMetadataManagerTest about ConsumerGroupHeartbeat.

Left out, with reasons: online migration (a group does not change over while it has members);
racks of partitions; the settings of single groups; metrics.
"""

from pathlib import Path

import pytest

from kdiag.lab.coordinator.group.group_config import GroupCoordinatorConfig
from lab_ends.epoch_member import EpochMember, epoch_group, settle
from lab_ends.one_coordinator import OneCoordinator


@pytest.fixture
def one(coordinator: OneCoordinator) -> EpochMember:
    """Return a member of a group that reads a topic of four partitions."""
    coordinator.node.controller.create_partitions("orders", 4, [[1]] * 3)
    return EpochMember(coordinator, "one", "orders")


def another(coordinator: OneCoordinator, name: str = "two", **facts: str) -> EpochMember:
    """Return another one."""
    return EpochMember(coordinator, name, "orders", **facts)


def test_the_first_member_has_everything(coordinator: OneCoordinator, one: EpochMember) -> None:
    """At once, in epoch 2; it is told when to send the next heartbeat."""
    one.join()
    assert (one.error, one.epoch, one.has) == ("NONE", 2, {0, 1, 2, 3})
    assert one.response.heartbeat_interval_ms == 5_000
    group = epoch_group(coordinator)
    assert (group.state, group.epoch, group.assignment_epoch) == ("Stable", 2, 2)
    one.beat()
    assert one.response.assignment is None


def test_a_second_member_gets_what_the_first_gives_up(
    coordinator: OneCoordinator, one: EpochMember
) -> None:
    """No partition is with two of them at any time."""
    two = another(coordinator)
    one.join()
    two.join()
    assert (two.epoch, two.has) == (3, set())
    assert epoch_group(coordinator).state == "Reconciling"
    one.ask()  # it does not say what it has
    assert (one.epoch, one.has) == (2, {0, 1})
    two.beat()
    assert two.has == set()
    one.beat()
    assert one.epoch == 3
    two.beat()
    assert two.has == {2, 3}
    assert epoch_group(coordinator).state == "Stable"


def test_who_leaves_gives_up_what_it_has(coordinator: OneCoordinator, one: EpochMember) -> None:
    """The others get it with their next heartbeats."""
    two = another(coordinator)
    one.join()
    two.join()
    settle(one, two)
    one.leave()
    assert (one.error, one.response.member_epoch) == ("NONE", -1)
    assert epoch_group(coordinator).state == "Assigning"
    settle(two)
    assert (two.epoch, two.has) == (4, {0, 1, 2, 3})
    one.beat()
    assert one.error == "UNKNOWN_MEMBER_ID"
    two.leave()
    assert epoch_group(coordinator).state == "Empty"


def test_other_topics_are_another_epoch(coordinator: OneCoordinator, one: EpochMember) -> None:
    """The same ones are not."""
    one.join()
    one.beat(subscribed_topic_names=["orders"])
    assert one.epoch == 2
    coordinator.node.create("payments", 1)
    one.beat(subscribed_topic_names=["orders", "payments"])
    assert one.epoch == 3
    assert len(one.owned) == 2


def test_topics_that_come_grow_and_go_are_another_epoch(
    coordinator: OneCoordinator, one: EpochMember
) -> None:
    """Seen at the next heartbeat."""
    one.topics = ("orders", "payments")
    one.join()
    coordinator.node.create("unread", 1)
    one.beat()
    assert one.epoch == 2
    coordinator.node.create("payments", 1)
    one.beat()
    assert (one.epoch, len(one.owned)) == (3, 2)
    coordinator.node.controller.create_partitions("payments", 2, [[1]])
    one.beat()
    assert one.epoch == 4
    coordinator.node.controller.delete_topic("payments")
    settle(one)
    assert (one.epoch, len(one.owned)) == (5, 1)


def test_a_pattern_reads_the_topics_that_have_such_names(
    coordinator: OneCoordinator, one: EpochMember
) -> None:
    """Also those that come later; internal ones do not count."""
    one.topics = ()
    one.join(subscribed_topic_regex="orders|pay.*|__.*")
    assert one.has == {0, 1, 2, 3}
    coordinator.node.create("payments", 1)
    one.beat()
    assert (one.epoch, len(one.owned)) == (3, 2)
    one.beat(subscribed_topic_regex="pay.*")
    settle(one)
    assert len(one.owned) == 1
    assert list(epoch_group(coordinator).resolved) == ["pay.*"]
    one.beat(subscribed_topic_regex="(")
    assert one.error == "INVALID_REGULAR_EXPRESSION"


def test_an_old_epoch_is_fenced(coordinator: OneCoordinator, one: EpochMember) -> None:
    """A newer one, too; the one before will do if the response was lost."""
    two = another(coordinator)
    one.join()
    two.join()
    settle(one, two)
    settle(one, two)
    assert one.epoch == 3
    one.epoch = 2
    one.beat()
    assert (one.error, one.epoch) == ("NONE", 3)
    one.epoch = 2
    one.ask()
    assert one.error == "FENCED_MEMBER_EPOCH"
    one.epoch = 9
    one.beat()
    assert one.error == "FENCED_MEMBER_EPOCH"
    assert one.response.error_message is not None


def test_who_says_everything_is_told_everything(
    coordinator: OneCoordinator, one: EpochMember
) -> None:
    """As after an error."""
    del coordinator
    one.join()
    one.beat(rebalance_timeout_ms=60_000, subscribed_topic_names=["orders"])
    assert one.response.assignment is not None
    assert one.has == {0, 1, 2, 3}


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"group_id": ""}, "INVALID_REQUEST"),
        ({"instance_id": ""}, "INVALID_REQUEST"),
        ({"rack_id": ""}, "INVALID_REQUEST"),
        ({"member_id": ""}, "INVALID_REQUEST"),
        ({"rebalance_timeout_ms": -1}, "INVALID_REQUEST"),
        ({"topic_partitions": None}, "INVALID_REQUEST"),
        ({"subscribed_topic_names": None}, "INVALID_REQUEST"),
        ({"member_epoch": -3}, "INVALID_REQUEST"),
        ({"member_epoch": -2}, "INVALID_REQUEST"),
        ({"member_epoch": 1}, "GROUP_ID_NOT_FOUND"),
        ({"member_epoch": -1}, "GROUP_ID_NOT_FOUND"),
        ({"server_assignor": "mine"}, "UNSUPPORTED_ASSIGNOR"),
    ],
)
def test_a_heartbeat_that_says_too_little_is_refused(
    one: EpochMember, changes: dict[str, object], error: str
) -> None:
    """And makes no group."""
    one.join(**changes)
    assert one.error == error


def test_a_group_has_a_largest_size(tmp_path: Path) -> None:
    """`group.consumer.max.size`."""
    coordinator = OneCoordinator(tmp_path, GroupCoordinatorConfig(group_consumer_max_size=1))
    one, two = another(coordinator, "one"), another(coordinator)
    one.join()
    two.join()
    assert two.error == "GROUP_MAX_SIZE_REACHED"
    one.beat()
    assert one.error == "NONE"


@pytest.mark.thorough
def test_members_choose_the_assignor(coordinator: OneCoordinator, one: EpochMember) -> None:
    """By range, a member with a smaller id comes first."""
    first = another(coordinator, "a")
    one.join(server_assignor="range")
    first.join(server_assignor="range")
    settle(one, first)
    assert (first.has, one.has) == ({0, 1}, {2, 3})


def test_a_static_member_comes_back_to_what_it_had(
    coordinator: OneCoordinator, one: EpochMember
) -> None:
    """Under another id, if it has said that it will."""
    one.instance_id = "first"
    two = another(coordinator)
    one.join()
    two.join()
    settle(one, two)
    had = one.has
    back = another(coordinator, "back", instance_id="first")
    back.join()
    assert back.error == "UNRELEASED_INSTANCE_ID"
    one.leave(-2)
    assert one.response.member_epoch == -2
    settle(two)
    assert two.has.isdisjoint(had)
    back.join()
    assert (back.error, back.has) == ("NONE", had)
    one.epoch = 2
    one.beat()
    assert one.error == "FENCED_INSTANCE_ID"
    assert set(epoch_group(coordinator).members) == {"two", "back"}


def test_a_static_member_may_leave_for_good(coordinator: OneCoordinator, one: EpochMember) -> None:
    """Nobody else may say so."""
    one.instance_id = "first"
    one.join()
    other = another(coordinator, "other", instance_id="first")
    other.leave()
    assert other.error == "FENCED_INSTANCE_ID"
    nobody = another(coordinator, "other", instance_id="nobody")
    nobody.leave()
    assert nobody.error == "UNKNOWN_MEMBER_ID"
    one.leave()
    assert epoch_group(coordinator).static_members == {}
