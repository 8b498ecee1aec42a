"""The Python source of the tables: kdiag/wire/catalog.py and wire/internal/record_types.py."""

from collections.abc import Sequence
from typing import Final

from kdiag_schema.class_source import snake_case
from kdiag_schema.merge import MergedMessage
from kdiag_schema.module_source import api_name, record_module

CATALOG_HEAD: Final = '''"""Every Kafka API: its key, name, versions, headers and classes.

One table, so that a capture can be told apart without a single API module imported: `Api` imports
its module when a class is asked for. Written by `kdiag_schema`.

Source: the message schemas in Kafka's jars; KIP-482 (flexible versions), KIP-511 (the header of
ApiVersions responses).
"""

from functools import cache
from importlib import import_module
from typing import Final, NamedTuple, cast

from kdiag.wire.schema import NO_VERSIONS, Struct, Versions

NEWEST_KAFKA: Final = "{newest}"
"""The newest release whose schemas are here."""

API_VERSIONS_KEY: Final = 18
CONTROLLED_SHUTDOWN_KEY: Final = 7


class Api(NamedTuple):
    """One Kafka API.

    Attributes:
        key: the API key.
        name: Kafka's name, such as `Fetch`.
        module: its module in `kdiag.wire.api`.
        versions: every version that any Kafka release spoke.
        flexible: the versions with compact lengths and tagged fields.
        newest: the versions that NEWEST_KAFKA speaks; None if it has dropped the API.
    """

    key: int
    name: str
    module: str
    versions: Versions
    flexible: Versions
    newest: Versions | None

    def request_class(self) -> type[Struct]:
        """Return the class of the request, importing its module on first use."""
        return _load(self.module, f"{{self.name}}Request")

    def response_class(self) -> type[Struct]:
        """Return the class of the response, importing its module on first use."""
        return _load(self.module, f"{{self.name}}Response")

    def request_header_version(self, version: int) -> int:
        """Return the version of the header before a request; an unknown version is like the last.

        Version 0, without a client id, stands before ControlledShutdown version 0 alone.
        """
        if self.key == CONTROLLED_SHUTDOWN_KEY and version == 0:
            return 0
        return 2 if self.flexible.covers(version) else 1

    def response_header_version(self, version: int) -> int:
        """Return the version of the header before a response; an unknown version is like the last.

        Before ApiVersions it is 0 in every version: the client must be able to read the answer of
        a broker that does not know the version it asked in (KIP-511).
        """
        return 1 if self.key != API_VERSIONS_KEY and self.flexible.covers(version) else 0


@cache
def _load(module: str, name: str) -> type[Struct]:
    """Return a class of an API module."""
    return cast("type[Struct]", getattr(import_module(f"kdiag.wire.api.{{module}}"), name))


def _api(key: int, name: str, module: str, *versions: str) -> Api:
    """Return an API for its versions, flexible and newest versions in Kafka's notation."""
    every, flexible, newest = (Versions.parse(text) for text in versions)
    return Api(key, name, module, every, flexible, newest if newest != NO_VERSIONS else None)


'''
CATALOG_TAIL: Final = '''
API_BY_KEY: Final = {api.key: api for api in APIS}
"""The API of each key."""

_API_BY_NAME: Final = {api.name.lower(): api for api in APIS}


def api_named(name: str) -> Api | None:
    """Return the API of that name, in upper or lower case, or None."""
    return _API_BY_NAME.get(name.lower())
'''
RECORD_TYPES_HEAD: Final = '''"""Which class reads which record of Kafka's internal topics and logs.

Tables of names, so that nothing is imported before `message_class` asks for it. Written by
`kdiag_schema`.

A record of a coordinator's topic has a key that starts with an int16, the record type, and a value
that starts with an int16, the version of the value; the key itself is always version 0. (Before 4.0
Kafka called the record type the key's version; the bytes are the same.) A metadata record is a
value that starts with three unsigned varints: frame version 1, record type, version. The key of
a control record is an int16 version and the type (ControlRecordTypeSchema); before the value of
EndTxnMarker stands its version, an int16, while those of KRaft begin with theirs as first field.

Source: Kafka's CoordinatorRecordType, MetadataRecordType and ControlRecordType.
"""

from functools import cache
from importlib import import_module
from typing import Final, NamedTuple, cast

from kdiag.wire.schema import Struct


class CoordinatorRecord(NamedTuple):
    """The names of the key and the value of a coordinator's record type."""

    key: str
    value: str


'''
RECORD_TYPES_TAIL: Final = '''

@cache
def message_class(name: str) -> type[Struct]:
    """Return the class of an internal message, importing its module on first use.

    Args:
        name: the name of Kafka's schema, such as `OffsetCommitKey`.

    Raises:
        KeyError: if there is no such message.
    """
    module = import_module(f"kdiag.wire.internal.{MODULE_BY_NAME[name]}")
    return cast("type[Struct]", getattr(module, name))
'''
CONTROL_RECORDS: Final = {
    0: "EndTxnMarker",
    1: "EndTxnMarker",
    2: "LeaderChangeMessage",
    3: "SnapshotHeaderRecord",
    4: "SnapshotFooterRecord",
    5: "KRaftVersionRecord",
    6: "VotersRecord",
}
"""Kafka's ControlRecordType, which no schema file holds."""


def catalog_source(requests: Sequence[MergedMessage], newest: str) -> str:
    """Return the source of kdiag/wire/catalog.py."""
    rows = "".join(f"    {_api_row(each)},\n" for each in requests)
    table = f"APIS: Final = (\n{rows})\n" + '"""Every API, by ascending key."""\n'
    return CATALOG_HEAD.format(newest=newest) + table + CATALOG_TAIL


def _api_row(request: MergedMessage) -> str:
    """Return the line of one API."""
    name = api_name(request)
    ranges = (request.versions, request.flexible, request.newest or "none")
    versions = ", ".join(f'"{each}"' for each in ranges)
    return f'_api({request.number}, "{name}", "{snake_case(name)}", {versions})'


def record_types_source(messages: Sequence[MergedMessage]) -> str:
    """Return the source of kdiag/wire/internal/record_types.py."""
    by_number = sorted(messages, key=lambda each: (each.number or 0, each.name))
    modules = {each.name: record_module(each) for each in sorted(messages)}
    tables = (
        f"COORDINATOR_RECORDS: Final = {{\n{_coordinator_rows(by_number)}}}\n",
        '"""For each coordinator\'s topic, the names of key and value by record type."""\n\n',
        f"METADATA_RECORDS: Final = {{\n{_metadata_rows(by_number)}}}\n",
        '"""For each topic of metadata records, the name of the record by record type."""\n\n',
        f"CONTROL_RECORDS: Final = {CONTROL_RECORDS!r}\n",
        '"""The name of a control record\'s value by its type: 0 is abort, 1 commit."""\n\n',
        f"MODULE_BY_NAME: Final = {modules!r}\n",
        '"""The module in `kdiag.wire.internal` of each message."""\n',
    )
    return "".join((RECORD_TYPES_HEAD, *tables, RECORD_TYPES_TAIL))


def _coordinator_rows(messages: Sequence[MergedMessage]) -> str:
    """Return the entries of COORDINATOR_RECORDS."""
    topics: dict[str, str] = {}
    for key in messages:
        if key.kind == "coordinator-key":
            value = key.name.removesuffix("Key") + "Value"
            row = f'        {key.number}: CoordinatorRecord("{key.name}", "{value}"),\n'
            topics[key.topic or ""] = topics.get(key.topic or "", "") + row
    return "".join(f'    "{topic}": {{\n{rows}    }},\n' for topic, rows in sorted(topics.items()))


def _metadata_rows(messages: Sequence[MergedMessage]) -> str:
    """Return the entries of METADATA_RECORDS."""
    topics: dict[str, str] = {}
    for record in messages:
        if record.kind == "metadata":
            row = f'        {record.number}: "{record.name}",\n'
            topics[record.topic or ""] = topics.get(record.topic or "", "") + row
    return "".join(f'    "{topic}": {{\n{rows}    }},\n' for topic, rows in sorted(topics.items()))
