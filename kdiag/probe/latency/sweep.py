"""Compares settings of consumers on a topic: fetches with each of them, side by side."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Final

import msgspec

from kdiag.client.cluster_client import ClusterClient
from kdiag.clock import NS_PER_MS
from kdiag.diagnosis.latency.fetch_waits import FetchTally, FetchWait
from kdiag.diagnosis.latency.histogram import LatencyHistogram
from kdiag.diagnosis.latency.split import split_request
from kdiag.errors import DecodeError, KdiagError
from kdiag.probe.latency.connection import Ended, OwnConnection
from kdiag.probe.latency.messages import Fetched, fetch_request, fetched, next_offset
from kdiag.probe.latency.plan import LatencyTarget
from kdiag.probe.latency.results import LatencyResults
from kdiag.wire.records.batches import read_batches

_LEAST_SPACING_NS: Final = 10 * NS_PER_MS
"""Between two fetches with the same settings: those that wait for nothing would only add load."""
_BACKOFF_NS: Final = 100 * NS_PER_MS


class _Cell(msgspec.Struct):
    """The fetches with the same settings from one broker."""

    connection: OwnConnection
    tally: FetchTally
    offsets: dict[int, int]
    again_ns: int = 0


class FetchSweep:
    """Fetches with several settings at the same time, each on connections of its own.

    Attributes:
        connections: all of them.
        tallies: the results of the fetches, by settings.
    """

    def __init__(
        self,
        client: ClusterClient,
        target: LatencyTarget,
        offsets: Mapping[int, int],
        waits: Sequence[FetchWait],
        results: LatencyResults,
    ) -> None:
        """Prepare connections.

        Args:
            client: knows its cluster.
            target: the topic.
            offsets: where to begin, by partition.
            waits: the settings.
            results: gets the bytes and the errors.
        """
        self._client = client
        self._target = target
        self._results = results
        self.tallies = [FetchTally(wait, LatencyHistogram()) for wait in waits]
        self._cells = [
            _Cell(
                OwnConnection(client, node, f"sweep {wait.min_bytes} {wait.max_wait_ms}"),
                tally,
                {each: at for each, at in offsets.items() if target.leaders[each] == node},
            )
            for wait, tally in zip(waits, self.tallies, strict=True)
            for node in target.nodes
        ]
        self.connections = [each.connection for each in self._cells]

    def keep_fetching(self) -> None:
        """Send a fetch wherever none waits."""
        now_ns = self._client.clock.epoch_ns()
        for cell in self._cells:
            if not cell.connection.pending and now_ns >= cell.again_ns:
                cell.again_ns = now_ns + _LEAST_SPACING_NS
                request = fetch_request(self._target, cell.offsets, cell.tally.wait)
                cell.connection.ask(request, now_ns, partial(self._end, cell))

    def _end(self, cell: _Cell, ended: Ended) -> None:
        """Handle the end of a fetch."""
        done_ns = self._client.clock.epoch_ns()
        problem: KdiagError | str | None = ended.error
        if problem is None:
            brought = fetched(ended.body)
            problem = brought.error or self._advance(cell, brought)
            if problem is None:
                self._results.bytes += brought.size_bytes
                split = split_request(ended.times(done_ns), ended.rtt_ns)
                cell.tally.add(split, brought.size_bytes)
        if problem is not None:
            self._results.fail_fetch(problem)
            cell.again_ns = done_ns + _BACKOFF_NS

    def _advance(self, cell: _Cell, brought: Fetched) -> DecodeError | None:
        """Advance the offsets past the fetched batches; return the error if one cannot be read."""
        try:
            for partition, data in brought.records.items():
                batches = read_batches(data).batches
                cell.offsets[partition] = next_offset(batches, cell.offsets[partition])
        except DecodeError as error:
            return error
        return None
