"""Waiting between two questions."""

from kdiag.clock import SystemClock
from kdiag.probe.pause import pause
from scripted_kafka.scripted_cluster import ScriptedCluster

MS_NS = 1_000_000


def test_a_pause_lasts_as_long_as_it_is_told() -> None:
    """The clock of the client says when it is over."""
    clock = SystemClock()
    with ScriptedCluster(1) as cluster, cluster.client() as client:
        before_ns = clock.monotonic_ns()
        pause(client, 20 * MS_NS)
        assert clock.monotonic_ns() - before_ns >= 20 * MS_NS
