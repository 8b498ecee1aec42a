"""Names for topic ids, learnt from the exchanges that have both.

Since KIP-516 many requests carry a topic's id alone. Its name is in responses to Metadata,
CreateTopics and the like, often on another connection, and in the records of the metadata log:

    Fetch v13      topic id 0aYs...          -> name unknown: deferred
    Metadata v12   0aYs... is `orders`       -> learnt
    Fetch v13      topic id 0aYs...          -> orders, and the deferred Fetch too

`TopicNames` holds the names that are known by now. `DeferredNames` holds exchanges back until their
names are known, so that what is printed has names from the first line on.
"""

from collections import deque
from collections.abc import Callable, Collection, Mapping
from collections.abc import Set as AbstractSet
from itertools import islice
from typing import Final

from kdiag.errors import DecodeError
from kdiag.exchange.dissection import Dissection
from kdiag.exchange.model import Exchange
from kdiag.wire import api_keys
from kdiag.wire.primitives import uuid_text
from kdiag.wire.records.internal import CLUSTER_METADATA, read_metadata_record
from kdiag.wire.records.record import Record
from kdiag.wire.schema import ZERO_UUID

_METADATA_ID: Final = bytes(15) + b"\x01"
CLUSTER_METADATA_ID: Final = uuid_text(_METADATA_ID)
"""The id of the metadata log's topic in every cluster."""

NAMING_REQUESTS: Final = frozenset(
    {api_keys.LEADER_AND_ISR, api_keys.UPDATE_METADATA, api_keys.DELETE_TOPICS}
)
"""The APIs whose requests have topic ids with names."""

NAMING_RESPONSES: Final = frozenset(
    {
        api_keys.METADATA,
        api_keys.CREATE_TOPICS,
        api_keys.DELETE_TOPICS,
        api_keys.CONSUMER_GROUP_DESCRIBE,
        api_keys.DESCRIBE_TOPIC_PARTITIONS,
        api_keys.SHARE_GROUP_DESCRIBE,
        api_keys.DESCRIBE_SHARE_GROUP_OFFSETS,
        api_keys.ALTER_SHARE_GROUP_OFFSETS,
        api_keys.DELETE_SHARE_GROUP_OFFSETS,
    }
)
"""The APIs whose responses have topic ids with names."""

DEFAULT_MAX_EXCHANGES: Final = 1_000
DEFAULT_MAX_BYTES: Final = 64 << 20


class TopicNames:
    """The names of topic ids that are known by now; ids are in Kafka's text form.

    A topic keeps its name for life: the first one counts, so that a damaged one changes none.
    """

    def __init__(self, names: Mapping[str, str] | None = None) -> None:
        """Start with the names by id that are known beforehand."""
        self._names = {CLUSTER_METADATA_ID: CLUSTER_METADATA, **(names or {})}

    def __len__(self) -> int:
        return len(self._names)

    @property
    def known(self) -> dict[str, str]:
        """Return all names by id."""
        return dict(self._names)

    def newest(self, count: int) -> dict[str, str]:
        """Return so many of the names by id that were learnt last, the last one first."""
        return dict(islice(reversed(self._names.items()), count))

    def name(self, topic_id: str) -> str | None:
        """Return the name of a topic id; None if it is not known."""
        return self._names.get(topic_id)

    def of(self, topic_ids: Collection[str]) -> dict[str, str]:
        """Return the known names of some ids, by id."""
        names = self._names
        in_order = sorted(topic_ids) if len(topic_ids) > 1 else topic_ids
        return {each: names[each] for each in in_order if each in names}

    def has_all(self, topic_ids: AbstractSet[str]) -> bool:
        """Return whether each of the ids has a name."""
        return topic_ids <= self._names.keys()

    def learn(self, dissection: Dissection) -> None:
        """Add the names in an exchange."""
        if not may_tell_names(dissection.exchange):
            return
        api_key = dissection.exchange.api_key
        sides = []
        if api_key in NAMING_RESPONSES:
            sides.append(dissection.response)
        if api_key in NAMING_REQUESTS:
            sides.append(dissection.request)
        for side in sides:
            if side is not None and side.mentions is not None and side.mentions.pairs is not None:
                side.mentions.pairs(side.message, self._learn)
        if api_key == api_keys.FETCH:
            self._learn_from_log(dissection)

    def _learn(self, topic_id: bytes, name: str | None) -> None:
        if topic_id != ZERO_UUID and name:
            self._names.setdefault(uuid_text(topic_id), name)

    def _learn_from_log(self, dissection: Dissection) -> None:
        """Add the topics that a fetch from the metadata log creates."""
        batches_by_field = dissection.response.batches if dissection.response else []
        for batches in batches_by_field:
            for batch in batches or ():
                if not batch.is_control:
                    try:
                        records = batch.records()
                    except DecodeError:
                        continue
                    for record in records:
                        self._learn_from_record(record)

    def _learn_from_record(self, record: Record) -> None:
        read = read_metadata_record(CLUSTER_METADATA, record.value)
        if read is not None and read.value is not None and read.type == "TopicRecord":
            self._learn(read.value.message.topic_id, read.value.message.name)


def may_tell_names(exchange: Exchange) -> bool:
    """Return False if an exchange cannot have names for `TopicNames.learn`, without decoding it."""
    api_key = exchange.api_key
    if api_key == api_keys.FETCH:
        return _may_read_metadata(exchange)
    return api_key in NAMING_RESPONSES or api_key in NAMING_REQUESTS


def _may_read_metadata(exchange: Exchange) -> bool:
    """Return False if a fetch cannot be one from the metadata log, without decoding it."""
    request = exchange.request
    return request is not None and (
        _METADATA_ID in request.data or CLUSTER_METADATA.encode() in request.data
    )


class DeferredNames:
    """Holds exchanges back until all of their topics have names.

    Args:
        names: the known names; they grow while exchanges are read.
        look_ahead: adds to `names` all names in the input; None if it cannot be read twice.
        max_exchanges: the most exchanges that wait; beyond, the oldest is released without names.
        max_bytes: the most bytes that the waiting exchanges have together.
    """

    def __init__(
        self,
        names: TopicNames,
        look_ahead: Callable[[], None] | None,
        *,
        max_exchanges: int = DEFAULT_MAX_EXCHANGES,
        max_bytes: int = DEFAULT_MAX_BYTES,
    ) -> None:
        self._names = names
        self._look_ahead = look_ahead
        self._has_looked_ahead = False
        self._max_exchanges = max_exchanges
        self._max_bytes = max_bytes
        self._waiting: deque[Dissection] = deque()
        self._waiting_bytes = 0
        self._known = len(names)

    def add(self, dissection: Dissection) -> list[Dissection]:
        """Add the next exchange; return the exchanges that are released, in order."""
        ready = self._release() if self._waiting else []
        if self._has_looked_ahead or self._names.has_all(dissection.topic_ids):
            ready.append(dissection)
        elif self._look_ahead is not None:
            self._look_ahead()
            self._has_looked_ahead = True
            ready.append(dissection)
        else:
            self._waiting.append(dissection)
            self._waiting_bytes += _bytes_of(dissection)
            while len(self._waiting) > self._max_exchanges or self._waiting_bytes > self._max_bytes:
                oldest = self._waiting.popleft()
                self._waiting_bytes -= _bytes_of(oldest)
                ready.append(oldest)
        return ready

    def release_all(self) -> list[Dissection]:
        """Return the exchanges that still wait, at the end of the input."""
        waiting = list(self._waiting)
        self._waiting.clear()
        self._waiting_bytes = 0
        return waiting

    def _release(self) -> list[Dissection]:
        """Return the waiting exchanges whose names are complete now."""
        if len(self._names) == self._known:
            return []
        self._known = len(self._names)
        ready: list[Dissection] = []
        waiting: deque[Dissection] = deque()
        for each in self._waiting:
            (ready if self._names.has_all(each.topic_ids) else waiting).append(each)
        self._waiting = waiting
        self._waiting_bytes = sum(_bytes_of(each) for each in waiting)
        return ready


def _bytes_of(dissection: Dissection) -> int:
    exchange = dissection.exchange
    frames = (exchange.request, exchange.response)
    return sum(len(frame.data) for frame in frames if frame is not None)
