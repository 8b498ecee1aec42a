"""Resolves an offset spec to the offsets at which each partition starts and stops."""

from collections.abc import Iterable, Mapping, MutableMapping
from typing import Final, NamedTuple

from kdiag.client.cluster_client import ClusterClient
from kdiag.client.fetch.offsets import EARLIEST, LATEST, NO_OFFSET, FoundOffset, look_up
from kdiag.client.fetch.position import OPEN_END, UNKNOWN_EPOCH, PartitionKey
from kdiag.client.fetch.repositioning import ASK_NS
from kdiag.client.network.metadata import Cluster
from kdiag.clock import NS_PER_MS, NS_PER_S
from kdiag.errors import AuthorizationError
from kdiag.probe.tail.offset_spec import At, OffsetSpec, Position

_DENIED: Final = "TOPIC_AUTHORIZATION_FAILED"
_SEARCH_NS: Final = 10 * NS_PER_S
"""How long a leader may search for a time; logs may be large."""


class StartAndStop(NamedTuple):
    """The offsets of one partition.

    Attributes:
        first: the oldest.
        start: where to start; for the last records, where they end.
        stop: the first that is not wanted.
        asked: the offset that was requested by number; None if none was.
        end: where the log ends; for `read_committed` its last stable offset.
        high_watermark: where it ends with the records of open transactions; the same as `end` where
            that was not asked.
        epoch: the leader epoch of what was read before; -1 if unknown.
    """

    first: int
    start: int
    stop: int
    asked: int | None = None
    end: int = 0
    high_watermark: int = 0
    epoch: int = UNKNOWN_EPOCH


class _LogEnds(NamedTuple):
    """Where the log of a partition begins and ends now."""

    first: int
    end: int
    high_watermark: int


def find_offsets(  # noqa: PLR0913 - six facts that only meet here
    client: ClusterClient,
    cluster: Cluster,
    keys: Mapping[PartitionKey, Position | None],
    spec: OffsetSpec,
    *,
    is_committed_only: bool,
    stops_at_end: bool,
    knows_open: bool = False,
    timeout_ns: int = ASK_NS,
    errors: MutableMapping[PartitionKey, str] | None = None,
) -> dict[PartitionKey, StartAndStop]:
    """Return where partitions start and stop; a partition without a reachable leader is left out.

    Args:
        client: connected.
        cluster: who leads the partitions.
        keys: the partitions; for some the position to start at, which precedes `spec`.
        spec: where to start and to stop.
        is_committed_only: whether a log ends at its last stable offset.
        stops_at_end: whether to stop where the logs end now.
        knows_open: whether to ask where they end with open transactions, also if not to stop there.
        timeout_ns: how long a leader may take to tell an end of a log.
        errors: receives why partitions are left out: Kafka's error names, or other reasons.

    Raises:
        AuthorizationError: if a partition may not be read.
        KdiagError: if the cluster cannot be asked.
    """
    lookup = _Lookup(client, cluster, keys, timeout_ns, is_committed_only=is_committed_only)
    ends = lookup.ends(knows_open=stops_at_end or knows_open)
    start = spec.start or Position(At.BEGINNING)
    starts = {key: own or start for key, own in keys.items()}
    now_ms = client.clock.epoch_ns() // NS_PER_MS
    start_times = lookup.at_times(starts)
    stop_times = lookup.at_times(dict.fromkeys(keys, spec.stop)) if spec.stop else {}
    found = {}
    if errors is not None:
        errors.update(lookup.errors)
    for key in lookup.known():
        wanted, log = starts[key], ends[key]
        first = _first(wanted, log, start_times.get(key, NO_OFFSET))
        stop = _stop(spec.stop, log, stop_times.get(key, NO_OFFSET), now_ms)
        if stops_at_end:
            stop = min(stop, log.end)
        asked = wanted.value if wanted.at is At.OFFSET else None
        found[key] = StartAndStop(
            log.first, first, stop, asked, log.end, log.high_watermark, wanted.epoch
        )
    return found


class _Lookup:
    """Asks leaders about many partitions.

    Attributes:
        errors: why leaders have not answered about some: Kafka's names, or other reasons.
    """

    def __init__(
        self,
        client: ClusterClient,
        cluster: Cluster,
        keys: Iterable[PartitionKey],
        timeout_ns: int,
        *,
        is_committed_only: bool,
    ) -> None:
        self._client = client
        self._timeout_ns = timeout_ns
        self._is_committed_only = is_committed_only
        self._leaders = {key: cluster.leader_id(*key) for key in keys}
        self.errors: dict[PartitionKey, str] = {}

    def known(self) -> list[PartitionKey]:
        """Return the partitions whose leaders have answered everything."""
        return [key for key in self._leaders if key not in self.errors]

    def ends(self, *, knows_open: bool) -> dict[PartitionKey, _LogEnds]:
        """Return where each log begins and ends.

        Args:
            knows_open: whether to ask where it ends with open transactions: first, so that what is
                written meanwhile does not look like one.
        """
        first = self._ask_ends(EARLIEST)
        asks_both = knows_open and self._is_committed_only
        watermarks = self._ask_ends(LATEST, is_committed_only=False) if asks_both else {}
        end = self._ask_ends(LATEST)
        return {
            key: _LogEnds(first[key].offset, end[key].offset, watermarks.get(key, end[key]).offset)
            for key in self.known()
        }

    def at_times(self, positions: Mapping[PartitionKey, Position]) -> dict[PartitionKey, int]:
        """Return the first offsets that are not older than a time; -1 if all are."""
        timestamps = {
            key: position.value
            for key, position in positions.items()
            if position.at is At.TIMESTAMP and key not in self.errors
        }
        found = self._ask(timestamps, _SEARCH_NS, is_committed_only=self._is_committed_only)
        return {key: each.offset for key, each in found.items()}

    def _ask_ends(
        self, end: int, *, is_committed_only: bool | None = None
    ) -> dict[PartitionKey, FoundOffset]:
        if is_committed_only is None:
            is_committed_only = self._is_committed_only
        timestamps = dict.fromkeys(self.known(), end)
        return self._ask(timestamps, self._timeout_ns, is_committed_only=is_committed_only)

    def _ask(
        self, timestamps: Mapping[PartitionKey, int], timeout_ns: int, *, is_committed_only: bool
    ) -> dict[PartitionKey, FoundOffset]:
        found = look_up(
            self._client,
            timestamps,
            self._leaders,
            is_committed_only=is_committed_only,
            timeout_ns=timeout_ns,
        )
        denied = sorted(key for key, each in found.items() if each.error == _DENIED)
        if denied:
            raise AuthorizationError(f"topic {denied[0].topic}: not authorized to read it")
        self.errors |= {key: each.error for key, each in found.items() if each.error}
        return found


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
