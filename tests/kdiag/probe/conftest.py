"""What tests of probes ask for."""

from collections.abc import Iterator

import pytest

from kdiag.client.cluster_client import ClusterClient
from scripted_kafka.scripted_cluster import ScriptedCluster


@pytest.fixture
def client(cluster: ScriptedCluster) -> Iterator[ClusterClient]:
    """Yield a client of the brokers that the test has."""
    with cluster.client() as connected:
        yield connected
