import pytest

from kdiag.lab.broker.lab_cluster import LabCluster
from kdiag.lab.controller.quorum_controller import NewTopic
from kdiag.wire.api.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsPartitionResult,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopic,
)
from kdiag.wire.api.produce import ProduceResponse
from kdiag.wire.error_code import error_name
from lab_ends.lab_client import LabClient
from lab_ends.one_node import batch
from lab_ends.requests import produce_request


def delete(
    client: LabClient, offset: int, topic: str = "orders", version: int = 2
) -> DeleteRecordsPartitionResult:
    """Return the response of a partition."""
    asked = DeleteRecordsPartition(partition_index=0, offset=offset)
    request = DeleteRecordsRequest(topics=[DeleteRecordsTopic(name=topic, partitions=[asked])])
    return client.ask(request, DeleteRecordsResponse, version).topics[0].partitions[0]


@pytest.mark.parametrize("version", range(3))
def test_the_log_starts_later(client: LabClient, version: int) -> None:
    """-1 is the high watermark."""
    client.ask(produce_request("orders", 0, batch(5)), ProduceResponse, 9)
    assert delete(client, 2, version=version).low_watermark == 2
    assert delete(client, -1, version=version).low_watermark == 5


def test_what_cannot_be_deleted_is_told(lab: LabCluster, client: LabClient) -> None:
    """Each with its error."""
    lab.controller.create_topic(NewTopic("compacted", configs={"cleanup.policy": "compact"}))
    errors = [
        error_name(delete(client, offset, topic).error_code)
        for offset, topic in (
            (1, "orders"),
            (0, "nothing"),
            (0, "compacted"),
            (0, "__consumer_offsets"),
        )
    ]
    assert errors == [
        "OFFSET_OUT_OF_RANGE",
        "UNKNOWN_TOPIC_OR_PARTITION",
        "POLICY_VIOLATION",
        "INVALID_TOPIC_EXCEPTION",
    ]
    assert delete(client, 1).low_watermark == -1
