"""Redaction: the secrets in Kafka's protocol, and their replacement in everything that is printed.

SASL tokens hold passwords (PLAIN) or bearer tokens, a delegation token's HMAC *is* the token,
salted passwords open SCRAM to whoever has them, and configurations hold the passwords of key
stores. A snapshot of the metadata log holds all of these.

Of configurations only those are shown that are known to hold no secret: plugins such as tiered
storage bring settings that no list of secrets knows.

Source: Kafka's own `RequestConvertToJson` and `KafkaConfig.maybeSensitive`.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Any, Final

from kdiag.exchange.secrets.harmless_configs import HARMLESS_CONFIGS
from kdiag.wire import api_keys
from kdiag.wire.codec.explain import Span

REDACTED: Final = "<redacted>"

_INDEX: Final = re.compile(r"\[\d+\]")
_UNKNOWN_FIELDS: Final = "_unknownTaggedFields"
_UNKNOWN_FIELD: Final = re.compile(r"(?:.+\.)?_tags\[\d+\]")
"""What the byte view calls one of these."""

SECRETS: Final[dict[tuple[int, bool], frozenset[str]]] = {
    (api_keys.SASL_AUTHENTICATE, False): frozenset({"authBytes"}),
    (api_keys.SASL_AUTHENTICATE, True): frozenset({"authBytes"}),
    (api_keys.CREATE_DELEGATION_TOKEN, True): frozenset({"hmac"}),
    (api_keys.RENEW_DELEGATION_TOKEN, False): frozenset({"hmac"}),
    (api_keys.EXPIRE_DELEGATION_TOKEN, False): frozenset({"hmac"}),
    (api_keys.DESCRIBE_DELEGATION_TOKEN, True): frozenset({"tokens.hmac"}),
    (api_keys.ALTER_USER_SCRAM_CREDENTIALS, False): frozenset(
        {"upsertions.salt", "upsertions.saltedPassword"}
    ),
    (api_keys.FETCH_SNAPSHOT, True): frozenset({"topics.partitions.unalignedRecords"}),
}
"""The secret fields by (API key, whether it is the response), as paths without indexes."""

CONFIGS: Final[dict[tuple[int, bool], str]] = {
    (api_keys.CREATE_TOPICS, False): "topics.configs",
    (api_keys.CREATE_TOPICS, True): "topics.configs",
    (api_keys.DESCRIBE_CONFIGS, True): "results.configs",
    (api_keys.ALTER_CONFIGS, False): "resources.configs",
    (api_keys.INCREMENTAL_ALTER_CONFIGS, False): "resources.configs",
}
"""The arrays of configuration entries, each with a `name` and a `value`."""

RECORD_SECRETS: Final[dict[str, frozenset[str]]] = {
    "UserScramCredentialRecord": frozenset({"salt", "storedKey", "serverKey"}),
}
"""The secret fields of metadata records, by type."""

_MOST_FIRST_BYTES: Final = 8
_LENGTH_START: Final = bytes(2)
_LENGTH_BYTES: Final = 4
_TEXT: Final = re.compile(rb"[\x20-\x7e]")

_OF_LISTENER: Final = re.compile(
    r"listener\.name\.[^.]*\."
    r"(?:[^.]+\.(?=(?:sasl\.(?:jaas\.config|login\.class|(?:login|server)\.callback\.handler\.class)"
    r"|connections\.max\.reauth\.ms)$))?"
)
"""The prefix of a listener and, before settings that may differ by it, of a mechanism.

Source: Kafka's `DynamicBrokerConfig`: `ListenerConfigRegex`, `ListenerMechanismConfigs`.
"""

_BROKER_LOGGER: Final = 8
_LOG_LEVELS: Final = frozenset({"TRACE", "DEBUG", "INFO", "WARN", "ERROR", "FATAL", "OFF", "ALL"})
"""What loggers are set to, whose names are those of classes."""


def first_bytes(data: bytes) -> bytes:
    """Return the start of bytes of which nothing is known: up to the first character of text.

    That may be one of a password. The length of a frame of less than 64 KiB is no text.
    """
    text = _TEXT.search(data, _LENGTH_BYTES if data.startswith(_LENGTH_START) else 0)
    return data[: min(_MOST_FIRST_BYTES, len(data) if text is None else text.start())]


def is_secret_config(name: object) -> bool:
    """Return whether the value of a configuration may be a secret: all that are not known may."""
    if not isinstance(name, str):
        return True
    return name not in HARMLESS_CONFIGS and _OF_LISTENER.sub("", name, 1) not in HARMLESS_CONFIGS


def redact_body(api_key: int, body: dict[str, Any], *, is_response: bool) -> None:
    """Replace the secrets in a body, in the form of `codec.json_form`, which may be cut."""
    kind = api_key, is_response
    for path in SECRETS.get(kind, ()):
        *parents, last = path.split(".")
        for holder in _at(body, parents):
            if holder.get(last) is not None:
                holder[last] = REDACTED
    if kind in CONFIGS:
        resources, _, entries = CONFIGS[kind].partition(".")
        for resource in _at(body, [resources]):
            for config in _at(resource, [entries]):
                _redact_config(config, is_logger=resource.get("resourceType") == _BROKER_LOGGER)
    if kind in SECRETS or kind in CONFIGS:
        _redact_unknown_fields(body)


def _redact_unknown_fields(value: Any) -> None:
    """Replace the tagged fields that Kafka does not know: they may hold what the known ones do."""
    if isinstance(value, list):
        for each in value:
            _redact_unknown_fields(each)
    elif isinstance(value, dict):
        for name, each in value.items():
            if name == _UNKNOWN_FIELDS:
                for field in each:
                    field["data"] = REDACTED
            else:
                _redact_unknown_fields(each)


def redact_record(record_type: str, value: dict[str, Any]) -> None:
    """Replace the secrets in the value of a metadata record."""
    for name in RECORD_SECRETS.get(record_type, ()):
        value[name] = REDACTED
    if record_type == "ConfigRecord" and is_secret_config(value.get("name")):
        value["value"] = REDACTED


def redact_spans(api_key: int, spans: Iterable[Span], *, is_response: bool) -> list[Span]:
    """Return the spans of a body with the values of secrets replaced; their lengths stay."""
    kind = api_key, is_response
    spans = list(spans)
    fields, entries = SECRETS.get(kind, frozenset()), _secret_entries(spans, CONFIGS.get(kind))
    return [
        Span(span.path, span.offset, span.length, REDACTED)
        if isinstance(span.value, bytes | str)
        and (
            _INDEX.sub("", span.path) in fields
            or _is_value_of(span.path, entries)
            or is_unknown_field(span)
        )
        else span
        for span in spans
    ]


def is_unknown_field(span: Span) -> bool:
    """Return whether a span is the data of a tagged field that Kafka does not know."""
    return isinstance(span.value, bytes) and _UNKNOWN_FIELD.fullmatch(span.path) is not None


def _secret_entries(spans: Iterable[Span], configs: str | None) -> set[str]:
    """Return the paths of the secret configuration entries and synonyms.

    The flag `isSensitive` may come after the value.
    """
    if configs is None:
        return set()
    names = {f"{configs}.name", f"{configs}.synonyms.name"}
    values = {span.path: span.value for span in spans}
    return {
        entry
        for path, value in values.items()
        for entry, plain in ((path.rpartition(".")[0], _INDEX.sub("", path)),)
        if (plain in names and is_secret_config(value) and not _sets_log_level(values, entry))
        or (plain == f"{configs}.isSensitive" and value)
    }


def _sets_log_level(values: dict[str, object], entry: str) -> bool:
    """Return whether an entry, or a synonym, sets a logger: `results[0].configs[2]`."""
    kind = values.get(f"{entry.partition('.')[0]}.resourceType")
    return kind == _BROKER_LOGGER and values.get(f"{entry}.value") in _LOG_LEVELS


def _is_value_of(path: str, entries: set[str]) -> bool:
    """Return whether a path leads to the value of an entry, or of a synonym in it."""
    holder, _, name = path.rpartition(".")
    return name == "value" and (holder in entries or holder.rpartition(".")[0] in entries)


def has_secrets(api_key: int) -> bool:
    """Return whether requests or responses of an API may carry secrets."""
    kinds = {(api_key, False), (api_key, True)}
    return not kinds.isdisjoint(SECRETS) or not kinds.isdisjoint(CONFIGS)


def _redact_config(config: dict[str, Any], *, is_logger: bool) -> None:
    """Replace the value of a configuration entry, and of its synonyms, if it may be secret."""
    is_secret = config.get("isSensitive") or _is_secret_entry(config, is_logger=is_logger)
    for entry in (config, *(config.get("synonyms") or ())):
        if entry.get("value") is not None and (
            is_secret or _is_secret_entry(entry, is_logger=is_logger)
        ):
            entry["value"] = REDACTED


def _is_secret_entry(entry: dict[str, Any], *, is_logger: bool) -> bool:
    is_level = is_logger and entry.get("value") in _LOG_LEVELS
    return not is_level and is_secret_config(entry.get("name"))


def _at(body: dict[str, Any], steps: list[str]) -> Iterator[dict[str, Any]]:
    """Yield the objects at a path, for every element of the arrays on it."""
    if not steps:
        yield body
        return
    value = body.get(steps[0])
    for each in value if isinstance(value, list) else (value,):
        if isinstance(each, dict):
            yield from _at(each, steps[1:])
