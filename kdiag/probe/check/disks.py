"""Asks brokers for their log directories, a second time where one is nearly full."""

from collections.abc import Sequence
from typing import Final

from kdiag.client.cluster_client import ClusterClient
from kdiag.diagnosis.check.disks import LEAST_APART_NS, LogDir
from kdiag.wire.api.describe_log_dirs import DescribeLogDirsRequest, DescribeLogDirsResponse

_NO_TOPICS: Final = DescribeLogDirsRequest([])
"""Brokers report the directories themselves; with their replicas it would be megabytes."""


def look_at_disks(client: ClusterClient, nodes: Sequence[int], timeout_ns: int) -> Sequence[LogDir]:
    """Return the log directories of brokers; those that are nearly full with a rate.

    Args:
        client: of the cluster.
        nodes: the brokers that can be reached.
        timeout_ns: how long each of two looks may take.
    """
    first = _look(client, nodes, timeout_ns)
    looked_ns = client.clock.monotonic_ns()
    nearly_full = sorted({each.node_id for each in first if each.is_nearly_full})
    if not nearly_full:
        return first
    client.wait(LEAST_APART_NS)
    found = {(each.node_id, each.path): each for each in first}
    for each in _look(client, nearly_full, timeout_ns):
        key = each.node_id, each.path
        before = found.get(key)
        if before is not None and min(before.usable_bytes, each.usable_bytes) >= 0:
            filled_bytes = before.usable_bytes - each.usable_bytes
            apart_ns = client.clock.monotonic_ns() - looked_ns
            found[key] = each._replace(filled_bytes=filled_bytes, apart_ns=apart_ns)
    return list(found.values())


def _look(client: ClusterClient, nodes: Sequence[int], timeout_ns: int) -> list[LogDir]:
    answers = client.ask_all(
        dict.fromkeys(nodes, _NO_TOPICS), DescribeLogDirsResponse, timeout_ns=timeout_ns
    )
    return [
        LogDir(node_id, each.log_dir, each.error_code, each.total_bytes, each.usable_bytes)
        for node_id, answer in answers.items()
        if answer.body is not None
        for each in answer.body.results
    ]
