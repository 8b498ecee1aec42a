"""The document of `kdiag latency --output json`; `kdiag help latency` explains it."""

from collections.abc import Iterator
from typing import Any, Final

from kdiag.clock import NS_PER_MS
from kdiag.diagnosis.latency.confidence import CONFIDENCE, least_count
from kdiag.diagnosis.latency.fetch_waits import FetchReturn, FetchTally, explanation
from kdiag.diagnosis.latency.histogram import QUANTILES, Percentile
from kdiag.diagnosis.latency.split import LatencySplit
from kdiag.net.tcp.tcp_info import SocketFacts
from kdiag.probe.latency.plan import ACKS_TEXTS
from kdiag.probe.latency.results import LatencyResults, Series

_DIGITS: Final = 3


def milliseconds(time_ns: int | None) -> float | None:
    """Return a time in milliseconds, to the microsecond."""
    return None if time_ns is None else round(time_ns / NS_PER_MS, _DIGITS)


def acks_text(acks: int | None) -> str | None:
    """Return acks as clients' configurations have them."""
    return None if acks is None else ACKS_TEXTS[acks]


def name_of(series: Series) -> str:
    """Return the name of a series for people: `end-to-end acks=all`."""
    name = series.kind.replace("end_to_end", "end-to-end").replace("_", " ")
    acks = acks_text(series.acks)
    return name if acks is None else f"{name} acks={acks}"


def percent_text(quantile: float) -> str:
    """Return the name of a percentile: `p99.9`."""
    return f"p{100 * quantile:g}"


def has_bounds(percentile: Percentile) -> bool:
    """Return whether there are enough latencies for a percentile."""
    return percentile.lower_ns is not None and percentile.upper_ns is not None


def document(results: LatencyResults) -> list[dict[str, Any]]:
    """Return a document for each series, fetch setting and connection."""
    return [
        *(_series(each) for each in results.series.values()),
        *(_fetch_wait(each) for each in results.sweep),
        *(_connection(*place, facts) for place, facts in sorted(results.facts.items())),
    ]


def unknown(results: LatencyResults) -> Iterator[str]:
    """Yield what this system cannot measure."""
    facts = results.facts.values()
    if facts and all(each.min_rtt_ns is None for each in facts):
        yield (
            "this operating system does not report TCP round-trip times; "
            "network time is included in broker time"
        )


def failures(results: LatencyResults) -> Iterator[str]:
    """Yield the errors of each series with their counts."""
    for series in results.series.values():
        for error, count in series.errors.items():
            yield f"{name_of(series)}: {count} of them failed: {error}"


def lacking(results: LatencyResults) -> Iterator[str]:
    """Yield the percentiles that have too few latencies."""
    counts = [each.latencies.count for each in results.series.values() if each.latencies.count]
    fewest = min(counts, default=0)
    rare = [each for each in QUANTILES if fewest < least_count(each)]
    if counts and rare:
        takes = ", ".join(f"{percent_text(each)} takes {least_count(each)}" for each in rare)
        yield f"not enough samples: {takes}, some have {fewest}; raise --rate or --duration"


def _series(series: Series) -> dict[str, Any]:
    latencies = series.latencies
    fields: dict[str, Any] = {
        "kind": series.kind,
        "acks": acks_text(series.acks),
        "count": latencies.count,
        "errors": series.errors,
    }
    if not latencies.count:
        return fields
    return fields | {
        "min_ms": milliseconds(latencies.least.total_ns),
        "mean_ms": milliseconds(latencies.mean.total_ns),
        "max_ms": milliseconds(latencies.most.total_ns),
        "mean_parts_ms": parts(latencies.mean),
        "confidence": CONFIDENCE,
        "percentiles": [_percentile(latencies.percentile(each)) for each in QUANTILES],
        "brokers": [
            {
                "node_id": node_id,
                "count": each.count,
                "mean_ms": milliseconds(each.mean.total_ns),
                "mean_parts_ms": parts(each.mean),
            }
            for node_id, each in sorted(series.nodes.items())
        ],
        "histogram": latencies.encoded(),
    }


def _percentile(percentile: Percentile) -> dict[str, Any]:
    quantile = percentile.quantile
    fields: dict[str, Any] = {"percentile": round(100 * quantile, _DIGITS), "ms": None}
    if not has_bounds(percentile):
        return fields | {"needed_count": least_count(quantile)}
    return fields | {
        "ms": milliseconds(percentile.split.total_ns),
        "low_ms": milliseconds(percentile.lower_ns),
        "high_ms": milliseconds(percentile.upper_ns),
        "parts_ms": parts(percentile.split),
    }


def parts(split: LatencySplit) -> dict[str, Any]:
    """Return the three parts of a latency, and their details."""
    return {
        "network": milliseconds(split.network_ns),
        "broker": milliseconds(split.broker_ns),
        "client": milliseconds(split.client_ns),
        "detail": {
            name.removesuffix("_ns"): milliseconds(time_ns)
            for name, time_ns in split._asdict().items()
        },
    }


def _fetch_wait(tally: FetchTally) -> dict[str, Any]:
    count = tally.latencies.count
    median = tally.latencies.percentile(0.5).split if count else None
    return {
        "kind": "fetch_wait",
        "min_bytes": tally.wait.min_bytes,
        "max_wait_ms": tally.wait.max_wait_ms,
        "count": count,
        "returned": {each: tally.returned.get(each, 0) for each in FetchReturn},
        "bytes": tally.bytes,
        "median_ms": None if median is None else milliseconds(median.total_ns),
        "explanation": explanation(tally),
    }


def _connection(node_id: int, purpose: str, facts: SocketFacts) -> dict[str, Any]:
    return {
        "kind": "connection",
        "node_id": node_id,
        "purpose": purpose,
        "min_rtt_ms": milliseconds(facts.min_rtt_ns),
        "rtt_ms": milliseconds(facts.rtt_ns),
        "retransmits": facts.retransmits,
        "congestion_control": facts.congestion_control,
    }
