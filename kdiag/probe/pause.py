"""Waits between two questions, without letting connections go unattended."""

from kdiag.client.cluster_client import ClusterClient


def pause(client: ClusterClient, time_ns: int) -> None:
    """Wait on the client's clock, sending and receiving all the while."""
    until_ns = client.clock.monotonic_ns() + time_ns
    client.client.await_condition(lambda: False, until_ns)
