"""The proof of buffer sizes: each is tried, over and over in turn, on connections of their own.

    proof = Proof(Connector(client, make_channel), plan, tell)
    proof.run(path, target)
    proof.runs[path.node_id]

How it works. In each round every size gets one run in each direction, and each round begins with
another size, so that what changes on the path meanwhile meets all sizes alike. Clients' defaults
take their turn as one more size, with buffers left to the kernel: what then limits is the client's
way to ask. What was measured before an interruption stays in `runs`.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Final, NamedTuple

from kdiag.client.cluster_client import ClusterClient
from kdiag.clock import NS_PER_MS
from kdiag.diagnosis.buffers.facts import (
    LEFT_TO_KERNEL,
    BrokerPath,
    KernelLimits,
    LoadDirection,
    LoadKind,
    ProofRun,
)
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
_BYTES_PER_MB: Final = 1_000_000


class ProofPlan(NamedTuple):
    """What to try.

    Attributes:
        sizes: of both buffers, in bytes, or `LEFT_TO_KERNEL`.
        rounds: how often each.
        time_ns: how long each run is measured.
        max_bytes: how much all runs together may move.
        bits_per_s: the rate to make room for.
        limits: of this machine's kernel.
    """

    sizes: Sequence[int]
    rounds: int
    time_ns: int
    max_bytes: int
    bits_per_s: int
    limits: KernelLimits


class Step(NamedTuple):
    """One run to come."""

    direction: LoadDirection
    load: LoadKind
    size_bytes: int


class Progress(NamedTuple):
    """How far a proof is: run `number` of `total`, from 1, begins."""

    node_id: int
    number: int
    total: int
    step: Step


class Connector:
    """Makes clients of a cluster that is known, each with buffers of its own."""

    def __init__(self, client: ClusterClient, make_channel: MakeChannel) -> None:
        self.client = client
        self._make_channel = make_channel

    def connect(self, size_bytes: int, in_flight: int, time_ns: int) -> ClusterClient:
        """Return a client that has not connected yet; nobody observes what it says.

        Args:
            size_bytes: of both buffers.
            in_flight: how many requests it may have on their way.
            time_ns: for how long a request may go unanswered at the least.
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
    """Runs, and what they showed.

    Attributes:
        runs: by broker, in the order in which they were made.
        moved_bytes: by all of them.
        why_ended: why there are fewer than planned; None if there are not.
        is_late: whether that is because the time was up.
    """

    def __init__(
        self, connector: Connector, plan: ProofPlan, tell: Callable[[Progress], None]
    ) -> None:
        self.runs: dict[int, list[ProofRun]] = {}
        self.moved_bytes = 0
        self.why_ended: str | None = None
        self.is_late = False
        self._connector = connector
        self._plan = plan
        self._tell = tell
        now_ms = connector.client.clock.epoch_ns() // NS_PER_MS
        self.batch = random_batch(_LOAD_BATCH_BYTES, now_ms)
        self._default_batch = random_batch(DEFAULT_BATCH_BYTES, now_ms)

    def run(self, path: BrokerPath, target: Target, share: float = 1.0) -> None:
        """Try all sizes on one broker, as far as time and bytes allow.

        Args:
            path: the way to it.
            target: what to load.
            share: the part of the bytes left that this broker may take.

        Raises:
            KdiagError: if a run fails; those before it stand.
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
            self._tell(Progress(path.node_id, number + 1, len(steps), step))
            run = self._measure(settings, target)
            runs.append(run)
            self.moved_bytes += run.total_bytes

    def _may_run(self, settings: RunSettings, left_bytes: int) -> bool:
        """Return whether there is time and room for one more run; else note which is missing."""
        client = self._connector.client
        needed_ns = settings.warm_up_ns + settings.time_ns
        if client.clock.monotonic_ns() + needed_ns > client.deadline_ns:
            self.is_late = True
            self.why_ended = "the time was up (--timeout)"
        elif left_bytes < settings.max_bytes:
            needed_mb = -(-settings.max_bytes // _BYTES_PER_MB)
            self.why_ended = f"a run takes {needed_mb} MB, and fewer are left (--max-bytes)"
        return self.why_ended is None

    def _measure(self, settings: RunSettings, target: Target) -> ProofRun:
        is_default = settings.load is LoadKind.DEFAULTS
        batch = self._default_batch if is_default else self.batch
        time_ns = settings.warm_up_ns + settings.time_ns
        with self._connector.connect(settings.size_bytes, settings.in_flight, time_ns) as client:
            return measure(client, target, settings, batch)

    def _settings(self, step: Step, path: BrokerPath, max_bytes: int) -> RunSettings:
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
        """Return how much a run must be able to move so that its end is not in its beginning."""
        on_their_way = min(self._wanted_bytes(path), path.bdp_bytes(self._plan.bits_per_s) or 0)
        return max(_LEAST_RUN_BYTES, _BEGINNINGS * on_their_way)

    def _wanted_bytes(self, path: BrokerPath) -> int:
        """Return how much must be on its way so that the load itself is not the limit."""
        limits = self._plan.limits
        buffers = [limits.send_bytes(size) or 0 for size in self._plan.sizes]
        buffers += [limits.receive_bytes(size) or 0 for size in self._plan.sizes]
        largest_bytes = max(*buffers, path.bdp_bytes(self._plan.bits_per_s) or 0)
        return min(_ROOM * largest_bytes, _MOST_IN_FLIGHT_BYTES)


def steps_of(plan: ProofPlan, target: Target) -> Iterator[Step]:
    """Yield the runs in their order.

    Args:
        plan: what to try.
        target: says in which directions it can be tried.
    """
    directions = [LoadDirection.PRODUCE] if target.written_partition is not None else []
    if target.offsets:
        directions.append(LoadDirection.FETCH)
    turns = [(LoadKind.FULL, size_bytes) for size_bytes in plan.sizes]
    turns.append((LoadKind.DEFAULTS, LEFT_TO_KERNEL))
    for number in range(plan.rounds):
        first = number % len(turns)
        for load, size_bytes in [*turns[first:], *turns[:first]]:
            yield from (Step(each, load, size_bytes) for each in directions)
