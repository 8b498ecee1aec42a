"""Many releases of one message made into one: every version in the shape of its newest release.

The newest release that has a version among its valid ones owns it and decides which fields it has,
where null may stand, what is tagged and the order. A field's default, type and entity are those of
the newest release that has the field at all.

Example: Fetch is 0-17 in 3.9.1 and 4-18 in 4.4.0. Versions 4 to 18 come from 4.4.0, 0 to 3 from
3.9.1; a field with `versions: 0+` in both becomes one field in versions 0 to 18.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from kdiag.wire.schema import Versions
from kdiag_schema.release import FieldSchema, MessageSchema


class MergedField(NamedTuple):
    """One field over all versions.

    Attributes:
        schema: the field in the newest release that has it.
        versions: the versions that have it.
        nullable: those of them in which null is allowed.
        tagged: those of them in which it is tagged.
        is_ignorable: whether it may be dropped in versions without it.
    """

    schema: FieldSchema
    versions: frozenset[int]
    nullable: frozenset[int]
    tagged: frozenset[int]
    is_ignorable: bool


class MergedStruct(NamedTuple):
    """One struct over all versions: its fields in wire order, and the versions that reach it."""

    name: str
    versions: frozenset[int]
    fields: tuple[MergedField, ...]


class MergedMessage(NamedTuple):
    """One message over all versions.

    Attributes:
        name: Kafka's newest name.
        kind: as in `MessageSchema`.
        number: the API key or record type, or None.
        topic: the internal topic that holds such records, or None.
        versions: all versions there ever were.
        newest: the versions that the newest given release speaks; None if it dropped the message.
        flexible: the versions with compact lengths and tagged fields.
        is_unstable: whether the highest version may still change.
        structs: every struct, innermost first, the message itself last.
    """

    name: str
    kind: str
    number: int | None
    topic: str | None
    versions: Versions
    newest: Versions | None
    flexible: Versions
    is_unstable: bool
    structs: tuple[MergedStruct, ...]


class _OwnedStruct(NamedTuple):
    """A struct as one release has it, and the versions in which that release decides."""

    fields: tuple[FieldSchema, ...]
    owned: frozenset[int]


def merge_message(schemas: Sequence[MessageSchema | None]) -> MergedMessage:
    """Return one message for what the releases, oldest first, say of it.

    Args:
        schemas: one for each release; None where the release lacks the message.

    Raises:
        ValueError: if the releases contradict each other, or the versions have a hole.
    """
    present = [each for each in schemas if each is not None]
    newest = present[-1]
    owned = _owned(present)
    versions = _one_range(newest.name, set().union(*owned))
    parts: dict[str, list[_OwnedStruct]] = {}
    for schema, versions_owned in zip(present, owned, strict=True):
        _reach(schema, newest.name, frozenset(versions_owned), parts)
    structs = {name: _merge_struct(newest.name, name, each) for name, each in parts.items()}
    return MergedMessage(
        newest.name,
        newest.kind,
        newest.number,
        newest.topic,
        versions,
        newest.versions if schemas[-1] is newest else None,
        _flexible(newest.name, zip(present, owned, strict=True), versions),
        newest.is_unstable,
        tuple(_innermost_first(structs, newest.name)),
    )


def covered(versions: Versions, among: Iterable[int]) -> frozenset[int]:
    """Return those of some versions that a range covers."""
    return frozenset(each for each in among if versions.covers(each))


def _owned(schemas: list[MessageSchema]) -> list[set[int]]:
    """Return for each release, oldest first, the versions that no newer release has."""
    taken: set[int] = set()
    owned: list[set[int]] = []
    for schema in reversed(schemas):
        versions = set(range(schema.versions.low, schema.versions.high + 1))
        owned.insert(0, versions - taken)
        taken |= versions
    return owned


def _one_range(name: str, versions: set[int]) -> Versions:
    """Return the versions as one range."""
    whole = Versions(min(versions), max(versions))
    if len(versions) != whole.high - whole.low + 1:
        raise ValueError(f"{name}: the versions {sorted(versions)} have a hole")
    return whole


def _flexible(
    name: str, owners: Iterable[tuple[MessageSchema, set[int]]], versions: Versions
) -> Versions:
    """Return the flexible versions: from the first one on, as Kafka never takes that back."""
    flexible: set[int] = set()
    for schema, owned in owners:
        flexible |= covered(schema.flexible, owned)
    if not flexible:
        return Versions.parse("none")
    if _one_range(name, flexible).high != versions.high:
        raise ValueError(f"{name}: versions after {max(flexible)} are not flexible any more")
    return Versions.parse(f"{min(flexible)}+")


def _reach(
    schema: MessageSchema, struct: str, owned: frozenset[int], parts: dict[str, list[_OwnedStruct]]
) -> None:
    """Add every struct that the owned versions of one release reach to `parts`, by name."""
    reached: dict[str, frozenset[int]] = {}
    waiting = [(struct, owned)]
    while waiting:
        name, versions = waiting.pop()
        if not versions:
            continue
        reached[name] = reached.get(name, frozenset()) | versions
        waiting += [
            (each.type_name, covered(each.versions, versions))
            for each in schema.structs[name]
            if each.is_struct
        ]
    for name, versions in reached.items():
        parts.setdefault(name, []).append(_OwnedStruct(schema.structs[name], versions))


def _merge_struct(message: str, name: str, parts: list[_OwnedStruct]) -> MergedStruct:
    """Return one struct for its parts, oldest first."""
    order = _order(parts)
    fields = tuple(_merge_field(f"{message}: {name}.{each}", each, parts) for each in order)
    for part in parts:
        for version in part.owned:
            _check_order(f"{message}: {name}", fields, part, version)
    return MergedStruct(name, frozenset().union(*(part.owned for part in parts)), fields)


def _order(parts: list[_OwnedStruct]) -> list[str]:
    """Return the names of the fields that any version has, as the newest release orders them.

    A field that only an older release has stands behind the field that it followed there.
    """
    order: list[str] = []
    for part in reversed(parts):
        behind = 0
        for field in part.fields:
            if field.name in order:
                behind = order.index(field.name) + 1
            elif covered(field.versions, part.owned):
                order.insert(behind, field.name)
                behind += 1
    return order


def _merge_field(path: str, name: str, parts: list[_OwnedStruct]) -> MergedField:
    """Return one field for what each part that has it says, oldest first."""
    having = [
        (field, covered(field.versions, part.owned), part.owned)
        for part in parts
        for field in part.fields
        if field.name == name
    ]
    newest = having[-1][0]
    for field, versions, _ in having:
        shape = (field.type_name, field.is_array)
        if versions and shape != (newest.type_name, newest.is_array):
            raise ValueError(f"{path}: {shape} in one release is {newest.type_name} in another")
        if versions and covered(field.tagged, versions) and field.tag != newest.tag:
            raise ValueError(f"{path}: tag {field.tag} in one release is {newest.tag} in another")
    _check_not_renamed(path, newest, parts)
    lacking = [field for field, versions, owned in having if owned - versions]
    return MergedField(
        newest,
        frozenset().union(*(versions for _, versions, _ in having)),
        frozenset().union(*(covered(field.nullable, versions) for field, versions, _ in having)),
        frozenset().union(*(covered(field.tagged, versions) for field, versions, _ in having)),
        (lacking or [newest])[-1].is_ignorable,
    )


def _check_not_renamed(path: str, newest: FieldSchema, parts: list[_OwnedStruct]) -> None:
    """Raise ValueError if a release puts a field in a version whose older owner lacks it.

    That is what a rename looks like; merged, the class would have a field for each name.
    """
    older = parts[: next(i for i, part in enumerate(parts) if newest in part.fields)]
    for part in older:
        own = [each.versions for each in part.fields if each.name == newest.name]
        for version in covered(newest.versions, part.owned):
            if not any(each.covers(version) for each in own):
                raise ValueError(f"{path}: not in version {version} of the release that owns it")


def _check_order(
    path: str, fields: tuple[MergedField, ...], part: _OwnedStruct, version: int
) -> None:
    """Raise ValueError unless a version has its untagged fields in the order of its owner."""
    merged = [
        each.schema.name
        for each in fields
        if version in each.versions and version not in each.tagged
    ]
    owner = [
        each.name
        for each in part.fields
        if each.versions.covers(version) and not each.tagged.covers(version)
    ]
    if merged != owner:
        raise ValueError(f"{path}: version {version} is {owner}, merged it would be {merged}")


def _innermost_first(structs: dict[str, MergedStruct], root: str) -> list[MergedStruct]:
    """Return the structs that a message needs, each behind those it needs itself."""
    ordered: dict[str, MergedStruct] = {}

    def visit(name: str) -> None:
        for field in structs[name].fields:
            if field.schema.is_struct and field.schema.type_name not in ordered:
                visit(field.schema.type_name)
        ordered[name] = structs[name]

    visit(root)
    return list(ordered.values())
