"""The tables that people keep by hand and that a new Kafka lengthens: what each of them lacks.

Most can be compared with what Kafka says of itself. Some need a judgement for each new API, such as
whether its requests change anything; those are read anew for each release, and `looked_at` says up
to which that has been done: raise it when the new APIs have been judged.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from folders import ROOT
from kdiag.client.config import keys
from kdiag.diagnosis import broker_versions
from kdiag.diagnosis.check import acls
from kdiag.diagnosis.error_codes import catalog as error_advice
from kdiag.exchange.context import topic_names
from kdiag.exchange.documents import body
from kdiag.exchange.line import administration, groups, records
from kdiag.exchange.mentions import mentions_of
from kdiag.exchange.secrets import harmless_configs, redaction
from kdiag.pcap.kafka import frame_heuristics
from kdiag.report.sql_report import load_report
from kdiag.wire import api_keys
from kdiag.wire.catalog import APIS, NEWEST_KAFKA, Api
from kdiag.wire.client_release import client_release
from kdiag.wire.coordinator_partition import CoordinatorKind
from kdiag.wire.error_code import ERROR_BY_CODE
from kdiag.wire.record_catalog import CONTROL_RECORDS, MODULE_BY_NAME, message_class
from kdiag.wire.records.compression import CODECS
from kdiag.wire.records.record import ControlType
from kdiag.wire.schema import Entity, Field, Kind, Struct, fields_of
from kdiag_schema.api_purpose import API_PURPOSE
from kdiag_schema.record_purpose import RECORD_PURPOSE
from real_kafka.oracle_tables import names, spoken_pairs
from real_kafka.releases import NEWEST, VERSIONS

Names = Mapping[str, list[dict[str, Any]]]


class Kafka(NamedTuple):
    """What a release of Kafka is made of, as far as tables follow it.

    Attributes:
        version: the release.
        apis: its APIs, and those of the releases before it.
        message: gives the class of an API's request (0) or response (1).
        record_modules: the modules of its internal messages.
        record_classes: their classes by name.
        names: its enumerations and settings.
    """

    version: str
    apis: tuple[Api, ...]
    message: Callable[[Api, int], type[Struct]]
    record_modules: frozenset[str]
    record_classes: Mapping[str, type[Struct]]
    names: Names

    def numbers(self, enumeration: str) -> dict[int, str]:
        """Return the constants of an enumeration by number, without Kafka's UNKNOWN."""
        constants = self.names[enumeration]
        return {each["number"]: each["name"] for each in constants if each["name"] != "UNKNOWN"}

    def pairs_since(self, release: str) -> list[tuple[Api, int]]:
        """Return the versions of APIs that a release, and those before it, did not speak."""
        known = spoken_pairs(*VERSIONS[: VERSIONS.index(release) + 1])
        return [
            (api, version)
            for api in self.apis
            for version in range(api.versions.low, api.versions.high + 1)
            if (api.key, version) not in known
        ]

    def apis_since(self, release: str) -> list[str]:
        """Return the names of the APIs that a release, and those before it, did not have."""
        known = {key for key, _ in spoken_pairs(*VERSIONS[: VERSIONS.index(release) + 1])}
        return [api.name for api in self.apis if api.key not in known]

    def messages(self) -> Iterator[tuple[Api, bool, type[Struct]]]:
        """Yield every request (False) and response (True) of the APIs."""
        for api in self.apis:
            for is_response in (False, True):
                yield api, is_response, self.message(api, is_response)


def newest_kafka() -> Kafka:
    """Return the newest release that tests run against."""
    return Kafka(
        NEWEST,
        APIS,
        lambda api, is_response: api.response_class() if is_response else api.request_class(),
        frozenset(MODULE_BY_NAME.values()),
        {name: message_class(name) for name in MODULE_BY_NAME},
        names(NEWEST),
    )


class HandKept(NamedTuple):
    """One table.

    Attributes:
        place: where it is.
        lacks: returns what it lacks to serve a release, a few words each.
    """

    place: str
    lacks: Callable[[Kafka], Iterable[str]]


def lacking(kafka: Kafka) -> dict[str, list[str]]:
    """Return what each table lacks to serve a release, by its place; complete ones left out."""
    found = {table.place: sorted(set(table.lacks(kafka))) for table in HAND_KEPT}
    return {place: lacks for place, lacks in found.items() if lacks}


def as_text(found: Mapping[str, list[str]]) -> str:
    """Return what tables lack as the message of a failed test."""
    blocks = [f"{place}\n    " + "\n    ".join(lacks) for place, lacks in found.items()]
    return "\n".join(["Tables that have to follow the new Kafka:", *blocks])


def _of_enumeration(enumeration: str, table: Iterable[int]) -> Callable[[Kafka], Iterable[str]]:
    """Return the check that a table has every number of an enumeration."""
    known = set(table)

    def lacks(kafka: Kafka) -> Iterable[str]:
        numbers = kafka.numbers(enumeration)
        return [f"{enumeration} {number} {numbers[number]}" for number in numbers.keys() - known]

    return lacks


def _looked_at(release: str, question: str) -> Callable[[Kafka], Iterable[str]]:
    """Return the check that somebody has judged the APIs that came after a release."""
    return lambda kafka: [f"{name}: {question}" for name in kafka.apis_since(release)]


def _generated(kafka: Kafka) -> Iterable[str]:
    if kafka.version != NEWEST_KAFKA:
        releases = " ".join(f"--kafka {each}" for each in VERSIONS)
        yield f"made from {NEWEST_KAFKA}; run python -m kdiag_schema {releases} --clients"


def _clients(kafka: Kafka) -> Iterable[str]:
    if client_release(kafka.version) is None:
        yield f"{kafka.version}: add it to CLIENTS, and run python -m kdiag_schema ... --clients"


def _harmless_configs(kafka: Kafka) -> Iterable[str]:
    if kafka.version not in (harmless_configs.__doc__ or ""):
        yield f"{kafka.version}: run python -m kdiag_schema ... --clients"


def _oracle(kafka: Kafka) -> Iterable[str]:
    for api, version in kafka.pairs_since(NEWEST):
        yield f"{api.name} v{version}: no bytes that Kafka wrote"


def _texts(kafka: Kafka) -> Iterable[str]:
    if f"shipped up to {kafka.version}" not in (ROOT / "README.md").read_text():
        yield f"README.md: `every version that Kafka shipped up to {kafka.version}`"
    command = " ".join(f"--kafka {each}" for each in VERSIONS) + " --clients"
    for path in (".github/CONTRIBUTING.md", "cmd/kdiag_schema/__main__.py"):
        if command not in (ROOT / path).read_text():
            yield f"{path}: `kdiag_schema {command}`"


def _purposes(kafka: Kafka) -> Iterable[str]:
    return [f"{api.key} {api.name}" for api in kafka.apis if api.key not in API_PURPOSE]


def _record_purposes(kafka: Kafka) -> Iterable[str]:
    return kafka.record_modules - RECORD_PURPOSE.keys()


def _kips(kafka: Kafka) -> Iterable[str]:
    for api, version in kafka.pairs_since("4.4.0"):
        yield f"{api.name} v{version}: which proposal brought it?"


def _errors(kafka: Kafka) -> Iterable[str]:
    ours = {(e.code, e.name, e.is_retriable) for e in ERROR_BY_CODE.values()}
    theirs = {(e["number"], e["name"], e["retriable"]) for e in kafka.names["Errors"]}
    return [f"{code} {name}, retriable: {retriable}" for code, name, retriable in theirs - ours]


def _advice(kafka: Kafka) -> Iterable[str]:
    return {each["name"] for each in kafka.names["Errors"]} - error_advice.ADVICE.keys()


def _exceptions(kafka: Kafka) -> Iterable[str]:
    for each in kafka.names["Errors"]:
        if error_advice._java_exception(each["name"]) != each["exception"]:
            yield f"{each['name']} is thrown as {each['exception']}"


def _control_records(kafka: Kafka) -> Iterable[str]:
    known = CONTROL_RECORDS.keys() & set(ControlType)
    numbers = kafka.numbers("ControlRecordType")
    return [f"{number} {numbers[number]}" for number in numbers.keys() - known]


def _metadata_levels(kafka: Kafka) -> Iterable[str]:
    for level, name in kafka.numbers("MetadataVersion").items():
        release = name.removeprefix("IBP_").replace("_", ".", 1).replace("_", "-")
        if broker_versions._release(broker_versions.METADATA_VERSION, level) != release:
            yield f"level {level} is {release}"


def _settings(kafka: Kafka) -> Iterable[str]:
    known = {*keys.USED, *keys.TRANSLATIONS, *keys.UNSUPPORTED}
    for each in kafka.names["setting"]:
        if each["name"] not in known and not keys.is_accepted(each["name"]):
            yield each["name"]


def _naming(kafka: Kafka) -> Iterable[str]:
    """Yield the messages that tell topic ids with names; Metadata asks for them."""
    for api, is_response, cls in kafka.messages():
        known = topic_names.NAMING_RESPONSES if is_response else topic_names.NAMING_REQUESTS
        versions = range(api.versions.low, api.versions.high + 1)
        tells = any(mentions_of(cls, version).pairs is not None for version in versions)
        is_question = api.key == api_keys.METADATA and not is_response
        if tells != (api.key in known) and not is_question:
            yield cls.__name__


HARMLESS: Final = frozenset(
    {
        (api_keys.ENVELOPE, "requestPrincipal"),
        (api_keys.ENVELOPE, "clientHostAddress"),
        (api_keys.PUSH_TELEMETRY, "metrics"),
    }
)
"""Bytes in messages that are neither secret nor a message themselves."""

HARMLESS_IN_RECORDS: Final = frozenset(
    {
        "customMetadata",
        "userData",
        "members.subscription",
        "members.assignment",
        "classicMemberMetadata.supportedProtocols.metadata",
    }
)


def _bytes_in_messages(kafka: Kafka) -> Iterable[str]:
    for api, is_response, cls in kafka.messages():
        kind = api.key, is_response
        is_opened = kind in body._NESTED or api.key == api_keys.ENVELOPE
        for path, field in _paths(cls):
            is_known = path in redaction.SECRETS.get(kind, ()) or (api.key, path) in HARMLESS
            if field.kind is Kind.BYTES and not (is_known or is_opened):
                yield f"{cls.__name__}.{path}: secret, a message, or harmless?"
            if path.endswith("configs") and redaction.CONFIGS.get(kind) != path:
                has_values = field.is_array and "value" in _names_in(field)
                if has_values:
                    yield f"{cls.__name__}.{path}: its values may be secret"


def _bytes_in_records(kafka: Kafka) -> Iterable[str]:
    for name, cls in kafka.record_classes.items():
        for path, field in _paths(cls):
            is_known = path in redaction.RECORD_SECRETS.get(name, HARMLESS_IN_RECORDS)
            if field.kind is Kind.BYTES and not is_known:
                yield f"{name}.{path}: secret or harmless?"


def _batches(kafka: Kafka) -> Iterable[str]:
    for api, is_response, cls in kafka.messages():
        kind = api.key, is_response
        for path, field in _paths(cls):
            is_known = kind in body._RECORDS or path in redaction.SECRETS.get(kind, ())
            if field.kind is Kind.RECORDS and not is_known:
                yield f"{cls.__name__}.{path}"


def _without_topic_names(kafka: Kafka) -> Iterable[str]:
    for api, version in kafka.pairs_since("4.4.0"):
        cls = kafka.message(api, 0)
        if version and _has_topic_names(cls, version - 1) and not _has_topic_names(cls, version):
            yield f"{api.name} v{version} has no topic names: does the client send it?"


def _has_topic_names(cls: type[Struct], version: int) -> bool:
    return any(
        field.entity is Entity.TOPIC_NAME and field.is_in(version) for _, field in _paths(cls)
    )


def _minima(kafka: Kafka) -> Iterable[str]:
    rows = re.findall(r"\('(\w+)', (\d+), (\d+), \d+\)", load_report("compat").sql)
    listed = {(name, int(key), int(least)) for name, key, least in rows}
    for api in kafka.apis:
        least = 32767 if api.newest is None else api.newest.low
        if least > 0 and (api.name, api.key, least) not in listed:
            yield f"{api.name}: {'gone' if api.newest is None else f'v{least} is the oldest'}"


def _heuristics(kafka: Kafka) -> Iterable[str]:
    for api in kafka.apis:
        if api.key > frame_heuristics._LARGEST_KEY:
            yield f"_LARGEST_KEY: {api.key} {api.name}"
        if api.versions.high > frame_heuristics._LARGEST_VERSION:
            yield f"_LARGEST_VERSION: {api.name} v{api.versions.high}"


def _paths(cls: type[Struct], prefix: str = "") -> Iterator[tuple[str, Field]]:
    """Yield each field of a class and of its structs, with its path in Kafka's JSON."""
    for field in fields_of(cls):
        yield prefix + field.json_name, field
        if not isinstance(field.kind, Kind):
            yield from _paths(field.kind, f"{prefix}{field.json_name}.")


def _names_in(field: Field) -> set[str]:
    """Return the names of the fields of a field's struct."""
    return set() if isinstance(field.kind, Kind) else {e.json_name for e in fields_of(field.kind)}


def is_file(place: str) -> bool:
    """Return whether a place begins with the path of a file or folder of the repository."""
    return (ROOT / Path(place.partition(":")[0])).exists()


HAND_KEPT: Final = (
    HandKept("kdiag/wire/api/table.py", _generated),
    HandKept("cmd/kdiag_schema/client_table.py: CLIENTS", _clients),
    HandKept("kdiag/exchange/secrets/harmless_configs.py", _harmless_configs),
    HandKept("tests/data/oracle: README.md says how", _oracle),
    HandKept("README.md", _texts),
    HandKept("captures: record_captures.py records them", _looked_at("4.4.0", "in no capture")),
    HandKept("cmd/kdiag_schema/api_purpose.py", _purposes),
    HandKept("cmd/kdiag_schema/api_kips.py", _kips),
    HandKept("cmd/kdiag_schema/record_purpose.py", _record_purposes),
    HandKept("kdiag/wire/error_code.py", _errors),
    HandKept("kdiag/wire/side_effects.py: READ_ONLY", _looked_at("4.4.0", "does it only read?")),
    HandKept("kdiag/wire/record_catalog.py: CONTROL_RECORDS, and ControlType", _control_records),
    HandKept(
        "kdiag/wire/records/compression.py: CODECS",
        _of_enumeration("CompressionType", range(len(CODECS))),
    ),
    HandKept(
        "kdiag/wire/coordinator_partition.py: CoordinatorKind",
        _of_enumeration("CoordinatorType", (each.key_type for each in CoordinatorKind)),
    ),
    HandKept("kdiag/exchange/line", _looked_at("4.4.0", "which of its fields matter?")),
    HandKept(
        "kdiag/exchange/line/administration.py: _RESOURCES",
        _of_enumeration("ConfigResource.Type", administration._RESOURCES),
    ),
    HandKept(
        "kdiag/exchange/line/administration.py: _ACL_RESOURCES",
        _of_enumeration("ResourceType", administration._ACL_RESOURCES),
    ),
    HandKept(
        "kdiag/exchange/line/administration.py: _OPERATIONS",
        _of_enumeration("AclOperation", administration._OPERATIONS),
    ),
    HandKept(
        "kdiag/exchange/line/administration.py: _PERMISSIONS",
        _of_enumeration("AclPermissionType", administration._PERMISSIONS),
    ),
    HandKept(
        "kdiag/exchange/line/administration.py: _ELECTIONS",
        _of_enumeration("ElectionType", administration._ELECTIONS),
    ),
    HandKept(
        "kdiag/exchange/line/groups.py: _KEY_TYPES",
        _of_enumeration("CoordinatorType", groups._KEY_TYPES),
    ),
    HandKept(
        "kdiag/exchange/line/records.py: _TIMES",
        _of_enumeration("ListOffsets timestamp", records._TIMES),
    ),
    HandKept(
        "kdiag/exchange/line/records.py: _ACKNOWLEDGEMENTS",
        _of_enumeration("AcknowledgeType", records._ACKNOWLEDGEMENTS),
    ),
    HandKept("kdiag/exchange/context/topic_names.py: NAMING_REQUESTS, NAMING_RESPONSES", _naming),
    HandKept("kdiag/exchange/secrets/redaction.py: SECRETS, CONFIGS", _bytes_in_messages),
    HandKept("kdiag/exchange/secrets/redaction.py: RECORD_SECRETS", _bytes_in_records),
    HandKept(
        "kdiag/exchange/documents/body.py: _RECORDS; report/tables/batches.py reads them", _batches
    ),
    HandKept("kdiag/diagnosis/error_codes: ADVICE", _advice),
    HandKept("kdiag/diagnosis/error_codes/catalog.py: _IRREGULAR_EXCEPTIONS", _exceptions),
    HandKept("kdiag/diagnosis/broker_versions.py: _FIRST_LEVELS", _metadata_levels),
    HandKept(
        "kdiag/diagnosis/check/acls.py: _NAMES",
        _of_enumeration("AclOperation", {1, 2, *acls._NAMES}),  # ANY and ALL are for filters
    ),
    HandKept("kdiag/client/config/keys.py", _settings),
    HandKept("kdiag/client/fetch/session.py: _NEWEST_BY_NAME", _without_topic_names),
    HandKept("kdiag/report/sql/clients/compat.sql", _minima),
    HandKept("kdiag/pcap/kafka/frame_heuristics.py", _heuristics),
)
