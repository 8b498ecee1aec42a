import pytest

from kdiag.client.cluster_client import ClusterClient
from kdiag.client.group.consumer.subscribed_topics import SubscribedTopics
from kdiag.client.group.member import TopicSubscription
from kdiag.errors import ConfigError
from kdiag.wire.api.metadata import MetadataResponseTopic
from scripted_kafka.assigning_cluster import AssigningCluster, topic_id


def followed(
    cluster: AssigningCluster, client: ClusterClient, wanted: TopicSubscription
) -> SubscribedTopics:
    """Return the topics of a member, once the metadata are there."""
    topics = SubscribedTopics(wanted, client.updater, cluster.settings)
    until = client.client.await_condition(lambda: not client.updater.is_stale, cluster.soon())
    assert until
    return topics


def test_a_list_is_told_as_it_is(cluster: AssigningCluster, client: ClusterClient) -> None:
    """Also topics that do not exist; the metadata are asked for these alone."""
    topics = followed(cluster, client, TopicSubscription.of("orders", "absent"))
    assert topics.names() == ["absent", "orders"]
    assert topics.is_ready
    assert set(client.updater.cluster.topics) == {"absent", "orders"}


def test_a_pattern_is_matched_here_too(cluster: AssigningCluster, client: ClusterClient) -> None:
    """A whole name must match, and none of Kafka's own does."""
    cluster.set_topic("orders-eu", 1)
    cluster.topics.append(MetadataResponseTopic(name="__orders", is_internal=True))
    wanted = TopicSubscription(pattern=".*orders")
    topics = SubscribedTopics(wanted, client.updater, cluster.settings)
    assert not topics.is_ready
    topics = followed(cluster, client, wanted)
    assert topics.is_ready
    assert (topics.pattern, topics.names()) == (".*orders", ["orders"])


def test_a_pattern_that_is_none_is_refused(
    cluster: AssigningCluster, client: ClusterClient
) -> None:
    """Before anything is sent."""
    with pytest.raises(ConfigError, match="not a regular expression"):
        SubscribedTopics(TopicSubscription(pattern="("), client.updater, cluster.settings)


def test_the_names_of_what_is_assigned_are_kept(
    cluster: AssigningCluster, client: ClusterClient
) -> None:
    """A topic that was deleted can still be given up by name; an unknown one is asked for."""
    topics = followed(cluster, client, TopicSubscription.of("orders"))
    orders, bills = topic_id("orders"), topic_id("bills")
    assert topics.names_of({orders}) == {orders: "orders"}
    requested = [client.updater.refresh.is_requested]
    assert topics.names_of({orders, bills}) == {orders: "orders"}
    requested.append(client.updater.refresh.is_requested)
    assert requested == [False, True]
    cluster.topics.clear()
    assert client.client.await_metadata_update(cluster.soon())
    assert client.client.await_metadata_update(cluster.soon())
    assert topics.names_of({orders}) == {orders: "orders"}
    topics.forget_names()
    assert topics.names_of({orders}) == {}
