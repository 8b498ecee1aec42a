"""What tests of transactions ask for."""

from collections.abc import Iterator

import pytest

from scripted_kafka.log_cluster import LogCluster
from scripted_kafka.transacting_cluster import transacting_cluster


@pytest.fixture
def cluster() -> Iterator[LogCluster]:
    """Two brokers; producer 7 has a transaction open in one of two partitions."""
    with transacting_cluster() as cluster:
        yield cluster
