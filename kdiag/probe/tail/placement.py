"""Places partitions: finds the offsets at which they start and stop, and has them read from there.

    placement.unplaced = {key: None, other: Position(At.OFFSET, 7)}   # its own start, or the usual
    spans = placement.place(cluster, start)                           # `unplaced` has what is left

A partition whose leader does not answer stays `unplaced`: where its log begins and ends, nobody can
say. Where a requested offset holds no record any more, and what a reader who stops at the end will
not see, is told by notices.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Final, NamedTuple

from kdiag.client.cluster_client import ClusterClient
from kdiag.client.fetch.fetcher import Fetcher
from kdiag.client.fetch.offset_reset import LogRange, ResetPolicy
from kdiag.client.fetch.offsets import EARLIEST, LATEST
from kdiag.client.fetch.position import (
    FetchedBatch,
    FetchPosition,
    Notice,
    NoticeKind,
    PartitionKey,
)
from kdiag.client.fetch.repositioning import ASK_NS
from kdiag.client.fetch.session import FetchLimits
from kdiag.client.network.metadata import Cluster
from kdiag.client.visibility import hidden_topics
from kdiag.clock import NS_PER_MS, NS_PER_S
from kdiag.errors import AuthorizationError, ConfigError, DecodeError
from kdiag.probe.tail.offset_spec import At, OffsetSpec, Position
from kdiag.probe.tail.offsets import StartAndStop, find_offsets
from kdiag.probe.tail.open_transactions import HeldBack, describe_held_back
from kdiag.probe.tail.topic_selection import TopicSelector, names_to_ask, select
from kdiag.wire.records.batch import RecordBatch

STRANDED_NS: Final = 10 * NS_PER_S
"""How long a tail that stops at the end waits for partitions without a reachable leader."""

LATE_NS: Final = 1 * NS_PER_S
"""How long other partitions wait at the most for the leader of one that is placed late."""


class TailRequest(NamedTuple):
    """The topics to read, and how.

    Attributes:
        topics: topics and partitions.
        offsets: where to start and to stop; without a start it begins with the last ten records, or
            at the beginning if it has an end.
        stops_at_end: whether to stop where the logs ended at its start.
        limits: bytes for each request, isolation, rack.
        skips_damaged: whether commits and resume positions may pass what could not be read.
        is_visible: returns whether a batch counts among the last records.
    """

    topics: Sequence[TopicSelector]
    offsets: OffsetSpec = OffsetSpec()
    stops_at_end: bool = False
    limits: FetchLimits = FetchLimits()
    skips_damaged: bool = False
    is_visible: Callable[[FetchedBatch], bool] = lambda fetched: (
        not (fetched.is_aborted or fetched.batch.is_control)
    )


def select_now(
    client: ClusterClient, topics: Sequence[TopicSelector]
) -> tuple[Cluster, dict[PartitionKey, Position | None]]:
    """Return the cluster and the selected partitions.

    Raises:
        ConfigError: if a topic or partition does not exist.
        AuthorizationError: if a topic may not be described.
        KdiagError: if the cluster cannot be asked.
    """
    cluster = client.refresh(names_to_ask(topics))
    try:
        return cluster, select(topics, cluster)
    except ConfigError:
        everything = client.refresh(None)  # to suggest similar names
        try:
            return everything, select(topics, everything)
        except ConfigError as error:
            if hidden := unseen_topics(client, topics):
                raise AuthorizationError(f"{error}; {hidden}") from None
            raise


def unseen_topics(client: ClusterClient, topics: Sequence[TopicSelector]) -> str | None:
    """Return why patterns may match more topics than brokers list; None if they do not."""
    reasons = (hidden_topics(client, name=each.example) for each in topics if each.is_pattern)
    return next(filter(None, reasons), None)


class Placement:
    """Adds partitions to a fetcher, each where it starts; for one thread.

    Attributes:
        unplaced: the partitions that are to be read and are not yet; for some, where to start.
        errors: why they are not: Kafka's error names, or other reasons.
        is_partial: whether it has given up partitions.
    """

    def __init__(
        self,
        client: ClusterClient,
        fetcher: Fetcher,
        request: TailRequest,
        *,
        expects_records: bool = True,
        reset: ResetPolicy | None = None,
    ) -> None:
        """Begin with nothing to place.

        Args:
            client: connected.
            fetcher: is to read the partitions.
            request: where they start and stop.
            expects_records: whether an offset that was asked for is one of a record, so that it is
                told where there is none.
            reset: the policy for offsets that are not in their logs; None to let a fetch find out.
        """
        self.unplaced: dict[PartitionKey, Position | None] = {}
        self.errors: dict[PartitionKey, str] = {}
        self.is_partial = False
        self._stranded_since_ns: int | None = None
        self._client = client
        self._fetcher = fetcher
        self._request = request
        self._expects_records = expects_records
        self._reset = reset
        fetcher.recovery.reposition.reset = reset
        self._unchecked: dict[PartitionKey, int] = {}
        self._notices: list[Notice] = []

    def take_notices(self) -> list[Notice]:
        """Return the notices since the last call."""
        taken, self._notices = self._notices, []
        return taken

    def report_unseen(self, why: str | None) -> None:
        """Report that there may be topics that are not read; None for that there are not."""
        if why is not None:
            self.is_partial = True
            self._notices.append(Notice(NoticeKind.DENIED, why))

    def place(
        self, cluster: Cluster, start: Position, *, is_late: bool = False
    ) -> dict[PartitionKey, StartAndStop]:
        """Have partitions read whose leaders answer, and return where they start and stop.

        Args:
            cluster: who leads them; those that it does not have wait.
            start: of partitions without their own.
            is_late: whether others are read meanwhile, so that there is little time.

        Raises:
            AuthorizationError: if a topic may not be read.
            ConfigError: if an offset is not in its log, and the policy forbids to guess another.
            KdiagError: if the cluster cannot be asked.
        """
        request = self._request
        keys = {key: own for key, own in self.unplaced.items() if cluster.partition(*key)}
        self.errors = {}
        spans = self._find(cluster, keys, start, is_late=is_late)
        spans |= self._find_reset(cluster, spans, is_late=is_late)
        self.read(spans, cluster)
        if self._expects_records:
            asked = {key: span.asked for key, span in spans.items() if span.asked is not None}
            self._unchecked |= asked
        self.unplaced = {key: own for key, own in self.unplaced.items() if key not in spans}
        if request.stops_at_end:
            self._explain_ends(spans, start)
        return spans

    def _find(
        self,
        cluster: Cluster,
        keys: Mapping[PartitionKey, Position | None],
        start: Position,
        *,
        is_late: bool,
    ) -> dict[PartitionKey, StartAndStop]:
        return find_offsets(
            self._client,
            cluster,
            keys,
            self._request.offsets._replace(start=start),
            is_committed_only=self._request.limits.is_committed_only,
            stops_at_end=self._request.stops_at_end,
            knows_open=self._reset is not None,
            timeout_ns=LATE_NS if is_late else ASK_NS,
            errors=self.errors,
        )

    def _find_reset(
        self, cluster: Cluster, spans: Mapping[PartitionKey, StartAndStop], *, is_late: bool
    ) -> dict[PartitionKey, StartAndStop]:
        """Return where partitions start by the policy whose offsets are not in their logs."""
        reset = self._reset
        outside = {
            key: (span, span.asked)
            for key, span in spans.items()
            if span.asked is not None and not span.first <= span.asked <= span.high_watermark
        }
        if reset is None or not outside:
            return {}
        lacks = {
            key: LogRange(span.first, span.high_watermark).lacks(asked)
            for key, (span, asked) in outside.items()
        }
        for key, why in lacks.items():
            reset.refuse(f"{key}: {why}")
        start = position_of(reset, self._client.clock.epoch_ns() // NS_PER_MS)
        found = self._find(cluster, dict.fromkeys(outside, start), start, is_late=is_late)
        for key, span in found.items():
            before, asked = outside[key]
            kind = NoticeKind.REMOVED if asked < before.first else NoticeKind.TRUNCATED
            text = f"{key}: {reset.text(lacks[key], span.start)}"
            self._notices.append(Notice(kind, text))
        return found

    def read(self, spans: Mapping[PartitionKey, StartAndStop], cluster: Cluster) -> None:
        """Have partitions read from their starts."""
        self._fetcher.add(
            FetchPosition(
                key=key,
                offset=span.start,
                stop=span.stop,
                topic_id=cluster.topics[key.topic].topic_id,
                leader_id=partition.leader_id,
                leader_epoch=partition.leader_epoch,
                fetched_epoch=span.epoch,
            )
            for key, span in spans.items()
            if (partition := cluster.partition(*key)) is not None
        )
        self._fetcher.recovery.check_histories(spans)

    def remove(self, keys: Collection[PartitionKey]) -> None:
        """Read some partitions no more."""
        self._fetcher.remove(keys)
        for key in keys:
            self.unplaced.pop(key, None)
            self._unchecked.pop(key, None)

    def explain_held_back(self, held: Mapping[PartitionKey, HeldBack]) -> None:
        """Tell whose transactions hold partitions back."""
        if held:
            lines = describe_held_back(self._client, held)
            self._notices += [Notice(NoticeKind.HELD_BACK, line) for line in lines]

    def give_up_stranded(self) -> None:
        """Give up partitions without a leader once nothing else is left to wait for."""
        if not self._request.stops_at_end:
            return
        stranded = self._fetcher.recovery.stranded()
        positions = self._fetcher.positions
        busy = [key for key, each in positions.items() if not each.is_done]
        now_ns = self._client.clock.monotonic_ns()
        if not (stranded or self.unplaced) or len(stranded) < len(busy):
            self._stranded_since_ns = None
        elif self._stranded_since_ns is None:
            self._stranded_since_ns = now_ns
        elif now_ns - self._stranded_since_ns > STRANDED_NS:
            self.is_partial = True
            for key in stranded:
                position = positions[key]
                text = f"{key}: given up: offsets {position.offset} to {position.stop - 1} not read"
                self._notices.append(Notice(NoticeKind.NO_LEADER, text))
                position.stop = position.offset
            for key in self.unplaced:
                self._notices.append(Notice(NoticeKind.NO_LEADER, f"{key}: given up: nothing read"))
            self.unplaced = {}

    def _explain_ends(self, spans: Mapping[PartitionKey, StartAndStop], start: Position) -> None:
        """Add notices of what a reader who stops at the end will not see, and why."""
        held = {}
        for key, span in spans.items():
            if span.start > span.high_watermark:
                text = (
                    f"{key}: nothing to read: offset {span.start} is beyond the end of the log, "
                    f"{span.high_watermark}"
                )
                self._notices.append(Notice(NoticeKind.BEYOND_END, text))
            elif span.end < span.high_watermark and span.stop == span.end:
                leader_id = self._fetcher.positions[key].leader_id
                held[key] = HeldBack(leader_id, span.end, span.high_watermark)
        self.explain_held_back(held)
        is_by_time = start.at is At.TIMESTAMP and spans
        if is_by_time and all(span.start == span.end for span in spans.values()):
            text = "nothing to read: no record is as new as the time to start at"
            self._notices.append(Notice(NoticeKind.BEYOND_END, text))

    def check_beginnings(self, batches: Sequence[FetchedBatch]) -> None:
        """Add a notice where a requested offset holds no record any more."""
        for fetched in batches:
            asked = self._unchecked.pop(fetched.key, None)
            if asked is None:
                continue
            first = _first_from(asked, fetched.batch)
            if first > asked:
                text = (
                    f"{fetched.key}: offsets {asked} to {first - 1} hold no records any more "
                    "(compacted or deleted)"
                )
                self._notices.append(Notice(NoticeKind.REMOVED, text))


def position_of(reset: ResetPolicy, now_ms: int) -> Position:
    """Return where a policy other than `none` starts."""
    timestamp = reset.timestamp(now_ms)
    ends = {EARLIEST: Position(At.BEGINNING), LATEST: Position(At.END)}
    return ends.get(timestamp, Position(At.TIMESTAMP, timestamp))


def _first_from(asked: int, batch: RecordBatch) -> int:
    """Return the first offset of a batch, from one on, that holds a record."""
    try:
        offsets = [each.offset for each in batch.records() if each.offset >= asked]
    except DecodeError:
        return asked  # the error is reported when the batch is printed
    return min(offsets, default=batch.last_offset + 1)
