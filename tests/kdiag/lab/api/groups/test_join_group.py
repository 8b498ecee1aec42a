import pytest

from kdiag.wire.error_code import error_name
from lab_ends.group_asks import GroupAsks
from lab_ends.one_coordinator import subscription


@pytest.mark.parametrize("version", range(10))
def test_a_member_joins_in_every_version(asks: GroupAsks, version: int) -> None:
    """From version 4 on with the id that it was given; the leader is told the members."""
    response = asks.join(version)
    assert (error_name(response.error_code), response.generation_id) == ("NONE", 1)
    assert response.leader == response.member_id == asks.member_id
    assert response.protocol_name == "range"
    assert response.protocol_type == ("consumer" if version >= 7 else None)
    (member,) = response.members
    assert (member.member_id, member.metadata) == (asks.member_id, subscription("orders"))


@pytest.mark.parametrize(("version", "protocol"), [(6, ""), (7, None)])
def test_no_protocol_is_null_where_that_can_be_said(
    asks: GroupAsks, version: int, protocol: str | None
) -> None:
    """Version 7 and later (KIP-559)."""
    asks.member_id = "stranger"
    response = asks.join(version)
    assert error_name(response.error_code) == "UNKNOWN_MEMBER_ID"
    assert response.protocol_name == protocol


def test_a_static_member_that_comes_back_may_skip_the_assignment(asks: GroupAsks) -> None:
    """KIP-814, from version 9 on."""
    asks.join(has_name=True)
    asks.sync(group_instance_id="first")
    asks.member_id = ""
    assert asks.join(has_name=True).skip_assignment
