"""The JSON of a large message, piece by piece.

Three bytes of a frame can be a topic without a name and without partitions: as Python objects they
take a hundred bytes, as the dictionaries of its JSON five hundred. So the elements of long arrays
stay what they are until their text is written, some at a time:

    {"responses": [<1000 topics>, <1000 topics>, {"topic": "t", "partitions": [<1000 partitions>]}]}

Each `<...>` is a placeholder for text that is made when its turn comes, and dropped then.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Any, Final

import msgspec

from kdiag.wire.codec.json_form import struct_former
from kdiag.wire.codec.layout import is_flexible
from kdiag.wire.primitives import uuid_text
from kdiag.wire.records.batch import RecordBatch
from kdiag.wire.schema import Field, Kind, Struct, fields_of

LARGE_BYTES: Final = 1 << 20
"""Messages in smaller frames are made at once: they cannot take much."""

CHUNK: Final = 1_000
"""How many elements, with the elements in them, are made at a time."""

_ATTRIBUTES: Final = {"topicData": "topic_data", "partitionData": "partition_data"}
"""The attributes that are not called as in JSON."""

Defer = Callable[[Callable[[], list[Any]]], object]
"""Returns the placeholder for elements that a function makes, as a list."""

Finish = Callable[[dict[str, Any], Struct, tuple[Any, ...]], None]
"""Completes a form; gets its message and those around that, too, the innermost last."""


def _leave(_: dict[str, Any], __: Struct, ___: tuple[Any, ...]) -> None:
    """Leave the form of an element as it is."""


class LargeForm:
    """Makes the form of one message, with placeholders for most elements of long arrays."""

    def __init__(
        self, cls: type[Struct], version: int, defer: Defer, finish: Finish = _leave
    ) -> None:
        """Make forms of one class of messages in one version.

        Args:
            cls: the class.
            version: the version.
            defer: makes placeholders.
            finish: completes each form; its long arrays are empty then.
        """
        self._version, self._flexible = version, is_flexible(cls, version)
        self._defer = defer
        self._finish = finish

    def form(self, message: Struct, around: tuple[Any, ...] = ()) -> dict[str, Any]:
        """Return the form of a message; equal to `to_json` but for placeholders."""
        long = [
            field
            for field in _arrays(type(message), self._version)
            if _weight(getattr(message, field.name), self._version) > CHUNK
        ]
        if not long:
            return self._whole(message, around)
        rest = msgspec.structs.replace(message, **{field.name: [] for field in long})
        form = struct_former(type(message), self._version, self._flexible)(rest)
        self._finish(form, message, around)
        for field in long:
            elements = getattr(message, field.name)
            form[field.json_name] = list(self._parts(elements, (*around, message)))
        return form

    def _whole(self, message: Struct, around: tuple[Any, ...]) -> dict[str, Any]:
        form = struct_former(type(message), self._version, self._flexible)(message)
        self._finish(form, message, around)
        return form

    def _parts(self, elements: Sequence[Struct], around: tuple[Any, ...]) -> Iterator[object]:
        """Yield placeholders for many light elements each, and the forms of heavy ones."""
        light: list[Struct] = []
        weight = 0
        for element in elements:
            own = _weight([element], self._version)
            if light and weight + own > CHUNK:
                yield self._deferred(light, around)
                light, weight = [], 0
            if own > CHUNK:
                yield self.form(element, around)
            else:
                light.append(element)
                weight += own
        if light:
            yield self._deferred(light, around)

    def _deferred(self, elements: list[Struct], around: tuple[Any, ...]) -> object:
        return self._defer(lambda: [self._whole(each, around) for each in elements])


class RecordFields:
    """The `records` fields of a message of Produce, Fetch or ShareFetch, with their batches."""

    def __init__(
        self, message: Any, batches: list[list[RecordBatch] | None], arrays: tuple[str, str]
    ) -> None:
        """Note the batches of a message.

        Args:
            message: the whole message.
            batches: in the order of its partitions.
            arrays: the JSON names of the array of topics, and of that of partitions in them.
        """
        self._names = arrays
        self._topics, self._partitions = (_ATTRIBUTES.get(name, name) for name in arrays)
        fields = iter(batches)
        self._batches = {
            id(partition): next(fields)
            for topic in getattr(message, self._topics) or ()
            for partition in getattr(topic, self._partitions) or ()
        }

    def of(
        self, form: dict[str, Any], message: Any, around: tuple[Any, ...]
    ) -> Iterator[tuple[dict[str, Any], dict[str, Any], list[RecordBatch]]]:
        """Yield topic, partition and batches of each field in the form of a message or element."""
        if not around:
            topics = getattr(message, self._topics) or ()
            for each, topic in zip(form.get(self._names[0]) or (), topics, strict=False):
                yield from self._of_topic(each, topic)
        elif len(around) == 1 and hasattr(message, self._partitions):
            yield from self._of_topic(form, message)
        elif id(message) in self._batches:
            yield from self._of_partition(_named(around[-1]), form, message)

    def _of_topic(
        self, form: dict[str, Any], topic: Any
    ) -> Iterator[tuple[dict[str, Any], dict[str, Any], list[RecordBatch]]]:
        partitions = getattr(topic, self._partitions) or ()
        for each, partition in zip(form.get(self._names[1]) or (), partitions, strict=False):
            yield from self._of_partition(form, each, partition)

    def _of_partition(
        self, topic: dict[str, Any], form: dict[str, Any], partition: Any
    ) -> Iterator[tuple[dict[str, Any], dict[str, Any], list[RecordBatch]]]:
        batches = self._batches.get(id(partition))
        if batches is not None and "records" in form:
            yield topic, form, batches


def _named(topic: Any) -> dict[str, Any]:
    """Return the names in the form of a topic."""
    names = {name: getattr(topic, name) for name in ("topic", "name") if hasattr(topic, name)}
    return {**names, "topicId": uuid_text(topic.topic_id)}


def _weight(elements: Sequence[Any] | None, version: int) -> int:
    """Return how many elements there are, with those in them."""
    if not elements:
        return 0
    cls: type[Struct] = type(elements[0])
    arrays = _arrays(cls, version)
    inner = (_weight(getattr(each, field.name), version) for each in elements for field in arrays)
    return len(elements) + sum(inner)


@cache
def _arrays(cls: type[Struct], version: int) -> tuple[Field, ...]:
    """Return the arrays of structs in a struct."""
    return tuple(
        field
        for field in fields_of(cls)
        if field.is_in(version) and field.is_array and not isinstance(field.kind, Kind)
    )
