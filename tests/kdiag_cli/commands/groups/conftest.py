"""What tests of `kdiag groups` ask for."""

from collections.abc import Iterator

import pytest

from scripted_kafka.group_cluster import GroupCluster


@pytest.fixture
def cluster() -> Iterator[GroupCluster]:
    """Two brokers with three groups; two partitions of `orders` have three records each."""
    with GroupCluster(2) as cluster:
        for number in range(2):
            cluster.add("orders", number, leader=1 + number).append(b"a", b"b", b"c")
        read = {("orders", 0): 3, ("orders", 1): 1}
        cluster.add_group("billing", read, {"m-1": [0], "m-2": [1]})
        cluster.add_group("left", {("orders", 0): 0})
        cluster.add_new_group("next", {("orders", 0): 3}, {"n-1": ([0], [0, 1])})
        yield cluster
