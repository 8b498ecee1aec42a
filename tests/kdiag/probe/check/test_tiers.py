"""How much of topics is in remote storage, and what a read from there costs."""

from kdiag.diagnosis.check.facts import TopicTier
from kdiag.probe.check.tiers import find_tiers
from kdiag.wire.api.metadata import MetadataResponsePartition, MetadataResponseTopic
from scripted_kafka.log_cluster import LogCluster
from scripted_kafka.scripted_broker import offering

S = 1_000_000_000


def tiers(cluster: LogCluster) -> list[TopicTier]:
    """Return what is found of the topic `orders`."""
    topic_id = next(iter(cluster.logs.values())).topic_id
    parts = [
        MetadataResponsePartition(partition_index=key.partition, leader_id=log.leader)
        for key, log in cluster.logs.items()
    ]
    topic = MetadataResponseTopic(name="orders", topic_id=topic_id, partitions=parts)
    with cluster.client() as client:
        return list(find_tiers(client, [topic], {1, 2}, S))


def test_a_topic_that_is_remote_in_part_is_read_here_and_there() -> None:
    """The first batch of each; partitions that are local from their beginnings do not count."""
    with LogCluster(2) as cluster:
        for partition in range(3):
            cluster.add("orders", partition, leader=1 + partition % 2).append(b"a", b"b")
        first, second, _ = cluster.logs.values()
        for _ in range(4):
            first.append(b"c")
        first.local_start, second.local_start = 4, 2
        (tier,) = tiers(cluster)
        asked = [len(each.asked("Fetch")) for each in cluster.brokers.values()]
        first.empty_answers = 1
        (slow,) = tiers(cluster)
        cluster.logs = {}
    assert (tier.partition_count, tier.remote_count) == (3, 2)
    assert (tier.remote_offsets, tier.offsets) == (6, 8)
    assert tier.remote_read.error is None
    assert tier.local_read is not None
    assert tier.local_read.error is None
    assert asked == [2, 0]
    assert slow.remote_read.error == "no record came"


def test_a_topic_without_remote_storage_is_not_read() -> None:
    """Nor one of brokers that have none: their answer to the question is an error."""
    with LogCluster(2) as cluster:
        log = cluster.add("orders", 0)
        log.append(b"a", b"b")
        log.start = 1
        assert tiers(cluster) == []
        log.local_start = 2
        cluster.on("ApiVersions", offering(ListOffsets=(1, 7)))
        assert tiers(cluster) == []
        assert cluster.brokers[1].asked("Fetch") == []
