from kdiag.client.network.metadata import Broker, Cluster, Node, Partition, metadata_request
from kdiag.wire.api.metadata import (
    MetadataRequest,
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from kdiag.wire.codec.messages import encode

RESPONSE = MetadataResponse(
    brokers=[
        MetadataResponseBroker(node_id=2, host="b", port=9093),
        MetadataResponseBroker(node_id=1, host="a", port=9092, rack="east"),
    ],
    cluster_id="a-cluster",
    controller_id=2,
    topics=[
        MetadataResponseTopic(
            name="orders",
            topic_id=b"0123456789abcdef",
            partitions=[
                MetadataResponsePartition(
                    partition_index=1,
                    leader_id=7,
                    leader_epoch=4,
                    replica_nodes=[2, 1],
                    isr_nodes=[2],
                    offline_replicas=[1],
                ),
                MetadataResponsePartition(partition_index=0, leader_id=1),
                MetadataResponsePartition(partition_index=2, leader_id=-1, error_code=5),
            ],
        ),
        MetadataResponseTopic(name="__consumer_offsets", is_internal=True),
        MetadataResponseTopic(name=None, error_code=100),
    ],
)


def test_before_any_answer_the_servers_are_the_brokers() -> None:
    """They are numbered downwards from -1, as no broker is."""
    cluster = Cluster.bootstrap([("a", 9092), ("b", 9093)])

    assert cluster.is_bootstrap
    assert cluster.brokers == {-1: Broker(-1, "a", 9092), -2: Broker(-2, "b", 9093)}
    assert cluster.nodes() == [Node("-1", "a", 9092), Node("-2", "b", 9093)]


def test_an_answer_tells_the_brokers_by_ascending_id() -> None:
    """With the controller and the cluster's id."""
    cluster = Cluster.from_response(RESPONSE)

    assert list(cluster.brokers.values()) == [Broker(1, "a", 9092, "east"), Broker(2, "b", 9093)]
    assert (cluster.cluster_id, cluster.controller_id) == ("a-cluster", 2)
    assert not cluster.is_bootstrap


def test_an_answer_tells_the_topics_with_their_errors() -> None:
    """A topic that was asked for by an unknown id has no name."""
    cluster = Cluster.from_response(RESPONSE)

    assert [each.partition_index for each in cluster.topics["orders"].partitions] == [0, 1, 2]
    assert cluster.topics["__consumer_offsets"].is_internal
    assert cluster.topics[""].error_code == 100
    assert cluster.partition("orders", 1) == Partition("orders", 1, 7, 4, (2, 1), (2,), (1,))


def test_a_leader_is_a_broker_that_is_known() -> None:
    """There may be none, one that is gone, or no such partition or topic."""
    cluster = Cluster.from_response(RESPONSE)

    assert cluster.leader("orders", 0) == Broker(1, "a", 9092, "east")
    assert [cluster.leader("orders", index) for index in (1, 2, 3)] == [None, None, None]
    assert cluster.leader("nothing", 0) is None


def test_a_question_about_topics_creates_none() -> None:
    """From version 4 on that can be said."""
    builder = metadata_request(["orders"])
    new, old = builder.build(13), builder.build(3)

    assert isinstance(new, MetadataRequest)
    assert isinstance(old, MetadataRequest)
    assert (new.allow_auto_topic_creation, old.allow_auto_topic_creation) == (False, True)
    assert new.topics is not None
    assert [each.name for each in new.topics] == ["orders"]


def test_every_question_can_be_asked_in_every_version() -> None:
    """Version 0 has no way to ask for none: it asks for all."""
    for topics in (None, [], ["orders"]):
        for version in range(14):
            assert encode(metadata_request(topics).build(version), version)
    assert metadata_request(None).build(1) == MetadataRequest(topics=None)


def test_an_endpoint_has_brackets_around_ipv6() -> None:
    """Otherwise the port could not be told from the address."""
    assert Node("1", "kafka.example", 9092).endpoint == "kafka.example:9092"
    assert Node("1", "::1", 9092).endpoint == "[::1]:9092"
