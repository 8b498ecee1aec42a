"""A short measurement of latencies in a lab, and what `kdiag latency` finds in it.

    find_latencies(client)      # [Finding("KD7002", ...)]

Records are written to a topic of its own, with acks=1, and read back.
"""

from collections.abc import Iterable
from typing import Final

from kdiag.client.cluster_client import ClusterClient
from kdiag.clock import NS_PER_MS, NS_PER_S
from kdiag.diagnosis.latency.findings import JudgedSeries, NodeLatency, find
from kdiag.findings.finding import Finding
from kdiag.probe.latency.measure import measure
from kdiag.probe.latency.plan import ACKS_TEXTS, LatencyPlan
from kdiag.probe.latency.results import LatencyResults, Series
from kdiag.probe.latency.target import chosen_nodes, own_target

SETTINGS: Final = {"max.in.flight.requests.per.connection": 1000}
"""Of its client: requests must not wait for others, or the latencies are those of a queue."""

_PLAN: Final = LatencyPlan(
    acks=(1,),
    interval_ns=250 * NS_PER_MS,
    duration_ns=3 * NS_PER_S,
    warm_up_ns=250 * NS_PER_MS,
)
"""So slow that an answer which comes late holds up no other: what is found is not a queue."""


def find_latencies(client: ClusterClient) -> Iterable[Finding]:
    """Measure, and return what is found.

    Args:
        client: connected, with `SETTINGS` and a clock whose readings keep their distance.

    Raises:
        ConfigError: without the library of the extra `latency`.
        KdiagError: if nothing can be measured.
    """
    results = LatencyResults()
    with own_target(client, chosen_nodes(client, ())) as target:
        measure(client, target, _PLAN, results)
    return find([_judged(each) for each in results.series.values() if each.latencies.count])


def _judged(series: Series) -> JudgedSeries:
    nodes = {node: NodeLatency(each.count, each.mean) for node, each in series.nodes.items()}
    median = series.latencies.percentile(0.5).split
    return JudgedSeries(_name_of(series), median, series.stalls.stalls(), nodes)


def _name_of(series: Series) -> str:
    named = series.kind.value.replace("_", " ")
    return named if series.acks is None else f"{named}, acks={ACKS_TEXTS[series.acks]}"
