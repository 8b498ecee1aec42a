"""Commits of a consumer's offsets, for a group of kdiag's own.

    ProbeGroup       a group with its coordinator, removed at the end
    Committing       commits one offset at a time, always the newest
    PendingCommit    one of them, and the timing of the last record before it

Records that are read while a commit is outstanding wait for the next one, and so do their
latencies.
"""

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Final, NamedTuple

import msgspec

from kdiag.client.cluster_client import ClusterClient
from kdiag.clock import NS_PER_MS, NS_PER_S
from kdiag.diagnosis.latency.split import LatencySplit, joined, split_request
from kdiag.errors import AuthorizationError, KdiagError, ProbeError
from kdiag.probe import PROBE_PREFIX
from kdiag.probe.coordinator.search import coordinator_request
from kdiag.probe.latency.connection import Ended, OwnConnection
from kdiag.probe.latency.messages import commit_request, error_in
from kdiag.probe.latency.plan import LatencyTarget
from kdiag.probe.latency.record_timings import RecordStart
from kdiag.probe.latency.results import LatencyResults, SeriesKind
from kdiag.probe.topic import CLEANUP_NS
from kdiag.wire.api.delete_groups import DeleteGroupsRequest, DeleteGroupsResponse
from kdiag.wire.api.find_coordinator import FindCoordinatorResponse
from kdiag.wire.coordinator_partition import CoordinatorKind
from kdiag.wire.error_code import error_name

_PATIENCE_NS: Final = 10 * NS_PER_S
_RETRY_NS: Final = 100 * NS_PER_MS
_LAST_ANSWER_NS: Final = NS_PER_S
_AGAIN: Final = frozenset(("COORDINATOR_NOT_AVAILABLE", "COORDINATOR_LOAD_IN_PROGRESS"))
_GONE: Final = frozenset(("NONE", "GROUP_ID_NOT_FOUND"))


class ProbeGroup(NamedTuple):
    """A group of kdiag's own.

    Attributes:
        name: its name.
        coordinator_id: the broker that coordinates it.
    """

    name: str
    coordinator_id: int


@contextmanager
def probe_group(client: ClusterClient) -> Iterator[ProbeGroup]:
    """Find the coordinator of a new group, and remove the group at the end.

    The cluster creates its topic of offsets if it has none yet.

    Args:
        client: connected; used for the group alone, so that it is not busy at the removal.

    Raises:
        AuthorizationError: if this user may not use groups.
        ProbeError: if there is no coordinator, or the group cannot be removed.
        KdiagError: if no broker answers.
    """
    group = _find(client, PROBE_PREFIX + secrets.token_hex(4))
    try:
        yield group
    finally:
        _remove(client, group)


def _find(client: ClusterClient, name: str) -> ProbeGroup:
    until_ns = min(client.clock.monotonic_ns() + _PATIENCE_NS, client.deadline_ns)
    request = coordinator_request(CoordinatorKind.GROUP, [name])
    while True:
        answer = client.ask_any(request, FindCoordinatorResponse)
        first = answer.coordinators[0] if answer.coordinators else answer
        error = error_name(first.error_code)
        if not first.error_code and first.node_id in client.cluster.brokers:
            return ProbeGroup(name, first.node_id)
        if error == "GROUP_AUTHORIZATION_FAILED":
            raise AuthorizationError(f"group {name}: not authorized to use it")
        if error not in _AGAIN or client.clock.monotonic_ns() + _RETRY_NS >= until_ns:
            raise ProbeError(f"group {name}", f"no broker coordinates it: {error}")
        client.wait(_RETRY_NS)


def _remove(client: ClusterClient, group: ProbeGroup) -> None:
    client.deadline_ns = max(client.deadline_ns, client.clock.monotonic_ns() + CLEANUP_NS)
    request = DeleteGroupsRequest([group.name])
    try:
        answer = client.ask(
            group.coordinator_id, request, DeleteGroupsResponse, timeout_ns=CLEANUP_NS
        )
    except KdiagError as failure:
        raise ProbeError(f"group {group.name}", f"remove it yourself: {failure}") from failure
    error = error_name(answer.results[0].error_code)
    if error not in _GONE:
        raise ProbeError(f"group {group.name}", f"remove it yourself, for it could not be: {error}")


class PendingCommit(msgspec.Struct):
    """An offset to commit, and the timing of the last record before it.

    Attributes:
        partition: the partition.
        offset: the next that will be read.
        read_ns: when the records before it were read, since 1970.
        arrival: start and latency of the last record, once it is known to have arrived.
        commit: the latency of the commit, once it is answered.
    """

    partition: int
    offset: int
    read_ns: int
    arrival: tuple[RecordStart, LatencySplit] | None = None
    commit: LatencySplit | None = None


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
        self._waiting: PendingCommit | None = None

    def commit(self, pending: PendingCommit) -> None:
        """Commit an offset now, or once the last commit is answered."""
        if self.connection.pending:
            self._waiting = pending
            return
        position = pending.partition, pending.offset
        request = commit_request(self._target, self._group.name, *position)
        self.connection.ask(request, pending.read_ns, partial(self._end, pending))

    def handle_arrival(
        self, pending: PendingCommit, start: RecordStart, split: LatencySplit
    ) -> None:
        """Record the arrival of the last record before an offset."""
        pending.arrival = start, split
        self._maybe_add(pending)

    def end(self) -> None:
        """Wait for the last answer: a commit that arrives after the group is gone founds it anew.

        The consumer must have ended; a second is enough for a broker that answers at all.
        """
        self._waiting = None
        until_ns = self._client.clock.monotonic_ns() + _LAST_ANSWER_NS
        if not self._client.client.await_condition(lambda: not self.connection.pending, until_ns):
            name = self._group.name
            self._results.warn(f"the last commit had no answer: group {name} may be left")

    def _end(self, pending: PendingCommit, ended: Ended) -> None:
        done_ns = self._client.clock.epoch_ns()
        problem = ended.error or error_in(ended.body)
        if problem is not None:
            self._results.fail(problem, self._series)
        else:
            pending.commit = split_request(ended.times(done_ns), ended.rtt_ns)
            node_id = self.connection.node_id
            self._results.add(self._series, ended.due_ns, pending.commit, node_id)
            self._maybe_add(pending)
        waiting, self._waiting = self._waiting, None
        if waiting is not None:
            self.commit(waiting)

    def _maybe_add(self, pending: PendingCommit) -> None:
        """Add the latency up to the commit, once both parts are known."""
        if pending.arrival is None or pending.commit is None:
            return
        start, split = pending.arrival
        series = self._results.of(SeriesKind.COMMITTED, start.acks)
        self._results.add(series, start.due_ns, joined(split, pending.commit), start.node_id)
