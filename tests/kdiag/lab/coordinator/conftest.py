"""A group coordinator under a clock that stands still."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from lab_ends.one_coordinator import OneCoordinator


@pytest.fixture
def coordinator(tmp_path: Path) -> Iterator[OneCoordinator]:
    """Return a coordinator without groups."""
    made = OneCoordinator(tmp_path)
    yield made
    made.node.replicas.close()
