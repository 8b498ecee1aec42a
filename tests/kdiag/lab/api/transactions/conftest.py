"""A transactional producer of a lab, whose internal topics are small: files take time."""

from collections.abc import Iterator

import pytest

from kdiag.lab.broker.lab_cluster import LabCluster, LabSettings
from kdiag.lab.controller.quorum_controller import NewTopic
from lab_ends.lab_client import LabClient
from lab_ends.transacting_client import TransactingClient


@pytest.fixture
def lab() -> Iterator[LabCluster]:
    """Return a lab that speaks the newest versions, with a topic of two partitions."""
    internal = [NewTopic(name, 1) for name in ("__transaction_state", "__consumer_offsets")]
    settings = LabSettings(topics=(NewTopic("orders", 2), *internal), release="4.4")
    with LabCluster(settings) as running:
        yield running


@pytest.fixture
def producer(client: LabClient) -> TransactingClient:
    """Return a producer that has initialized."""
    return TransactingClient(client)
