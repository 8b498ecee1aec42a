"""Commits of how far a consumer came: one at a time, always the newest.

What was read while a commit is under way waits for the next one, and so do its latencies.
"""

from functools import partial

import msgspec

from kdiag.client.cluster_client import ClusterClient
from kdiag.diagnosis.latency.split import Split, joined, split_request
from kdiag.probe.latency.connection import Ended, OwnConnection
from kdiag.probe.latency.journeys import Start
from kdiag.probe.latency.latency_group import ProbeGroup
from kdiag.probe.latency.messages import commit_request, error_in
from kdiag.probe.latency.plan import LatencyTarget
from kdiag.probe.latency.results import LatencyResults, SeriesKind


class Progress(msgspec.Struct):
    """What is to be committed, and the journey of the last record that this is about.

    Attributes:
        partition: the partition.
        offset: the next that will be read.
        read_ns: when the records before it were read, since 1970.
        arrival: the journey, once both its ends are known.
        commit: the latency of the commit, once it is answered.
    """

    partition: int
    offset: int
    read_ns: int
    arrival: tuple[Start, Split] | None = None
    commit: Split | None = None


class Committing:
    """Commits offsets for a group.

    Attributes:
        connection: to the coordinator of the group.
    """

    def __init__(
        self,
        client: ClusterClient,
        target: LatencyTarget,
        group: ProbeGroup,
        results: LatencyResults,
    ) -> None:
        """Prepare a connection; nothing is sent yet."""
        self.connection = OwnConnection(client, group.coordinator_id, "commit")
        self._client = client
        self._target = target
        self._group = group
        self._results = results
        self._series = results.of(SeriesKind.COMMIT)
        self._waiting: Progress | None = None

    def commit(self, progress: Progress) -> None:
        """Commit an offset now, or once the last commit is answered."""
        if self.connection.pending:
            self._waiting = progress
            return
        place = progress.partition, progress.offset
        request = commit_request(self._target, self._group.name, *place)
        self.connection.ask(request, progress.read_ns, partial(self._end, progress))

    def arrived(self, progress: Progress, start: Start, split: Split) -> None:
        """Take the journey of the last record before an offset."""
        progress.arrival = start, split
        self._maybe_add(progress)

    def _end(self, progress: Progress, ended: Ended) -> None:
        done_ns = self._client.clock.epoch_ns()
        problem = ended.error or error_in(ended.body)
        if problem is not None:
            self._results.fail(problem, self._series)
        else:
            progress.commit = split_request(ended.moments(done_ns), ended.rtt_ns)
            node_id = self.connection.node_id
            self._results.add(self._series, ended.due_ns, progress.commit, node_id)
            self._maybe_add(progress)
        waiting, self._waiting = self._waiting, None
        if waiting is not None:
            self.commit(waiting)

    def _maybe_add(self, progress: Progress) -> None:
        """Add the journey up to the commit, once both are known."""
        if progress.arrival is None or progress.commit is None:
            return
        start, split = progress.arrival
        series = self._results.of(SeriesKind.COMMITTED, start.acks)
        self._results.add(series, start.due_ns, joined(split, progress.commit), start.node_id)
