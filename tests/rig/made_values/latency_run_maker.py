"""Results of measuring latencies, made up."""

from kdiag.diagnosis.latency.fetch_waits import FetchTally, FetchWait
from kdiag.diagnosis.latency.histogram import LatencyHistogram
from kdiag.diagnosis.latency.split import LatencySplit
from kdiag.net.tcp.tcp_info import SocketFacts
from kdiag.probe.latency.results import LatencyResults, SeriesKind

US = 1_000
MS = 1_000_000


def made_results(count: int = 400, nodes: int = 1) -> LatencyResults:
    """Return latencies from 1 ms on, 10 microseconds apart: 0.5 ms network, 0.1 ms client."""
    results = LatencyResults()
    for acks in (1, -1):
        series = results.of(SeriesKind.PRODUCE, acks)
        for number in range(count):
            split = LatencySplit(
                queued_ns=60 * US,
                path_ns=400 * US,
                broker_ns=400 * US + number * 10 * US,
                receiving_ns=100 * US,
                decoding_ns=40 * US,
            )
            results.add(series, 0, split, 1 + number % nodes)
    results.fail("GROUP_AUTHORIZATION_FAILED", results.of(SeriesKind.COMMIT))
    tally = FetchTally(FetchWait(1, 500), LatencyHistogram())
    for _ in range(24):
        tally.add(LatencySplit(path_ns=400 * US, broker_ns=500 * MS), 0)
    tally.add(LatencySplit(path_ns=400 * US, broker_ns=3 * MS), 120)
    results.sweep.append(tally)
    results.facts[1, "produce acks=1"] = SocketFacts(
        1, 1, "cubic", rtt_ns=900 * US, min_rtt_ns=400 * US, retransmits=0
    )
    return results
