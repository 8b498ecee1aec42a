import pytest

from kdiag.lab.controller.refusal import RequestRefusedError
from kdiag.wire.api.leave_group import MemberIdentity
from kdiag.wire.error_code import error_name
from lab_ends.one_coordinator import DELAY_NS, GROUP, OneCoordinator


def test_all_are_answered_when_the_leader_has_brought_the_assignment(
    coordinator: OneCoordinator,
) -> None:
    """Those that asked before, and those that ask later; who is left out has nothing."""
    one, two, three = (coordinator.member() for _ in range(3))
    for member in (one, two, three):
        member.join()
    coordinator.advance(DELAY_NS * 4)
    two.sync()
    assert two.syncs == []
    one.sync(one, two)
    three.sync()
    assert [each.sync_error for each in (one, two, three)] == ["NONE"] * 3
    assert two.synced.assignment == f"for {two.member_id}".encode()
    assert three.synced.assignment == b""
    assert (one.synced.protocol_type, one.synced.protocol_name) == ("consumer", "range")
    assert coordinator.group.state == "Stable"


def test_the_assignment_is_written_down(coordinator: OneCoordinator) -> None:
    """Before anybody has it."""
    one, _ = coordinator.stable()
    (record,) = coordinator.records
    assert record.value is not None
    assert record.value.message.generation == 1
    given = {each.member_id: each.assignment for each in record.value.message.members}
    assert given[one.member_id] == f"for {one.member_id}".encode()


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"generation_id": 7}, "ILLEGAL_GENERATION"),
        ({"member_id": "stranger"}, "UNKNOWN_MEMBER_ID"),
        ({"group_id": "other"}, "UNKNOWN_MEMBER_ID"),
        ({"group_id": ""}, "INVALID_GROUP_ID"),
        ({"group_instance_id": "nobody"}, "UNKNOWN_MEMBER_ID"),
        ({"protocol_type": "connect"}, "INCONSISTENT_GROUP_PROTOCOL"),
        ({"protocol_name": "roundrobin"}, "INCONSISTENT_GROUP_PROTOCOL"),
    ],
)
def test_who_may_not_is_given_nothing(
    coordinator: OneCoordinator, changes: dict[str, object], error: str
) -> None:
    """And is told why."""
    one, _ = coordinator.stable()
    one.sync(**changes)
    assert one.sync_error == error
    assert one.synced.assignment == b""


def test_nothing_is_given_while_others_have_to_join(coordinator: OneCoordinator) -> None:
    """REBALANCE_IN_PROGRESS."""
    one, _ = coordinator.stable()
    coordinator.member().join()
    one.sync()
    assert one.sync_error == "REBALANCE_IN_PROGRESS"


def test_a_heartbeat_says_whether_to_join_again(coordinator: OneCoordinator) -> None:
    """In CompletingRebalance the member has joined already."""
    one = coordinator.member()
    one.join()
    coordinator.advance(DELAY_NS * 2)
    assert one.heartbeat() == "NONE"
    one.sync(one)
    assert one.heartbeat() == "NONE"
    coordinator.member().join()
    assert one.heartbeat() == "REBALANCE_IN_PROGRESS"


def test_a_heartbeat_of_somebody_else_is_refused(coordinator: OneCoordinator) -> None:
    """By generation, by id, by group."""
    one, _ = coordinator.stable()
    assert one.heartbeat(generation_id=7) == "ILLEGAL_GENERATION"
    one.member_id = "stranger"
    assert one.heartbeat() == "UNKNOWN_MEMBER_ID"


def test_a_member_leaves_and_the_others_rebalance(coordinator: OneCoordinator) -> None:
    """It is no member any more."""
    one, two = coordinator.stable()
    assert two.leave() == "NONE"
    assert one.heartbeat() == "REBALANCE_IN_PROGRESS"
    assert two.heartbeat() == "UNKNOWN_MEMBER_ID"
    assert two.leave() == "UNKNOWN_MEMBER_ID"
    one.join()
    assert (one.joined.generation_id, one.joined.leader) == (2, one.member_id)


def test_a_member_that_waits_may_be_removed(coordinator: OneCoordinator) -> None:
    """Its JoinGroup is answered, and the others go on."""
    one, two = coordinator.stable()
    two.topics = ("other",)
    two.join()
    waiting = len(two.joins)
    assert two.leave() == "NONE"
    assert len(two.joins) == waiting + 1
    assert two.join_error == "UNKNOWN_MEMBER_ID"
    one.join()
    assert one.joined.generation_id == 2


def test_somebody_who_was_given_an_id_may_leave(coordinator: OneCoordinator) -> None:
    """The others wait for it no longer."""
    coordinator.stable()
    pending = coordinator.member()
    pending.ask_to_join()
    assert pending.leave() == "NONE"
    assert coordinator.group.pending_join_members == set()


def test_an_administrator_removes_static_members_by_name(coordinator: OneCoordinator) -> None:
    """Many at once; each is told by itself."""
    coordinator.stable(member_0="first", member_1="second")
    leaving = [
        MemberIdentity(group_instance_id="first"),
        MemberIdentity(group_instance_id="nobody"),
        MemberIdentity(member_id="stranger", group_instance_id="second"),
    ]
    responses = coordinator.groups.leave(GROUP, leaving)
    assert [error_name(each.error_code) for each in responses] == [
        "NONE",
        "UNKNOWN_MEMBER_ID",
        "FENCED_INSTANCE_ID",
    ]
    assert list(coordinator.group.static_members) == ["second"]


def test_nobody_leaves_a_group_that_nobody_knows(coordinator: OneCoordinator) -> None:
    """Each is told so; a group without a name is an error of the whole."""
    (response,) = coordinator.groups.leave("other", [MemberIdentity(member_id="a")])
    assert error_name(response.error_code) == "UNKNOWN_MEMBER_ID"
    with pytest.raises(RequestRefusedError, match="INVALID_GROUP_ID"):
        coordinator.groups.leave("", [])
