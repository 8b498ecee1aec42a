from kdiag.lab.replication.replication_config import ReplicationConfig


def test_times_have_the_defaults_of_kafka_but_for_the_backoff() -> None:
    """Which is shorter, as all brokers are in one process."""
    config = ReplicationConfig()
    assert config.lag_time_max_ns == 30 * 10**9
    assert config.replica_fetch_wait_max_ms == 500
    assert ReplicationConfig(replica_fetch_backoff_ms=7).backoff_ns == 7_000_000
