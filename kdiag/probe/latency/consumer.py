"""A consumer that waits for records: one fetch waits on each broker at all times.

It sends the next fetch before it reads the records of the last, as Kafka's consumers do.
"""

from collections.abc import Mapping
from functools import partial
from typing import Final

import msgspec

from kdiag.client.cluster_client import ClusterClient
from kdiag.clock import NS_PER_MS
from kdiag.diagnosis.latency.fetch_waits import FetchWait
from kdiag.errors import DecodeError, KdiagError
from kdiag.probe.latency.commit import Committing, PendingCommit
from kdiag.probe.latency.connection import Ended, OwnConnection
from kdiag.probe.latency.messages import (
    MarkedRecords,
    fetch_request,
    fetched,
    leader_in,
    next_offset,
)
from kdiag.probe.latency.plan import LatencyTarget
from kdiag.probe.latency.record_timings import RecordTimings
from kdiag.probe.latency.results import LatencyResults
from kdiag.wire.records.batch import RecordBatch
from kdiag.wire.records.batches import read_batches

_UNTIL_ANY: Final = FetchWait(min_bytes=1, max_wait_ms=500)
_BACKOFF_NS: Final = 100 * NS_PER_MS


class _PartitionReading(msgspec.Struct):
    """The position of the consumer in a partition."""

    connection: OwnConnection
    partition: int
    offset: int
    again_ns: int = 0


class LatencyConsumer:
    """Reads partitions, times the records that arrive, and commits.

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
            client: knows its cluster.
            target: the topic.
            offsets: where to begin, for each partition to read.
            results: gets the errors.
        """
        self._client = client
        self._target = target
        self._results = results
        self._readings = [
            _PartitionReading(
                OwnConnection(client, target.leaders[partition], "consume"), partition, offset
            )
            for partition, offset in offsets.items()
        ]
        self.connections = [each.connection for each in self._readings]
        self._records: MarkedRecords | None = None
        self._timings: RecordTimings | None = None
        self._committing: Committing | None = None
        self._has_ended = False

    def follow(
        self, records: MarkedRecords, timings: RecordTimings, committing: Committing | None
    ) -> None:
        """Set the records to wait for.

        Args:
            records: recognises them.
            timings: gets their arrival.
            committing: commits; None if nothing is committed.
        """
        self._records = records
        self._timings = timings
        self._committing = committing

    def end(self) -> None:
        """Send no more fetches, and ignore the records of those that still wait."""
        self._has_ended = True

    def keep_fetching(self) -> None:
        """Send fetches where none waits, unless the last one has just failed."""
        now_ns = self._client.clock.epoch_ns()
        for reading in self._readings:
            if not reading.connection.pending and now_ns >= reading.again_ns:
                self._fetch(reading, now_ns)

    def _fetch(self, reading: _PartitionReading, now_ns: int) -> None:
        request = fetch_request(self._target, {reading.partition: reading.offset}, _UNTIL_ANY)
        reading.connection.ask(request, now_ns, partial(self._end, reading))

    def _end(self, reading: _PartitionReading, ended: Ended) -> None:
        """Handle the end of a fetch."""
        if self._has_ended:
            return
        try:
            self._handle_records(reading, ended)
        except DecodeError as error:
            self._put_off(reading, error)

    def _handle_records(self, reading: _PartitionReading, ended: Ended) -> None:
        if ended.error is not None:
            self._put_off(reading, ended.error)
            return
        brought = fetched(ended.body)
        if brought.error is not None:
            reading.connection.follow(leader_in(ended.body))
            self._put_off(reading, brought.error)
            return
        self._results.bytes += brought.size_bytes
        batches = read_batches(brought.records.get(reading.partition, b"")).batches
        reading.offset = next_offset(batches, reading.offset)
        self._fetch(reading, self._client.clock.epoch_ns())
        if batches:
            self._read(reading, batches, ended)

    def _read(self, reading: _PartitionReading, batches: list[RecordBatch], ended: Ended) -> None:
        """Time the records that have arrived, and commit their offset."""
        assert self._records is not None
        assert self._timings is not None
        numbers = list(self._records.numbers(batches))
        done_ns = self._client.clock.epoch_ns()
        times = ended.times(done_ns)
        for number in numbers[:-1]:
            self._timings.add_read(number, times, ended.rtt_ns)
        on_arrival = None
        if self._committing is not None and numbers:
            pending = PendingCommit(reading.partition, reading.offset, done_ns)
            on_arrival = partial(self._committing.handle_arrival, pending)
            self._committing.commit(pending)
        for number in numbers[-1:]:
            self._timings.add_read(number, times, ended.rtt_ns, on_arrival)

    def _put_off(self, reading: _PartitionReading, problem: KdiagError | str) -> None:
        """Record the failure of a fetch, and delay the next one."""
        self._results.fail_fetch(problem)
        reading.again_ns = self._client.clock.epoch_ns() + _BACKOFF_NS
