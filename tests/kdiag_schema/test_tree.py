import json
import re
import zipfile
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from folders import ROOT
from kdiag.wire.api.request_header import RequestHeader
from kdiag.wire.api.response_header import ResponseHeader
from kdiag.wire.catalog import API_BY_KEY, NEWEST_KAFKA
from kdiag.wire.record_catalog import MODULE_BY_NAME, message_class
from kdiag.wire.schema import Field, Kind, Struct, fields_of, info_of
from kdiag_schema.release import read_release
from kdiag_schema.tree import tree_of, write_tree
from real_kafka.oracle_tables import spoken_pairs
from real_kafka.releases import NEWEST, VERSIONS

FOLDERS = ("kdiag/wire/api", "kdiag/wire/internal")

Schema = dict[str, Any]


class Row(NamedTuple):
    """What one version of a message says of one field, whoever says it."""

    path: str
    type_name: str
    is_array: bool
    is_nullable: bool
    tag: int | None
    is_never_compact: bool


@pytest.fixture(scope="module")
def kafka_jars(get_kafka_jars: Callable[[str], Path]) -> list[Path]:
    """Return the folders with the jars of each release, oldest first."""
    return [get_kafka_jars(version) for version in VERSIONS]


@pytest.mark.real
@pytest.mark.soak
def test_the_program_makes_exactly_the_files_in_the_tree(
    kafka_jars: list[Path], tmp_path: Path
) -> None:
    """Nobody edited a generated file, and nobody forgot to generate."""
    write_tree(tree_of([read_release(each) for each in kafka_jars]), tmp_path)
    made = {str(each.relative_to(tmp_path)): each.read_text() for each in tmp_path.rglob("*.py")}
    kept = {
        str(each.relative_to(ROOT)): each.read_text()
        for folder in FOLDERS
        for each in (ROOT / folder).glob("*.py")
        if each.name != "__init__.py"
    }
    kept["kdiag/wire/api_keys.py"] = (ROOT / "kdiag/wire/api_keys.py").read_text()
    assert made.keys() == kept.keys()
    assert [path for path in made if made[path] != kept[path]] == []
    assert NEWEST == NEWEST_KAFKA


@pytest.mark.thorough
def test_a_file_of_a_message_that_is_gone_is_removed(tmp_path: Path) -> None:
    """What the schemas no longer make does not stay behind; the package file does."""
    folder = tmp_path / "kdiag/wire/api"
    folder.mkdir(parents=True)
    (folder / "gone.py").write_text("")
    (folder / "__init__.py").write_text("")
    write_tree({"kdiag/wire/api/ping.py": "x  =  1"}, tmp_path)
    assert sorted(each.name for each in folder.iterdir()) == ["__init__.py", "ping.py"]
    assert (folder / "ping.py").read_text() == "x = 1\n"


@pytest.mark.real
@pytest.mark.soak
def test_every_field_of_every_version_is_what_the_newest_jar_with_that_version_says(
    kafka_jars: list[Path],
) -> None:
    """Presence, order, type, nullability and tags agree, field by field and version by version."""
    pairs = set()
    for cls, version, schema in owned_versions(kafka_jars):
        expected, actual = list(schema_rows(schema, version)), list(class_rows(cls, version))
        assert in_wire_order(actual) == in_wire_order(expected), f"{cls.__name__} v{version}"
        info = info_of(cls)
        assert info.flexible.covers(version) == is_in(schema["flexibleVersions"], version)
        if schema["type"] in {"request", "response"}:
            assert info.api_key == schema["apiKey"]
            pairs.add((info.api_key, version, schema["type"]))
    assert len(pairs) == 2 * len(spoken_pairs())


@pytest.mark.soak
def test_a_class_has_the_versions_that_some_jar_has_and_no_other(kafka_jars: list[Path]) -> None:
    """Merging neither loses a version nor makes one up."""
    owned: dict[type[Struct], set[int]] = {}
    for cls, version, _ in owned_versions(kafka_jars):
        owned.setdefault(cls, set()).add(version)
    for cls, versions in owned.items():
        info = info_of(cls)
        assert versions == set(range(info.versions.low, info.versions.high + 1))
    apis = [api for api in API_BY_KEY.values() if api.request_class() not in owned]
    records = [name for name in MODULE_BY_NAME if message_class(name) not in owned]
    assert (apis, records) == ([], [])


@pytest.mark.soak
def test_a_field_that_a_version_lacks_is_ignorable_as_its_jar_says(kafka_jars: list[Path]) -> None:
    """Dropping a set value silently, or refusing it, is Kafka's decision."""
    checked = 0
    for cls, version, schema in owned_versions(kafka_jars):
        said = dict(schema_ignorables(schema, version))
        for path, is_ignorable in class_ignorables(cls, version):
            if path in said:
                assert is_ignorable == said[path], f"{cls.__name__} v{version} {path}"
                checked += 1
    assert checked > 1000


@pytest.mark.soak
def test_a_default_is_that_of_the_newest_jar_with_the_field(kafka_jars: list[Path]) -> None:
    """A message made without a field holds what Kafka's own would."""
    expected: dict[tuple[type[Struct], str], object] = {}
    for schema in (each for jars in kafka_jars for each in read_schemas(jars)):
        if (cls := class_of(schema["name"])) is not None:
            expected |= {(cls, path): value for path, value in schema_defaults(schema)}
    actual = {
        (cls, path): value for cls in {cls for cls, _ in expected} for path, value in defaults(cls)
    }
    assert len(actual) > 1500
    assert [
        (cls.__name__, path) for cls, path in actual if actual[cls, path] != expected[cls, path]
    ] == []


def owned_versions(kafka_jars: list[Path]) -> Iterator[tuple[type[Struct], int, Schema]]:
    """Yield each class, each version of it, and the schema that decides the version's shape."""
    owners: dict[tuple[type[Struct], int], Schema] = {}
    for schema in (each for jars in kafka_jars for each in read_schemas(jars)):
        cls = class_of(schema["name"])
        low, _, high = schema["validVersions"].partition("-")
        if low == "none":
            continue
        assert cls is not None, schema["name"]
        for version in range(int(low), int(high or low) + 1):
            owners[cls, version] = schema
    for (cls, version), schema in owners.items():
        yield cls, version, schema


@cache
def read_schemas(jars: Path) -> list[Schema]:
    """Return every message schema in the jars of one release."""
    schemas: list[Schema] = []
    for jar in sorted(jars.glob("kafka-*.jar")):
        with zipfile.ZipFile(jar) as archive:
            texts = [archive.read(each).decode() for each in archive.namelist() if is_schema(each)]
        for text in texts:
            bare = re.sub(r"(^|\s)//.*$", "", text, flags=re.MULTILINE)
            schemas.append(with_key_version_0(json.loads(bare)))
    return schemas


def is_schema(name: str) -> bool:
    """Return whether a file in a jar is a message schema."""
    return name.endswith(".json") and name.split("/")[-2:-1][0:1] in (["message"], ["metadata"])


def with_key_version_0(schema: Schema) -> Schema:
    """Return a 3.x coordinator key as 4.x writes it; its version was the record type then."""
    if schema["type"] == "data" and schema["name"].endswith("Key"):
        fields = [{**field, "versions": "0"} for field in schema["fields"]]
        return {**schema, "validVersions": "0", "fields": fields}
    return schema


@cache
def class_of(schema_name: str) -> type[Struct] | None:
    """Return the class for a schema's name in any release."""
    name = schema_name.replace("ListClientMetricsResources", "ListConfigResources")
    if name in {"RequestHeader", "ResponseHeader"}:
        return RequestHeader if name == "RequestHeader" else ResponseHeader
    if name in MODULE_BY_NAME:
        return message_class(name)
    for api in API_BY_KEY.values():
        if name == f"{api.name}Request":
            return api.request_class()
        if name == f"{api.name}Response":
            return api.response_class()
    return None


def is_in(versions: str | None, version: int) -> bool:
    """Return whether a range in Kafka's notation has a version."""
    if versions is None or versions == "none":
        return False
    low, _, high = versions.rstrip("+").partition("-")
    return int(low) <= version and (versions.endswith("+") or version <= int(high or low))


def camel(name: str) -> str:
    """Return the JSON name of a field."""
    return name[0].lower() + name[1:]


def inner_fields(schema: Schema, field: Schema) -> list[Schema]:
    """Return the fields of the struct that a field holds; none for a primitive."""
    common = {each["name"]: each["fields"] for each in schema.get("commonStructs", [])}
    found: list[Schema] = field.get("fields") or common.get(field["type"].removeprefix("[]"), [])
    return found


def walk_schema(
    schema: Schema, version: int | None, fields: list[Schema] | None = None, prefix: str = ""
) -> Iterator[tuple[str, Schema]]:
    """Yield path and schema of each field; only of structs that a version has, if one is given."""
    for field in schema["fields"] if fields is None else fields:
        path = prefix + camel(field["name"])
        yield path, field
        if version is None or is_in(field.get("versions", field.get("taggedVersions")), version):
            yield from walk_schema(schema, version, inner_fields(schema, field), f"{path}.")


def schema_rows(schema: Schema, version: int) -> Iterator[Row]:
    """Yield a row for each field that a version has according to a schema."""
    for path, field in walk_schema(schema, version):
        if is_in(field.get("versions", field.get("taggedVersions")), version):
            type_name = field["type"].removeprefix("[]")
            yield Row(
                path,
                "struct" if inner_fields(schema, field) else type_name,
                field["type"].startswith("[]"),
                is_in(field.get("nullableVersions"), version),
                field["tag"] if is_in(field.get("taggedVersions"), version) else None,
                field.get("flexibleVersions") == "none",
            )


def schema_ignorables(schema: Schema, version: int) -> Iterator[tuple[str, bool]]:
    """Yield path and ignorability of each field that a version's structs have in others."""
    for path, field in walk_schema(schema, version):
        if not is_in(field.get("versions", field.get("taggedVersions")), version):
            yield path, field.get("ignorable", False)


def schema_defaults(schema: Schema) -> Iterator[tuple[str, object]]:
    """Yield path and default of each field, as Python values; structs are left out."""
    for path, field in walk_schema(schema, None) if "fields" in schema else ():
        text = "" if field.get("default") is None else str(field["default"])
        if text == "null" or (field["type"] == "records" and "nullableVersions" in field):
            yield path, None
        elif field["type"].startswith("[]"):
            yield path, []
        elif not inner_fields(schema, field):
            yield path, primitive_default(field["type"], text)


def primitive_default(type_name: str, text: str) -> object:
    """Return the default of a primitive as a Python value."""
    if type_name in {"bytes", "records", "uuid"}:
        return bytes(16) if type_name == "uuid" else b""
    if type_name in {"string", "bool"}:
        return text if type_name == "string" else text == "true"
    return float(text or 0) if type_name == "float64" else int(text or "0", 0)


def walk_class(
    cls: type[Struct], version: int | None, prefix: str = ""
) -> Iterator[tuple[str, Field]]:
    """Yield path and field of each field of a class, as `walk_schema` does."""
    for field in fields_of(cls):
        yield prefix + field.json_name, field
        if not isinstance(field.kind, Kind) and (version is None or field.is_in(version)):
            yield from walk_class(field.kind, version, f"{prefix}{field.json_name}.")


def class_rows(cls: type[Struct], version: int) -> Iterator[Row]:
    """Yield a row for each field that a version has according to a class."""
    for path, field in walk_class(cls, version):
        if field.is_in(version):
            yield Row(
                path,
                field.kind.value if isinstance(field.kind, Kind) else "struct",
                field.is_array,
                field.is_nullable_in(version),
                field.tag if field.is_tagged_in(version) else None,
                field.is_never_compact,
            )


def class_ignorables(cls: type[Struct], version: int) -> Iterator[tuple[str, bool]]:
    """Yield path and ignorability of each field that a version lacks."""
    for path, field in walk_class(cls, version):
        if not field.is_in(version):
            yield path, field.is_ignorable


def defaults(cls: type[Struct]) -> Iterator[tuple[str, object]]:
    """Yield path and default of each field; structs that cannot be null by default left out."""
    for path, field in walk_class(cls, None):
        if field.is_array or isinstance(field.kind, Kind) or field.default is None:
            yield path, field.default


def in_wire_order(rows: list[Row]) -> tuple[list[Row], list[Row]]:
    """Return the untagged rows in their order, and those in or below a tag sorted."""
    tags = [row.path for row in rows if row.tag is not None]
    in_tag = [row for row in rows if any(f"{row.path}.".startswith(f"{tag}.") for tag in tags)]
    return [row for row in rows if row not in in_tag], sorted(in_tag)
