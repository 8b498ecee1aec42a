"""The schema language: message classes that describe their own wire format.

A message class *is* its schema: each annotation has the wire type and, if they differ from those of
the whole message, the versions that have the field. One class serves every version.

    @message(api_key=1, versions="0-18", flexible="12+")
    class FetchRequest(Struct):
        replica_id: Annotated[Int32, since("0-14")] = -1
        max_wait_ms: Int32 = 0
        cluster_id: Annotated[String | None, since("12+"), tag(0), ignorable] = None

means: `replicaId` is an int32 up to version 14; `maxWaitMs` is in every version; `clusterId` is a
nullable string from version 12 on, a tagged field with tag 0, and dropped silently if it is set and
the version lacks it. Such a field that is not ignorable makes encoding fail.

`fields_of` reads the annotations once per class; `codec.messages` compiles them per version.

Source: Kafka's `clients/src/main/resources/common/message/README.md`; KIP-482 (tagged fields),
KIP-893 (nullable structs).
"""

from collections.abc import Callable
from enum import Enum
from functools import cache
from types import NoneType
from typing import Annotated, Any, Final, NamedTuple, TypeVar, get_args, get_origin, get_type_hints

import msgspec

MAX_VERSION: Final = 32767


class Kind(Enum):
    """The primitive wire types."""

    BOOLEAN = "bool"
    INT8 = "int8"
    INT16 = "int16"
    UINT16 = "uint16"
    INT32 = "int32"
    UINT32 = "uint32"
    INT64 = "int64"
    FLOAT64 = "float64"
    UUID = "uuid"
    STRING = "string"
    BYTES = "bytes"
    RECORDS = "records"


class Entity(Enum):
    """The kinds of things that values name, by the `entityType` of Kafka's schemas."""

    TOPIC_NAME = "topicName"
    GROUP_ID = "groupId"
    TRANSACTIONAL_ID = "transactionalId"
    BROKER_ID = "brokerId"
    PRODUCER_ID = "producerId"


class Versions(NamedTuple):
    """An inclusive range of versions; `low > high` is the empty range."""

    low: int
    high: int

    @classmethod
    def parse(cls, text: str) -> "Versions":
        """Return the range written as `3`, `3-7`, `3+` or `none`."""
        if text == "none":
            return NO_VERSIONS
        if text.endswith("+"):
            return cls(int(text[:-1]), MAX_VERSION)
        low, _, high = text.partition("-")
        return cls(int(low), int(high or low))

    def covers(self, version: int) -> bool:
        """Return whether `version` lies in the range."""
        return self.low <= version <= self.high

    def __str__(self) -> str:
        if self.low > self.high:
            return "none"
        if self.high == MAX_VERSION:
            return f"{self.low}+"
        return str(self.low) if self.low == self.high else f"{self.low}-{self.high}"


ALL_VERSIONS: Final = Versions(0, MAX_VERSION)
NO_VERSIONS: Final = Versions(0, -1)


class since(NamedTuple):  # noqa: N801 - reads as a word inside an annotation
    """Marks the versions that have a field; without it, all do. Several ranges are a union."""

    versions: str


class nullable(NamedTuple):  # noqa: N801 - as `since`
    """Marks the versions in which null is allowed; without it, `| None` allows it in all."""

    versions: str


class tag(NamedTuple):  # noqa: N801 - as `since`
    """Marks a tagged field, with its tag and the versions in which it is tagged."""

    number: int
    versions: str = "0+"


class named(NamedTuple):  # noqa: N801 - as `since`
    """Gives Kafka's JSON name of a field if it is not the camelCase of the Python name."""

    json_name: str


class _Ignorable:
    """The type of `ignorable`."""

    def __repr__(self) -> str:
        return "ignorable"


class _NeverCompact:
    """The type of `never_compact`."""

    def __repr__(self) -> str:
        return "never_compact"


ignorable: Final = _Ignorable()
"""Marks a field that is dropped silently when it is set and the version lacks it."""

never_compact: Final = _NeverCompact()
"""Marks a string that keeps its two-byte length in flexible versions (RequestHeader.clientId)."""

Boolean = Annotated[bool, Kind.BOOLEAN]
Int8 = Annotated[int, Kind.INT8]
Int16 = Annotated[int, Kind.INT16]
Uint16 = Annotated[int, Kind.UINT16]
Int32 = Annotated[int, Kind.INT32]
Uint32 = Annotated[int, Kind.UINT32]
Int64 = Annotated[int, Kind.INT64]
Float64 = Annotated[float, Kind.FLOAT64]
Uuid = Annotated[bytes, Kind.UUID]
"""Sixteen bytes; all zero stands for null."""
String = Annotated[str, Kind.STRING]
Bytes = Annotated[bytes, Kind.BYTES]
Records = Annotated[bytes, Kind.RECORDS]
"""Record batches as they lie on the wire; `kdiag.wire.records.batches` reads them."""

TopicName = Annotated[str, Kind.STRING, Entity.TOPIC_NAME]
GroupId = Annotated[str, Kind.STRING, Entity.GROUP_ID]
TransactionalId = Annotated[str, Kind.STRING, Entity.TRANSACTIONAL_ID]
BrokerId = Annotated[int, Kind.INT32, Entity.BROKER_ID]
ProducerId = Annotated[int, Kind.INT64, Entity.PRODUCER_ID]

ZERO_UUID: Final = bytes(16)


class Struct(msgspec.Struct, kw_only=True, gc=False, repr_omit_defaults=True):
    """Base of every message and of every struct inside one.

    Attributes:
        unknown_tagged_fields: tag to raw bytes, for tags this class does not know in the version
            it was decoded from; kept so that encoding writes them again. None when there are none.
    """

    unknown_tagged_fields: dict[int, bytes] | None = None


class MessageInfo(NamedTuple):
    """The declaration of a message class by `message`."""

    name: str
    versions: Versions
    flexible: Versions
    api_key: int | None


class Field(NamedTuple):
    """One field of a struct, read from its annotation.

    Attributes:
        name: the Python attribute.
        json_name: Kafka's name in JSON (camelCase).
        kind: the primitive wire type, or the struct class, of the field or of its elements.
        is_array: whether the field is an array of `kind`.
        versions: the ranges that have the field.
        nullable: the ranges in which null is allowed.
        tag: the tag number, or None.
        tagged: the versions in which the field is tagged.
        is_ignorable: whether a set value may be dropped in versions without the field.
        is_never_compact: whether lengths stay two bytes in flexible versions.
        entity: the kind of thing that the value names, if it is known.
        default: the default; for arrays and structs the result of their factory.
    """

    name: str
    json_name: str
    kind: Kind | type[Struct]
    is_array: bool
    versions: tuple[Versions, ...]
    nullable: tuple[Versions, ...]
    tag: int | None
    tagged: Versions
    is_ignorable: bool
    is_never_compact: bool
    entity: Entity | None
    default: object

    def is_in(self, version: int) -> bool:
        """Return whether `version` has this field."""
        return any(each.covers(version) for each in self.versions)

    def is_nullable_in(self, version: int) -> bool:
        """Return whether null is allowed in `version`."""
        return any(each.covers(version) for each in self.nullable)

    def is_tagged_in(self, version: int) -> bool:
        """Return whether the field is a tagged field in `version`."""
        return self.tag is not None and self.tagged.covers(version)


S = TypeVar("S", bound=Struct)
_INFO: dict[type[Struct], MessageInfo] = {}


def message(
    *, versions: str, flexible: str = "none", api_key: int | None = None
) -> Callable[[type[S]], type[S]]:
    """Declare a class to be a whole message.

    Args:
        versions: the versions that exist, such as `0-18`.
        flexible: the versions with compact lengths and tagged fields, such as `12+`.
        api_key: the API key of a request or response.
    """

    def declare(cls: type[S]) -> type[S]:
        _INFO[cls] = MessageInfo(
            cls.__name__, Versions.parse(versions), Versions.parse(flexible), api_key
        )
        return cls

    return declare


def info_of(cls: type[Struct]) -> MessageInfo:
    """Return the declaration of a message class.

    Raises:
        TypeError: if `cls` is not declared with `message`.
    """
    try:
        return _INFO[cls]
    except KeyError:
        raise TypeError(f"{cls.__name__} is not a message") from None


def snake_to_camel(name: str) -> str:
    """Return the camelCase form of a snake_case name: `max_wait_ms` becomes `maxWaitMs`."""
    first, *rest = name.split("_")
    return first + "".join(word[:1].upper() + word[1:] for word in rest)


@cache
def fields_of(cls: type[Struct]) -> tuple[Field, ...]:
    """Return the fields of a struct class in wire order (`unknown_tagged_fields` left out)."""
    hints = get_type_hints(cls, include_extras=True)
    defaults = {each.name: each for each in msgspec.structs.fields(cls)}
    return tuple(
        _read_field(name, hint, defaults[name].default, defaults[name].default_factory)
        for name, hint in hints.items()
        if name != "unknown_tagged_fields"
    )


def is_batches(field: Field) -> bool:
    """Return whether a field holds whole record batches; a snapshot's chunks may start anywhere."""
    return field.kind is Kind.RECORDS and field.name == "records"


def _unwrap(hint: object) -> tuple[object, list[object]]:
    """Return the type inside nested `Annotated` and the metadata, inner first."""
    if get_origin(hint) is Annotated:
        inner, *metadata = get_args(hint)
        bare, inner_metadata = _unwrap(inner)
        return bare, inner_metadata + metadata
    return hint, []


def _without_none(hint: object) -> tuple[object, bool]:
    """Return the hint without `| None`, and whether it had one."""
    arguments = get_args(hint)
    if NoneType in arguments:
        (inner,) = (each for each in arguments if each is not NoneType)
        return inner, True
    return hint, False


def _ranges(texts: list[str]) -> tuple[Versions, ...]:
    """Return the union of ranges named by markers; all versions when there is none."""
    parts = [part for text in texts for part in text.split(",")]
    return tuple(Versions.parse(part.strip()) for part in parts) or (ALL_VERSIONS,)


def _read_field(name: str, hint: object, default: object, factory: object) -> Field:
    """Return the field that an annotation and its default describe."""
    bare, metadata = _unwrap(hint)
    bare, is_nullable = _without_none(bare)
    bare, inner = _unwrap(bare)
    is_array = get_origin(bare) is list
    if is_array:
        bare, inner = _unwrap(get_args(bare)[0])
    marks = [*metadata, *inner]
    kind = next((mark for mark in marks if isinstance(mark, Kind)), bare)
    assert isinstance(kind, Kind) or (isinstance(kind, type) and issubclass(kind, Struct)), name
    tagged = next((mark for mark in marks if isinstance(mark, tag)), None)
    nullables = _ranges([mark.versions for mark in marks if isinstance(mark, nullable)])
    return Field(
        name=name,
        json_name=next(
            (mark.json_name for mark in marks if isinstance(mark, named)), snake_to_camel(name)
        ),
        kind=kind,
        is_array=is_array,
        versions=_ranges([mark.versions for mark in marks if isinstance(mark, since)]),
        nullable=nullables if is_nullable else (),
        tag=tagged.number if tagged else None,
        tagged=Versions.parse(tagged.versions) if tagged else NO_VERSIONS,
        is_ignorable=any(mark is ignorable for mark in marks),
        is_never_compact=any(mark is never_compact for mark in marks),
        entity=next((mark for mark in marks if isinstance(mark, Entity)), None),
        default=default if factory is msgspec.NODEFAULT else _call(factory),
    )


def _call(factory: Any) -> object:
    """Return the result of a default factory."""
    return factory()
