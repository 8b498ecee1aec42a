"""The times of replication, by the names of Kafka's broker settings.

    replica.lag.time.max.ms       how long a follower may be behind before it is not in sync
    replica.fetch.wait.max.ms     how long a leader keeps a follower's fetch that finds nothing
    replica.fetch.backoff.ms      how long a follower leaves a leader alone that has failed

Kafka's default of the last is a second: whoever waits for replicas after an election waits for it,
too, as the new leader and its followers hear of the election one after the other. The brokers of a
lab hear of it within a moment of each other, so a tenth of that is enough.

Source: Kafka's `ReplicationConfigs`, release 4.3.
"""

from typing import NamedTuple

from kdiag.clock import NS_PER_MS


class ReplicationConfig(NamedTuple):
    """Times and limits of replication.

    Attributes are Kafka's settings with `_` for `.`.
    """

    replica_lag_time_max_ms: int = 30_000
    replica_fetch_wait_max_ms: int = 500
    replica_fetch_backoff_ms: int = 100
    replica_fetch_min_bytes: int = 1
    replica_fetch_max_bytes: int = 1 << 20
    replica_fetch_response_max_bytes: int = 10 << 20

    @property
    def lag_time_max_ns(self) -> int:
        """Return how long a follower may be behind."""
        return self.replica_lag_time_max_ms * NS_PER_MS

    @property
    def backoff_ns(self) -> int:
        """Return how long a leader that has failed is left alone."""
        return self.replica_fetch_backoff_ms * NS_PER_MS
