import pytest

from kdiag.lab.broker.lab_cluster import LabCluster
from kdiag.wire.error_code import error_name
from lab_ends.group_asks import GroupAsks


@pytest.mark.parametrize("version", range(2, 10))
def test_an_offset_is_committed_in_every_version(
    lab: LabCluster, asks: GroupAsks, version: int
) -> None:
    """By nobody's member; null metadata is none."""
    (topic,) = asks.commit(5, version, metadata=None)
    (partition,) = topic.partitions
    assert (topic.name, partition.partition_index, partition.error_code) == ("orders", 0, 0)
    shard = lab.nodes[0].groups.shard_of("billing")
    committed = shard.offsets.get("billing", "orders", 0)
    assert committed is not None
    assert (committed.offset, committed.metadata) == (5, "")


def test_who_is_no_member_may_not_commit(asks: GroupAsks) -> None:
    """While there is another; each partition is told."""
    asks.join()
    asks.sync()
    assert asks.commit(5)[0].partitions[0].error_code == 0
    asks.member_id, asks.generation_id = "stranger", 1
    (topic,) = asks.commit(6, partitions=(0, 1))
    errors = [error_name(each.error_code) for each in topic.partitions]
    assert errors == ["UNKNOWN_MEMBER_ID"] * 2
