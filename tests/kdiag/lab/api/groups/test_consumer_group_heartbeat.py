import pytest

from kdiag.wire.api.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)
from kdiag.wire.error_code import error_name
from lab_ends.group_asks import GroupAsks
from lab_ends.one_coordinator import GROUP


def first(member_id: str) -> ConsumerGroupHeartbeatRequest:
    """Return a first heartbeat."""
    return ConsumerGroupHeartbeatRequest(
        group_id=GROUP,
        member_id=member_id,
        rebalance_timeout_ms=30_000,
        subscribed_topic_names=["orders"],
        topic_partitions=[],
    )


@pytest.mark.parametrize("version", [0, 1])
def test_a_member_joins_in_every_version(asks: GroupAsks, version: int) -> None:
    """It has both partitions at once."""
    response = asks.client.ask(first("a"), ConsumerGroupHeartbeatResponse, version)
    assert (response.error_code, response.member_id, response.member_epoch) == (0, "a", 2)
    assert response.assignment is not None
    assert [each.partitions for each in response.assignment.topic_partitions] == [[0, 1]]


@pytest.mark.parametrize(("version", "error"), [(0, "NONE"), (1, "INVALID_REQUEST")])
def test_version_0_gives_ids(asks: GroupAsks, version: int, error: str) -> None:
    """From version 1 on clients make their own (KIP-1082)."""
    response = asks.client.ask(first(""), ConsumerGroupHeartbeatResponse, version)
    assert error_name(response.error_code) == error
    assert bool(response.member_id) is (version == 0)
