import pytest

from kdiag.lab.broker.lab_cluster import LabCluster, LabSettings
from kdiag.lab.controller.quorum_controller import NewTopic
from kdiag.wire.api.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
    MetadataResponseTopic,
)
from kdiag.wire.error_code import error_name
from lab_ends.lab_client import LabClient
from tiers.cases import for_each


def topics_of(
    client: LabClient, *topics: MetadataRequestTopic, version: int = 12, is_creating: bool = False
) -> list[MetadataResponseTopic]:
    """Return what is told of some topics."""
    request = MetadataRequest(topics=list(topics))
    if version >= 4:
        request.allow_auto_topic_creation = is_creating
    return client.ask(request, MetadataResponse, version).topics


@for_each("version", range(14))
def test_brokers_and_topics_are_told_in_every_version(
    lab: LabCluster, client: LabClient, version: int
) -> None:
    """All topics for no list, which is an empty one in version 0."""
    request = MetadataRequest(topics=None if version else [])
    response = client.ask(request, MetadataResponse, version)
    (broker,) = response.brokers
    assert (broker.node_id, broker.host, broker.port) == (1, "127.0.0.1", lab.nodes[0].port)
    (topic,) = response.topics
    assert (topic.name, topic.error_code) == ("orders", 0)
    assert [(each.partition_index, each.leader_id) for each in topic.partitions] == [(0, 1), (1, 1)]
    if version >= 2:
        assert response.cluster_id == lab.controller.image.cluster_id


def test_an_empty_list_is_no_topics(client: LabClient) -> None:
    """From version 1 on."""
    assert topics_of(client, version=1) == []


def test_a_topic_is_asked_for_by_its_id(lab: LabCluster, client: LabClient) -> None:
    """One that no topic has is told as it was given."""
    topic_id = lab.controller.image.topics["orders"].topic_id
    found, lost = topics_of(
        client,
        MetadataRequestTopic(topic_id=topic_id, name=None),
        MetadataRequestTopic(topic_id=b"x" * 16, name=None),
    )
    assert (found.name, found.topic_id) == ("orders", topic_id)
    assert error_name(lost.error_code) == "UNKNOWN_TOPIC_ID"
    assert lost.topic_id == b"x" * 16


def test_a_topic_is_created_where_client_and_broker_allow_it(
    lab: LabCluster, client: LabClient
) -> None:
    """Not one whose name no topic may have."""
    (refused,) = topics_of(client, MetadataRequestTopic(name="new"))
    assert error_name(refused.error_code) == "UNKNOWN_TOPIC_OR_PARTITION"
    new, wrong = topics_of(
        client,
        MetadataRequestTopic(name="new"),
        MetadataRequestTopic(name="a/b"),
        is_creating=True,
    )
    assert len(new.partitions) == 1
    assert error_name(wrong.error_code) == "INVALID_TOPIC_EXCEPTION"
    assert sorted(lab.controller.image.topics) == ["new", "orders"]


def test_a_broker_may_be_told_not_to_create_topics() -> None:
    """`auto.create.topics.enable` false."""
    settings = LabSettings(is_creating_topics=False)
    with LabCluster(settings) as lab, LabClient(lab.nodes[0].port) as client:
        (topic,) = topics_of(client, MetadataRequestTopic(name="new"), is_creating=True)
    assert error_name(topic.error_code) == "UNKNOWN_TOPIC_OR_PARTITION"


def test_operations_are_told_where_they_are_asked_for(client: LabClient) -> None:
    """Of the cluster in some versions only."""
    request = MetadataRequest(topics=None, include_topic_authorized_operations=True)
    response = client.ask(request, MetadataResponse, 12)
    assert response.topics[0].topic_authorized_operations == 3576
    request.include_cluster_authorized_operations = True
    assert client.ask(request, MetadataResponse, 8).cluster_authorized_operations > 0


@pytest.mark.thorough
def test_internal_topics_are_marked(lab: LabCluster, client: LabClient) -> None:
    """By their names."""
    lab.controller.create_topic(NewTopic("__consumer_offsets"))
    orders, offsets = topics_of(
        client, MetadataRequestTopic(name="orders"), MetadataRequestTopic(name="__consumer_offsets")
    )
    assert (orders.is_internal, offsets.is_internal) == (False, True)
