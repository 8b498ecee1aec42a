import pytest

from kdiag.wire.api.leave_group import LeaveGroupRequest, LeaveGroupResponse, MemberIdentity
from kdiag.wire.error_code import error_name
from lab_ends.group_asks import GroupAsks
from lab_ends.one_coordinator import GROUP


def left(asks: GroupAsks, version: int, group_id: str = GROUP) -> LeaveGroupResponse:
    """Return what the member is told when it leaves."""
    request = LeaveGroupRequest(group_id=group_id)
    if version >= 3:
        request.members = [MemberIdentity(member_id=asks.member_id)]
    else:
        request.member_id = asks.member_id
    return asks.client.ask(request, LeaveGroupResponse, version)


@pytest.mark.parametrize("version", range(6))
def test_a_member_leaves_in_every_version(asks: GroupAsks, version: int) -> None:
    """It cannot leave twice: up to version 2 that is the error of the whole."""
    asks.join()
    asks.sync()
    for expected in ("NONE", "UNKNOWN_MEMBER_ID"):
        response = left(asks, version)
        code = response.members[0].error_code if version >= 3 else response.error_code
        assert error_name(code) == expected


def test_a_group_has_a_name(asks: GroupAsks) -> None:
    """INVALID_GROUP_ID is an error of the whole."""
    assert error_name(left(asks, 5, "").error_code) == "INVALID_GROUP_ID"
