"""Record batches and records as JSON, in the form of kdiag's bodies."""

from codecs import getincrementaldecoder
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

from kdiag.errors import DecodeError
from kdiag.exchange.embedded import CONSUMER, read_assignment, read_subscription
from kdiag.exchange.secrets.redaction import REDACTED, redact_record
from kdiag.wire.codec.json_form import to_json
from kdiag.wire.records.batch import MAGIC_2, RecordBatch
from kdiag.wire.records.compression import ALLOWANCE, DEFAULT_MAX_BYTES, name_of
from kdiag.wire.records.internal import (
    CLUSTER_METADATA,
    VersionedMessage,
    read_control_record,
    read_internal_record,
)
from kdiag.wire.records.record import (
    CODEC_MASK,
    CONTROL_BIT,
    LOG_APPEND_TIME_BIT,
    TRANSACTIONAL_BIT,
    Header,
    Record,
)

MAX_SHOWN_BYTES: Final = 1_000_000
"""Of a longer key, value or header value only the start, the size and a hash are shown.

So it is of all that are longer than the start in a batch that decompresses to 100 times its size.
"""

FORM_COST_BYTES: Final = 1_000
"""The memory of a record's form without the bytes of its key and value, rounded up."""

_START_BYTES: Final = 1_024
_BLOWN_UP: Final = 100
_LEAST_BLOWN_UP_BYTES: Final = 4_000_000
_CREATE_TIME: Final = "CreateTime"
_LOG_APPEND_TIME: Final = "LogAppendTime"


def batch_json(batch: RecordBatch) -> dict[str, Any]:
    """Return the header of a batch; base offset and count are null if its records are unreadable.

    Raises nothing: the fault of such a batch shows when its records are read.
    """
    attributes = batch.attributes
    is_new = batch.magic == MAGIC_2
    base_offset: int | None
    record_count: int | None
    try:
        base_offset, record_count = batch.base_offset, batch.record_count
    except DecodeError:
        base_offset = record_count = None
    if attributes & LOG_APPEND_TIME_BIT and batch.magic:
        timestamp_type = _LOG_APPEND_TIME
    else:
        timestamp_type = _CREATE_TIME if batch.magic else batch.timestamp_type.value
    return {
        "baseOffset": base_offset,
        "magic": batch.magic,
        "crcOk": batch.crc_ok,
        "compression": name_of(attributes & CODEC_MASK),
        "timestampType": timestamp_type,
        "isTransactional": is_new and attributes & TRANSACTIONAL_BIT != 0,
        "isControl": is_new and attributes & CONTROL_BIT != 0,
        "producerId": batch.producer_id,
        "producerEpoch": batch.producer_epoch,
        "baseSequence": batch.base_sequence,
        "partitionLeaderEpoch": batch.partition_leader_epoch,
        "recordCount": record_count,
        "sizeInBytes": batch.size_in_bytes,
    }


def records_json(
    batch: RecordBatch,
    topic: str | None,
    show_secrets: bool = False,  # noqa: FBT001, FBT002 - one way of several to make records
) -> list[dict[str, Any]]:
    """Return the records of a batch.

    Args:
        batch: the batch.
        topic: its topic, if it is known: the records of Kafka's own topics are messages.
        show_secrets: whether to show the secrets in metadata records.

    Raises:
        DecodeError: if the records are wrong.
    """
    needed_bytes = batch.record_count * FORM_COST_BYTES
    max_bytes = ALLOWANCE.at_most(needed_bytes, max(needed_bytes, DEFAULT_MAX_BYTES))
    if needed_bytes > max_bytes:
        why = f"{batch.record_count} records take more than {max_bytes} bytes of memory"
        raise DecodeError("records", batch.start, why)
    return list(iter_records_json(batch, topic, show_secrets))


def iter_records_json(
    batch: RecordBatch,
    topic: str | None,
    show_secrets: bool,  # noqa: FBT001 - as `records_json`
    most_bytes: int | None = MAX_SHOWN_BYTES,
) -> Iterator[dict[str, Any]]:
    """Yield the same one by one, for a writer that keeps none of them.

    Args:
        batch: the batch.
        topic: its topic.
        show_secrets: as above.
        most_bytes: the size from which on bytes are cut; None to show them all.

    Raises:
        DecodeError: as `records_json` does.
    """
    is_internal = topic is not None and topic.startswith("__")
    records = batch.records()
    if most_bytes is not None and _is_blown_up(batch, records):
        most_bytes = _START_BYTES
    for record in records:
        if most_bytes is not None and _longest(record) > most_bytes:
            is_hidden = topic == CLUSTER_METADATA and not show_secrets
            yield _long_record_json(record, most_bytes, is_hidden=is_hidden)
        elif batch.is_control:
            yield control_json(record)
        elif topic is not None and is_internal:
            yield internal_json(record, topic, show_secrets=show_secrets)
        else:
            yield _record_json(record)


def _is_blown_up(batch: RecordBatch, records: Sequence[Record]) -> bool:
    """Return whether a few bytes of a batch have become very many, as no real data do."""
    if not batch.attributes & CODEC_MASK:
        return False
    size = sum(len(record.key or b"") + len(record.value or b"") for record in records)
    return size > max(_LEAST_BLOWN_UP_BYTES, _BLOWN_UP * batch.size_in_bytes)


def _longest(record: Record) -> int:
    """Return the size of the longest key or value in a record."""
    size = max(len(record.key or b""), len(record.value or b""))
    if record.headers:
        return max(size, *(max(len(key), len(value or b"")) for key, value in record.headers))
    return size


def _long_record_json(record: Record, most_bytes: int, *, is_hidden: bool) -> dict[str, Any]:
    """Return a record of which the longest bytes are cut; a hidden value may hold a secret."""
    form: dict[str, Any] = {"offset": record.offset, "timestamp": record.timestamp}
    for name, data in (("key", record.key), ("value", record.value)):
        if data is None or len(data) <= most_bytes:
            _put(form, name, data)
        else:
            form |= {f"{name}_{part}": value for part, value in _cut(data).items()}
    if is_hidden:
        form = {name: form[name] for name in form if not name.startswith("value")}
        form["value"] = REDACTED
    form["headers"] = [
        header_json((key[:most_bytes], value))
        if value is None or len(value) <= most_bytes
        else [key[:most_bytes].decode(errors="replace"), _cut(value)]
        for key, value in record.headers
    ]
    return form


def _cut(data: bytes) -> dict[str, Any]:
    """Return what is shown of many bytes: their start, their number and their hash."""
    from hashlib import sha256  # noqa: PLC0415 - 5 ms

    start = data[:_START_BYTES]
    form: dict[str, Any]
    try:
        form = {"start": getincrementaldecoder("utf-8")().decode(start)}  # a letter may be cut
    except UnicodeDecodeError:
        form = {"start_b64": start}
    return form | {"bytes": len(data), "sha256": sha256(data).hexdigest()}


def is_cut(form: dict[str, Any]) -> bool:
    """Return whether not all bytes of a record are in its form."""
    headers = (value for _, value in form["headers"])
    return (
        "value_bytes" in form
        or "key_bytes" in form
        or any(isinstance(value, dict) and "bytes" in value for value in headers)
    )


def _record_json(record: Record) -> dict[str, Any]:
    form: dict[str, Any] = {"offset": record.offset, "timestamp": record.timestamp}
    _put(form, "key", record.key)
    _put(form, "value", record.value)
    form["headers"] = [header_json(header) for header in record.headers]
    return form


def _put(form: dict[str, Any], name: str, data: bytes | None) -> None:
    """Add bytes as text, or in base64 under the name with `_b64` if they are not UTF-8."""
    if data is None:
        form[name] = None
        return
    try:
        form[name] = data.decode()
    except UnicodeDecodeError:
        form[f"{name}_b64"] = data


def header_json(header: Header) -> list[Any]:
    """Return a record header: its key, and its value as text, null or `{"b64": ...}`."""
    key, value = header
    name = key.decode(errors="replace")
    if value is None:
        return [name, None]
    try:
        return [name, value.decode()]
    except UnicodeDecodeError:
        return [name, {"b64": value}]


def control_json(record: Record) -> dict[str, Any]:
    """Return a control record, with the name of its type under `control`."""
    control, value = read_control_record(record)
    form = {"offset": record.offset, "timestamp": record.timestamp, "control": control.name}
    _put(form, "key", record.key)
    if value is None:
        _put(form, "value", record.value)
    else:
        form["value"] = to_json(*value)
    form["headers"] = [header_json(header) for header in record.headers]
    return form


def internal_json(record: Record, topic: str, *, show_secrets: bool) -> dict[str, Any]:
    """Return a record of one of Kafka's own topics with its `type` and its messages decoded.

    An unreadable one has no type, and the form of any other record.
    """
    read = read_internal_record(topic, record)
    if read is None:
        form = _record_json(record)
        if not show_secrets and topic == CLUSTER_METADATA and record.value is not None:
            form.pop("value_b64", None)
            form["value"] = REDACTED  # unreadable: it may hold a secret
        return form
    value = _part_json(read.value)
    if value is not None and not show_secrets:
        redact_record(read.type, value)
    if value is not None and read.type == "GroupMetadata":
        _read_members(value)
    form = {"offset": record.offset, "timestamp": record.timestamp, "type": read.type}
    form |= {"key": _part_json(read.key), "value": value}
    form["headers"] = [header_json(header) for header in record.headers]
    return form


def _part_json(part: VersionedMessage | None) -> dict[str, Any] | None:
    return None if part is None else to_json(*part)


def _read_members(value: dict[str, Any]) -> None:
    """Decode the subscriptions and assignments in the metadata of a group of consumers."""
    if value.get("protocolType") != CONSUMER:
        return
    for member in value.get("members") or ():
        replace(member, "subscription", read_subscription)
        replace(member, "assignment", read_assignment)


def replace(
    form: dict[str, Any], name: str, read: Callable[[bytes | None], tuple[Any, int] | None]
) -> None:
    """Replace bytes with the message in them, if there is one."""
    data = form.get(name)
    if isinstance(data, bytes):
        found = read(data)
        if found is not None:
            form[name] = to_json(*found)
