"""The requests that are sent on a schedule, and the handling of their answers.

ProduceLoad    writes records, with each acks on a connection of its own to each broker
FetchLoad      writes nothing: fetches records that do not exist yet, without waiting for them
"""

from collections.abc import Sequence
from functools import partial
from typing import Final, Protocol

from kdiag.client.cluster_client import ClusterClient
from kdiag.diagnosis.latency.fetch_waits import FetchWait
from kdiag.diagnosis.latency.split import OneWay, split_handover, split_request
from kdiag.probe.latency.connection import Ended, OwnConnection
from kdiag.probe.latency.messages import (
    MarkedRecords,
    error_in,
    fetch_request,
    fetched,
    leader_in,
)
from kdiag.probe.latency.plan import ACKS_TEXTS, LatencyPlan, LatencyTarget
from kdiag.probe.latency.record_timings import RecordStart, RecordTimings
from kdiag.probe.latency.results import LatencyResults, SeriesKind
from kdiag.probe.topic_requests import produce_request

_AT_ONCE: Final = FetchWait(min_bytes=1, max_wait_ms=0)


class ScheduledLoad(Protocol):
    """Requests of several kinds, which take turns."""

    @property
    def connections(self) -> Sequence[OwnConnection]:
        """Return the connections that it uses, one for each kind."""
        ...

    def send(self, kind: int, due_ns: int) -> None:
        """Send a request of a kind, due at a time since 1970."""
        ...


class ProduceLoad:
    """Writes records.

    Attributes:
        connections: for each broker one for each acks.
        records: makes them.
        timings: of its records; None without a consumer.
    """

    def __init__(
        self,
        client: ClusterClient,
        target: LatencyTarget,
        plan: LatencyPlan,
        results: LatencyResults,
        timings: RecordTimings | None = None,
    ) -> None:
        """Prepare connections; nothing is sent yet."""
        self.records = MarkedRecords(plan.records)
        self.timings = timings
        self._client = client
        self._target = target
        self._results = results
        self._number = 0
        pairs = [(node, acks) for node in target.nodes for acks in plan.acks]
        self._acks = [acks for _, acks in pairs]
        self._partitions = [target.partition_of(node) for node, _ in pairs]
        self._series = [results.of(SeriesKind.PRODUCE, acks) for acks in self._acks]
        self.connections = [
            OwnConnection(client, node, f"produce acks={ACKS_TEXTS[acks]}") for node, acks in pairs
        ]

    def send(self, kind: int, due_ns: int) -> None:
        """Send a batch."""
        connection, acks = self.connections[kind], self._acks[kind]
        self._number += 1
        batch = self.records.batch(self._number, self._client.clock.epoch_ns())
        self._results.bytes += len(batch)
        if self.timings is not None:
            start = RecordStart(due_ns, acks, connection.node_id)
            self.timings.begin(self._number, start)
        request = produce_request(self._target, self._partitions[kind], acks, batch)
        connection.ask(request, due_ns, partial(self._end, kind, self._number))

    def _end(self, kind: int, number: int, ended: Ended) -> None:
        done_ns = self._client.clock.epoch_ns()
        problem = ended.error or error_in(ended.body)
        if problem is not None:
            self.connections[kind].follow(leader_in(ended.body))
            self._results.fail(problem, self._series[kind])
            if self.timings is not None:
                self.timings.give_up(number)
            return
        assert ended.written_ns is not None
        if ended.first_ns is None:
            split = split_handover(ended.due_ns, ended.written_ns)
        else:
            split = split_request(ended.times(done_ns), ended.rtt_ns)
        node_id = self.connections[kind].node_id
        self._results.add(self._series[kind], ended.due_ns, split, node_id)
        if self.timings is not None:
            self.timings.add_write(number, OneWay(ended.written_ns, ended.rtt_ns))


class FetchLoad:
    """Fetches from the ends of partitions, where there are no records yet.

    Attributes:
        connections: one for each broker.
    """

    def __init__(
        self,
        client: ClusterClient,
        target: LatencyTarget,
        offsets: dict[int, int],
        results: LatencyResults,
    ) -> None:
        """Prepare connections.

        Args:
            client: knows its cluster.
            target: the topic.
            offsets: the end of each of its partitions.
            results: gets the latencies.
        """
        self.connections = [OwnConnection(client, node, "fetch") for node in target.nodes]
        self._partitions = [target.partition_of(node) for node in target.nodes]
        self._client = client
        self._target = target
        self._offsets = offsets
        self._results = results
        self._series = results.of(SeriesKind.FETCH)

    def send(self, kind: int, due_ns: int) -> None:
        """Send a fetch."""
        connection, partition = self.connections[kind], self._partitions[kind]
        offsets = {partition: self._offsets[partition]}
        request = fetch_request(self._target, offsets, _AT_ONCE)
        connection.ask(request, due_ns, partial(self._end, kind))

    def _end(self, kind: int, ended: Ended) -> None:
        done_ns = self._client.clock.epoch_ns()
        if ended.error is not None:
            self._results.fail(ended.error, self._series)
            return
        brought = fetched(ended.body)
        if brought.error is not None:
            self.connections[kind].follow(leader_in(ended.body))
            self._results.fail(brought.error, self._series)
            return
        self._results.bytes += brought.size_bytes
        split = split_request(ended.times(done_ns), ended.rtt_ns)
        self._results.add(self._series, ended.due_ns, split, self.connections[kind].node_id)
