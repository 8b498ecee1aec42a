"""Resolves an offset spec to the offsets at which each partition starts and stops."""

from collections.abc import Mapping
from typing import Final, NamedTuple

from kdiag.client.cluster_client import ClusterClient
from kdiag.client.fetch.offsets import EARLIEST, LATEST, NO_OFFSET, FoundOffset, look_up
from kdiag.client.fetch.position import OPEN_END, PartitionKey
from kdiag.client.network.metadata import Cluster
from kdiag.clock import NS_PER_MS, NS_PER_S
from kdiag.errors import AuthorizationError
from kdiag.probe.tail.offset_spec import At, OffsetSpec, Position

_DENIED: Final = "TOPIC_AUTHORIZATION_FAILED"
_TIMEOUT_NS: Final = 10 * NS_PER_S
"""How long a leader may search for an offset; logs may be large."""


class StartAndStop(NamedTuple):
    """The offsets of one partition.

    Attributes:
        first: the oldest.
        start: where to start; for the last records, where they end.
        stop: the first that is not wanted.
        asked: the offset that was requested by number; None if none was.
    """

    first: int
    start: int
    stop: int
    asked: int | None = None


class _LogEnds(NamedTuple):
    """Where the log of a partition begins and ends now."""

    first: int
    end: int


def find_offsets(  # noqa: PLR0913 - six facts that only meet here
    client: ClusterClient,
    cluster: Cluster,
    keys: Mapping[PartitionKey, int | None],
    spec: OffsetSpec,
    *,
    is_committed_only: bool,
    stops_at_end: bool,
) -> dict[PartitionKey, StartAndStop]:
    """Return where partitions start and stop; a partition without a reachable leader is left out.

    Args:
        client: connected.
        cluster: who leads the partitions.
        keys: the partitions; for some the offset to start at, which precedes `spec`.
        spec: where to start and to stop.
        is_committed_only: whether a log ends at its last stable offset.
        stops_at_end: whether to stop where the logs end now.

    Raises:
        AuthorizationError: if a partition may not be read.
        KdiagError: if the cluster cannot be asked.
    """
    lookup = _Lookup(client, cluster, keys, is_committed_only=is_committed_only)
    ends = lookup.ends()
    start = spec.start or Position(At.BEGINNING)
    now_ms = client.clock.epoch_ns() // NS_PER_MS
    start_times = lookup.at_time(start)
    stop_times = lookup.at_time(spec.stop) if spec.stop else {}
    found = {}
    for key in lookup.known():
        own = keys[key]
        wanted = start if own is None else Position(At.OFFSET, own)
        first = _first(wanted, ends[key], start_times.get(key, NO_OFFSET))
        stop = _stop(spec.stop, ends[key], stop_times.get(key, NO_OFFSET), now_ms)
        if stops_at_end:
            stop = min(stop, ends[key].end)
        asked = wanted.value if wanted.at is At.OFFSET else None
        found[key] = StartAndStop(ends[key].first, first, stop, asked)
    return found


class _Lookup:
    """Asks leaders about many partitions."""

    def __init__(
        self,
        client: ClusterClient,
        cluster: Cluster,
        keys: Mapping[PartitionKey, int | None],
        *,
        is_committed_only: bool,
    ) -> None:
        self._client = client
        self._is_committed_only = is_committed_only
        self._leaders = {key: _leader(cluster, key) for key in keys}
        self._unanswered: set[PartitionKey] = set()

    def known(self) -> list[PartitionKey]:
        """Return the partitions whose leaders have answered everything."""
        return [key for key in self._leaders if key not in self._unanswered]

    def ends(self) -> dict[PartitionKey, _LogEnds]:
        """Return where each log begins and ends."""
        first, end = self._ask(EARLIEST), self._ask(LATEST)
        return {key: _LogEnds(first[key].offset, end[key].offset) for key in self._leaders}

    def at_time(self, position: Position) -> dict[PartitionKey, int]:
        """Return the first offsets that are not older than a time; -1 if all are."""
        if position.at is not At.TIMESTAMP:
            return {}
        return {key: found.offset for key, found in self._ask(position.value).items()}

    def _ask(self, timestamp: int) -> dict[PartitionKey, FoundOffset]:
        timestamps = dict.fromkeys(self._leaders, timestamp)
        found = look_up(
            self._client,
            timestamps,
            self._leaders,
            is_committed_only=self._is_committed_only,
            timeout_ns=_TIMEOUT_NS,
        )
        denied = sorted(key for key, each in found.items() if each.error == _DENIED)
        if denied:
            raise AuthorizationError(f"topic {denied[0].topic}: not authorized to read it")
        self._unanswered |= {key for key, each in found.items() if each.error}
        return found


def _leader(cluster: Cluster, key: PartitionKey) -> int | None:
    broker = cluster.leader(*key)
    return None if broker is None else broker.id


def _first(wanted: Position, ends: _LogEnds, at_time: int) -> int:
    """Return the offset to start at."""
    match wanted.at:
        case At.BEGINNING:
            return ends.first
        case At.END | At.LAST:
            return ends.end
        case At.OFFSET:
            return wanted.value
        case At.AFTER_BEGINNING:
            return ends.first + wanted.value
        case At.TIMESTAMP:
            return ends.end if at_time == NO_OFFSET else at_time


def _stop(wanted: Position | None, ends: _LogEnds, at_time: int, now_ms: int) -> int:
    """Return the offset to stop at; a time in the future has none yet."""
    if wanted is None or (wanted.at is At.TIMESTAMP and wanted.value > now_ms):
        return OPEN_END
    if wanted.at is At.OFFSET:
        return wanted.value
    if wanted.at is At.TIMESTAMP and at_time != NO_OFFSET:
        return at_time
    return ends.end
