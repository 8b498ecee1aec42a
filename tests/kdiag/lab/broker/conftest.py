"""A lab of one broker."""

from collections.abc import Iterator

import pytest

from kdiag.lab.broker.lab_cluster import LabCluster, LabSettings
from kdiag.lab.controller.quorum_controller import NewTopic


@pytest.fixture
def lab() -> Iterator[LabCluster]:
    """Return a lab with a topic of two partitions."""
    with LabCluster(LabSettings(topics=(NewTopic("orders", 2),))) as running:
        yield running
