"""A lab with a listener of each protocol."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from kdiag.lab.broker.lab_cluster import LabCluster
from lab_ends.secure_lab import secure_lab


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder for certificates."""
    return tmp_path_factory.mktemp("certificates")


@pytest.fixture(scope="module")
def lab(certificates: Path) -> Iterator[LabCluster]:
    """Return a lab that runs for all tests of a module."""
    with secure_lab(certificates) as running:
        yield running
