from pathlib import Path

import pytest

from kdiag.clock import NS_PER_MS
from kdiag.lab.coordinator.group.group_config import GroupCoordinatorConfig
from lab_ends.one_coordinator import DELAY_NS, REBALANCE_MS, OneCoordinator


def test_a_new_member_is_given_an_id_to_join_with(coordinator: OneCoordinator) -> None:
    """KIP-394; before version 4 it is a member at once, and so is a static one."""
    new = coordinator.member()
    new.ask_to_join()
    assert new.join_error == "MEMBER_ID_REQUIRED"
    assert new.member_id.startswith("client-")
    assert coordinator.group.members == {}
    old = coordinator.member()
    old.version = 3
    old.ask_to_join()
    static = coordinator.member(instance_id="one")
    static.ask_to_join()
    assert len(coordinator.group.members) == 2


def test_an_unknown_id_is_refused(coordinator: OneCoordinator) -> None:
    """Of a group that nobody knows, too, which is not made by that."""
    stranger = coordinator.member()
    stranger.ask_to_join(member_id="stranger")
    assert stranger.join_error == "UNKNOWN_MEMBER_ID"
    coordinator.stable()
    stranger.ask_to_join(member_id="stranger")
    assert stranger.join_error == "UNKNOWN_MEMBER_ID"


@pytest.mark.parametrize("session_timeout_ms", [5_999, 1_800_001])
def test_a_session_timeout_has_bounds(coordinator: OneCoordinator, session_timeout_ms: int) -> None:
    """`group.min.session.timeout.ms`, `group.max.session.timeout.ms`."""
    member = coordinator.member()
    member.ask_to_join(session_timeout_ms=session_timeout_ms)
    assert member.join_error == "INVALID_SESSION_TIMEOUT"


def test_a_group_has_a_name(coordinator: OneCoordinator) -> None:
    """INVALID_GROUP_ID."""
    member = coordinator.member()
    member.ask_to_join(group_id="")
    assert member.join_error == "INVALID_GROUP_ID"


def test_who_has_no_common_protocol_is_refused(coordinator: OneCoordinator) -> None:
    """By name and by type; an empty group refuses who has none."""
    nobody = coordinator.member(protocols=())
    nobody.ask_to_join()
    assert nobody.join_error == "INCONSISTENT_GROUP_PROTOCOL"
    coordinator.stable()
    for member, changes in (
        (coordinator.member(("roundrobin",)), {}),
        (coordinator.member(), {"protocol_type": "connect"}),
    ):
        member.ask_to_join(**changes)
        assert member.join_error == "INCONSISTENT_GROUP_PROTOCOL"


def test_a_group_has_a_largest_size(tmp_path: Path) -> None:
    """Those that come last are refused; a member may join again."""
    coordinator = OneCoordinator(tmp_path, GroupCoordinatorConfig(group_max_size=2))
    one, two = coordinator.stable()
    three = coordinator.member()
    three.ask_to_join()
    assert (three.join_error, three.joined.member_id) == ("GROUP_MAX_SIZE_REACHED", "")
    one.join()
    two.join()
    assert one.joined.generation_id == 2


def test_a_group_that_is_too_large_when_it_is_read_shrinks(tmp_path: Path) -> None:
    """It rebalances, and who joins last has to go."""
    coordinator = OneCoordinator(tmp_path)
    members = coordinator.stable(3)
    coordinator.config = GroupCoordinatorConfig(group_max_size=2)
    coordinator.restart()
    assert coordinator.group.state == "PreparingRebalance"
    for member in members:
        member.ask_to_join()
    assert members[2].join_error == "GROUP_MAX_SIZE_REACHED"
    coordinator.advance(REBALANCE_MS * NS_PER_MS)
    assert [each.joined.generation_id for each in members[:2]] == [2, 2]


def test_a_follower_that_joins_again_unchanged_is_told_what_is(
    coordinator: OneCoordinator,
) -> None:
    """The group does not rebalance; with another subscription it does, and if the leader joins."""
    one, two = coordinator.stable()
    two.join()
    assert (two.joined.generation_id, two.joined.leader) == (1, one.member_id)
    assert coordinator.group.state == "Stable"
    two.topics = ("other",)
    two.join()
    assert coordinator.group.state == "PreparingRebalance"
    one.join()
    assert two.joined.generation_id == 2


def test_a_leader_that_joins_again_makes_a_rebalance(coordinator: OneCoordinator) -> None:
    """Topics may have changed, which only it sees."""
    one, two = coordinator.stable()
    one.join()
    assert coordinator.group.state == "PreparingRebalance"
    two.join()
    assert (one.joined.generation_id, one.joined.leader) == (2, one.member_id)


def test_who_has_lost_the_response_asks_again(coordinator: OneCoordinator) -> None:
    """While an assignment is waited for."""
    one, two = coordinator.member(), coordinator.member()
    one.join()
    two.join()
    coordinator.advance(DELAY_NS * 3)
    one.join()
    assert one.joined.generation_id == 1
    assert len(one.joined.members) == 2
    two.topics = ("other",)
    two.join()
    assert coordinator.group.state == "PreparingRebalance"


def test_a_rebalance_timeout_is_the_session_timeout_in_version_0(
    coordinator: OneCoordinator,
) -> None:
    """It has only that."""
    old = coordinator.member()
    old.version = 0
    old.ask_to_join()
    (member,) = coordinator.group.members.values()
    assert member.timeouts.rebalance_ms == member.timeouts.session_ms


def test_a_static_member_that_comes_back_changes_nothing_but_its_id(
    coordinator: OneCoordinator,
) -> None:
    """KIP-345; a leader is told to skip the assignment (KIP-814). The old one is fenced."""
    one, two = coordinator.stable(member_0="first", member_1="second")
    back = coordinator.member(instance_id="first")
    back.ask_to_join()
    assert (back.join_error, back.joined.generation_id) == ("NONE", 1)
    assert back.member_id != one.member_id
    assert back.joined.leader == back.member_id
    assert back.joined.skip_assignment
    assert len(back.joined.members) == 2
    assert coordinator.group.state == "Stable"
    back.sync()
    assert back.synced.assignment == f"for {one.member_id}".encode()
    assert one.heartbeat() == "FENCED_INSTANCE_ID"
    assert (back.heartbeat(), two.heartbeat()) == ("NONE", "NONE")
    follower = coordinator.member(instance_id="second")
    follower.ask_to_join()
    assert not follower.joined.skip_assignment


def test_old_clients_are_told_the_leader_that_was(coordinator: OneCoordinator) -> None:
    """So that they do not assign anew."""
    one, _ = coordinator.stable(member_0="first")
    back = coordinator.member(instance_id="first")
    back.version = 8
    back.ask_to_join()
    assert back.joined.leader == one.member_id
    assert not back.joined.skip_assignment
    assert back.joined.members == []


def test_a_static_member_that_changes_the_protocol_makes_a_rebalance(
    coordinator: OneCoordinator,
) -> None:
    """What the group has would not be what it has voted for."""
    one = coordinator.member(("range", "roundrobin"), "first")
    one.join()
    coordinator.advance(DELAY_NS * 2)
    one.sync(one)
    back = coordinator.member(("roundrobin", "range"), "first")
    back.ask_to_join()
    assert back.joined.generation_id == 2
    assert back.joined.protocol_name == "roundrobin"


def test_a_static_member_that_comes_back_while_an_assignment_is_waited_for(
    coordinator: OneCoordinator,
) -> None:
    """The leader may assign to the old id: the group rebalances."""
    one, two = coordinator.member(instance_id="first"), coordinator.member(instance_id="second")
    one.join()
    two.join()
    coordinator.advance(DELAY_NS * 3)
    back = coordinator.member(instance_id="second")
    back.ask_to_join()
    assert coordinator.group.state == "PreparingRebalance"
    one.join()
    assert (one.joined.generation_id, back.joined.generation_id) == (2, 2)


def test_a_static_member_that_cannot_be_written_keeps_its_old_id(
    coordinator: OneCoordinator,
) -> None:
    """The new one is told, and asks again."""
    one, _ = coordinator.stable(member_0="first")
    coordinator.node.lack_replicas("__consumer_offsets")
    back = coordinator.member(instance_id="first")
    back.ask_to_join()
    assert back.join_error == "COORDINATOR_NOT_AVAILABLE"
    assert coordinator.group.static_members["first"] == one.member_id
    assert one.heartbeat() == "NONE"


def test_an_empty_group_is_joined_anew(coordinator: OneCoordinator) -> None:
    """Its generation goes on."""
    one, two = coordinator.stable()
    assert (one.leave(), two.leave()) == ("NONE", "NONE")
    assert coordinator.group.state == "Empty"
    one.ask_to_join()
    assert one.join_error == "UNKNOWN_MEMBER_ID"
    again = coordinator.member()
    again.join()
    coordinator.advance(DELAY_NS * 2)
    assert again.joined.generation_id == 3
