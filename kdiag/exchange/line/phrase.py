"""The parts that phrases are made of: counts, sizes, lists, topics with partitions."""

import re
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final

from kdiag.wire.primitives import uuid_text
from kdiag.wire.schema import ZERO_UUID

if TYPE_CHECKING:
    from kdiag.exchange.topic_names import TopicNames

MAX_LISTED: Final = 8
"""The most elements of a list that are named; the others are counted."""

UNKNOWN: Final = "?"
"""Stands for a topic that is not known, as in a message that is cut before it."""

_KILO: Final = 1000
_TOPIC_FIELDS: Final = ("name", "topic", "topic_name")
_PARTITION_FIELDS: Final = (
    "partitions",
    "partition_indexes",
    "partition_data",
    "partition_responses",
    "partition_states",
    "results_by_partition",
    "partition_result",
)
_INDEX_FIELDS: Final = ("partition_index", "partition", "index", "partition_id")
_UUID: Final = re.compile(
    r"\b([0-9a-fA-F]{8})-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}\b"
)

_KAFKA_UUID: Final = re.compile(r"[0-9A-Za-z_-]{22}")


def count(number: int, noun: str) -> str:
    """Return a number with its noun: `1 record`, `12 records`, `2 batches`."""
    if number == 1:
        return f"1 {noun}"
    return f"{number:,} {noun}{'es' if noun.endswith(('ch', 's')) else 's'}"


def size(number: int) -> str:
    """Return a number of bytes in decimal units: `999 B`, `1.2 kB`, `34 MB`."""
    if number < _KILO:
        return f"{number} B"
    value, unit = float(number), "B"
    for unit in ("kB", "MB", "GB", "TB"):  # noqa: B007 - the unit that was reached
        value /= _KILO
        if round(value) < _KILO:
            break
    return f"{value:.1f} {unit}" if round(value, 1) < 10 else f"{value:.0f} {unit}"  # noqa: PLR2004


def listed(words: Sequence[str], separator: str = " ") -> str:
    """Return the first words of a list, and the number of the others."""
    if len(words) <= MAX_LISTED:
        return separator.join(words)
    return f"{separator.join(words[:MAX_LISTED])}{separator}+{len(words) - MAX_LISTED}"


def quoted(text: str) -> str:
    """Return a text that a person wrote, in quotation marks."""
    return f'"{text}"'


def short_id(text: str) -> str:
    """Return a member id with the UUIDs in it cut down to their first eight characters."""
    if _KAFKA_UUID.fullmatch(text):
        return f"{text[:8]}…"
    return _UUID.sub(r"\1…", text)


def clause(*parts: str | None) -> str:
    """Return the parts that are not empty, as one clause."""
    return ", ".join(part for part in parts if part)


class Topics:
    """Writes the topics and partitions of any message, with names for the ids that are known."""

    def __init__(self, names: "TopicNames") -> None:
        self._names = names

    def name(self, element: Any) -> str:
        """Return the topic of an element of a message's topics."""
        for field in _TOPIC_FIELDS:
            name: str | None = getattr(element, field, None)
            if name:
                return name
        topic_id = getattr(element, "topic_id", ZERO_UUID)
        return UNKNOWN if topic_id == ZERO_UUID else self.resolved(uuid_text(topic_id))

    def resolved(self, topic: str) -> str:
        """Return the name of a topic id; anything else, and an unknown id, is returned as it is."""
        return self._names.name(topic) or topic

    def names(self, elements: Iterable[Any]) -> str:
        """Return the topics of a list: `orders payments`."""
        return listed([self.name(each) for each in elements])

    def partitions(
        self, elements: Iterable[Any] | None, mark: Callable[[Any], object] | None = None
    ) -> str:
        """Return the topics of a list with their partitions: `orders[0,1] payments[3]`.

        Args:
            elements: structs with a topic and an array of partitions, numbers or structs.
            mark: returns the text after each partition's number, such as its offset.
        """
        words = []
        for element in elements or ():
            partitions = _partitions_of(element)
            marked = [
                f"{index_of(each)}{'' if mark is None else mark(each)}" for each in partitions
            ]
            name = self.name(element)
            if marked or name != UNKNOWN:
                words.append(f"{name}[{listed(marked, ',')}]")
        return listed(words)

    def pairs(self, pairs: Iterable[tuple[str, int]]) -> str:
        """Return (topic or topic id, partition) pairs: `orders[0,1] payments[3]`."""
        grouped: dict[str, list[str]] = {}
        for topic, partition in pairs:
            grouped.setdefault(self.resolved(topic), []).append(str(partition))
        return listed([f"{topic}[{listed(each, ',')}]" for topic, each in grouped.items()])


def _partitions_of(element: Any) -> Sequence[Any]:
    for field in _PARTITION_FIELDS:
        partitions: Sequence[Any] | None = getattr(element, field, None)
        if partitions is not None:
            return partitions
    return ()


def index_of(partition: Any) -> int:
    """Return the number of a partition, given it or a struct about it."""
    if isinstance(partition, int):
        return partition
    for field in _INDEX_FIELDS:
        index: int | None = getattr(partition, field, None)
        if index is not None:
            return index
    return -1
