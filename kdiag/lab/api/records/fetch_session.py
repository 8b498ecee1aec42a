"""Fetch sessions: a broker remembers what a reader asks for, and both tell only what is new.

    request    session 0, epoch 0     orders-0, orders-1     all of them, and session 42 is opened
    request    session 42, epoch 1    (nothing)              those with records, or with news
    request    session 42, epoch 2    forget orders-0        of orders-1 alone from now on
    request    session 42, epoch -1   orders-1               closed; answered like the first

A reader that has lost count is INVALID_FETCH_SESSION_EPOCH, one whose session was dropped is
FETCH_SESSION_ID_NOT_FOUND: it begins anew. There is room for a thousand sessions; a new one takes
the place of one that was not used for two minutes, or is not opened: the reader is told session 0,
and asks for everything each time.

Source: KIP-227; Kafka's `FetchSession`, `FetchManager`.
"""

from collections.abc import Mapping
from random import Random
from typing import Final, NamedTuple

from kdiag.clock import NS_PER_S, Clock
from kdiag.wire.api.fetch import FetchPartition, FetchRequest, PartitionData
from kdiag.wire.error_code import CODE_BY_NAME
from kdiag.wire.schema import ZERO_UUID

NO_SESSION: Final = 0
FIRST_WITH_SESSIONS: Final = 7
MOST_SESSIONS: Final = 1000
IDLE_NS: Final = 120 * NS_PER_S

_FIRST_EPOCH: Final = 0
_FINAL_EPOCH: Final = -1
_MAX_INT32: Final = (1 << 31) - 1
_NO_DIVERGENCE: Final = -1


class AskedPartition(NamedTuple):
    """A partition as a request names it.

    Attributes:
        topic: its topic's name; empty in a request by id.
        topic_id: its topic's id; zeros in a request by name.
        partition: its number.
    """

    topic: str
    topic_id: bytes
    partition: int


class _Told(NamedTuple):
    """What a reader was told of a partition."""

    high_watermark: int
    log_start_offset: int


class ReaderSession:
    """What a reader asks for.

    Attributes:
        session_id: its id.
        next_epoch: of the request that is expected.
        partitions: those that it reads, in the order in which they are read next.
        has_ids: whether it names topics by id.
        used_ns: when it was used last.
    """

    def __init__(
        self, session_id: int, partitions: Mapping[AskedPartition, FetchPartition], now_ns: int
    ) -> None:
        """Remember a full request."""
        self.session_id = session_id
        self.next_epoch = _FIRST_EPOCH + 1
        self.partitions = dict(partitions)
        self.has_ids = any(key.topic_id != ZERO_UUID for key in partitions)
        self.used_ns = now_ns
        self._told: dict[AskedPartition, _Told] = {}

    def __repr__(self) -> str:
        return f"<ReaderSession {self.session_id}: {len(self.partitions)} partitions>"

    def update(
        self, asked: Mapping[AskedPartition, FetchPartition], forgotten: set[AskedPartition]
    ) -> None:
        """Add and forget partitions, and count a request."""
        self.partitions |= asked
        for key in forgotten:
            self.partitions.pop(key, None)
            self._told.pop(key, None)
        self.next_epoch = 1 if self.next_epoch == _MAX_INT32 else self.next_epoch + 1

    def record(self, given: Mapping[AskedPartition, PartitionData]) -> None:
        """Record what the reader is told.

        Partitions that gave records are read last in the next request, so that a small response
        does not always hold the same ones.
        """
        for key, data in given.items():
            self._told[key] = _Told(data.high_watermark, data.log_start_offset)
            if data.records and key in self.partitions:
                self.partitions[key] = self.partitions.pop(key)

    def has_news(self, key: AskedPartition, data: PartitionData) -> bool:
        """Return whether a partition has anything that the reader was not told."""
        return bool(
            data.records
            or data.error_code
            or data.diverging_epoch.end_offset != _NO_DIVERGENCE
            or self._told.get(key) != (data.high_watermark, data.log_start_offset)
        )


class FetchContext(NamedTuple):
    """A request, and the session that it is part of.

    Attributes:
        partitions: all that are asked for.
        error_code: why it cannot be answered; 0 otherwise.
        session: that it goes on with; None if it asks for everything.
        is_opening: whether it wants a session.
    """

    partitions: Mapping[AskedPartition, FetchPartition]
    error_code: int = 0
    session: ReaderSession | None = None
    is_opening: bool = False


class FetchSessionCache:
    """The sessions of a broker's readers."""

    def __init__(
        self, clock: Clock, *, most: int = MOST_SESSIONS, random: Random | None = None
    ) -> None:
        """Begin without sessions.

        Args:
            clock: tells which were not used for long.
            most: how many there may be.
            random: draws session ids.
        """
        self._clock = clock
        self._most = most
        self._random = random or Random()  # noqa: S311 - an id, not a secret
        self._sessions: dict[int, ReaderSession] = {}

    def __len__(self) -> int:
        return len(self._sessions)

    def context(self, request: FetchRequest, version: int) -> FetchContext:
        """Return what a request asks for, and update its session."""
        asked = {
            AskedPartition(topic.topic, topic.topic_id, partition.partition): partition
            for topic in request.topics
            for partition in topic.partitions
        }
        if version < FIRST_WITH_SESSIONS:
            return FetchContext(asked)
        if request.session_epoch in {_FIRST_EPOCH, _FINAL_EPOCH}:
            self._sessions.pop(request.session_id, None)
            return FetchContext(asked, is_opening=request.session_epoch == _FIRST_EPOCH)
        return self._next(request, asked)

    def finish(
        self, context: FetchContext, given: Mapping[AskedPartition, PartitionData]
    ) -> tuple[int, dict[AskedPartition, PartitionData]]:
        """Return the session's id for the response, and the partitions that are in it."""
        session = context.session
        if session is None:
            opened = self._open(context) if context.is_opening and given else None
            if opened is None:
                return NO_SESSION, dict(given)
            opened.record(given)
            return opened.session_id, dict(given)
        news = {key: data for key, data in given.items() if session.has_news(key, data)}
        session.record(news)
        return session.session_id, news

    def _next(
        self, request: FetchRequest, asked: Mapping[AskedPartition, FetchPartition]
    ) -> FetchContext:
        """Return the context of a request that goes on with a session."""
        session = self._sessions.get(request.session_id)
        if session is None:
            return FetchContext({}, CODE_BY_NAME["FETCH_SESSION_ID_NOT_FOUND"])
        if session.next_epoch != request.session_epoch:
            return FetchContext({}, CODE_BY_NAME["INVALID_FETCH_SESSION_EPOCH"])
        if any((key.topic_id != ZERO_UUID) != session.has_ids for key in asked):
            return FetchContext({}, CODE_BY_NAME["FETCH_SESSION_TOPIC_ID_ERROR"])
        forgotten = {
            AskedPartition(topic.topic, topic.topic_id, partition)
            for topic in request.forgotten_topics_data
            for partition in topic.partitions
        }
        session.update(asked, forgotten)
        session.used_ns = self._clock.monotonic_ns()
        self._sessions[session.session_id] = self._sessions.pop(session.session_id)
        if not session.partitions:
            del self._sessions[session.session_id]
            return FetchContext({})
        return FetchContext(dict(session.partitions), session=session)

    def _open(self, context: FetchContext) -> ReaderSession | None:
        """Return a new session; None if there is no room."""
        now_ns = self._clock.monotonic_ns()
        if len(self._sessions) >= self._most:
            oldest = next(iter(self._sessions.values()), None)
            if oldest is None or now_ns - oldest.used_ns <= IDLE_NS:
                return None
            del self._sessions[oldest.session_id]
        session_id = self._random.randint(1, _MAX_INT32)
        while session_id in self._sessions:
            session_id = self._random.randint(1, _MAX_INT32)
        session = ReaderSession(session_id, context.partitions, now_ns)
        self._sessions[session_id] = session
        return session
