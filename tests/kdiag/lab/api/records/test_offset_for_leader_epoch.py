import pytest

from kdiag.wire.api.offset_for_leader_epoch import (
    EpochEndOffset,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from kdiag.wire.api.produce import ProduceResponse
from kdiag.wire.error_code import error_name
from lab_ends.lab_client import LabClient
from lab_ends.one_node import batch
from lab_ends.requests import produce_request


def end(client: LabClient, asked: OffsetForLeaderPartition, version: int) -> EpochEndOffset:
    """Return where an epoch ends."""
    topic = OffsetForLeaderTopic(topic="orders", partitions=[asked])
    request = OffsetForLeaderEpochRequest(topics=[topic])
    return client.ask(request, OffsetForLeaderEpochResponse, version).topics[0].partitions[0]


@pytest.mark.parametrize("version", range(2, 5))
def test_the_current_epoch_ends_with_the_log(client: LabClient, version: int) -> None:
    """One that is not known yet ends nowhere."""
    client.ask(produce_request("orders", 0, batch(3)), ProduceResponse, 9)
    found = end(client, OffsetForLeaderPartition(leader_epoch=0), version)
    assert (found.leader_epoch, found.end_offset) == (0, 3)
    unknown = end(client, OffsetForLeaderPartition(leader_epoch=9), version)
    assert (unknown.error_code, unknown.leader_epoch, unknown.end_offset) == (0, -1, -1)


@pytest.mark.parametrize(
    ("asked", "error"),
    [
        (OffsetForLeaderPartition(partition=9), "UNKNOWN_TOPIC_OR_PARTITION"),
        (OffsetForLeaderPartition(current_leader_epoch=4), "UNKNOWN_LEADER_EPOCH"),
    ],
)
def test_an_error_is_told(client: LabClient, asked: OffsetForLeaderPartition, error: str) -> None:
    """In its place."""
    assert error_name(end(client, asked, 4).error_code) == error
