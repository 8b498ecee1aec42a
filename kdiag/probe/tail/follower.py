"""Follows topics: finds the partitions, where to start and to stop, and reads on.

    tail = Tail(client, request)
    while not tail.is_done:
        batches = tail.poll(deadline_ns)
        notices = tail.take_notices()

It never commits, never joins a group and never creates a topic. While it follows, it adds new
topics that match a pattern, and new partitions.

A partition whose leader does not answer at the start is `unplaced`: where its log ends, nobody can
say. Once it answers, the end may have moved, so that `end` is then the first record that is not
older than the start of the tail: nothing that was written meanwhile is passed over.

Source: the consumers of kcat, kcl and Kafka, whose notations of offsets it accepts.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from kdiag.client.cluster_client import ClusterClient
from kdiag.client.fetch.fetcher import Fetcher
from kdiag.client.fetch.notices import names
from kdiag.client.fetch.position import (
    FetchedBatch,
    FetchPosition,
    Notice,
    NoticeKind,
    PartitionKey,
)
from kdiag.client.fetch.session import require_record_batches
from kdiag.client.network.metadata import Cluster
from kdiag.clock import NS_PER_MS, NS_PER_S
from kdiag.errors import AuthorizationError, KdiagError
from kdiag.probe.reach import require_reachable
from kdiag.probe.tail.last_records import LastRecords, OffsetSpan
from kdiag.probe.tail.offset_spec import At, OffsetSpec, Position
from kdiag.probe.tail.offsets import StartAndStop, find_offsets
from kdiag.probe.tail.open_transactions import HeldBackWatch
from kdiag.probe.tail.placement import LATE_NS, Placement, TailRequest, select_now, unseen_topics
from kdiag.probe.tail.topic_selection import TopicSelector, may_grow, names_to_ask, select

REFRESH_NS: Final = 5 * NS_PER_S
"""How often a tail that follows looks for new topics, partitions and leaders."""

PATIENCE_NS: Final = 3 * NS_PER_S
"""How long the start waits for partitions that are between two leaders."""

_RETRY_NS: Final = 200 * NS_PER_MS

DEFAULT_LAST: Final = Position(At.LAST, 10)


class Tail:
    """Reads topics until it is done; for one thread."""

    def __init__(self, client: ClusterClient, request: TailRequest) -> None:
        """Find partitions and offsets.

        Raises:
            ConfigError: if a topic or partition does not exist.
            AuthorizationError: if a topic may not be read.
            AdvertisedAddressError: if no broker can be used at the address that it advertises.
            UnsupportedVersionError: if the client speaks as one that cannot read such topics.
            KdiagError: if the cluster cannot be asked.
        """
        require_record_batches(client)
        self._client = client
        self._request = request
        self._start = request.offsets.start or self._default_start()
        self._notices: list[Notice] = []
        self._last: Iterator[list[FetchedBatch]] | None = None
        self._fetcher = Fetcher(client, [], request.limits, skips_damaged=request.skips_damaged)
        self._placement = Placement(client, self._fetcher, request)
        self._added: set[PartitionKey] = set()
        self._held = HeldBackWatch()
        self._is_partial = False
        began_ns = client.clock.monotonic_ns()
        self._began = Position(At.TIMESTAMP, client.clock.epoch_ns() // NS_PER_MS)
        cluster, self._placement.unplaced = select_now(client, request.topics)
        self._placement.report_unseen(unseen_topics(client, request.topics))
        usual = {key for key, own in self._placement.unplaced.items() if own is None}
        spans = self._placement.place(cluster, self._start)
        if self._placement.unplaced and not spans:
            require_reachable(client)
        while self._placement.unplaced and client.clock.monotonic_ns() < began_ns + PATIENCE_NS:
            client.wait(_RETRY_NS)
            cluster = client.refresh(names_to_ask(request.topics))
            spans |= self._placement.place(cluster, self._late_start(), is_late=True)
        self._fetcher.recovery.unplaced(self._placement.unplaced, self._placement.errors)
        searched = {key: span for key, span in spans.items() if key in usual}
        if self._start.at is At.LAST and self._start.value and searched:
            self._last = self._read_last(searched)
        self._refresh_at_ns = client.clock.monotonic_ns() + REFRESH_NS

    @property
    def positions(self) -> Mapping[PartitionKey, FetchPosition]:
        """Return the position in each partition."""
        return self._fetcher.positions

    @property
    def topics(self) -> Sequence[TopicSelector]:
        """Return what is selected."""
        return self._request.topics

    @property
    def unplaced(self) -> Mapping[PartitionKey, Position]:
        """Return where the partitions start of which no leader has answered yet."""
        return {key: own or self._late_start() for key, own in self._placement.unplaced.items()}

    @property
    def is_searching(self) -> bool:
        """Return whether it still searches the last records; positions are already after them."""
        return self._last is not None

    @property
    def is_partial(self) -> bool:
        """Return whether it has given up partitions, or could not read batches."""
        return self._placement.is_partial or self._fetcher.is_partial or self._is_partial

    @property
    def is_done(self) -> bool:
        """Return whether everything has been read."""
        return self._last is None and not self._placement.unplaced and self._fetcher.is_done

    def take_notices(self) -> list[Notice]:
        """Return the notices since the last call."""
        taken, self._notices = self._notices, []
        return [*self._fetcher.take_notices(), *self._placement.take_notices(), *taken]

    def poll(self, deadline_ns: int) -> list[FetchedBatch]:
        """Return batches in the order of offsets; none if none came by the deadline.

        Raises:
            AuthorizationError: if a topic may not be read.
            KdiagError: if the last records cannot be searched.
        """
        if self._last is not None:
            batches = next(self._last, None)
            if batches is not None:
                return batches
            self._last = None
        now_ns = self._client.clock.monotonic_ns()
        until_ns = deadline_ns
        if self._placement.unplaced or not self._request.stops_at_end:
            if now_ns >= self._refresh_at_ns:
                self._refresh()
                self._refresh_at_ns = now_ns + (
                    NS_PER_S if self._placement.unplaced else REFRESH_NS
                )
            until_ns = min(deadline_ns, self._refresh_at_ns)
        if self._placement.unplaced and self._fetcher.is_done:
            self._client.wait(max(0, until_ns - now_ns))
        batches = self._fetcher.poll(until_ns)
        self._refuse_denied(self.positions)
        self._placement.give_up_stranded()
        self._placement.check_beginnings(batches)
        return batches

    def _default_start(self) -> Position:
        has_end = self._request.stops_at_end or self._request.offsets.stop is not None
        return Position(At.BEGINNING) if has_end else DEFAULT_LAST

    def _late_start(self) -> Position:
        """Return where partitions start that are placed late: the end may have moved since."""
        return self._began if self._start.at in {At.END, At.LAST} else self._start

    def _refuse_denied(self, positions: Mapping[PartitionKey, FetchPosition]) -> None:
        """Refuse a topic of which nothing could ever be read; what is added later may wait.

        Raises:
            AuthorizationError: if there is one.
        """
        for key, each in positions.items():
            if each.denied and each.high_watermark < 0 and key not in self._added:
                raise AuthorizationError(f"topic {key.topic}: not authorized to read it")

    def _read_last(
        self, spans: Mapping[PartitionKey, StartAndStop]
    ) -> Iterator[list[FetchedBatch]]:
        """Read the last records step by step; each step yields what can be printed already."""
        request = self._request
        last = LastRecords(self._client, request.limits, request.is_visible, self._start.value)
        searched = {key: OffsetSpan(span.first, span.start) for key, span in spans.items()}
        for fetcher in last.search(self._fetcher.positions, searched):
            while not fetcher.is_done:
                for batch in fetcher.poll(self._client.clock.monotonic_ns() + NS_PER_S):
                    last.add(batch)
                self._refuse_denied(fetcher.positions)
                self._notices += fetcher.take_notices()
                yield []
            self._is_partial |= fetcher.is_partial
        for batches in last.in_time_order(self._fetcher.positions):
            self._notices += last.notices
            last.notices.clear()
            yield batches

    def _refresh(self) -> None:
        """Look for new topics, partitions and leaders."""
        recovery = self._fetcher.recovery
        try:
            cluster = recovery.refresh(names_to_ask(self._request.topics))
            if self._placement.unplaced:
                self._place_late(cluster)
            if may_grow(self._request.topics):
                self._add_new(cluster)
            if self._request.limits.is_committed_only:
                self._placement.explain_held_back(self._held.look(self.positions))
        except KdiagError as error:
            recovery.unanswered(error)  # it is tried again at the next time

    def _place_late(self, cluster: Cluster) -> None:
        """Place partitions while others are read, and say where they start."""
        usual = {key for key, own in self._placement.unplaced.items() if own is None}
        spans = self._placement.place(cluster, self._late_start(), is_late=True)
        starts = {key: span.start for key, span in spans.items() if key in usual}
        if starts and self._late_start() == self._began:
            text = f"{names(starts)}: a leader answers; reading what was written since the start"
            self._notices.append(Notice(NoticeKind.RECOVERED, text))

    def _add_new(self, cluster: Cluster) -> None:
        """Read topics and partitions that did not exist before, from their beginnings.

        Raises:
            KdiagError: if it cannot be looked up.
        """
        found = select(self._request.topics, cluster, must_exist=False)
        known = self.positions.keys() | self._placement.unplaced.keys()
        new = dict.fromkeys((key for key in found if key not in known), Position(At.BEGINNING))
        if not new:
            return
        spans = find_offsets(
            self._client,
            cluster,
            new,
            OffsetSpec(),
            is_committed_only=True,
            stops_at_end=False,
            timeout_ns=LATE_NS,
        )
        if spans:
            self._added |= spans.keys()
            self._placement.read(spans, cluster)
            text = f"new: {names(dict.fromkeys(spans))}; reading from the beginning"
            self._notices.append(Notice(NoticeKind.ADDED, text))
