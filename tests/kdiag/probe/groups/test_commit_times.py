import pytest

from kdiag.client.cluster_client import ClusterClient
from kdiag.client.fetch.position import PartitionKey
from kdiag.errors import AuthorizationError
from kdiag.probe.group_records import TOPIC
from kdiag.probe.groups.commit_times import read_commit_times
from kdiag.wire.codec.messages import encode
from kdiag.wire.internal.offset_commit import OffsetCommitKey, OffsetCommitValue
from scripted_kafka.group_cluster import GroupCluster


def commit(group: str, partition: int, at_ms: int | None) -> tuple[bytes, bytes | None]:
    """Return the key and the value of a commit; None removes it."""
    key = b"\0\1" + encode(OffsetCommitKey(group, "orders", partition), 0)
    if at_ms is None:
        return key, None
    return key, b"\0\3" + encode(OffsetCommitValue(7, commit_timestamp=at_ms), 3)


def test_the_newest_commit_counts(cluster: GroupCluster, client: ClusterClient) -> None:
    """What was removed has none; other groups and other records are passed over."""
    log = cluster.add(TOPIC, 0)
    log.append_pairs(commit("billing", 0, 1000), commit("billing", 1, 1500))
    log.append_pairs((b"\0\2\0\7billing", b"\0\3"), commit("others", 0, 9000))
    log.append_pairs(commit("billing", 0, 2000), commit("billing", 1, None))
    assert read_commit_times(client, ["billing"]) == {"billing": {PartitionKey("orders", 0): 2000}}


def test_nobody_has_used_a_group_yet(client: ClusterClient) -> None:
    """There is no topic to read."""
    assert read_commit_times(client, ["billing"]) == {}


def test_the_topic_may_be_forbidden(cluster: GroupCluster, client: ClusterClient) -> None:
    """It takes rights that describing a group does not."""
    cluster.add(TOPIC, 0)
    cluster.denied.add(TOPIC)
    with pytest.raises(AuthorizationError, match="not authorized to read it"):
        read_commit_times(client, ["billing"])
