"""The findings on latencies: the causes of late responses."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

import msgspec

from kdiag.clock import NS_PER_MS
from kdiag.diagnosis.latency.ranks import is_slow, slow_evidence
from kdiag.diagnosis.latency.split import LatencySplit
from kdiag.diagnosis.latency.stalls import Stall, StallPlace
from kdiag.findings.finding import Finding, found

_LATE_NS: Final = 5 * NS_PER_MS
_MOSTLY: Final = 2
_NOTABLY: Final = 4
_SLOWER: Final = 2
_SLOW_NS: Final = 2 * NS_PER_MS
_LEAST_COUNT: Final = 30
_RULES: Final = {StallPlace.ANSWER: "KD7001", StallPlace.BROKER: "KD7002"}


class NodeLatency(msgspec.Struct, frozen=True):
    """The latencies of one broker.

    Attributes:
        count: their number.
        mean: the mean of each part.
        sample_ns: some of the times at the broker; requests without an answer count with the time
            that they have waited.
    """

    count: int
    mean: LatencySplit
    sample_ns: Sequence[int] = ()


class JudgedSeries(NamedTuple):
    """The latencies of one operation.

    Attributes:
        what: the operation.
        median: the parts of the median.
        stalls: the clusters at timers of TCP.
        nodes: the same latencies by broker.
    """

    what: str
    median: LatencySplit
    stalls: Sequence[Stall]
    nodes: Mapping[int, NodeLatency]


def find(every: Sequence[JudgedSeries]) -> Iterator[Finding]:
    """Find the causes of late responses."""
    yield from _stalls(every)
    for series in every:
        slow = list(_slow_nodes(series)) or list(_slow_by_rank(series))
        yield from _waits(series, has_slow=bool(slow))
        yield from slow


def _stalls(every: Sequence[JudgedSeries]) -> Iterator[Finding]:
    """Find each timer of TCP once, with all operations that wait for it."""
    seen: dict[tuple[StallPlace, int], list[tuple[str, Stall]]] = {}
    for series in every:
        for stall in series.stalls:
            seen.setdefault((stall.place, stall.stall_ms), []).append((series.what, stall))
    for (place, stall_ms), stalled in seen.items():
        if place is StallPlace.BROKER and (StallPlace.ANSWER, stall_ms) in seen:
            continue  # one piece of a response also delays the next response
        count = sum(stall.count for _, stall in stalled)
        all_count = sum(stall.count / stall.share for _, stall in stalled)
        yield found(
            _RULES[place],
            what=", ".join(what for what, _ in stalled),
            stall_ms=stall_ms,
            count=count,
            percent=round(100 * count / all_count),
        )


def _waits(series: JudgedSeries, *, has_slow: bool) -> Iterator[Finding]:
    """Find requests that wait before they are sent, and records that wait for a fetch."""
    queued_ns = series.median.queued_ns
    if queued_ns >= _LATE_NS and queued_ns * _MOSTLY >= series.median.total_ns:
        yield found("KD7003", what=series.what, queued_ms=_ms(queued_ns))
    asking_ns = series.median.asking_ns
    is_late = asking_ns >= _LATE_NS and asking_ns * _NOTABLY >= series.median.total_ns
    # If responses stall, or a broker is slow, the next fetch is late because of that.
    is_explained = has_slow or any(each.place is StallPlace.ANSWER for each in series.stalls)
    if is_late and not is_explained:
        yield found("KD7005", what=series.what, asking_ms=_ms(asking_ns))


def _slow_nodes(series: JudgedSeries) -> Iterator[Finding]:
    """Find brokers that are slower than the mean of the others."""
    for node_id, node in series.nodes.items():
        others = [each for number, each in series.nodes.items() if number != node_id]
        count = sum(each.count for each in others)
        if min(count, node.count) < _LEAST_COUNT:
            continue
        mean_ns = node.mean.total_ns
        other_ns = sum(each.mean.total_ns * each.count for each in others) // count
        if mean_ns >= _SLOWER * other_ns and mean_ns - other_ns >= _SLOW_NS:
            yield found(
                "KD7004",
                what=series.what,
                node_id=node_id,
                mean_ms=_ms(mean_ns),
                other_ms=_ms(other_ns),
                rtt_ms=_ms(node.mean.path_ns),
            )


def _slow_by_rank(series: JudgedSeries) -> Iterator[Finding]:
    """Find brokers that are slower than the others by rank, of which few answers are enough."""
    for node_id, node in series.nodes.items():
        others = {
            f"broker {number}": each.sample_ns
            for number, each in series.nodes.items()
            if number != node_id
        }
        rest = [each for sample in others.values() for each in sample]
        knows_path = node.mean.path_ns > 0 or not node.count
        if is_slow(node.sample_ns, rest, knows_path=knows_path):
            yield found("KD4403", **slow_evidence(str(node_id), node.sample_ns, others))


def _ms(time_ns: int) -> float:
    return round(time_ns / NS_PER_MS, 2)
