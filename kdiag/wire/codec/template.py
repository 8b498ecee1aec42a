"""Templates: a message as a form to fill in, and the list of its fields, for people who write one.

    >>> from kdiag.wire.api.find_coordinator import FindCoordinatorRequest
    >>> template(FindCoordinatorRequest, 6)
    {'keyType': 0, 'coordinatorKeys': []}

Source: the message schemas in Kafka's jars.
"""

from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from kdiag.wire.codec.explain import float_json
from kdiag.wire.codec.layout import check_version
from kdiag.wire.primitives import uuid_text
from kdiag.wire.schema import Field, Kind, Struct, Versions, fields_of, info_of


class FieldRow(NamedTuple):
    """One field of a message, or of a struct inside it.

    Attributes:
        path: its place in Kafka's JSON, such as `topics[].name`.
        type: its wire type, such as `int32`, `[]string`, or `object` and `[]object`.
        versions: the versions of the message that have it.
        nullable: the versions in which it may be null; None if in none.
        tag: its tag, if it is a tagged field.
        default: its value if it is left out, as in JSON.
    """

    path: str
    type: str
    versions: str
    nullable: str | None
    tag: int | None
    default: Any


def template(cls: type[Struct], version: int) -> dict[str, Any]:
    """Return a message in Kafka's JSON with defaults, an array of objects holding one of them.

    Raises:
        ValueError: if the class has no such version.
    """
    check_version(cls, version)
    return _form(cls, version)


def _form(cls: type[Struct], version: int) -> dict[str, Any]:
    return {
        field.json_name: _filled(field, version) for field in fields_of(cls) if field.is_in(version)
    }


def _filled(field: Field, version: int) -> Any:
    """Return the value of a field in a template."""
    if isinstance(field.kind, Kind) or (field.default is None and not field.is_array):
        return _json(field)
    inner = _form(field.kind, version)
    return [inner] if field.is_array else inner


def field_rows(cls: type[Struct], version: int | None = None) -> list[FieldRow]:
    """Return every field of a message in wire order, those inside a struct after it.

    Args:
        cls: the message.
        version: the version; None for all.

    Raises:
        ValueError: if the class has no such version.
    """
    if version is not None:
        check_version(cls, version)
    known = info_of(cls).versions
    return list(_rows(cls, known if version is None else Versions(version, version), "", (known,)))


def _rows(
    cls: type[Struct], asked: Versions, prefix: str, parent: tuple[Versions, ...]
) -> Iterator[FieldRow]:
    """Yield the fields of a struct that exists in the versions `parent`."""
    for field in fields_of(cls):
        versions = _shared(field.versions, parent)
        if not _shared(versions, (asked,)):
            continue
        path = f"{prefix}{field.json_name}"
        is_plain = isinstance(field.kind, Kind)
        yield FieldRow(
            path=path,
            type=_type(field),
            versions=_text(versions),
            nullable=_text(_shared(field.nullable, versions)) or None,
            tag=field.tag,
            default=_json(field) if is_plain or field.is_array else None,
        )
        if not isinstance(field.kind, Kind):
            inside = f"{path}[]." if field.is_array else f"{path}."
            yield from _rows(field.kind, asked, inside, versions)


def _type(field: Field) -> str:
    name = field.kind.value if isinstance(field.kind, Kind) else "object"
    return f"[]{name}" if field.is_array else name


def _json(field: Field) -> Any:
    """Return the default of a field as in JSON."""
    default: Any = field.default
    if default is None or field.is_array:
        return default
    form = _FORMS.get(field.kind)
    return form(default) if form else default


def _shared(some: tuple[Versions, ...], others: tuple[Versions, ...]) -> tuple[Versions, ...]:
    """Return the versions that are in both unions of ranges."""
    pairs = ((one, other) for one in some for other in others)
    both = (Versions(max(a.low, b.low), min(a.high, b.high)) for a, b in pairs)
    return tuple(each for each in both if each.low <= each.high)


def _text(versions: tuple[Versions, ...]) -> str:
    return ", ".join(map(str, versions))


_FORMS: Final[dict[Any, Any]] = {Kind.UUID: uuid_text, Kind.FLOAT64: float_json}
