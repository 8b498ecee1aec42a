"""The Python source of whole modules: one for each API, one for each internal record."""

import re
import textwrap
from collections.abc import Sequence
from typing import Final

from kdiag_schema.api_kips import API_KIPS
from kdiag_schema.api_purpose import API_PURPOSE
from kdiag_schema.class_source import class_sources, snake_case
from kdiag_schema.merge import MergedMessage
from kdiag_schema.record_purpose import RECORD_PURPOSE

HEADER_PURPOSE: Final = {
    "request_header": "What stands before every request: API, version, correlation id, client id.",
    "response_header": "What stands before every response: the correlation id of its request.",
}
LANGUAGE: Final = re.compile(
    r"\b(Annotated|Boolean|Int8|Int16|Uint16|Int32|Uint32|Int64|Float64|Uuid|String|Bytes|Records"
    r"|TopicName|GroupId|TransactionalId|BrokerId|ProducerId|Struct|ZERO_UUID"
    r"|message|since|nullable|tag|ignorable|never_compact|named)\b"
)
"""The words of `kdiag.wire.schema` that a module may need to import."""
DOCSTRING: Final = re.compile(r'""".*?"""', re.DOTALL)


def api_name(message: MergedMessage) -> str:
    """Return the API that a request or response belongs to."""
    return message.name.removesuffix("Request").removesuffix("Response")


def record_module(message: MergedMessage) -> str:
    """Return the module of an internal record; a key and its value share one."""
    name = message.name
    if message.kind.startswith("coordinator-"):
        name = name.removesuffix("Key").removesuffix("Value")
    return snake_case(name)


def api_module(request: MergedMessage, response: MergedMessage, newest: str) -> str:
    """Return the module of an API.

    Args:
        request: its request.
        response: its response.
        newest: the newest Kafka release, to say what it still speaks.

    Raises:
        ValueError: if request and response have not the same versions.
    """
    if (request.versions, request.flexible) != (response.versions, response.flexible):
        raise ValueError(f"{request.name} and {response.name} have different versions")
    key = request.number
    assert key is not None
    if key not in API_PURPOSE:
        raise ValueError(f"api_purpose.py has no sentence for API key {key}, {request.name}")
    facts = [_facts(f"API key {key}, ", request, newest)]
    if key in API_KIPS:
        facts.append(f"Source: {API_KIPS[key]}.")
    return _module(API_PURPOSE[key], facts, (request, response))


def header_module(header: MergedMessage, newest: str) -> str:
    """Return the module of a header."""
    purpose = HEADER_PURPOSE[snake_case(header.name)]
    return _module(purpose, [_facts("", header, newest)], (header,))


def internal_module(messages: Sequence[MergedMessage], newest: str) -> str:
    """Return the module of an internal record: a key and its value, or a single message."""
    module = record_module(messages[0])
    if module not in RECORD_PURPOSE:
        raise ValueError(f"record_purpose.py has no sentence for {module}")
    number = messages[0].number
    place = f"Record type {number} of `{messages[0].topic}`, " if messages[0].topic else ""
    return _module(RECORD_PURPOSE[module], [_facts(place, messages[-1], newest)], messages)


def _facts(place: str, message: MergedMessage, newest: str) -> str:
    """Return which versions there are and which of them the newest release speaks."""
    versions = message.versions
    text = f"{place}{_plural(str(versions))}, "
    flexible = message.flexible
    text += "never flexible" if flexible.low > flexible.high else f"flexible from {flexible.low}"
    if message.newest is None:
        return f"{text}. Kafka {newest} no longer has it."
    return f"{text}. Kafka {newest} has {message.newest}."


def _plural(versions: str) -> str:
    """Return `version 0` or `versions 0-3`."""
    return f"versions {versions}" if "-" in versions else f"version {versions}"


def _module(purpose: str, facts: Sequence[str], messages: Sequence[MergedMessage]) -> str:
    """Return the source of a module."""
    classes: dict[str, str] = {}
    for message in messages:
        classes |= class_sources(message, classes)
    body = "\n\n".join(classes.values())
    words = DOCSTRING.sub("", body)
    uses = sorted(set(LANGUAGE.findall(words)) - {"Annotated"})
    imports = f"from kdiag.wire.schema import {', '.join(uses)}\n"
    if "msgspec." in words:
        imports = f"import msgspec\n\n{imports}"
    if "Annotated" in words:
        imports = f"from typing import Annotated\n\n{imports}"
    paragraphs = "\n\n".join(
        textwrap.fill(each[0].upper() + each[1:], 100, break_on_hyphens=False) for each in facts
    )
    return f'"""{purpose}\n\n{paragraphs}\n"""\n\n{imports}\n\n{body}'
