"""The names in a message: its first error, topics, topic ids, groups, transactions, records.

Each query is compiled for each (class, version) into one function: nested loops over the few fields
that matter, well under a microsecond a call. For a Produce response version 13, `first_error`
becomes

    def walk(m):
        for e0 in m.responses or ():
            for e1 in e0.partition_responses or ():
                if e1.error_code:
                    return e1.error_code
        return 0

The schemas themselves tell topics, groups and error codes apart: by Kafka's entity types, and by
the field names of error codes and topic ids.
"""

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple, TypeAlias

from kdiag.wire.schema import Entity, Field, Kind, Struct, fields_of, is_batches

Leaf: TypeAlias = Callable[[list[Field], Field, str], str | None]
"""Returns the statement for a field, or None; the arguments are all fields of its struct in the
version, the field and the struct's variable."""

_INDENT = "    "


class Mentions(NamedTuple):
    """The compiled queries for one class and version; None where it has no such field.

    Attributes:
        first_error: returns the first error code that is not 0, in field order, or 0.
        topics: `topics(message, names, ids)` adds to both sets; ids are 16 bytes each.
        groups: `groups(message, ids)` adds to the set.
        transactions: as `groups`, for transactional ids.
        pairs: `pairs(message, learn)` calls `learn(topic id, name)` for each pair.
        records: `records(message, found)` calls `found(bytes or None)` for each `records` field.
    """

    first_error: Callable[[Any], int] | None
    topics: Callable[[Any, set[str], set[bytes]], None] | None
    groups: Callable[[Any, set[str]], None] | None
    transactions: Callable[[Any, set[str]], None] | None
    pairs: Callable[[Any, Callable[[bytes, str | None], object]], None] | None
    records: Callable[[Any, Callable[[bytes | memoryview | None], object]], None] | None


@cache
def mentions_of(cls: type[Struct], version: int) -> Mentions:
    """Return the compiled queries for messages of a class in a version."""
    return Mentions(
        first_error=_compile(cls, version, "m", _error, "return 0"),
        topics=_compile(cls, version, "m, names, ids", _topic),
        groups=_compile(cls, version, "m, ids", _group),
        transactions=_compile(cls, version, "m, ids", _transaction),
        pairs=_compile(cls, version, "m, learn", _pair),
        records=_compile(cls, version, "m, found", _records),
    )


@cache
def all_errors_of(
    cls: type[Struct], version: int
) -> Callable[[Any, Callable[[int], object]], None] | None:
    """Return the query that calls a function with each error code, 0 included; None without any."""
    return _compile(cls, version, "m, found", _each_error)  # type: ignore[no-any-return]


def _each_error(_: list[Field], field: Field, source: str) -> str | None:
    return f"found({source}.{field.name})" if is_error_code(field) else None


def _error(_: list[Field], field: Field, source: str) -> str | None:
    if not is_error_code(field):
        return None
    return f"if {source}.{field.name}: return {source}.{field.name}"


def is_error_code(field: Field) -> bool:
    """Return whether a field is an error code; `partition_error_code` and the like count."""
    return field.kind is Kind.INT16 and field.name.endswith("error_code")


def _topic(_: list[Field], field: Field, source: str) -> str | None:
    if field.entity is Entity.TOPIC_NAME:
        return _add("names", field, source)
    return _add("ids", field, source) if _is_topic_id(field) else None


def _group(_: list[Field], field: Field, source: str) -> str | None:
    is_group = field.entity is Entity.GROUP_ID or field.name == "group_id"
    return _add("ids", field, source) if is_group else None


def _transaction(_: list[Field], field: Field, source: str) -> str | None:
    return _add("ids", field, source) if field.entity is Entity.TRANSACTIONAL_ID else None


def _pair(fields: list[Field], field: Field, source: str) -> str | None:
    names = [each.name for each in fields if each.entity is Entity.TOPIC_NAME]
    if not _is_topic_id(field) or not names:
        return None
    return f"learn({source}.{field.name}, {source}.{names[0]})"


def _records(_: list[Field], field: Field, source: str) -> str | None:
    return f"found({source}.{field.name})" if is_batches(field) else None


def _is_topic_id(field: Field) -> bool:
    return field.kind is Kind.UUID and field.name == "topic_id"


def _add(target: str, field: Field, source: str) -> str:
    value = f"{source}.{field.name}"
    return f"{target}.update({value} or ())" if field.is_array else f"{target}.add({value})"


def _compile(
    cls: type[Struct], version: int, parameters: str, leaf: Leaf, last: str = "return None"
) -> Any:
    """Return the function that runs `leaf`'s statements in field order; None without any."""
    lines = _statements(cls, version, "m", 0, leaf)
    if not lines:
        return None
    text = "\n".join([f"def walk({parameters}):", *(_INDENT + each for each in lines)])
    names: dict[str, Any] = {}
    exec(f"{text}\n{_INDENT}{last}", names)  # noqa: S102 - the text comes from the schema alone
    return names["walk"]


def _statements(cls: type[Struct], version: int, source: str, depth: int, leaf: Leaf) -> list[str]:
    """Return the statements for the struct in the variable `source`."""
    lines = []
    fields = [field for field in fields_of(cls) if field.is_in(version)]
    for field in fields:
        statement = leaf(fields, field, source)
        if statement is not None:
            lines.append(statement)
        if not isinstance(field.kind, Kind):
            element = f"e{depth}"
            inner = _statements(field.kind, version, element, depth + 1, leaf)
            value = f"{source}.{field.name}"
            many = f"{value} or ()" if field.is_array else f"() if {value} is None else ({value},)"
            if inner:
                lines += [f"for {element} in {many}:", *(_INDENT + each for each in inner)]
    return lines
