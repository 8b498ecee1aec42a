import pytest

from kdiag.wire.api.describe_groups import DescribeGroupsRequest, DescribeGroupsResponse
from kdiag.wire.error_code import error_name
from lab_ends.group_asks import ASSIGNMENT, GroupAsks
from lab_ends.lab_client import LabClient
from lab_ends.one_coordinator import GROUP


@pytest.mark.parametrize("version", range(7))
def test_groups_are_described_in_every_version(asks: GroupAsks, version: int) -> None:
    """One that nobody knows is Dead; from version 3 on it is told what one may do."""
    asks.join()
    asks.sync()
    request = DescribeGroupsRequest(groups=[GROUP, "other"])
    if version >= 3:
        request.include_authorized_operations = True
    known, unknown = asks.client.ask(request, DescribeGroupsResponse, version).groups
    assert (known.group_state, known.protocol_data) == ("Stable", "range")
    (member,) = known.members
    assert (member.client_id, member.client_host) == ("lab-client", "/127.0.0.1")
    assert member.member_assignment == ASSIGNMENT
    assert (known.authorized_operations > 0) is (version >= 3)
    assert unknown.group_state == "Dead"
    assert error_name(unknown.error_code) == ("GROUP_ID_NOT_FOUND" if version == 6 else "NONE")


def test_another_coordinator_is_told_of_each_group(client: LabClient) -> None:
    """NOT_COORDINATOR."""
    request = DescribeGroupsRequest(groups=[GROUP])
    (group,) = client.ask(request, DescribeGroupsResponse, 5).groups
    assert error_name(group.error_code) == "NOT_COORDINATOR"
