import pytest

from kdiag.probe.buffers import throughput


@pytest.fixture(autouse=True)
def short_warm_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Warm up for 20 ms: there is no window to grow over loopback, and each run would wait."""
    monkeypatch.setattr(throughput, "_WARM_UP_NS", 20_000_000)
