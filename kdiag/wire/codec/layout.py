"""The layout of a message class in one version: facts for every reader and writer."""

from functools import cache

from kdiag.wire.primitives import SIZES
from kdiag.wire.schema import Field, Kind, Struct, fields_of, info_of


def check_version(cls: type[Struct], version: int) -> None:
    """Raise ValueError if the message class has no such version."""
    info = info_of(cls)
    if not info.versions.covers(version):
        raise ValueError(f"{info.name} has versions {info.versions}, not {version}")


def is_flexible(cls: type[Struct], version: int) -> bool:
    """Return whether a message class has compact lengths and tagged fields in a version."""
    return info_of(cls).flexible.covers(version)


def is_fixed(field: Field) -> bool:
    """Return whether the field is one value of fixed size."""
    return not field.is_array and field.kind in SIZES


def untagged(cls: type[Struct], version: int) -> list[Field]:
    """Return the fields that a version always has on the wire, in wire order."""
    fields = fields_of(cls)
    return [each for each in fields if each.is_in(version) and not each.is_tagged_in(version)]


def tagged(cls: type[Struct], version: int) -> list[Field]:
    """Return the fields that a version knows as tagged fields, by ascending tag."""
    fields = [e for e in fields_of(cls) if e.is_in(version) and e.is_tagged_in(version)]
    return sorted(fields, key=lambda field: field.tag or 0)


@cache
def minimum_bytes(cls: type[Struct], version: int, flexible: bool) -> int:  # noqa: FBT001 - cache key
    """Return the minimum size of a struct in bytes, at least 1 so that counts stay bounded."""
    total = sum(_minimum_of(field, version, flexible) for field in untagged(cls, version))
    return max(1, total + flexible)


def _minimum_of(field: Field, version: int, flexible: bool) -> int:  # noqa: FBT001 - as above
    """Return the minimum size of an untagged field in bytes."""
    if is_fixed(field):
        return SIZES[field.kind]  # type: ignore[index]  # is_fixed says that it is a Kind
    if not field.is_array and not isinstance(field.kind, Kind):
        if field.is_nullable_in(version):
            return 1
        return minimum_bytes(field.kind, version, flexible)
    return length_bytes(field, flexible=flexible)


def element_bytes(field: Field, version: int, *, flexible: bool) -> int:
    """Return the minimum size of an element of an array in bytes."""
    if not isinstance(field.kind, Kind):
        return minimum_bytes(field.kind, version, flexible)
    return SIZES.get(field.kind) or (1 if flexible else 2)


def length_bytes(field: Field, *, flexible: bool) -> int:
    """Return the size of a length or count prefix in bytes; 1 for a varint."""
    if flexible and not field.is_never_compact:
        return 1
    return 2 if field.kind is Kind.STRING and not field.is_array else 4
