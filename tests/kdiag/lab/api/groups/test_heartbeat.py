import pytest

from kdiag.wire.api.heartbeat import HeartbeatRequest, HeartbeatResponse
from kdiag.wire.error_code import error_name
from lab_ends.group_asks import GroupAsks
from lab_ends.one_coordinator import GROUP


@pytest.mark.parametrize("version", range(5))
def test_a_member_is_heard_of_in_every_version(asks: GroupAsks, version: int) -> None:
    """Somebody else is not."""
    asks.join()
    asks.sync()
    errors = []
    for member_id, generation_id in ((asks.member_id, 1), (asks.member_id, 2), ("stranger", 1)):
        request = HeartbeatRequest(group_id=GROUP, generation_id=generation_id, member_id=member_id)
        response = asks.client.ask(request, HeartbeatResponse, version)
        errors.append(error_name(response.error_code))
    assert errors == ["NONE", "ILLEGAL_GENERATION", "UNKNOWN_MEMBER_ID"]
