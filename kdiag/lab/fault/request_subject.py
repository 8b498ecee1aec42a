"""What a request is about: its topics, their partitions and its groups, whatever the API.

    RequestSubjects(topic_name).read("7", FetchRequest(...))
    -> RequestSubject(topics=(SubjectTopic("orders", id, (0, 1)),), groups=())

They are found by the schema: names of topics and groups have their entity there, and partitions a
few names. A Fetch of a session names only what changes, so what its connection reads is kept.

Source: the message schemas in Kafka's jars; KIP-227 (fetch sessions), KIP-516 (topic ids).
"""

from collections.abc import Callable, Iterator
from typing import Any, Final, NamedTuple

from kdiag.wire.api.fetch import FetchRequest
from kdiag.wire.api.find_coordinator import FindCoordinatorRequest
from kdiag.wire.schema import ZERO_UUID, Entity, Field, Kind, Struct, fields_of

PARTITION_FIELDS: Final = frozenset(("partition", "partition_index", "index", "partition_id"))
"""The names of fields that hold the number of a partition."""
TopicName = Callable[[bytes], str | None]
"""Returns the name of the topic with an id, if it is known."""

_PARTITION_LISTS: Final = frozenset(("partitions", "partition_indexes"))
_TOPIC_ID: Final = "topic_id"
_MOST_CONNECTIONS: Final = 10_000
"""Of so many connections it is known what they read; beyond, the oldest is forgotten."""


class SubjectTopic(NamedTuple):
    """A topic of a request.

    Attributes:
        name: its name; None if the request has its id, and nobody knows the name.
        topic_id: its id; zero if the request has its name.
        partitions: those of the request; empty where it concerns the topic as a whole.
    """

    name: str | None
    topic_id: bytes
    partitions: tuple[int, ...]


class RequestSubject(NamedTuple):
    """What a request is about.

    Attributes:
        topics: in its order.
        groups: likewise.
    """

    topics: tuple[SubjectTopic, ...] = ()
    groups: tuple[str, ...] = ()


class RequestSubjects:
    """Reads what requests are about, and keeps what connections fetch."""

    def __init__(self, topic_name: TopicName) -> None:
        """Begin without connections.

        Args:
            topic_name: names topics by their ids.
        """
        self._topic_name = topic_name
        self._fetched: dict[str, dict[tuple[str, bytes], set[int]]] = {}

    def __repr__(self) -> str:
        return f"<RequestSubjects of {len(self._fetched)} readers>"

    def read(self, connection: str, request: Struct) -> RequestSubject:
        """Return what a request of a connection is about."""
        if isinstance(request, FetchRequest):
            return RequestSubject(self._topics(self._read_fetch(connection, request)))
        found: dict[tuple[str, bytes], set[int]] = {}
        groups: list[str] = []
        if isinstance(request, FindCoordinatorRequest):
            groups = [*request.coordinator_keys, *filter(None, [request.key])]
        else:
            _collect(request, found, groups)
        return RequestSubject(self._topics(found), tuple(groups))

    def forget(self, connection: str) -> None:
        """Forget a connection that has ended."""
        self._fetched.pop(connection, None)

    def _read_fetch(
        self, connection: str, request: FetchRequest
    ) -> dict[tuple[str, bytes], set[int]]:
        """Return what a connection reads from this Fetch on."""
        fetched = self._fetched.pop(connection, {})
        if request.session_epoch <= 0:
            fetched = {}
        for each in request.forgotten_topics_data:
            key = each.topic, bytes(each.topic_id)
            left = fetched.pop(key, set()) - {*each.partitions}
            if left:
                fetched[key] = left
        for topic in request.topics:
            numbers = (each.partition for each in topic.partitions)
            fetched.setdefault((topic.topic, bytes(topic.topic_id)), set()).update(numbers)
        self._fetched[connection] = fetched
        if len(self._fetched) > _MOST_CONNECTIONS:
            self._fetched.pop(next(iter(self._fetched)))
        return fetched

    def _topics(self, found: dict[tuple[str, bytes], set[int]]) -> tuple[SubjectTopic, ...]:
        return tuple(
            SubjectTopic(self._named(name, topic_id), topic_id, tuple(sorted(numbers)))
            for (name, topic_id), numbers in found.items()
        )

    def _named(self, name: str, topic_id: bytes) -> str | None:
        return name or self._topic_name(topic_id)


def topic_key(struct: Struct) -> tuple[str, bytes] | None:
    """Return name and id of the topic that a struct is about; None if it is about none."""
    name, topic_id, is_found = "", ZERO_UUID, False
    for field in fields_of(type(struct)):
        if field.is_array:
            continue
        if field.entity is Entity.TOPIC_NAME:
            name, is_found = getattr(struct, field.name) or "", True
        elif field.name == _TOPIC_ID and field.kind is Kind.UUID:
            topic_id, is_found = bytes(getattr(struct, field.name)), True
    return (name, topic_id) if is_found and (name or topic_id != ZERO_UUID) else None


def partition_of(struct: Struct) -> int | None:
    """Return the number of the partition that a struct is about; None if it is about none."""
    for field in fields_of(type(struct)):
        if field.name in PARTITION_FIELDS and not field.is_array:
            number: int = getattr(struct, field.name)
            return number
    return None


def _collect(struct: Struct, found: dict[tuple[str, bytes], set[int]], groups: list[str]) -> None:
    """Add the topics and groups of a struct, and of those inside."""
    key = topic_key(struct)
    numbers = None if key is None else found.setdefault(key, set())
    for field in fields_of(type(struct)):
        value = getattr(struct, field.name)
        if value is None:
            continue
        if field.entity is Entity.GROUP_ID:
            groups += value if field.is_array else [value]
        elif field.entity is Entity.TOPIC_NAME and field.is_array:
            found.update({(name, ZERO_UUID): set() for name in value})
        elif numbers is not None and _is_partition_list(field):
            numbers.update(value)
        elif isinstance(field.kind, type):
            for each in _structs(field, value):
                number = partition_of(each) if numbers is not None else None
                if number is None:
                    _collect(each, found, groups)
                elif numbers is not None:
                    numbers.add(number)


def _is_partition_list(field: Field) -> bool:
    return field.name in _PARTITION_LISTS and field.is_array and field.kind is Kind.INT32


def _structs(field: Field, value: Any) -> Iterator[Any]:
    yield from value if field.is_array else (value,)
