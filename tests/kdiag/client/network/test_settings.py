from kdiag.client.network.settings import DEFAULT_SETTINGS

MS = 1_000_000


def test_the_defaults_are_those_of_kafkas_own_clients() -> None:
    """In nanoseconds."""
    times = DEFAULT_SETTINGS.times

    assert DEFAULT_SETTINGS.request_timeout_ns == 30_000 * MS
    assert DEFAULT_SETTINGS.max_in_flight == 5
    assert DEFAULT_SETTINGS.discovers_versions
    assert (times.reconnect_backoff_ns, times.reconnect_backoff_max_ns) == (50 * MS, 1_000 * MS)
    assert (times.setup_timeout_ns, times.setup_timeout_max_ns) == (10_000 * MS, 30_000 * MS)
