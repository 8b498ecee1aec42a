import pytest

from kdiag.wire.api.delete_groups import DeleteGroupsRequest, DeleteGroupsResponse
from kdiag.wire.error_code import error_name
from lab_ends.group_asks import GroupAsks
from lab_ends.lab_client import LabClient
from lab_ends.one_coordinator import GROUP


def deleted(client: LabClient, version: int, *groups: str) -> dict[str, str]:
    """Return the error of each group that is to be forgotten."""
    request = DeleteGroupsRequest(groups_names=list(groups))
    results = client.ask(request, DeleteGroupsResponse, version).results
    return {each.group_id: error_name(each.error_code) for each in results}


@pytest.mark.parametrize("version", range(3))
def test_a_group_without_members_is_forgotten(asks: GroupAsks, version: int) -> None:
    """Once; nothing is asked by no groups."""
    asks.commit(5)
    assert deleted(asks.client, version, GROUP, "other") == {
        GROUP: "NONE",
        "other": "GROUP_ID_NOT_FOUND",
    }
    assert deleted(asks.client, version, GROUP) == {GROUP: "GROUP_ID_NOT_FOUND"}
    assert deleted(asks.client, version) == {}


def test_a_group_with_members_is_kept(asks: GroupAsks) -> None:
    """NON_EMPTY_GROUP."""
    asks.join()
    assert deleted(asks.client, 2, GROUP) == {GROUP: "NON_EMPTY_GROUP"}


def test_another_coordinator_is_told_of_each_group(client: LabClient) -> None:
    """NOT_COORDINATOR."""
    assert deleted(client, 2, GROUP) == {GROUP: "NOT_COORDINATOR"}
