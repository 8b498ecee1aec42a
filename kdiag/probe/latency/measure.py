"""Measures latencies: writes and reads on a schedule, then compares settings of fetches.

    results = LatencyResults()
    with own_target(admin, nodes) as target, probe_group(admin) as group:
        measure(client, target, LatencyPlan(), results, group=group)

The results hold every latency as soon as it is measured, so an interruption loses nothing.
"""

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from kdiag.client.cluster_client import ClusterClient
from kdiag.client.network.connection_states import FOREVER_NS
from kdiag.clock import NS_PER_MS, NS_PER_S
from kdiag.diagnosis.latency.split import LatencySplit
from kdiag.probe.latency.commit import Committing, ProbeGroup
from kdiag.probe.latency.connection import OwnConnection
from kdiag.probe.latency.consumer import LatencyConsumer
from kdiag.probe.latency.load import FetchLoad, ProduceLoad, ScheduledLoad
from kdiag.probe.latency.plan import LatencyPlan, LatencyTarget
from kdiag.probe.latency.record_timings import RecordStart, RecordTimings
from kdiag.probe.latency.results import LatencyResults, SeriesKind
from kdiag.probe.latency.schedule import OpenLoopSchedule, ScheduledRun, connect, drain, run
from kdiag.probe.latency.sweep import FetchSweep
from kdiag.probe.latency.target import end_offsets

OnTime = Callable[[str, float], None]
"""Is called again and again with the current work and the part of its time that is over."""

_CONNECT_NS: Final = 10 * NS_PER_S
_LEAD_NS: Final = 20 * NS_PER_MS
_PATIENCE_NS: Final = 5 * NS_PER_S
_LATE_PATIENCE_NS: Final = 200 * NS_PER_MS


def measure(  # noqa: PLR0913 - six facts that only meet here
    client: ClusterClient,
    target: LatencyTarget,
    plan: LatencyPlan,
    results: LatencyResults,
    *,
    group: ProbeGroup | None = None,
    on_time: OnTime | None = None,
) -> None:
    """Measure latencies by a plan.

    Args:
        client: knows its cluster, and is used for nothing else; its clock's two readings keep their
            distance.
        target: the topic.
        plan: of the measurement.
        results: gets the latencies and the errors.
        group: commits offsets; None if nothing is committed.
        on_time: is called with the progress.

    Raises:
        KdiagError: if it cannot begin; later errors are in the results.
    """
    measurement = _Measurement(client, target, plan, results, on_time)
    if not plan.acks:
        measurement.measure_fetches()
    elif plan.is_end_to_end:
        measurement.measure_end_to_end(group)
    else:
        measurement.measure_writes()
    if plan.sweep and not results.is_late:
        measurement.compare_fetch_waits()


class _Scene(NamedTuple):
    """The work during one schedule.

    Attributes:
        title: its name for the user.
        load: sends requests on the schedule.
        awaited: the connections whose answers are awaited at the end.
        others: the connections of the work beside the load.
        keep: does the work beside the load.
        is_settled: returns whether all written records have been read.
    """

    title: str
    load: ScheduledLoad
    awaited: Sequence[OwnConnection]
    others: Sequence[OwnConnection] = ()
    keep: Callable[[], None] = lambda: None
    is_settled: Callable[[], bool] = lambda: True

    @property
    def pending(self) -> int:
        """Return how many answers are outstanding."""
        return sum(each.pending for each in self.awaited)


class _Measurement:
    """One measurement."""

    def __init__(
        self,
        client: ClusterClient,
        target: LatencyTarget,
        plan: LatencyPlan,
        results: LatencyResults,
        on_time: OnTime | None,
    ) -> None:
        self._client = client
        self._target = target
        self._plan = plan
        self._results = results
        self._on_time = on_time
        self._offsets = end_offsets(client, target)

    def measure_fetches(self) -> None:
        """Measure fetches that wait for nothing."""
        load = FetchLoad(self._client, self._target, self._offsets, self._results)
        self._play(_Scene("fetch", load, load.connections), self._plan.warm_up_ns)

    def measure_writes(self) -> None:
        """Measure writes."""
        load = ProduceLoad(self._client, self._target, self._plan, self._results)
        self._play(_Scene("produce", load, load.connections), self._plan.warm_up_ns)

    def measure_end_to_end(self, group: ProbeGroup | None) -> None:
        """Measure writes, reads and commits of the same records."""
        timings = RecordTimings(self._handle_arrival)
        load = ProduceLoad(self._client, self._target, self._plan, self._results, timings)
        for acks in self._plan.acks:  # these series come before commits
            self._results.of(SeriesKind.END_TO_END, acks)
        partitions = {self._target.partition_of(node) for node in self._target.nodes}
        offsets = {each: at for each, at in self._offsets.items() if each in partitions}
        consumer = LatencyConsumer(self._client, self._target, offsets, self._results)
        awaited, committing = list(load.connections), None
        if group is not None:
            committing = Committing(self._client, self._target, group, self._results)
            awaited.append(committing.connection)
            for acks in self._plan.acks:  # these come after them
                self._results.of(SeriesKind.COMMITTED, acks)
        consumer.follow(load.records, timings, committing)
        scene = _Scene(
            "produce and consume",
            load,
            awaited,
            consumer.connections,
            consumer.keep_fetching,
            lambda: not len(timings),
        )
        try:
            self._play(scene, self._plan.warm_up_ns)
        finally:
            consumer.end()
            if committing is not None:
                committing.end()
        if timings:
            self._results.warn(f"{len(timings)} records were written, but not read in time")

    def compare_fetch_waits(self) -> None:
        """Compare settings of fetches, while records are written as before."""
        offsets = end_offsets(self._client, self._target)
        sweep = FetchSweep(self._client, self._target, offsets, self._plan.sweep, self._results)
        self._results.sweep = sweep.tallies
        load = ProduceLoad(self._client, self._target, self._plan, self._results)
        scene = _Scene("fetches", load, load.connections, sweep.connections, sweep.keep_fetching)
        self._play(scene, warm_up_ns=FOREVER_NS)  # writes were measured already

    def _handle_arrival(self, start: RecordStart, split: LatencySplit) -> None:
        """Record that a record has been read."""
        series = self._results.of(SeriesKind.END_TO_END, start.acks)
        self._results.add(series, start.due_ns, split, start.node_id)

    def _play(self, scene: _Scene, warm_up_ns: int) -> None:
        """Run a schedule, and wait for the answers that are outstanding at its end."""
        clock = self._client.clock
        connections = [*scene.awaited, *scene.others]
        until_ns = min(clock.monotonic_ns() + _CONNECT_NS, self._client.deadline_ns)
        connect(self._client, connections, until_ns)
        start_ns = clock.epoch_ns() + _LEAD_NS
        self._results.counted_from_ns = start_ns + warm_up_ns
        end_ns = start_ns + self._plan.duration_ns
        if warm_up_ns != FOREVER_NS:
            end_ns += warm_up_ns
        schedule = OpenLoopSchedule(
            start_ns, self._plan.interval_ns, end_ns, len(scene.load.connections)
        )
        try:
            keep = self._watched(scene, start_ns, end_ns)
            run(self._client, ScheduledRun(scene.load, schedule, keep, self._is_over))
            self._drain(scene)
        finally:
            for each in connections:
                if each.facts is not None:
                    self._results.facts[each.node_id, each.purpose] = each.facts

    def _watched(self, scene: _Scene, start_ns: int, end_ns: int) -> Callable[[], None]:
        """Return the work beside the load, with a report of the progress."""
        on_time, clock = self._on_time, self._client.clock
        if on_time is None:
            return scene.keep

        def keep() -> None:
            scene.keep()
            on_time(scene.title, (clock.epoch_ns() - start_ns) / (end_ns - start_ns))

        return keep

    def _is_over(self) -> bool:
        """Return whether to end before the schedule does."""
        if self._results.bytes >= self._plan.max_bytes:
            self._results.warn(f"ended after {self._results.bytes} bytes (--max-bytes)")
            return True
        if self._is_late():
            self._results.is_late = True
            return True
        return False

    def _is_late(self) -> bool:
        return self._client.clock.monotonic_ns() >= self._client.deadline_ns

    def _drain(self, scene: _Scene) -> None:
        """Wait for the last answers."""
        patience_ns = _LATE_PATIENCE_NS if self._is_late() else _PATIENCE_NS
        until_ns = self._client.clock.monotonic_ns() + patience_ns
        drain(self._client, lambda: not scene.pending and scene.is_settled(), until_ns, scene.keep)
        if scene.pending:
            now_ns = self._client.clock.epoch_ns()
            for each in scene.awaited:
                waited = self._results.unanswered.setdefault(each.node_id, [])
                waited += [now_ns - due_ns for due_ns in each.waiting]
            self._results.warn(
                f"{scene.pending} requests had no answer {patience_ns / NS_PER_S:g} s after the "
                "end: latencies without them are too low"
            )
