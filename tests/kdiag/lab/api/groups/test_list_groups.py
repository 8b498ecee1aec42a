import pytest

from kdiag.lab.broker.lab_cluster import LabCluster
from kdiag.lab.coordinator.runtime.coordinator_runtime import CoordinatorRuntime
from kdiag.wire.api.list_groups import ListGroupsRequest, ListGroupsResponse
from kdiag.wire.error_code import error_name
from lab_ends.group_asks import GroupAsks
from lab_ends.lab_client import LabClient


@pytest.mark.parametrize("version", range(6))
def test_groups_are_listed_in_every_version(asks: GroupAsks, version: int) -> None:
    """From version 4 on with states, from 5 on with types, and filtered by them."""
    asks.join()
    asks.sync()
    request = ListGroupsRequest()
    (group,) = asks.client.ask(request, ListGroupsResponse, version).groups
    assert (group.group_id, group.protocol_type) == ("billing", "consumer")
    assert group.group_state == ("Stable" if version >= 4 else "")
    assert group.group_type == ("classic" if version >= 5 else "")
    if version >= 4:
        request.states_filter = ["Empty"]
        assert asks.client.ask(request, ListGroupsResponse, version).groups == []


def test_nothing_is_listed_before_all_is_read(
    lab: LabCluster, client: LabClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A part might be taken for all."""
    assert client.ask(ListGroupsRequest(), ListGroupsResponse, 5).error_code == 0
    monkeypatch.setattr(CoordinatorRuntime, "is_loading", property(lambda _: True))
    response = client.ask(ListGroupsRequest(), ListGroupsResponse, 5)
    assert error_name(response.error_code) == "COORDINATOR_LOAD_IN_PROGRESS"
    assert lab.nodes[0].groups.runtime.shards == []
