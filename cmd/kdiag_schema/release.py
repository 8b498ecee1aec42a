"""The message schemas of one Kafka release, read out of its jars.

Kafka ships each schema as a JSON file with `//` comments inside the jar that uses it. Only facts
are taken (names, types, versions, defaults); the `about` sentences stay where they are.

Source: `clients/src/main/resources/common/message/README.md` in Kafka.
"""

import json
import re
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

from kdiag.wire.schema import Versions

SCHEMA_FILE: Final = re.compile(r"(common/)?(message|metadata)/\w+\.json")
STRING_OR_COMMENT: Final = re.compile(r'("(?:\\.|[^"\\])*")|//[^\n]*')
PRIMITIVES: Final = frozenset(
    {"bool", "int8", "int16", "uint16", "int32", "uint32", "int64", "float64"}
    | {"uuid", "string", "bytes", "records"}
)
TOPIC_OF_JAR: Final = {
    "kafka-group-coordinator": "__consumer_offsets",
    "kafka-transaction-coordinator": "__transaction_state",
    "kafka-share-coordinator": "__share_group_state",
    "kafka-metadata": "__cluster_metadata",
    "kafka-storage": "__remote_log_metadata",
}
"""Which internal topic the records of a jar lie in."""
RECORD_KINDS: Final = frozenset({"metadata", "coordinator-key", "coordinator-value"})


MESSAGE_RENAMES: Final = {
    # 4.1 (KIP-1142) lists resources of any type with what listed client metrics only
    "ListClientMetricsResourcesRequest": "ListConfigResourcesRequest",
    "ListClientMetricsResourcesResponse": "ListConfigResourcesResponse",
}
"""Older names of messages. A renamed field needs no line: the newest name wins."""


class FieldSchema(NamedTuple):
    """One field as one release describes it.

    Attributes:
        name: Kafka's name, in PascalCase.
        type_name: a primitive or the name of a struct, of the field or of its elements.
        is_array: whether the field is an array of `type_name`.
        versions: the versions that have it.
        nullable: the versions in which null is allowed.
        tag: the tag number, or None.
        tagged: the versions in which the field is tagged.
        default: the text of the default; None where the type's own default holds.
        is_ignorable: whether it may be dropped in a version without it.
        entity: what it names (`topicName`), or None.
        is_never_compact: whether its length stays two bytes in flexible versions.
    """

    name: str
    type_name: str
    is_array: bool
    versions: Versions
    nullable: Versions
    tag: int | None
    tagged: Versions
    default: str | None
    is_ignorable: bool
    entity: str | None
    is_never_compact: bool

    @property
    def is_struct(self) -> bool:
        """Return whether the field, or each of its elements, is a struct."""
        return self.type_name not in PRIMITIVES


class MessageSchema(NamedTuple):
    """One message as one release describes it.

    Attributes:
        name: Kafka's name, the newest one where releases differ.
        kind: `request`, `response`, `header`, `data`, `metadata`, `coordinator-key` or
            `coordinator-value`.
        number: the API key or record type, or None.
        topic: the internal topic that holds such records, or None.
        versions: the versions the release speaks.
        flexible: the versions with compact lengths and tagged fields.
        is_unstable: whether the highest version may still change.
        structs: the fields of each struct by name; those of the message under its own name.
    """

    name: str
    kind: str
    number: int | None
    topic: str | None
    versions: Versions
    flexible: Versions
    is_unstable: bool
    structs: dict[str, tuple[FieldSchema, ...]]


class Release(NamedTuple):
    """All schemas of one release; a schema without any valid version is left out."""

    version: str
    messages: dict[str, MessageSchema]


def strip_comments(text: str) -> str:
    """Return JSON without its `//` comments; those inside strings stay."""
    return STRING_OR_COMMENT.sub(lambda match: match.group(1) or "", text)


def read_release(jars: Path) -> Release:
    """Return the schemas of the release whose jars lie in a folder.

    Raises:
        ValueError: if the folder does not hold exactly one `kafka-clients` jar.
    """
    names = [each.name for each in jars.glob("kafka-clients-*.jar")]
    if len(names) != 1:
        raise ValueError(f"{jars}: expected one kafka-clients jar, found {len(names)}")
    release = names[0].removeprefix("kafka-clients-").removesuffix(".jar")
    schemas = [
        parse_message(schema, topic)
        for topic, schema in _schema_files(jars, release)
        if schema["validVersions"] != "none"
    ]
    return Release(release, {each.name: each for each in schemas})


def _schema_files(jars: Path, release: str) -> Iterator[tuple[str | None, dict[str, Any]]]:
    """Yield the internal topic of the jar, where it has one, and each schema in it."""
    for jar in sorted(jars.glob(f"kafka-*-{release}.jar")):
        topic = TOPIC_OF_JAR.get(jar.name.removesuffix(f"-{release}.jar"))
        with zipfile.ZipFile(jar) as archive:
            for name in sorted(archive.namelist()):
                if SCHEMA_FILE.fullmatch(name):
                    yield topic, json.loads(strip_comments(archive.read(name).decode()))


def parse_message(schema: dict[str, Any], topic: str | None) -> MessageSchema:
    """Return the schema in one JSON file; `topic` is the internal topic of its jar, if any."""
    name = MESSAGE_RENAMES.get(schema["name"], schema["name"])
    structs: dict[str, tuple[FieldSchema, ...]] = {}
    _parse_struct(name, schema["fields"], structs)
    for common in schema.get("commonStructs", []):
        _parse_struct(common["name"], common["fields"], structs)
    message = MessageSchema(
        name,
        schema["type"],
        schema.get("apiKey"),
        topic,
        Versions.parse(schema["validVersions"]),
        Versions.parse(schema["flexibleVersions"]),
        schema.get("latestVersionUnstable", False),
        structs,
    )
    return _with_record_type(message)


def _parse_struct(
    name: str, fields: list[dict[str, Any]], into: dict[str, tuple[FieldSchema, ...]]
) -> None:
    """Add a struct, and the structs defined inside it, to `into`."""
    if name in into:
        raise ValueError(f"two structs are called {name}")
    into[name] = tuple(_parse_field(each) for each in fields)
    for schema, field in zip(fields, into[name], strict=True):
        if "fields" in schema:
            _parse_struct(field.type_name, schema["fields"], into)


def _parse_field(schema: dict[str, Any]) -> FieldSchema:
    """Return one field."""
    tagged = Versions.parse(schema.get("taggedVersions", "none"))
    default = schema.get("default")  # a JSON null says nothing, unlike the string "null"
    return FieldSchema(
        name=schema["name"],
        type_name=schema["type"].removeprefix("[]"),
        is_array=schema["type"].startswith("[]"),
        versions=Versions.parse(schema["versions"]) if "versions" in schema else tagged,
        nullable=Versions.parse(schema.get("nullableVersions", "none")),
        tag=int(schema["tag"]) if "tag" in schema else None,
        tagged=tagged,
        default=None if default is None else str(default),
        is_ignorable=schema.get("ignorable", False),
        entity=schema.get("entityType"),
        is_never_compact=schema.get("flexibleVersions") == "none",
    )


def _with_record_type(message: MessageSchema) -> MessageSchema:
    """Return a coordinator record of 3.x in the way 4.x describes it.

    Before 4.0 the version of a key was its record type and values had no number. A key with two
    versions (OffsetCommitKey) is two keys now; the newer one keeps the name.
    """
    if message.kind != "data":
        return message if message.kind in RECORD_KINDS else message._replace(topic=None)
    if message.topic is None or not message.name.endswith(("Key", "Value")):
        return message._replace(topic=None)
    if message.name.endswith("Value"):
        return message._replace(kind="coordinator-value")
    return message._replace(
        kind="coordinator-key",
        number=message.versions.high,
        versions=Versions(0, 0),
        structs={
            name: tuple(each._replace(versions=Versions(0, 0)) for each in fields)
            for name, fields in message.structs.items()
        },
    )
