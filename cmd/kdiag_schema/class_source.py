"""The Python source of message classes, in the language of `kdiag.wire.schema`.

Example: a nullable string from version 12 on, tagged, in a message of versions 0 to 18 becomes

    cluster_id: Annotated[String | None, since("12+"), tag(0)] = None
"""

import json
import re
from collections.abc import Iterable
from typing import Final

from kdiag.wire.schema import MAX_VERSION, NO_VERSIONS, Versions, snake_to_camel
from kdiag_schema.merge import MergedField, MergedMessage, MergedStruct
from kdiag_schema.release import FieldSchema

WORD_START: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
ALIASES: Final = {
    ("string", "topicName"): "TopicName",
    ("string", "groupId"): "GroupId",
    ("string", "transactionalId"): "TransactionalId",
    ("int32", "brokerId"): "BrokerId",
    ("int64", "producerId"): "ProducerId",
}
ZEROS: Final = {
    "bool": "False",
    "float64": "0.0",
    "uuid": "ZERO_UUID",
    "string": '""',
    "bytes": 'b""',
    "records": 'b""',
}
"""The defaults of primitives without one in the schema; 0 for those not listed."""


def snake_case(name: str) -> str:
    """Return the snake_case form of Kafka's name: `MaxWaitMs` becomes `max_wait_ms`."""
    return WORD_START.sub("_", name).lower()


def range_text(versions: Iterable[int], among: Iterable[int], highest: int) -> str:
    """Return versions as the schema language writes them: `0-2, 5+`.

    Args:
        versions: the versions to write.
        among: the versions there are, so that what a hole between them splits is told.
        highest: the highest version of the message, after which a range stays open.
    """
    wanted = frozenset(versions)
    runs: list[list[int]] = []
    previous = False
    for version in sorted(among):
        if version in wanted:
            if not previous:
                runs.append([version, version])
            runs[-1][1] = version
        previous = version in wanted
    ranges = (Versions(low, MAX_VERSION if high == highest else high) for low, high in runs)
    return ", ".join(str(each) for each in ranges)


def class_sources(message: MergedMessage, taken: dict[str, str]) -> dict[str, str]:
    """Return the source of each class that a message adds to a module, by class name.

    A struct that an earlier message of the module defined alike is shared; one that differs is
    called by the message's kind and its name, such as `ResponseTopic`.

    Args:
        message: the message.
        taken: the classes that the module has already.
    """
    names: dict[str, str] = {}
    bodies: dict[str, str] = {}
    for struct in message.structs[:-1]:
        name = struct.name
        body = _body(struct, names, message.versions.high)
        if name in taken and not _is_same(taken[name], body):
            name = message.kind.rpartition("-")[2].capitalize() + name
        names[struct.name] = name
        if name not in taken:
            bodies[name] = body
    users = _users(message, names)
    sources = {name: _class_source(name, users[name], body) for name, body in bodies.items()}
    body = _body(message.structs[-1], names, message.versions.high)
    sources[message.name] = _declaration(message) + _class_source(
        message.name, _message_sentence(message), body
    )
    return sources


def _is_same(source: str, body: str) -> bool:
    """Return whether a class source has this body, whatever its docstring says."""
    return source.split('"""\n', 1)[1].strip() == body.strip()


def _users(message: MergedMessage, names: dict[str, str]) -> dict[str, str]:
    """Return for each class a sentence that names the field which holds it."""
    sentences: dict[str, str] = {}
    for struct in reversed(message.structs):
        for field in struct.fields:
            schema = field.schema
            if schema.is_struct:
                place = f"`{snake_case(schema.name)}` in {names.get(struct.name, struct.name)}"
                noun = "One element" if schema.is_array else "The value"
                sentences.setdefault(names[schema.type_name], f"{noun} of {place}.")
    return sentences


def _message_sentence(message: MergedMessage) -> str:
    """Return the docstring of a message class."""
    if message.kind in {"request", "response"}:
        return f"The {message.kind} of {message.name.removesuffix(message.kind.capitalize())}."
    if message.kind == "coordinator-key":
        return f"The key of a record of type {message.number}."
    if message.kind == "coordinator-value":
        return f"The value of a record of type {message.number}."
    return f"Kafka's {message.name}."


def _declaration(message: MergedMessage) -> str:
    """Return the decorator that declares a message."""
    facts = [f'versions="{message.versions}"']
    if message.kind in {"request", "response"}:
        facts.insert(0, f"api_key={message.number}")
    if message.flexible != NO_VERSIONS:
        facts.append(f'flexible="{message.flexible}"')
    return f"@message({', '.join(facts)})\n"


def _class_source(name: str, sentence: str, body: str) -> str:
    """Return one class."""
    return f'class {name}(Struct):\n    """{sentence}"""\n\n{body}'


def _body(struct: MergedStruct, names: dict[str, str], highest: int) -> str:
    """Return the fields of a class, one a line."""
    return "".join(f"    {_field_source(each, struct, names, highest)}\n" for each in struct.fields)


def _field_source(
    field: MergedField, struct: MergedStruct, names: dict[str, str], highest: int
) -> str:
    """Return one field: its name, annotation and default."""
    schema = field.schema
    kind = names.get(schema.type_name) or _alias(schema)
    bare = f"list[{kind}]" if schema.is_array else kind
    if field.nullable:
        bare += " | None"
    marks = _marks(field, struct, highest)
    annotation = f"Annotated[{', '.join([bare, *marks])}]" if marks else bare
    return f"{snake_case(schema.name)}: {annotation} = {_default(field, kind)}"


def _alias(schema: FieldSchema) -> str:
    """Return the alias in the schema language of a primitive type."""
    if schema.type_name == "bool":
        return "Boolean"
    entity = schema.entity or ""
    return ALIASES.get((schema.type_name, entity), schema.type_name.capitalize())


def _marks(field: MergedField, struct: MergedStruct, highest: int) -> list[str]:
    """Return the markers that tell where a field differs from its struct."""
    schema = field.schema
    marks = []
    if field.versions != struct.versions:
        marks.append(f'since("{range_text(field.versions, struct.versions, highest)}")')
    if field.nullable and field.nullable != field.versions:
        marks.append(f'nullable("{range_text(field.nullable, field.versions, highest)}")')
    if field.tagged == field.versions:
        marks.append(f"tag({schema.tag})")
    elif field.tagged:
        tagged = range_text(field.tagged, field.versions, highest)
        marks.append(f'tag({schema.tag}, "{tagged}")')
    if field.is_ignorable and field.versions != struct.versions:
        marks.append("ignorable")
    if schema.is_never_compact:
        marks.append("never_compact")
    json_name = schema.name[:1].lower() + schema.name[1:]
    if snake_to_camel(snake_case(schema.name)) != json_name:
        marks.append(f'named("{json_name}")')
    return marks


def _default(field: MergedField, kind: str) -> str:
    """Return the default as Python source."""
    schema = field.schema
    if schema.default == "null" or (schema.type_name == "records" and field.nullable):
        return "None"
    if schema.is_array:
        return "[]"
    if schema.is_struct:
        return f"msgspec.field(default_factory={kind})"
    if schema.default:
        return _literal(schema.type_name, schema.default)
    return ZEROS.get(schema.type_name, "0")


def _literal(type_name: str, text: str) -> str:
    """Return a default of the schema as Python source; numbers may be hexadecimal there."""
    if type_name == "bool":
        return text.capitalize()
    if type_name == "string":
        return json.dumps(text)
    if type_name == "float64":
        return repr(float(text))
    return f"{int(text, 0):_}"
