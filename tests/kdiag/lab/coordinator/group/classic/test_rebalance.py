"""The intents of Kafka's GroupCoordinatorTest and GroupMetadataManagerTest about rebalances.

Left out, with reasons: metrics; tests of Kafka's timeline structures (there is one state here).
"""

from pathlib import Path

import pytest

from kdiag.clock import NS_PER_S
from kdiag.lab.coordinator.group.classic.rebalance import NEW_MEMBER_JOIN_TIMEOUT_NS
from kdiag.lab.coordinator.group.group_config import GroupCoordinatorConfig
from lab_ends.one_coordinator import DELAY_NS, GROUP, REBALANCE_MS, SESSION_MS, OneCoordinator

SESSION_NS = SESSION_MS * NS_PER_S // 1000
REBALANCE_NS = REBALANCE_MS * NS_PER_S // 1000


def test_the_first_members_are_waited_for_together(coordinator: OneCoordinator) -> None:
    """A delay after the last that comes; the first one leads, and is told of both."""
    one, two = coordinator.member(), coordinator.member()
    one.join()
    coordinator.advance(2 * NS_PER_S)
    two.join()
    coordinator.advance(DELAY_NS)
    assert one.joins == []
    coordinator.advance(DELAY_NS)
    assert (one.joined.generation_id, two.joined.generation_id) == (1, 1)
    assert one.joined.leader == two.joined.leader == one.member_id
    assert {each.member_id for each in one.joined.members} == {one.member_id, two.member_id}
    assert two.joined.members == []
    assert one.joined.protocol_name == "range"
    assert coordinator.group.state == "CompletingRebalance"


def test_a_group_without_delay_is_there_at_once(tmp_path: Path) -> None:
    """`group.initial.rebalance.delay.ms` 0."""
    coordinator = OneCoordinator(
        tmp_path, GroupCoordinatorConfig(group_initial_rebalance_delay_ms=0)
    )
    member = coordinator.member()
    member.join()
    coordinator.advance(NS_PER_S // 10)
    assert member.joined.generation_id == 1


def test_a_rebalance_completes_as_soon_as_all_have_joined(coordinator: OneCoordinator) -> None:
    """Members hear of it by their heartbeats."""
    one, two = coordinator.stable()
    three = coordinator.member()
    three.join()
    assert coordinator.group.state == "PreparingRebalance"
    assert one.heartbeat() == "REBALANCE_IN_PROGRESS"
    one.join()
    two.join()
    assert [each.joined.generation_id for each in (one, two, three)] == [2, 2, 2]


@pytest.mark.thorough
def test_who_does_not_join_in_time_is_removed(coordinator: OneCoordinator) -> None:
    """When the rebalance timeout is over; another one leads if need be."""
    one, two = coordinator.stable()
    two.topics = ("other",)
    two.join()
    for _ in range(9):  # it is heard of, but does not join
        coordinator.advance(REBALANCE_NS // 10)
        assert one.heartbeat() == "REBALANCE_IN_PROGRESS"
    coordinator.advance(REBALANCE_NS // 5)
    assert two.joined.generation_id == 2
    assert two.joined.leader == two.member_id
    assert one.heartbeat() == "UNKNOWN_MEMBER_ID"


def test_a_static_member_keeps_its_place_though_it_does_not_join(
    coordinator: OneCoordinator,
) -> None:
    """Until its session ends."""
    one, two = coordinator.stable(member_0="first")
    two.topics = ("other",)
    two.join()
    for _ in range(9):
        coordinator.advance(REBALANCE_NS // 10)
        one.heartbeat()
    coordinator.advance(REBALANCE_NS // 5)
    assert two.joined.generation_id == 2
    assert one.member_id in coordinator.group.members
    assert coordinator.group.is_leader(two.member_id)


@pytest.mark.thorough
def test_a_rebalance_goes_on_waiting_where_nobody_has_joined(coordinator: OneCoordinator) -> None:
    """Static members stay until their sessions end; then the group is empty."""
    one, two = coordinator.stable(member_0="first", member_1="second")
    rebalance = coordinator.groups.shard_of(GROUP).rebalance
    rebalance.prepare(coordinator.group, "a test")
    for _ in range(14):
        coordinator.advance(REBALANCE_NS // 12)
        one.heartbeat()
        two.heartbeat()
    assert coordinator.group.state == "PreparingRebalance"
    assert len(coordinator.group.members) == 2
    coordinator.advance(SESSION_NS * 2)
    assert coordinator.group.state == "Empty"


def test_who_does_not_ask_for_its_assignment_is_removed(coordinator: OneCoordinator) -> None:
    """When the rebalance timeout is over; the others join again."""
    one, two = coordinator.member(), coordinator.member()
    one.join()
    two.join()
    coordinator.advance(DELAY_NS * 3)
    one.sync(one, two)
    assert coordinator.group.state == "Stable"
    for _ in range(9):
        coordinator.advance(REBALANCE_NS // 9)
        one.heartbeat()
        two.heartbeat()
    assert coordinator.group.state == "PreparingRebalance"
    assert two.heartbeat() == "UNKNOWN_MEMBER_ID"


@pytest.mark.thorough
def test_nobody_is_removed_who_has_asked(coordinator: OneCoordinator) -> None:
    """However long ago."""
    one, two = coordinator.stable()
    for _ in range(20):
        coordinator.advance(REBALANCE_NS // 9)
        assert (one.heartbeat(), two.heartbeat()) == ("NONE", "NONE")
    assert coordinator.group.state == "Stable"


def test_a_rebalance_sends_those_back_that_wait_for_an_assignment(
    coordinator: OneCoordinator,
) -> None:
    """REBALANCE_IN_PROGRESS, and nothing is assigned."""
    one, two = coordinator.member(), coordinator.member()
    one.join()
    two.join()
    coordinator.advance(DELAY_NS * 3)
    two.sync()
    assert two.syncs == []
    coordinator.member().join()
    assert two.sync_error == "REBALANCE_IN_PROGRESS"
    assert two.synced.assignment == b""


def test_a_member_that_is_not_heard_of_is_removed(coordinator: OneCoordinator) -> None:
    """The others rebalance."""
    one, two = coordinator.stable()
    coordinator.advance(SESSION_NS // 2)
    assert one.heartbeat() == "NONE"
    coordinator.advance(SESSION_NS * 2 // 3)
    assert one.heartbeat() == "REBALANCE_IN_PROGRESS"
    assert two.heartbeat() == "UNKNOWN_MEMBER_ID"


@pytest.mark.thorough
def test_a_group_whose_members_are_gone_is_empty_and_written_down(
    coordinator: OneCoordinator,
) -> None:
    """In another generation."""
    coordinator.stable()
    coordinator.advance(SESSION_NS * 8)
    assert coordinator.group.state == "Empty"
    last = coordinator.records[-1]
    assert last.value is not None
    assert (last.value.message.generation, last.value.message.members) == (2, [])


@pytest.mark.thorough
def test_a_new_member_that_may_be_gone_is_given_up(coordinator: OneCoordinator) -> None:
    """After five minutes, though it still waits; it may join anew."""
    one, _ = coordinator.stable()
    new = coordinator.member()
    new.join(rebalance_timeout_ms=600_000)
    for _ in range(NEW_MEMBER_JOIN_TIMEOUT_NS // SESSION_NS * 2 + 2):
        coordinator.advance(SESSION_NS // 2)
        one.heartbeat()
        if new.joins:
            break
    assert new.join_error == "UNKNOWN_MEMBER_ID"
    assert new.joined.member_id == ""


def test_an_id_that_nobody_joins_with_is_waited_for_no_longer_than_a_session(
    coordinator: OneCoordinator,
) -> None:
    """Then the others go on."""
    one, two = coordinator.stable()
    coordinator.member().ask_to_join()
    assert len(coordinator.group.pending_join_members) == 1
    one.join()
    two.join()
    assert one.joined.generation_id == 1
    coordinator.advance(SESSION_NS * 11 // 10)
    assert coordinator.group.pending_join_members == set()
    assert (one.joined.generation_id, two.joined.generation_id) == (2, 2)


def test_an_assignment_that_cannot_be_written_is_not_given(coordinator: OneCoordinator) -> None:
    """Members are told, and the group rebalances."""
    one, two = coordinator.member(), coordinator.member()
    one.join()
    two.join()
    coordinator.advance(DELAY_NS * 3)
    two.sync()
    coordinator.node.lack_replicas("__consumer_offsets")
    one.sync(one, two)
    assert (one.sync_error, two.sync_error) == ("COORDINATOR_NOT_AVAILABLE",) * 2
    assert coordinator.group.state == "PreparingRebalance"


def test_a_group_that_is_coordinated_elsewhere_answers_everybody(
    coordinator: OneCoordinator,
) -> None:
    """NOT_COORDINATOR: whoever waits asks who it is."""
    one, two = coordinator.member(), coordinator.member()
    one.join()
    coordinator.advance(DELAY_NS * 2)
    one.sync()
    two.join()
    group = coordinator.group
    coordinator.node.controller.delete_topic("__consumer_offsets")
    assert two.join_error == "NOT_COORDINATOR"
    assert group.state == "Dead"
    assert coordinator.groups.purgatories.rebalances.delayed_count == 0
    assert one.heartbeat() == "NOT_COORDINATOR"
