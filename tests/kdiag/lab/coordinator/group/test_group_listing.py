import pytest

from kdiag.lab.controller.refusal import RequestRefusedError
from kdiag.lab.coordinator.group.group_listing import delete_group, describe_group, list_groups
from kdiag.wire.error_code import error_name
from lab_ends.one_coordinator import GROUP, OneCoordinator, subscription


def test_a_stable_group_is_described_with_what_members_say_and_have(
    coordinator: OneCoordinator,
) -> None:
    """While it rebalances, without."""
    one, _ = coordinator.stable()
    shard = coordinator.groups.shard_of(GROUP)
    told = describe_group(shard, GROUP, 5)
    assert (told.group_state, told.protocol_type, told.protocol_data) == (
        "Stable",
        "consumer",
        "range",
    )
    member = told.members[0]
    assert (member.member_id, member.client_id, member.client_host) == (
        one.member_id,
        "client",
        "/127.0.0.1",
    )
    assert member.member_metadata == subscription("orders")
    assert member.member_assignment == f"for {one.member_id}".encode()
    one.join()
    told = describe_group(shard, GROUP, 5)
    assert (told.group_state, told.protocol_data) == ("PreparingRebalance", "")
    assert [each.member_metadata for each in told.members] == [b"", b""]


def test_a_group_that_nobody_knows_is_dead(coordinator: OneCoordinator) -> None:
    """From version 6 on that is an error (KIP-1043)."""
    shard = coordinator.groups.shard_of(GROUP)
    told = describe_group(shard, GROUP, 5)
    assert (told.group_state, told.error_code) == ("Dead", 0)
    told = describe_group(shard, GROUP, 6)
    assert (told.group_state, error_name(told.error_code)) == ("Dead", "GROUP_ID_NOT_FOUND")
    assert told.error_message == "Group billing not found."


def test_groups_are_listed_by_state_and_type(coordinator: OneCoordinator) -> None:
    """Upper and lower case are the same."""
    coordinator.commit(5)
    shard = coordinator.groups.shard_of(GROUP)
    (listed,) = list_groups(shard, [], [])
    assert (listed.group_id, listed.group_state, listed.group_type) == (GROUP, "Empty", "classic")
    assert listed.protocol_type == ""
    for states, types, count in (
        (["empty"], [], 1),
        (["Stable"], [], 0),
        ([], ["Classic"], 1),
        ([], ["consumer"], 0),
        (["EMPTY", "stable"], ["classic"], 1),
    ):
        assert len(list_groups(shard, states, types)) == count


@pytest.mark.thorough
def test_only_a_group_without_members_is_deleted(coordinator: OneCoordinator) -> None:
    """With its offsets."""
    shard = coordinator.groups.shard_of(GROUP)
    with pytest.raises(RequestRefusedError, match="GROUP_ID_NOT_FOUND"):
        delete_group(shard, GROUP)
    coordinator.commit(5)
    assert [each.type for each in delete_group(shard, GROUP)] == ["OffsetCommit", "GroupMetadata"]
    coordinator.stable()
    with pytest.raises(RequestRefusedError, match="NON_EMPTY_GROUP"):
        delete_group(shard, GROUP)
