"""Fetch sessions: the partitions of a fetch that names none, because its session remembers them.

A consumer or follower opens a session with a full fetch; later requests name only the changes, an
empty one means "the same as before":

    request    session 0, epoch 0    orders-0, orders-1    response  session 77
    request    session 77, epoch 1   (nothing)             reads orders-0, orders-1
    request    session 77, epoch 2   forget orders-0       reads orders-1

Sessions belong to a broker, not to a connection. A session whose first fetch was not seen stays
unknown, and one with a missing fetch, which its epochs show, becomes unknown: half a list would be
worse than none.

Source: KIP-227; Kafka's `FetchMetadata` (session id 0 is none; epoch 0 opens, -1 closes).
"""

from functools import cache
from typing import Any, Final, NamedTuple

import msgspec

from kdiag.exchange.dissection import Dissection
from kdiag.exchange.model import Status
from kdiag.wire import api_keys
from kdiag.wire.api.fetch import FetchResponse
from kdiag.wire.catalog import API_BY_KEY
from kdiag.wire.codec.messages import encode
from kdiag.wire.frame import Frame
from kdiag.wire.primitives import uuid_text

FIRST_WITH_SESSIONS: Final = 7
DEFAULT_MAX_SESSIONS: Final = 10_000

_CORRELATION_ID_BYTES: Final = 4
_UP_TO_TOPICS_BYTES: Final = 10
"""The throttle time, the error, and the id of the session."""

_HEAD_BYTES: Final = 64
_NO_SESSION: Final = 0
_FULL_EPOCHS: Final = (0, -1)
_LAST_EPOCH: Final = (1 << 31) - 1

Partition = tuple[str, int]
"""A topic, or its id if the request has ids, and a partition."""


class SessionTopics(NamedTuple):
    """The epoch of a session's next fetch, and the partitions of the session."""

    next_epoch: int
    partitions: dict[Partition, None]


class FetchSessions:
    """The sessions of one run; the least recently used are dropped when there are too many."""

    def __init__(self, max_sessions: int = DEFAULT_MAX_SESSIONS) -> None:
        self._max_sessions = max_sessions
        self._sessions: dict[tuple[str, int], SessionTopics] = {}

    def follow(self, dissection: Dissection) -> None:
        """Follow the next exchange; set the `session_topics` of an incremental fetch."""
        exchange = dissection.exchange
        if exchange.api_key != api_keys.FETCH or (exchange.version or 0) < FIRST_WITH_SESSIONS:
            return
        request = dissection.request
        if request is None or request.status is not Status.OK:
            return
        asked = request.message
        broker = exchange.connection.broker
        known = self._sessions.pop((broker, asked.session_id), None)
        partitions: dict[Partition, None] = {}
        if asked.session_epoch not in _FULL_EPOCHS:
            if known is None or known.next_epoch != asked.session_epoch:
                return
            partitions = known.partitions
        _apply(asked, partitions)
        if asked.session_epoch not in _FULL_EPOCHS:
            dissection.session_topics = list(partitions)
        self._keep(dissection, asked, partitions)

    def _keep(self, dissection: Dissection, asked: Any, partitions: dict[Partition, None]) -> None:
        """Keep the state of the session after the exchange."""
        response = dissection.response
        session_id = asked.session_id
        if asked.session_epoch in _FULL_EPOCHS:
            if asked.session_epoch or response is None or response.message is None:
                return
            session_id = response.message.session_id
        elif response is not None and response.message is not None and response.message.error_code:
            return  # the broker has forgotten the session, or never knew it
        if session_id != _NO_SESSION:
            next_epoch = 1 if asked.session_epoch == _LAST_EPOCH else asked.session_epoch + 1
            session = SessionTopics(next_epoch, partitions)
            self._sessions[dissection.exchange.connection.broker, session_id] = session
            if len(self._sessions) > self._max_sessions:
                del self._sessions[next(iter(self._sessions))]


def without_topics(response: Frame, version: int) -> Frame:
    """Return the response to a fetch with what sessions take of it: all that is before its topics.

    Args:
        response: of a version that has sessions.
        version: of the fetch.

    Returns:
        A small whole frame; the beginning of the frame, if it is cut there or has another form.
    """
    parts = _around_topics(version)
    if parts is None:
        return msgspec.structs.replace(response, data=response.data[:_HEAD_BYTES])
    start, rest = parts
    end = start + _UP_TO_TOPICS_BYTES
    if len(response.data) < end or any(response.data[_CORRELATION_ID_BYTES:start]):
        return msgspec.structs.replace(response, data=response.data[:_HEAD_BYTES])
    data = response.data[:end] + rest
    return msgspec.structs.replace(response, data=data, size=len(data), gap_bytes=0)


@cache
def _around_topics(version: int) -> tuple[int, bytes] | None:
    """Return where a body begins, and what is behind the head of one without topics.

    None if the version is not known.
    """
    api = API_BY_KEY[api_keys.FETCH]
    if not api.versions.covers(version):
        return None
    has_tags = api.response_header_version(version)
    return _CORRELATION_ID_BYTES + has_tags, encode(FetchResponse(), version)[_UP_TO_TOPICS_BYTES:]


def _apply(asked: Any, partitions: dict[Partition, None]) -> None:
    """Add and remove the partitions that a request adds to its session and removes from it."""
    for topic in asked.forgotten_topics_data:
        name = topic.topic or uuid_text(topic.topic_id)
        for index in topic.partitions:
            partitions.pop((name, index), None)
    for topic in asked.topics:
        name = topic.topic or uuid_text(topic.topic_id)
        for each in topic.partitions:
            partitions[name, each.partition] = None
