"""The topics and partitions of any message: `orders[0,1] payments[3]`."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

from kdiag.exchange.context.topic_names import TopicNames
from kdiag.exchange.line.phrase import listed
from kdiag.wire.primitives import uuid_text
from kdiag.wire.schema import ZERO_UUID

UNKNOWN: Final = "?"
"""Stands for a topic that is not known, as in a message that is cut before it."""

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


class Topics:
    """Writes the topics and partitions of any message, with names for the ids that are known."""

    def __init__(self, names: TopicNames) -> None:
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
