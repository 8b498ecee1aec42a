"""A topic of kdiag's own."""

from collections.abc import Iterator

import pytest

from kdiag.client.cluster_client import ClusterClient
from kdiag.clock import NS_PER_MS
from kdiag.errors import (
    AuthorizationError,
    ProbeError,
    RequestTimeoutError,
    UnsupportedVersionError,
)
from kdiag.probe import PROBE_PREFIX
from kdiag.probe.topic import ProbeTopicSettings, probe_topic
from kdiag.wire.error_code import CODE_BY_NAME
from scripted_kafka.scripted_broker import Received, offering
from scripted_kafka.topic_cluster import TopicCluster


@pytest.fixture
def cluster() -> Iterator[TopicCluster]:
    """Yield three brokers."""
    with TopicCluster(3) as cluster:
        yield cluster


def test_each_partition_is_led_by_the_broker_that_was_asked_for(cluster: TopicCluster) -> None:
    """The topic has a name of kdiag's own, its settings, and is gone afterwards."""
    settings = ProbeTopicSettings([3, 1], {"retention.ms": "60000"})
    with cluster.client() as client:
        with probe_topic(client, settings) as topic:
            assert topic.name.startswith(PROBE_PREFIX)
            assert topic.leaders == {0: 3, 1: 1}
            assert [each.name for each in cluster.topics] == [topic.name]
        assert cluster.topics == []
    (config,) = cluster.created[0].topics[0].configs
    assert (config.name, config.value) == ("retention.ms", "60000")


def test_replicas_follow_the_leader(cluster: TopicCluster) -> None:
    """With a replication factor of two the next broker has the copy."""
    with (
        cluster.client() as client,
        probe_topic(client, ProbeTopicSettings([2, 3], replication_factor=2)),
    ):
        assignments = cluster.created[0].topics[0].assignments
    assert [each.broker_ids for each in assignments] == [[2, 3], [3, 1]]


@pytest.mark.parametrize("ending", [KeyboardInterrupt, ValueError])
def test_the_topic_goes_however_the_probe_ends(
    cluster: TopicCluster, ending: type[BaseException]
) -> None:
    """An interrupt and an error remove it as the end does, though the time is up."""

    def probe(client: ClusterClient) -> None:
        with probe_topic(client, ProbeTopicSettings([1])):
            client.deadline_ns = client.clock.monotonic_ns()
            raise ending

    with cluster.client() as client:
        with pytest.raises(ending):
            probe(client)
        assert cluster.topics == []


def test_an_interruption_in_the_middle_of_a_request_removes_the_topic(
    cluster: TopicCluster,
) -> None:
    """The removal goes over connections that are new."""

    def probe(client: ClusterClient) -> None:
        with probe_topic(client, ProbeTopicSettings([1])):
            before[:] = [each.connections for each in cluster.brokers.values()]
            raise KeyboardInterrupt

    before: list[int] = []
    with cluster.client() as client:
        with pytest.raises(KeyboardInterrupt):
            probe(client)
        assert cluster.topics == []
        after = [each.connections for each in cluster.brokers.values()]
        assert sum(after) > sum(before)


def test_who_may_not_create_topics_is_told_so(cluster: TopicCluster) -> None:
    """Then there is nothing to remove."""
    cluster.refusals = ["TOPIC_AUTHORIZATION_FAILED"]
    with (
        cluster.client() as client,
        pytest.raises(AuthorizationError, match="not authorized to create"),
        probe_topic(client, ProbeTopicSettings([1])),
    ):
        pytest.fail("there is no topic")
    assert cluster.refusals == []


def test_another_refusal_is_told_with_its_reason(cluster: TopicCluster) -> None:
    """The broker's own words say why."""
    cluster.refusals = ["POLICY_VIOLATION"]
    with (
        cluster.client() as client,
        pytest.raises(ProbeError, match="POLICY_VIOLATION: so"),
        probe_topic(client, ProbeTopicSettings([1])),
    ):
        pytest.fail("there is no topic")


def test_who_is_not_the_controller_is_asked_again(cluster: TopicCluster) -> None:
    """The cluster is asked for its controller first."""
    cluster.refusals = ["NOT_CONTROLLER"]
    with cluster.client() as client, probe_topic(client, ProbeTopicSettings([1])) as topic:
        assert topic.leaders == {0: 1}
    assert len(cluster.created) == 2


def test_a_topic_that_stays_is_named(cluster: TopicCluster) -> None:
    """Whoever may create but not delete has to know what is left."""
    with (
        cluster.client() as client,
        pytest.raises(ProbeError, match=r"_kdiag_probe_\w{8}: remove it yourself"),
        probe_topic(client, ProbeTopicSettings([1])),
    ):
        cluster.refusals = ["TOPIC_AUTHORIZATION_FAILED"]


@pytest.mark.parametrize("newest", [1, 5, 6])
def test_brokers_of_any_age_remove_the_topic(cluster: TopicCluster, newest: int) -> None:
    """Before version 6 of DeleteTopics its names are elsewhere."""
    cluster.on("ApiVersions", offering(DeleteTopics=(0, newest)))
    with cluster.client() as client, probe_topic(client, ProbeTopicSettings([1])):
        assert len(cluster.topics) == 1
    assert cluster.topics == []


@pytest.mark.parametrize("error", ["INVALID_REQUEST", "KAFKA_STORAGE_ERROR"])
def test_what_keeps_a_new_topic_from_being_ready_is_named(
    cluster: TopicCluster, error: str
) -> None:
    """At once where it is for good; else once the time is up."""
    real = cluster.tell

    def refuse(received: Received) -> None:
        for topic in cluster.topics:
            topic.partitions[0].error_code = CODE_BY_NAME[error]
        real(received)

    with cluster.client() as client:
        cluster.on("Metadata", refuse)
        client.deadline_ns = client.clock.monotonic_ns() + 400 * NS_PER_MS
        with (
            pytest.raises((ProbeError, RequestTimeoutError), match=error),
            probe_topic(client, ProbeTopicSettings([1])),
        ):
            pytest.fail("it is not ready")


def test_a_topic_that_cannot_be_asked_for_need_not_be_removed(cluster: TopicCluster) -> None:
    """Nothing was sent."""
    cluster.on("ApiVersions", offering(CreateTopics=(0, -1)))
    with (
        cluster.client() as client,
        pytest.raises(UnsupportedVersionError, match="does not offer CreateTopics"),
        probe_topic(client, ProbeTopicSettings([1])),
    ):
        pytest.fail("there is no topic")
