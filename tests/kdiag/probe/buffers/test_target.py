from collections import Counter
from collections.abc import Iterator

import pytest

from kdiag.client.cluster_client import ClusterClient
from kdiag.errors import AuthorizationError, ConfigError, ProbeError
from kdiag.probe.buffers.target import FETCHED_BYTES, own_targets, own_topic, topic_targets
from kdiag.probe.topic import ProbeTopic
from kdiag.wire.api.metadata import MetadataResponseTopic
from kdiag.wire.error_code import CODE_BY_NAME
from kdiag.wire.schema import ZERO_UUID
from scripted_kafka.loaded_cluster import LoadedCluster

BATCH = bytes(1 << 20)


@pytest.fixture
def cluster() -> Iterator[LoadedCluster]:
    """Yield two brokers."""
    with LoadedCluster(2) as brokers:
        yield brokers


def test_an_own_topic_has_two_partitions_for_each_broker() -> None:
    """It stays small and takes batches as they are."""
    settings = own_topic([1, 3])

    assert settings.partition_leaders == [1, 1, 3, 3]
    assert settings.configs["compression.type"] == "uncompressed"
    assert int(settings.configs["retention.bytes"]) < 1 << 30


@pytest.mark.thorough
def test_the_partitions_that_are_read_are_filled(
    client: ClusterClient, cluster: LoadedCluster
) -> None:
    """Enough for one Fetch of the load; those that are written are tried once."""
    topic = ProbeTopic("own", ZERO_UUID, {0: 1, 1: 1, 2: 2, 3: 2})
    targets = own_targets(client, topic, [1, 2], BATCH)

    assert [(each.written_partition, each.offsets) for each in targets.values()] == [
        (0, {1: 0}),
        (2, {3: 0}),
    ]
    counts = Counter(each[1] for each in cluster.produced)
    assert {each: counts[each] * len(BATCH) for each in (1, 3)} == dict.fromkeys(
        (1, 3), FETCHED_BYTES
    )
    assert (counts[0], counts[2]) == (1, 1)


def test_a_leader_that_does_not_know_of_it_yet_is_asked_again(
    client: ClusterClient, cluster: LoadedCluster
) -> None:
    """The cluster tells of leaders before they know it themselves."""
    cluster.early_errors = ["UNKNOWN_TOPIC_OR_PARTITION", "NOT_LEADER_OR_FOLLOWER"]
    own_targets(client, ProbeTopic("own", ZERO_UUID, {0: 1, 1: 1}), [1], BATCH)
    assert len(cluster.produced) == 1 + FETCHED_BYTES // len(BATCH)


def test_a_leader_that_never_knows_of_it_is_told(
    client: ClusterClient, cluster: LoadedCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """When it has been asked for long enough."""
    monkeypatch.setattr("kdiag.probe.buffers.target._PATIENCE_NS", 200_000_000)
    cluster.errors["Produce"] = "NOT_LEADER_OR_FOLLOWER"
    with pytest.raises(ProbeError, match="NOT_LEADER_OR_FOLLOWER"):
        own_targets(client, ProbeTopic("own", ZERO_UUID, {0: 1, 1: 1}), [1], BATCH)


def test_a_broker_that_takes_no_records_is_told(
    client: ClusterClient, cluster: LoadedCluster
) -> None:
    """Nothing can be proven then."""
    cluster.errors["Produce"] = "TOPIC_AUTHORIZATION_FAILED"
    topic = ProbeTopic("own", ZERO_UUID, {0: 1, 1: 1})
    with pytest.raises(ProbeError, match="TOPIC_AUTHORIZATION_FAILED"):
        own_targets(client, topic, [1], BATCH)


@pytest.mark.parametrize("writes", [True, False])
def test_a_topic_is_read_by_the_brokers_that_lead_its_partitions(
    client: ClusterClient, cluster: LoadedCluster, *, writes: bool
) -> None:
    """From its beginning; one partition of each is written to if that is allowed."""
    cluster.add_topic("orders", [1, 2, 1, -1])
    first, second = topic_targets(client, "orders", writes=writes).values()

    assert (first.node_id, first.offsets) == (1, {0: 0, 2: 0})
    assert (second.node_id, second.offsets) == (2, {1: 0})
    assert (first.written_partition, second.written_partition) == (
        (0, 1) if writes else (None, None)
    )


def test_an_empty_topic_can_only_be_written_to(
    client: ClusterClient, cluster: LoadedCluster
) -> None:
    """There is nothing to fetch."""
    cluster.add_topic("orders", [1])
    cluster.end_offset = 0

    (target,) = topic_targets(client, "orders", writes=True).values()
    assert target.offsets == {}
    with pytest.raises(ProbeError, match="holds no records"):
        topic_targets(client, "orders", writes=False)


def test_a_topic_that_is_not_there_is_the_users_mistake(client: ClusterClient) -> None:
    """It was named."""
    with pytest.raises(ConfigError, match=r"orders \(--topic\): there is no such topic"):
        topic_targets(client, "orders", writes=False)


def test_a_topic_may_be_somebody_elses(client: ClusterClient, cluster: LoadedCluster) -> None:
    """Whoever may not describe it may not fetch from it either."""
    denied = CODE_BY_NAME["TOPIC_AUTHORIZATION_FAILED"]
    cluster.topics.append(MetadataResponseTopic(name="orders", error_code=denied))
    with pytest.raises(AuthorizationError, match="topic orders: not authorized"):
        topic_targets(client, "orders", writes=False)
