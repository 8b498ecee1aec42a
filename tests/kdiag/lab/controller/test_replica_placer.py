from collections import Counter

import pytest

from kdiag.lab.controller.refusal import RequestRefusedError
from kdiag.lab.controller.replica_placer import place_replicas


def test_partitions_are_striped_over_brokers() -> None:
    """As in the example."""
    placed = place_replicas([1, 2, 3], count=3, replication_factor=2, start=1)
    assert placed == [(2, 3), (3, 1), (1, 2)]


def test_every_broker_leads_as_many() -> None:
    """And no partition has a broker twice, wherever the first begins."""
    placed = place_replicas([1, 2, 3, 4], count=40, replication_factor=3, start=1_000_003)
    assert set(Counter(replicas[0] for replicas in placed).values()) == {10}
    assert all(len(set(replicas)) == 3 for replicas in placed)


@pytest.mark.parametrize("factor", [0, -1, 3])
def test_there_must_be_as_many_brokers_as_replicas(factor: int) -> None:
    """And at least one replica."""
    with pytest.raises(RequestRefusedError, match="INVALID_REPLICATION_FACTOR"):
        place_replicas([1, 2], count=1, replication_factor=factor, start=0)
