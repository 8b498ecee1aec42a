"""The proof of buffer sizes: each is tried several times, in turn, on its own connections.

    proof = Proof(Connector(client, make_channel), plan, report)
    proof.run(path, target)
    proof.runs[path.node_id]

In each round every size gets one run in each direction, and each round begins with another size, so
that changes on the path affect all sizes alike. Clients' defaults are one more size, with buffers
left to the kernel: then the client's requests are the limit. Runs measured before an interruption
stay in `runs`.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Final, NamedTuple

from kdiag.client.cluster_client import ClusterClient
from kdiag.clock import NS_PER_MS
from kdiag.diagnosis.buffers.facts import (
    BYTES_PER_MB,
    LEFT_TO_KERNEL,
    BrokerPath,
    KernelLimits,
    LoadDirection,
    LoadKind,
    ProofRun,
)
from kdiag.errors import KdiagError
from kdiag.net.selector.selector import MakeChannel
from kdiag.probe.buffers.load import Target, random_batch
from kdiag.probe.buffers.target import FETCHED_BYTES
from kdiag.probe.buffers.throughput import RunSettings, measure

DEFAULT_BATCH_BYTES: Final = 16 << 10
DEFAULT_IN_FLIGHT: Final = 5
DEFAULT_FETCH_BYTES: Final = 1 << 20

_LOAD_BATCH_BYTES: Final = 512 << 10
_LEAST_RUN_BYTES: Final = 1 << 20
_MOST_IN_FLIGHT_BYTES: Final = 24 << 20
_LEAST_IN_FLIGHT: Final = 3
_ROOM: Final = 2
_BEGINNINGS: Final = 8


class ProofPlan(NamedTuple):
    """The sizes to try, and how.

    Attributes:
        sizes: of both buffers, in bytes, or `LEFT_TO_KERNEL`.
        rounds: how many runs each size gets in each direction.
        time_ns: how long each run is measured.
        max_bytes: how much all runs together may move.
        bits_per_s: the rate that the path is to carry.
        limits: of this machine's kernel.
    """

    sizes: Sequence[int]
    rounds: int
    time_ns: int
    max_bytes: int
    bits_per_s: int
    limits: KernelLimits


class ProofStep(NamedTuple):
    """A run that is planned."""

    direction: LoadDirection
    load: LoadKind
    size_bytes: int


class ProofProgress(NamedTuple):
    """The progress of a proof: run `number` of `total`, from 1, begins."""

    node_id: int
    number: int
    total: int
    step: ProofStep


class Connector:
    """Makes clients of a known cluster, each with its own buffers."""

    def __init__(self, client: ClusterClient, make_channel: MakeChannel) -> None:
        self.client = client
        self._make_channel = make_channel

    def connect(self, size_bytes: int, in_flight: int, time_ns: int) -> ClusterClient:
        """Return a client that has not connected yet, and that nobody observes.

        Args:
            size_bytes: of both buffers.
            in_flight: how many requests it may have in flight.
            time_ns: how long a request may at least be unanswered.
        """
        known, settings = self.client, self.client.settings
        network = settings.network._replace(
            max_in_flight=in_flight,
            request_timeout_ns=settings.network.request_timeout_ns + time_ns,
        )
        selector = settings.selector._replace(
            send_buffer_bytes=size_bytes, receive_buffer_bytes=size_bytes
        )
        fresh = ClusterClient(
            settings._replace(network=network, selector=selector), self._make_channel, known.clock
        )
        fresh.join(known.cluster, known.node(known.brokers[0].id), ())
        fresh.deadline_ns = known.deadline_ns
        return fresh


class Proof:
    """Makes the runs of a proof.

    Attributes:
        runs: by broker, in their order.
        moved_bytes: by all of them.
        why_ended: why there are fewer runs than planned; None if there are not.
        is_late: whether the reason is that the time was up.
    """

    def __init__(
        self, connector: Connector, plan: ProofPlan, report: Callable[[ProofProgress], None]
    ) -> None:
        self.runs: dict[int, list[ProofRun]] = {}
        self.moved_bytes = 0
        self.why_ended: str | None = None
        self.is_late = False
        self._connector = connector
        self._plan = plan
        self._report = report
        now_ms = connector.client.clock.epoch_ns() // NS_PER_MS
        self.batch = random_batch(_LOAD_BATCH_BYTES, now_ms)
        self._default_batch = random_batch(DEFAULT_BATCH_BYTES, now_ms)

    def run(self, path: BrokerPath, target: Target, share: float = 1.0) -> None:
        """Try all sizes on one broker, as far as time and bytes allow.

        Args:
            path: to the broker.
            target: the partitions to load.
            share: the part of the remaining bytes for this broker.

        Raises:
            KdiagError: if a run fails before the time is up; those before it stand.
        """
        steps = list(steps_of(self._plan, target))
        runs = self.runs.setdefault(path.node_id, [])
        until_bytes = self.moved_bytes + int((self._plan.max_bytes - self.moved_bytes) * share)
        least_bytes = self._least_bytes(path)
        for number, step in enumerate(steps):
            left_bytes = until_bytes - self.moved_bytes
            max_bytes = max(least_bytes, left_bytes // (len(steps) - number))
            settings = self._settings(step, path, max_bytes)
            if not self._may_run(settings, left_bytes):
                return
            self._report(ProofProgress(path.node_id, number + 1, len(steps), step))
            try:
                run = self._measure(settings, target)
            except KdiagError:
                client = self._connector.client
                if client.clock.monotonic_ns() < client.deadline_ns:
                    raise
                self._end_late()  # the deadline cut it short, whatever it was waiting for
                return
            runs.append(run)
            self.moved_bytes += run.total_bytes

    def _may_run(self, settings: RunSettings, left_bytes: int) -> bool:
        """Return whether there are time and bytes for one more run; else note which is missing."""
        client = self._connector.client
        needed_ns = settings.warm_up_ns + settings.time_ns
        if client.clock.monotonic_ns() + needed_ns > client.deadline_ns:
            self._end_late()
        elif left_bytes < settings.max_bytes:
            needed_mb = -(-settings.max_bytes // BYTES_PER_MB)
            self.why_ended = f"a run takes {needed_mb} MB, and fewer are left (--max-bytes)"
        return self.why_ended is None

    def _end_late(self) -> None:
        self.is_late = True
        self.why_ended = "the time was up (--timeout)"

    def _measure(self, settings: RunSettings, target: Target) -> ProofRun:
        is_default = settings.load is LoadKind.DEFAULTS
        batch = self._default_batch if is_default else self.batch
        time_ns = settings.warm_up_ns + settings.time_ns
        with self._connector.connect(settings.size_bytes, settings.in_flight, time_ns) as client:
            return measure(client, target, settings, batch)

    def _settings(self, step: ProofStep, path: BrokerPath, max_bytes: int) -> RunSettings:
        is_produce = step.direction is LoadDirection.PRODUCE
        if step.load is LoadKind.DEFAULTS:
            turn_bytes, in_flight = DEFAULT_FETCH_BYTES, DEFAULT_IN_FLIGHT if is_produce else 1
        else:
            turn_bytes = FETCHED_BYTES
            each_bytes = _LOAD_BATCH_BYTES if is_produce else turn_bytes
            in_flight = max(_LEAST_IN_FLIGHT, -(-self._wanted_bytes(path) // each_bytes))
        return RunSettings(
            direction=step.direction,
            load=step.load,
            size_bytes=step.size_bytes,
            turn_bytes=turn_bytes,
            in_flight=in_flight,
            rtt_ns=path.rtt_ns or 0,
            time_ns=self._plan.time_ns,
            max_bytes=max_bytes,
        )

    def _least_bytes(self, path: BrokerPath) -> int:
        """Return the least bytes of a run that is more than its warm-up."""
        on_their_way = min(self._wanted_bytes(path), path.bdp_bytes(self._plan.bits_per_s) or 0)
        return max(_LEAST_RUN_BYTES, _BEGINNINGS * on_their_way)

    def _wanted_bytes(self, path: BrokerPath) -> int:
        """Return how many bytes must be in flight so that the load itself is not the limit."""
        limits = self._plan.limits
        buffers = [limits.send_bytes(size) or 0 for size in self._plan.sizes]
        buffers += [limits.receive_bytes(size) or 0 for size in self._plan.sizes]
        largest_bytes = max(*buffers, path.bdp_bytes(self._plan.bits_per_s) or 0)
        return min(_ROOM * largest_bytes, _MOST_IN_FLIGHT_BYTES)


def steps_of(plan: ProofPlan, target: Target) -> Iterator[ProofStep]:
    """Yield the runs in their order.

    Args:
        plan: the sizes to try.
        target: may be written to, or fetched from, or both.
    """
    directions = [LoadDirection.PRODUCE] if target.written_partition is not None else []
    if target.offsets:
        directions.append(LoadDirection.FETCH)
    turns = [(LoadKind.FULL, size_bytes) for size_bytes in plan.sizes]
    turns.append((LoadKind.DEFAULTS, LEFT_TO_KERNEL))
    for number in range(plan.rounds):
        first = number % len(turns)
        for load, size_bytes in [*turns[first:], *turns[:first]]:
            yield from (ProofStep(each, load, size_bytes) for each in directions)
