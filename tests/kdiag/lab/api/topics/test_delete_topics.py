import pytest

from kdiag.lab.broker.lab_cluster import LabCluster
from kdiag.wire.api.delete_topics import (
    DeleteTopicsRequest,
    DeleteTopicsResponse,
    DeleteTopicState,
)
from kdiag.wire.error_code import error_name
from lab_ends.lab_client import LabClient


@pytest.mark.parametrize("version", range(1, 7))
def test_a_topic_is_gone_when_it_is_answered(
    lab: LabCluster, client: LabClient, version: int
) -> None:
    """One that is not there has its error."""
    if version < 6:
        request = DeleteTopicsRequest(topic_names=["orders", "nothing"])
    else:
        named = [DeleteTopicState(name=name) for name in ("orders", "nothing")]
        request = DeleteTopicsRequest(topics=named)
    results = client.ask(request, DeleteTopicsResponse, version).responses
    assert [error_name(each.error_code) for each in results] == [
        "NONE",
        "UNKNOWN_TOPIC_OR_PARTITION",
    ]
    assert lab.controller.image.topics == {}


def test_a_topic_is_deleted_by_its_id(lab: LabCluster, client: LabClient) -> None:
    """Not by both, nor by neither, nor by one that no topic has."""
    topic_id = lab.controller.image.topics["orders"].topic_id
    asked = [
        DeleteTopicState(name="orders", topic_id=topic_id),
        DeleteTopicState(),
        DeleteTopicState(topic_id=b"x" * 16),
        DeleteTopicState(topic_id=topic_id),
    ]
    results = client.ask(DeleteTopicsRequest(topics=asked), DeleteTopicsResponse, 6).responses
    assert [error_name(each.error_code) for each in results] == [
        "INVALID_REQUEST",
        "INVALID_REQUEST",
        "UNKNOWN_TOPIC_ID",
        "NONE",
    ]
    assert (results[3].name, results[3].topic_id) == ("orders", topic_id)
