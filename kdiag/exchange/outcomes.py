"""What each part of a response came to: its error code, and the topic and partition it is about.

Each class and version gets one compiled function, as in `mentions`. For a Produce response version
9 it is

    def walk(m, found):
        for e0 in m.responses or ():
            for e1 in e0.partition_responses or ():
                found(e1.error_code, e0.name, e1.index)

A code that stands above all topics is about none; where a topic has a name and an id, the name is
given if it is there.
"""

from collections.abc import Callable
from functools import cache
from typing import Any, Final, NamedTuple

from kdiag.exchange.mentions import is_error_code
from kdiag.exchange.side import Side
from kdiag.wire.primitives import uuid_text
from kdiag.wire.schema import ZERO_UUID, Entity, Field, Kind, Struct, fields_of

MOST_OUTCOMES: Final = 200
"""So many parts of an answer are looked at: those of a cluster may be thousands."""

_PARTITIONS: Final = frozenset({"partition_index", "partition", "index", "partition_id"})
_INDENT: Final = "    "
_NONE: Final = "None"


class AnswerPart(NamedTuple):
    """What one part of a response came to.

    Attributes:
        error_code: 0 for success.
        topic: its name, or its id in Kafka's text form; None if the part is about no topic.
        partition: None if the part is about no partition.
    """

    error_code: int
    topic: str | None
    partition: int | None


Found = Callable[[int, str | bytes | None, int | None], object]


def outcomes_of(response: Side, most: int = MOST_OUTCOMES) -> list[AnswerPart]:
    """Return the outcomes in a response that was read, of a large one the first.

    Args:
        response: the response.
        most: how many outcomes to return at the most.
    """
    cls: type[Struct] = type(response.message)
    walk = _walk_of(cls, response.version)
    if walk is None:
        return []
    found: list[AnswerPart] = []

    def note(error_code: int, topic: str | bytes | None, partition: int | None) -> None:
        if len(found) < most:
            named = uuid_text(topic) if isinstance(topic, bytes) else topic
            found.append(AnswerPart(error_code, None if topic == ZERO_UUID else named, partition))

    walk(response.message, note)
    return found


@cache
def _walk_of(cls: type[Struct], version: int) -> Callable[[Any, Found], None] | None:
    lines = _statements(cls, version, "m", 0, (_NONE, _NONE))
    if not lines:
        return None
    names: dict[str, Any] = {}
    text = "\n".join(["def walk(m, found):", *(_INDENT + each for each in lines)])
    exec(text, names)  # noqa: S102 - the text comes from the schema alone
    return names["walk"]  # type: ignore[no-any-return]


def _statements(
    cls: type[Struct], version: int, source: str, depth: int, about: tuple[str, str]
) -> list[str]:
    """Return the statements for the struct in the variable `source`.

    Args:
        cls: the struct's class.
        version: of the message.
        source: the name of the variable.
        depth: how many loops are around it.
        about: the expressions for the topic and the partition of the struct around it.
    """
    fields = [field for field in fields_of(cls) if field.is_in(version)]
    topic, partition = _topic(fields, source) or about[0], _partition(fields, source) or about[1]
    lines = []
    for field in fields:
        value = f"{source}.{field.name}"
        if is_error_code(field):
            lines.append(f"found({value}, {topic}, {partition})")
        elif not isinstance(field.kind, Kind):
            element = f"e{depth}"
            inner = _statements(field.kind, version, element, depth + 1, (topic, partition))
            many = f"{value} or ()" if field.is_array else f"() if {value} is None else ({value},)"
            if inner:
                lines += [f"for {element} in {many}:", *(_INDENT + each for each in inner)]
    return lines


def _topic(fields: list[Field], source: str) -> str:
    """Return the expression for the topic that a struct names; empty if it names none."""
    names = [each.name for each in fields if each.entity is Entity.TOPIC_NAME and not each.is_array]
    ids = [each.name for each in fields if each.kind is Kind.UUID and each.name == "topic_id"]
    return " or ".join(f"{source}.{name}" for name in [*names[:1], *ids[:1]])


def _partition(fields: list[Field], source: str) -> str:
    for each in fields:
        if each.name in _PARTITIONS and each.kind is Kind.INT32 and not each.is_array:
            return f"{source}.{each.name}"
    return ""
