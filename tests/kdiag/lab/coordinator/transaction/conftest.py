"""A transaction coordinator of one partition."""

from pathlib import Path

import pytest

from lab_ends.one_transaction_coordinator import OneTransactionCoordinator


@pytest.fixture
def coordinator(tmp_path: Path) -> OneTransactionCoordinator:
    """Return a coordinator that knows no ids."""
    return OneTransactionCoordinator(tmp_path)
