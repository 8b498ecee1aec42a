"""A node's partitions, without a network."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from lab_ends.one_node import OneNode


@pytest.fixture
def node(tmp_path: Path) -> Iterator[OneNode]:
    """Return a node without partitions."""
    made = OneNode(tmp_path)
    yield made
    made.replicas.close()
