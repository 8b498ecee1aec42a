import pytest

from kdiag.lab.purgatory.operation_key import TopicPartitionOperationKey
from kdiag.lab.replication.leader_range import LeaderRange, ask_for_range
from kdiag.lab.replication.peer_requests import HandleResponse, Purpose
from kdiag.wire.api.list_offsets import (
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from kdiag.wire.schema import Struct

ORDERS = TopicPartitionOperationKey("orders", 3)


def range_of(offsets: dict[int, ListOffsetsPartitionResponse | None]) -> list[LeaderRange | None]:
    """Return what is found if a leader answers so for each place."""
    found: list[LeaderRange | None] = []

    def send(purpose: Purpose, request: Struct, handle: HandleResponse) -> None:
        assert isinstance(request, ListOffsetsRequest)
        assert (purpose, request.replica_id) == (Purpose.OFFSETS, 2)
        (topic,) = request.topics
        (asked,) = topic.partitions
        assert (topic.name, asked.partition_index, asked.current_leader_epoch) == ("orders", 3, 5)
        partition = offsets[asked.timestamp]
        if partition is None:
            handle(None)
            return
        response = ListOffsetsTopicResponse(name="orders", partitions=[partition])
        handle(ListOffsetsResponse(topics=[response]))

    ask_for_range(send, 2, ORDERS, 5, found.append)
    return found


def test_both_ends_of_the_leaders_log_are_asked_for() -> None:
    """Its end and its start."""
    start, end = ListOffsetsPartitionResponse(offset=50), ListOffsetsPartitionResponse(offset=80)
    assert range_of({-1: end, -2: start}) == [LeaderRange(50, 80)]


@pytest.mark.parametrize("start", [None, ListOffsetsPartitionResponse(error_code=6, offset=3)])
def test_a_leader_that_does_not_tell_one_of_them_tells_nothing(
    start: ListOffsetsPartitionResponse | None,
) -> None:
    """Whatever the other is."""
    assert range_of({-1: ListOffsetsPartitionResponse(offset=80), -2: start}) == [None]
