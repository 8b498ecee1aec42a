"""What tests against real brokers share."""

from collections.abc import Callable

import pytest

from programs.json_run import settings
from real_kafka.releases import USUAL
from real_kafka.secure_cluster import USERS, SecureCluster


@pytest.fixture
def secure(get_secure_cluster: Callable[[str], SecureCluster]) -> SecureCluster:
    """Return a running broker of the usual release with every kind of listener."""
    return get_secure_cluster(USUAL)


@pytest.fixture
def log_in(monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[str]]:
    """Return what logs a user in, and gives the options for it."""

    def log_in(user: str, mechanism: str, protocol: str, password: str | None = None) -> list[str]:
        monkeypatch.setenv("KDIAG_SASL_USERNAME", user)
        monkeypatch.setenv("KDIAG_SASL_PASSWORD", password or USERS[user])
        return settings(security_protocol=protocol, sasl_mechanism=mechanism)

    return log_in
