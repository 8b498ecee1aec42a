import pytest

from kdiag.lab.broker.lab_cluster import LabCluster
from kdiag.wire.api.create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from kdiag.wire.error_code import error_name
from lab_ends.lab_client import LabClient


def create(client: LabClient, *topics: CreatableTopic, version: int = 7) -> CreateTopicsResponse:
    """Return the response."""
    return client.ask(CreateTopicsRequest(topics=list(topics)), CreateTopicsResponse, version)


@pytest.mark.parametrize("version", range(2, 8))
def test_a_topic_is_there_when_it_is_answered(
    lab: LabCluster, client: LabClient, version: int
) -> None:
    """With its partitions, settings and id."""
    asked = CreatableTopic(
        name="new",
        num_partitions=3,
        replication_factor=1,
        configs=[CreatableTopicConfig(name="segment.bytes", value="1048576")],
    )
    (result,) = create(client, asked, version=version).topics
    topic = lab.controller.image.topics["new"]
    assert (result.error_code, len(topic.partitions)) == (0, 3)
    assert topic.configs == {"segment.bytes": "1048576"}
    if version >= 5:
        told = {each.name: (each.value, each.config_source) for each in result.configs or []}
        assert told["segment.bytes"] == ("1048576", 1)
        assert told["retention.ms"] == ("604800000", 5)
        assert (result.num_partitions, result.replication_factor) == (3, 1)
    if version >= 7:
        assert result.topic_id == topic.topic_id


def test_defaults_and_assignments(lab: LabCluster, client: LabClient) -> None:
    """-1 is the cluster's default (KIP-464)."""
    create(client, CreatableTopic(name="a", num_partitions=-1, replication_factor=-1))
    assert len(lab.controller.image.topics["a"].partitions) == 1
    one = CreatableReplicaAssignment(partition_index=0, broker_ids=[1])
    asked = CreatableTopic(
        name="b", num_partitions=-1, replication_factor=-1, assignments=[one, one]
    )
    (result,) = create(client, asked).topics
    assert error_name(result.error_code) == "INVALID_REPLICA_ASSIGNMENT"
    asked.assignments = [one]
    assert create(client, asked).topics[0].error_code == 0


def test_each_topic_has_its_error(lab: LabCluster, client: LabClient) -> None:
    """Those that have none are created; one that stands twice is not."""
    good, there, twice = (
        CreatableTopic(name=name, num_partitions=1, replication_factor=1)
        for name in ("good", "orders", "twice")
    )
    unset = CreatableTopic(
        name="unset",
        num_partitions=1,
        replication_factor=1,
        configs=[CreatableTopicConfig(name="flush.ms", value=None)],
    )
    results = create(client, good, there, twice, twice, unset).topics
    assert {result.name: error_name(result.error_code) for result in results} == {
        "good": "NONE",
        "orders": "TOPIC_ALREADY_EXISTS",
        "twice": "INVALID_REQUEST",
        "unset": "INVALID_CONFIG",
    }
    assert sorted(lab.controller.image.topics) == ["good", "orders"]


def test_nothing_is_created_if_it_is_only_checked(lab: LabCluster, client: LabClient) -> None:
    """The response is the same."""
    request = CreateTopicsRequest(
        topics=[CreatableTopic(name="a", num_partitions=1, replication_factor=1)],
        validate_only=True,
    )
    (result,) = client.ask(request, CreateTopicsResponse, 7).topics
    assert result.error_code == 0
    assert "a" not in lab.controller.image.topics
