"""Asks brokers again and again where one of them answered late, so that ranks can decide."""

from collections.abc import Mapping, Sequence
from typing import Final

from kdiag.client.cluster_client import ClusterClient
from kdiag.clock import NS_PER_MS, NS_PER_S
from kdiag.diagnosis.check.facts import BrokerPings, CheckedEndpoint, CheckStep
from kdiag.diagnosis.latency.ranks import median
from kdiag.wire.api.metadata import MetadataRequest, MetadataResponse

_LATE_NS: Final = 50 * NS_PER_MS
_TIMES: Final = 5
_ROUNDS: Final = 12
_LIMIT_NS: Final = 4 * NS_PER_S
_ASKED: Final = (CheckStep.API_VERSIONS, CheckStep.METADATA)


def ping_late_brokers(
    client: ClusterClient, listeners: Sequence[CheckedEndpoint]
) -> Mapping[int, BrokerPings]:
    """Return how long brokers took to answer the same question, if one of them seems to be late.

    Args:
        client: of the cluster.
        listeners: the brokers, as they were visited.
    """
    first = {
        each.node_id: median([each.best.took_ns[step] for step in _ASKED])
        for each in listeners
        if each.best is not None
        and each.node_id is not None
        and all(step in each.best.took_ns for step in _ASKED)
    }
    if len(first) < len(_ASKED) or max(first.values()) < max(
        _LATE_NS, _TIMES * min(first.values())
    ):
        return {}
    questions = dict.fromkeys(sorted(first), MetadataRequest([]))
    times: dict[int, list[int]] = {node_id: [] for node_id in questions}
    began_ns = client.clock.monotonic_ns()
    for _ in range(_ROUNDS):
        left_ns = began_ns + _LIMIT_NS - client.clock.monotonic_ns()
        if left_ns <= 0:
            break
        answers = client.ask_all(questions, MetadataResponse, timeout_ns=left_ns)
        for node_id, answer in answers.items():
            times[node_id].append(left_ns if answer.rtt_ns is None else answer.rtt_ns)
    return {node_id: _pings(client, node_id, took) for node_id, took in times.items()}


def _pings(client: ClusterClient, node_id: int, took_ns: Sequence[int]) -> BrokerPings:
    facts = client.socket_facts(node_id)
    path_ns = (facts and facts.min_rtt_ns) or 0
    return BrokerPings([max(0, each - path_ns) for each in took_ns], knows_path=path_ns > 0)
