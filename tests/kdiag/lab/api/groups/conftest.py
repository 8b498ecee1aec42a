"""A lab whose groups do not wait for more members."""

from collections.abc import Iterator

import pytest

from kdiag.lab.broker.lab_cluster import LabCluster, LabSettings
from kdiag.lab.controller.quorum_controller import NewTopic
from kdiag.lab.coordinator.group.group_config import GroupCoordinatorConfig
from lab_ends.group_asks import GroupAsks
from lab_ends.lab_client import LabClient


@pytest.fixture
def lab() -> Iterator[LabCluster]:
    """Return a lab with a topic of two partitions."""
    config = GroupCoordinatorConfig(group_initial_rebalance_delay_ms=0)
    settings = LabSettings(topics=(NewTopic("orders", 2),), group_config=config)
    with LabCluster(settings) as running:
        yield running


@pytest.fixture
def asks(client: LabClient) -> GroupAsks:
    """Return a group of which nobody is a member yet."""
    return GroupAsks(client)
