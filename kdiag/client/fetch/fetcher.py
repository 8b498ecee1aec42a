"""The fetcher: reads partitions from their leaders, one Fetch in flight for each broker.

    fetcher = Fetcher(client, positions, limits)
    while not fetcher.is_done:
        for batch in fetcher.poll(deadline_ns):
            ...
        notices = fetcher.take_notices()

A position advances when its batches are handed out. Responses are kept until they are asked for,
within `max_buffered_bytes`, which all brokers share. A batch that is larger than its broker's share
arrives whole: after such batches, fewer brokers are asked at a time. `FetchRecovery` handles
partitions in trouble (the leader moved, the log starts after the position, the topic is a new one).
Of aborted transactions `AbortedTransactions` knows the batches.

Source: Kafka's `Fetcher`, `AbstractFetch`; KIP-227 (sessions), KIP-392 (followers).
"""

from collections import defaultdict, deque
from collections.abc import Iterable, Sequence
from functools import partial
from heapq import heapify, heappop
from typing import Final, NamedTuple

from kdiag.client.cluster_client import ClusterClient
from kdiag.client.fetch.doubts import AnswerDoubts
from kdiag.client.fetch.position import FetchedBatch, FetchPosition, Notice, PartitionKey
from kdiag.client.fetch.recovery import SESSION_ERRORS, FetchRecovery
from kdiag.client.fetch.session import FetchLimits, FetchSession, record_versions
from kdiag.client.network.connection_states import FOREVER_NS
from kdiag.client.network.metadata import leader_news
from kdiag.client.network.request import ClientResponse, RequestBuilder
from kdiag.client.request_future import RequestFuture
from kdiag.errors import DecodeError, KdiagError, UnsupportedVersionError
from kdiag.wire.api.fetch import AbortedTransaction, FetchRequest, FetchResponse, PartitionData
from kdiag.wire.catalog import API_BY_KEY
from kdiag.wire.error_code import error_name
from kdiag.wire.records.batch import RecordBatch
from kdiag.wire.records.record import ControlType, read_control_type
from kdiag.wire.schema import ZERO_UUID

MAX_BUFFERED_BYTES: Final = 32 << 20

_FETCH: Final = API_BY_KEY[1]


class _Answered(NamedTuple):
    """A response that waits to be read.

    Attributes:
        node_id: the broker that answered.
        asked: the requested partitions and offsets.
        response: the response; None if the request failed.
        error: why it failed.
        version: the version of both.
    """

    node_id: int
    asked: dict[PartitionKey, int]
    response: FetchResponse | None
    error: KdiagError | None
    version: int


class Fetcher:
    """Reads a set of partitions; for one thread.

    Attributes:
        positions: how far each partition is read; `add` adds more.
        recovery: handles the partitions in trouble.
    """

    def __init__(
        self,
        client: ClusterClient,
        positions: Iterable[FetchPosition],
        limits: FetchLimits,
        max_buffered_bytes: int = MAX_BUFFERED_BYTES,
        *,
        skips_damaged: bool = False,
    ) -> None:
        """Begin to read; with `skips_damaged`, commits may pass what could not be read."""
        self.positions = {each.key: each for each in positions}
        self.recovery = FetchRecovery(
            client, self.positions, is_committed_only=limits.is_committed_only
        )
        self._doubts = AnswerDoubts(
            client, self.recovery.notices, uses_replicas=bool(limits.rack), skips=skips_damaged
        )
        self._client = client
        self._limits = limits
        self._max_buffered_bytes = max_buffered_bytes
        self._largest_bytes = 1
        self._sessions: dict[int, FetchSession] = defaultdict(FetchSession)
        self._in_flight: dict[int, RequestFuture[ClientResponse]] = {}
        self._arrived: deque[_Answered] = deque()
        self._answered: deque[_Answered] = deque()
        self._turns = _FetchTurns()

    @property
    def is_done(self) -> bool:
        """Return whether all wanted offsets of all partitions have been read."""
        return all(each.is_done for each in self.positions.values())

    @property
    def is_partial(self) -> bool:
        """Return whether batches could not be read."""
        return self._doubts.is_partial

    def add(self, positions: Iterable[FetchPosition]) -> None:
        """Read more partitions."""
        self.positions.update((each.key, each) for each in positions)

    def remove(self, keys: Iterable[PartitionKey]) -> None:
        """Read partitions no more; what has come of them already is thrown away."""
        for key in keys:
            self.positions.pop(key, None)
            self.recovery.forget(key)
            self._doubts.forget(key)

    def take_notices(self) -> list[Notice]:
        """Return the notices since the last call."""
        return self.recovery.take_notices()

    def poll(self, deadline_ns: int) -> list[FetchedBatch]:
        """Return the batches of one broker's response; empty if none came by the deadline.

        Raises:
            ConfigError: if the policy of a group forbids to guess where to read on.
            UnsupportedVersionError: if a broker is older than Kafka 0.11.
            KdiagError: if the cluster no longer answers about a partition in trouble.
        """
        self.recovery.recover()
        # Before it is sent: what becomes due in between is asked for now, or by then.
        retry_ns = min(self.recovery.next_attempt_ns(), self._doubts.next_attempt_ns())
        reconnect_ns = self._send()
        if not self._answered and not self.is_done:
            wait_ns = min(deadline_ns, retry_ns, reconnect_ns)
            self._client.client.await_condition(lambda: bool(self._arrived), wait_ns)
        self._take_arrived()
        if not self._answered:
            return []
        batches = list(self._read(self._answered.popleft()))
        self._send()
        self._client.client.poll_no_wakeup()  # so that brokers work while the batches are used
        return batches

    def _send(self) -> int:
        """Send a Fetch to every broker without one, as long as there is room for the responses.

        Returns:
            When a broker that is lost may be tried again; FOREVER_NS if none is.
        """
        reconnect_ns = FOREVER_NS
        self._take_arrived()
        by_node: dict[int, list[FetchPosition]] = defaultdict(list)
        for each in self.positions.values():
            if each.is_done or self.recovery.holds(each) or self._doubts.holds(each):
                continue
            if each.node_id in self._client.cluster.brokers:
                assert each.node_id is not None
                by_node[each.node_id].append(each)
            else:
                self.recovery.lose_leaders([each.key])
        busy = {each.node_id for each in self._answered} | self._in_flight.keys()
        share_bytes = self._max_buffered_bytes // max(1, len(by_node))
        limits = self._limits._replace(max_bytes=min(self._limits.max_bytes, share_bytes))
        max_fetches = max(1, self._max_buffered_bytes // self._largest_bytes)
        for node_id in sorted(by_node.keys() - busy, key=self._turns.last):
            if len(self._in_flight) + len(self._answered) >= max_fetches:
                break
            if delay_ns := self._client.client.unavailable_ns(str(node_id)):
                reconnect_ns = min(reconnect_ns, self._client.clock.monotonic_ns() + delay_ns)
            else:
                self._send_fetch(node_id, by_node[node_id], limits)
        return reconnect_ns

    def _send_fetch(
        self, node_id: int, positions: Sequence[FetchPosition], limits: FetchLimits
    ) -> None:
        turn = self._turns.next(node_id) % len(
            positions
        )  # or the first would take all room for ever,
        positions = [*positions[turn:], *positions[:turn]]  # where a broker has no session left
        asked = {each.key: each.offset for each in positions}
        session = self._sessions[node_id]
        has_ids = all(each.topic_id != ZERO_UUID for each in positions)
        versions = record_versions(_FETCH.key, has_topic_ids=has_ids)

        def build(version: int) -> FetchRequest:
            return session.request(positions, limits, version)

        builder = RequestBuilder(_FETCH, versions, build)
        future = self._client.send(node_id, builder)
        self._in_flight[node_id] = future
        self.recovery.progress.asked(node_id)
        future.add_listener(partial(self._handle_response, node_id, asked))

    def _handle_response(
        self, node_id: int, asked: dict[PartitionKey, int], future: RequestFuture[ClientResponse]
    ) -> None:
        """Keep a response until `poll` reads it; the thread of heartbeats may call this, too."""
        if future.failed:
            answered = _Answered(node_id, asked, None, future.error(), 0)
        else:
            response = future.value()
            body = response.body
            assert isinstance(body, FetchResponse)
            answered = _Answered(node_id, asked, body, None, response.version or 0)
        self._arrived.append(answered)

    def _take_arrived(self) -> None:
        """Take over the responses that any thread has kept."""
        while self._arrived:
            answered = self._arrived.popleft()
            del self._in_flight[answered.node_id]
            if answered.response is not None:
                self._largest_bytes = max(self._largest_bytes, _records_bytes(answered.response))
            self._answered.append(answered)

    def _read(self, answered: _Answered) -> Iterable[FetchedBatch]:
        """Advance the positions by a response, and return its batches."""
        session = self._sessions[answered.node_id]
        self.recovery.progress.answered(answered.node_id)
        if answered.response is None:
            session.reset()
            assert answered.error is not None
            if isinstance(answered.error, UnsupportedVersionError):
                raise UnsupportedVersionError(
                    f"broker {answered.node_id} cannot be read from: it is older than Kafka 0.11, "
                    f"whose records have another form ({answered.error})"
                )
            self.recovery.lost(answered.node_id, answered.asked, answered.error)
            return
        error = error_name(answered.response.error_code)
        if answered.response.error_code:
            session.reset()
            self.recovery.refused(answered.node_id, answered.asked, error)
            return
        self.recovery.answered(answered.node_id)
        session.handle_response(answered.response.session_id, answered.version)
        names = {
            position.topic_id: key.topic
            for key in answered.asked
            if (position := self.positions.get(key)) is not None
        }
        partitions = [
            (PartitionKey(topic.topic or names.get(topic.topic_id, ""), data.partition_index), data)
            for topic in answered.response.responses
            for data in topic.partitions
        ]
        for key, data in partitions:
            yield from self._read_partition(key, data, answered, session)
        self._explain(answered, partitions)

    def _read_partition(
        self, key: PartitionKey, data: PartitionData, answered: _Answered, session: FetchSession
    ) -> Iterable[FetchedBatch]:
        position = self.positions.get(key)
        if position is None or answered.asked.get(key) != position.offset:
            return  # it was moved meanwhile: these records are not wanted any more
        if data.error_code:
            error = error_name(data.error_code)
            if error in SESSION_ERRORS:
                session.reset()
            assert answered.response is not None
            news = leader_news(data, answered.response)
            self.recovery.failed(position, error, answered.node_id, news)
            return
        if data.diverging_epoch.end_offset >= 0:
            self.recovery.reposition.diverged(position, data.diverging_epoch.end_offset)
            return
        position.high_watermark = data.high_watermark
        position.last_stable_offset = data.last_stable_offset
        position.log_start_offset = data.log_start_offset
        self.recovery.works(position)
        if data.preferred_read_replica >= 0:
            position.replica_id = data.preferred_read_replica
        elif data.records:
            yield from self._batches(position, data)

    def _explain(
        self, answered: _Answered, partitions: Sequence[tuple[PartitionKey, PartitionData]]
    ) -> None:
        """Keep why an answer has no records of some partitions: that alone says nothing of a log.

        A partition that an answer leaves out has none either: sessions have only news.
        """
        assert answered.response is not None
        data_by_key = dict(partitions)
        progress = self.recovery.progress
        is_full = _records_bytes(answered.response) * 2 > self._limits.max_bytes
        throttle_ms = answered.response.throttle_time_ms
        behind = []
        for key in answered.asked:
            position = self.positions.get(key)
            if position is None or 0 <= position.high_watermark <= position.offset:
                continue
            behind.append(key)
            data = data_by_key.get(key)
            if data is not None and _has_news(data):
                continue
            if throttle_ms > 0:  # then it says nothing (KIP-219)
                reason = f"broker {answered.node_id} throttles this client, by {throttle_ms} ms"
            elif is_full:
                progress.explain(key, None)
                continue
            elif data is None and (not answered.response.session_id or position.high_watermark < 0):
                reason = f"broker {answered.node_id} leaves it out of its answers"
            else:
                reason = f"broker {answered.node_id} answers without records"
            progress.explain(key, reason)
        if behind and not throttle_ms and not any(_has_news(data) for _, data in partitions):
            self.recovery.reposition.note_empty(behind)

    def _batches(self, position: FetchPosition, data: PartitionData) -> Iterable[FetchedBatch]:
        """Return the sound batches of a partition and move its position behind them."""
        assert data.records is not None
        batches, doubt = self._doubts.check(position, data.records)
        aborted = AbortedTransactions(data.aborted_transactions)
        for batch in batches:
            if position.is_done:
                break
            is_aborted = aborted.has(batch)
            if batch.last_offset >= position.offset:
                start, position.offset = position.offset, batch.last_offset + 1
                position.boundary = position.offset
                position.fetched_epoch = batch.partition_leader_epoch
                yield FetchedBatch(position.key, batch, start, position.stop, is_aborted)
        self._doubts.decide(position, doubt)


class _FetchTurns:
    """Numbers the Fetches, so that the broker that has waited longest is asked first."""

    def __init__(self) -> None:
        self._count = 0
        self._last: dict[int, int] = {}

    def next(self, node_id: int) -> int:
        """Return the number of the next Fetch, which goes to a broker."""
        self._count += 1
        self._last[node_id] = self._count
        return self._count

    def last(self, node_id: int) -> int:
        """Return the number of the last Fetch to a broker; 0 if there was none."""
        return self._last.get(node_id, 0)


def _records_bytes(response: FetchResponse) -> int:
    """Return how many bytes of records a response has."""
    return sum(len(data.records or b"") for each in response.responses for data in each.partitions)


def _has_news(data: PartitionData) -> bool:
    """Return whether a response has anything new about a partition."""
    return bool(
        data.records
        or data.error_code
        or data.preferred_read_replica >= 0
        or data.diverging_epoch.end_offset >= 0
    )


class AbortedTransactions:
    """Decides batch by batch, in the order of offsets, which were aborted; for one Fetch."""

    def __init__(self, aborted: Iterable[AbortedTransaction] | None) -> None:
        """Keep the list in a partition's response; None is an empty one."""
        self._waiting = [(each.first_offset, each.producer_id) for each in aborted or ()]
        heapify(self._waiting)
        self._aborting: set[int] = set()

    def has(self, batch: RecordBatch) -> bool:
        """Return whether a batch holds aborted records; must be called for every batch in turn.

        A control batch is never aborted itself; an abort marker ends its producer's transaction.
        """
        if not self._waiting and not self._aborting:
            return False
        while self._waiting and self._waiting[0][0] <= batch.last_offset:
            self._aborting.add(heappop(self._waiting)[1])
        if not batch.is_transactional or batch.producer_id not in self._aborting:
            return False
        if not batch.is_control:
            return True
        if _is_abort(batch):
            self._aborting.discard(batch.producer_id)
        return False


def _is_abort(batch: RecordBatch) -> bool:
    """Return whether a control batch is an abort marker."""
    try:
        records = batch.records()
        return bool(records) and read_control_type(records[0].key) is ControlType.ABORT
    except DecodeError:
        return False
