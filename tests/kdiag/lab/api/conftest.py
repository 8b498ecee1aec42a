"""A lab of one broker, and a client that speaks every version to it."""

from collections.abc import Iterator

import pytest

from kdiag.lab.broker.lab_cluster import LabCluster, LabSettings
from kdiag.lab.controller.quorum_controller import NewTopic
from lab_ends.lab_client import LabClient


@pytest.fixture
def lab() -> Iterator[LabCluster]:
    """Return a lab with a topic of two partitions."""
    with LabCluster(LabSettings(topics=(NewTopic("orders", 2),))) as running:
        yield running


@pytest.fixture
def client(lab: LabCluster) -> Iterator[LabClient]:
    """Return a client of it."""
    with LabClient(lab.nodes[0].port) as connected:
        yield connected
