"""What tests of groups ask for."""

from collections.abc import Iterator

import pytest

from scripted_kafka.group_cluster import GroupCluster


@pytest.fixture
def cluster() -> Iterator[GroupCluster]:
    """Two brokers; the first coordinates all groups."""
    with GroupCluster(2) as cluster:
        yield cluster
