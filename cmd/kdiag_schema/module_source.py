"""The Python source of whole modules: one for each API, one for each internal record."""

import re
import textwrap
from collections.abc import Sequence
from typing import Final

from kdiag.wire.schema import NO_VERSIONS
from kdiag_schema.api_kips import API_KIPS
from kdiag_schema.api_purpose import API_PURPOSE
from kdiag_schema.class_source import class_sources, snake_case
from kdiag_schema.merge import MergedMessage
from kdiag_schema.record_purpose import RECORD_PURPOSE

HEADER_PURPOSE: Final = {
    "request_header": "The header of every request: API, version, correlation id, client id.",
    "response_header": "The header of every response: the correlation id of its request.",
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


def api_module(request: MergedMessage, response: MergedMessage) -> str:
    """Return the module of an API.

    Args:
        request: its request.
        response: its response.

    Raises:
        ValueError: if request and response have not the same versions.
    """
    if (request.versions, request.flexible) != (response.versions, response.flexible):
        raise ValueError(f"{request.name} and {response.name} have different versions")
    key = request.number
    assert key is not None
    facts = [_facts(f"API key {key}, ", request)]
    if key in API_KIPS:
        facts.append(f"Source: {API_KIPS[key]}.")
    return _module(API_PURPOSE[key], facts, (request, response))


def lacking_purposes(
    requests: Sequence[MergedMessage], internal: Sequence[MergedMessage]
) -> list[str]:
    """Return the APIs and internal messages that have no sentence yet."""
    apis = [
        f"api_purpose.py: {each.number} {api_name(each)}"
        for each in requests
        if each.number not in API_PURPOSE
    ]
    modules = {record_module(each) for each in internal} - RECORD_PURPOSE.keys()
    return apis + [f"record_purpose.py: {each}" for each in sorted(modules)]


def header_module(header: MergedMessage) -> str:
    """Return the module of a header."""
    purpose = HEADER_PURPOSE[snake_case(header.name)]
    return _module(purpose, [_facts("", header)], (header,))


def internal_module(messages: Sequence[MergedMessage]) -> str:
    """Return the module of an internal record: a key and its value, or a single message."""
    module = record_module(messages[0])
    number = messages[0].number
    place = f"Record type {number} of `{messages[0].topic}`, " if messages[0].topic else ""
    return _module(RECORD_PURPOSE[module], [_facts(place, messages[-1])], messages)


def _facts(place: str, message: MergedMessage) -> str:
    """Return which versions there are and which of them the newest release has dropped."""
    versions, low = message.versions, message.flexible.low
    text = f"{place}{'version' if versions.low == versions.high else 'versions'} {versions}, "
    text += f"flexible from {low}." if message.flexible != NO_VERSIONS else "never flexible."
    if message.newest is None:
        return f"{text} Today's Kafka has dropped it."
    if message.newest != versions:
        text += f" Today's Kafka speaks {message.newest} only."
    if message.is_unstable:
        text += f" Version {versions.high} is not stable yet."
    return text


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
