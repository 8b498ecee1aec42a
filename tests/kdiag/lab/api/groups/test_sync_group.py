import pytest

from kdiag.wire.error_code import error_name
from lab_ends.group_asks import ASSIGNMENT, GroupAsks


@pytest.mark.thorough
@pytest.mark.parametrize("version", range(6))
def test_an_assignment_is_brought_and_given_in_every_version(asks: GroupAsks, version: int) -> None:
    """Version 5 tells which protocol it is of."""
    asks.join()
    response = asks.sync(version)
    assert (response.error_code, response.assignment) == (0, ASSIGNMENT)
    assert response.protocol_name == ("range" if version == 5 else None)


def test_version_5_has_to_say_which_protocol_it_is_for(asks: GroupAsks) -> None:
    """KIP-559."""
    asks.join()
    response = asks.sync(protocol_name=None)
    assert error_name(response.error_code) == "INCONSISTENT_GROUP_PROTOCOL"
