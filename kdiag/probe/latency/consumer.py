"""A consumer that waits for records: on each broker one fetch waits at all times.

The next fetch is sent before the records of the last are read, as Kafka's consumers do.
"""

from collections.abc import Mapping
from functools import partial
from typing import Final

import msgspec

from kdiag.client.cluster_client import ClusterClient
from kdiag.diagnosis.latency.fetch_waits import FetchWait
from kdiag.errors import DecodeError, KdiagError
from kdiag.probe.latency.commit import Committing, Progress
from kdiag.probe.latency.connection import Ended, OwnConnection
from kdiag.probe.latency.messages import MarkedRecords, fetch_request, fetched, next_offset
from kdiag.probe.latency.plan import LatencyTarget
from kdiag.probe.latency.record_timings import Journeys
from kdiag.probe.latency.results import LatencyResults
from kdiag.wire.records.batch import RecordBatch
from kdiag.wire.records.batches import read_batches

_UNTIL_ANY: Final = FetchWait(min_bytes=1, max_wait_ms=500)
_BACKOFF_NS: Final = 100_000_000


class _Reading(msgspec.Struct):
    """How far a partition was read."""

    connection: OwnConnection
    partition: int
    offset: int
    again_ns: int = 0


class Consumer:
    """Reads partitions, tells of the records that have arrived, and commits.

    Attributes:
        connections: one for each partition.
    """

    def __init__(
        self,
        client: ClusterClient,
        target: LatencyTarget,
        offsets: Mapping[int, int],
        results: LatencyResults,
    ) -> None:
        """Prepare connections.

        Args:
            client: has learnt of its cluster.
            target: the topic.
            offsets: where to begin, for each partition that is read.
            results: is told of what goes wrong.
        """
        self._client = client
        self._target = target
        self._results = results
        self._readings = [
            _Reading(OwnConnection(client, target.leaders[partition], "consume"), partition, offset)
            for partition, offset in offsets.items()
        ]
        self.connections = [each.connection for each in self._readings]
        self._records: MarkedRecords | None = None
        self._journeys: Journeys | None = None
        self._committing: Committing | None = None
        self._has_ended = False

    def follow(
        self, records: MarkedRecords, journeys: Journeys, committing: Committing | None
    ) -> None:
        """Say whose records are awaited.

        Args:
            records: knows them.
            journeys: is told of their arrival.
            committing: commits; None if nothing is committed.
        """
        self._records = records
        self._journeys = journeys
        self._committing = committing

    def end(self) -> None:
        """Send no more fetches; what those bring that wait is passed over."""
        self._has_ended = True

    def keep_fetching(self) -> None:
        """Send fetches where none waits, unless the last one failed just now."""
        now_ns = self._client.clock.epoch_ns()
        for reading in self._readings:
            if not reading.connection.pending and now_ns >= reading.again_ns:
                self._fetch(reading, now_ns)

    def _fetch(self, reading: _Reading, now_ns: int) -> None:
        request = fetch_request(self._target, {reading.partition: reading.offset}, _UNTIL_ANY)
        reading.connection.ask(request, now_ns, partial(self._end, reading))

    def _end(self, reading: _Reading, ended: Ended) -> None:
        """Take the answer to a fetch."""
        if self._has_ended:
            return
        try:
            self._take(reading, ended)
        except DecodeError as error:
            self._put_off(reading, error)

    def _take(self, reading: _Reading, ended: Ended) -> None:
        if ended.error is not None:
            self._put_off(reading, ended.error)
            return
        brought = fetched(ended.body)
        if brought.error is not None:
            self._put_off(reading, brought.error)
            return
        self._results.bytes += brought.size_bytes
        batches = read_batches(brought.records.get(reading.partition, b"")).batches
        reading.offset = next_offset(batches, reading.offset)
        self._fetch(reading, self._client.clock.epoch_ns())
        if batches:
            self._read(reading, batches, ended)

    def _read(self, reading: _Reading, batches: list[RecordBatch], ended: Ended) -> None:
        """Tell of the records that have arrived, and commit."""
        assert self._records is not None
        assert self._journeys is not None
        numbers = list(self._records.numbers(batches))
        done_ns = self._client.clock.epoch_ns()
        moments = ended.moments(done_ns)
        for number in numbers[:-1]:
            self._journeys.read(number, moments, ended.rtt_ns)
        on_arrival = None
        if self._committing is not None and numbers:
            progress = Progress(reading.partition, reading.offset, done_ns)
            on_arrival = partial(self._committing.arrived, progress)
            self._committing.commit(progress)
        for number in numbers[-1:]:
            self._journeys.read(number, moments, ended.rtt_ns, on_arrival)

    def _put_off(self, reading: _Reading, problem: KdiagError | str) -> None:
        """Take that a fetch failed; the next shall not follow at once."""
        self._results.fail_fetch(problem)
        reading.again_ns = self._client.clock.epoch_ns() + _BACKOFF_NS
