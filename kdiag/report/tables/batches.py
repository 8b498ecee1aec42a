"""The rows of the batches of an exchange in `batches`, and of their records in `records`."""

from base64 import b64encode
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from kdiag.errors import DecodeError
from kdiag.exchange.dissection import Dissection
from kdiag.exchange.documents.document import DocumentEncoder, api_name
from kdiag.exchange.documents.records import batch_json, records_json
from kdiag.exchange.side import Side
from kdiag.exchange.topic_names import TopicNames
from kdiag.report.tables.column import (
    API,
    BATCH_INDEX,
    BIGINT,
    BOOLEAN,
    BROKER,
    CLIENT,
    CLIENT_HOST,
    CLIENT_ID,
    CONNECTION_ID,
    CORRELATION_ID,
    EXCHANGE_KEY,
    INT,
    PARTITION,
    STRING,
    TIME,
    TIME_NS,
    TOPIC,
    TOPIC_ID,
    VERSION,
    Column,
    Table,
)
from kdiag.report.tables.exchanges import (
    NS_PER_US,
    client_host,
    replica_id,
    told,
)
from kdiag.wire import api_keys
from kdiag.wire.primitives import uuid_text
from kdiag.wire.records.batch import RecordBatch
from kdiag.wire.schema import ZERO_UUID

_EXCHANGE: Final = (
    CONNECTION_ID,
    TIME,
    TIME_NS,
    CORRELATION_ID,
    CLIENT,
    CLIENT_HOST,
    BROKER,
    CLIENT_ID,
    API,
    VERSION,
)
"""What batches and records repeat of their exchange, so that few questions need a join."""

BATCHES: Final = Table(
    "batches",
    "A record batch in a Produce request or in the response to a Fetch or ShareFetch; before"
    " Kafka 0.11 a message.",
    (*EXCHANGE_KEY, "batch_index"),
    (
        *_EXCHANGE,
        BATCH_INDEX,
        Column("acks", INT, "", "Of the Produce request: -1 (all), 0 or 1."),
        Column("transactional_id", STRING, "", "Of the Produce request."),
        Column("replica_id", INT, "", "Who fetches: a broker that follows, or -1 for a consumer."),
        TOPIC,
        TOPIC_ID,
        PARTITION,
        Column("base_offset", BIGINT, "", "Of its first record; null if it cannot be told."),
        Column("last_offset", BIGINT, "", "Of its last record."),
        Column("record_count", BIGINT, "", "Records in it; null if it cannot be told."),
        Column("size_bytes", BIGINT, "bytes", "Its size with its header, compressed as it is."),
        Column("magic", INT, "", "Version of the format: 2, or 0 and 1 before Kafka 0.11."),
        Column("compression", STRING, "", "`none`, `gzip`, `snappy`, `lz4` or `zstd`."),
        Column("timestamp_type", STRING, "", "`CreateTime` or `LogAppendTime`."),
        Column("base_timestamp_ms", BIGINT, "ms", "What its timestamps count from, since 1970."),
        Column("max_timestamp_ms", BIGINT, "ms", "Its latest timestamp, since 1970."),
        Column("producer_id", BIGINT, "", "Of an idempotent producer, else -1."),
        Column("producer_epoch", INT, "", "Of an idempotent producer, else -1."),
        Column("base_sequence", INT, "", "Of an idempotent producer, else -1."),
        Column("partition_leader_epoch", INT, "", "Set by the broker; -1 in requests."),
        Column("is_transactional", BOOLEAN, "", "Whether it is part of a transaction."),
        Column("is_control", BOOLEAN, "", "Whether it marks the end of a transaction or the like."),
        Column("crc_ok", BOOLEAN, "", "Whether its checksum fits."),
    ),
)

RECORDS: Final = Table(
    "records",
    "A record of a batch; written only when asked for, because it is what users wrote.",
    (*EXCHANGE_KEY, "batch_index", "record_index"),
    (
        *_EXCHANGE,
        BATCH_INDEX,
        Column("record_index", INT, "", "Which record of the batch, from 0."),
        TOPIC,
        TOPIC_ID,
        PARTITION,
        Column(
            "record_offset", BIGINT, "", "Its offset; in a Produce request relative to the batch's."
        ),
        Column("timestamp_ms", BIGINT, "ms", "Since 1970; -1 for none."),
        Column("type", STRING, "", "What a control record or one of Kafka's own topics says."),
        Column("key", STRING, "", "Text, or JSON where `type` is set; null for none."),
        Column("key_b64", STRING, "", "The key in base64, where it is not UTF-8."),
        Column("value", STRING, "", "As `key`."),
        Column("value_b64", STRING, "", "As `key_b64`."),
        Column("headers", STRING, "", "JSON: a list of [name, value]."),
        Column("fault", STRING, "", "Why the batch cannot be read; one row stands for it then."),
    ),
)


_ENCODE: Final = DocumentEncoder().encode


class PlacedBatch(NamedTuple):
    """A batch and where it stands.

    Attributes:
        batch_index: which batch of the exchange, from 0.
        topic: name, or the id where no name is known; None if neither was read.
        topic_id: as on the wire.
        partition: its number.
        batch: the batch.
    """

    batch_index: int
    topic: str | None
    topic_id: str | None
    partition: int
    batch: RecordBatch


def placed_batches(dissection: Dissection, names: TopicNames) -> Iterator[PlacedBatch]:
    """Yield the batches of a Produce request or of a fetch's response, in the order of the wire."""
    api_key = dissection.exchange.api_key
    side = None
    if api_key == api_keys.PRODUCE:
        side = dissection.request
    elif api_key in (api_keys.FETCH, api_keys.SHARE_FETCH):
        side = dissection.response
    if side is None or not side.batches:
        return
    index = 0
    fields = iter(side.batches)
    for topic, topic_id, partition in _partitions(
        side, names, is_produce=api_key == api_keys.PRODUCE
    ):
        for batch in next(fields, None) or ():
            yield PlacedBatch(index, topic, topic_id, partition, batch)
            index += 1


def _partitions(
    side: Side, names: TopicNames, *, is_produce: bool
) -> Iterator[tuple[str | None, str | None, int]]:
    """Yield topic, topic id and number of each partition that has a `records` field."""
    message = side.message
    for element in message.topic_data if is_produce else message.responses:
        topic = getattr(element, "name" if is_produce else "topic", None) or None
        topic_id = getattr(element, "topic_id", ZERO_UUID)
        id_text = None if topic_id == ZERO_UUID else uuid_text(topic_id)
        if topic is None and id_text is not None:
            topic = names.name(id_text) or id_text
        if is_produce:
            for partition in element.partition_data:
                yield topic, id_text, partition.index
        else:
            for partition in element.partitions:
                yield topic, id_text, partition.partition_index


def exchange_columns(dissection: Dissection) -> tuple[Any, ...]:
    """Return what batches and records repeat of their exchange."""
    exchange, connection = dissection.exchange, dissection.exchange.connection
    time_ns = exchange.time_ns
    return (
        connection.connection_id,
        time_ns // NS_PER_US,
        time_ns,
        exchange.correlation_id,
        connection.client,
        client_host(connection),
        connection.broker,
        exchange.client_id,
        api_name(exchange),
        exchange.version,
    )


def asked_columns(dissection: Dissection) -> tuple[Any, ...]:
    """Return what batches tell of the request: acks, transactional id, replica id."""
    request = dissection.request
    if dissection.exchange.api_key == api_keys.PRODUCE:
        acks = told(request, "acks", "acks")
        return acks, told(request, "transactional_id", "transactionalId"), None
    return None, None, replica_id(request)


def batch_columns(placed: PlacedBatch) -> tuple[Any, ...]:
    """Return what a batch tells of itself."""
    batch = placed.batch
    header = batch_json(batch)
    return (
        placed.topic,
        placed.topic_id,
        placed.partition,
        header["baseOffset"],
        batch.last_offset,
        header["recordCount"],
        batch.size_in_bytes,
        batch.magic,
        header["compression"],
        header["timestampType"],
        batch.base_timestamp,
        batch.max_timestamp,
        batch.producer_id,
        batch.producer_epoch,
        batch.base_sequence,
        batch.partition_leader_epoch,
        header["isTransactional"],
        header["isControl"],
        header["crcOk"],
    )


def record_columns(placed: PlacedBatch, *, show_secrets: bool) -> Iterator[tuple[Any, ...]]:
    """Yield what each record of a batch tells, or one row that says why they cannot be read."""
    place = placed.topic, placed.topic_id, placed.partition
    try:
        forms = records_json(placed.batch, placed.topic, show_secrets)
    except DecodeError as error:
        yield (0, *place, *(None,) * 8, str(error))
        return
    for index, form in enumerate(forms):
        yield (
            index,
            *place,
            form["offset"],
            form["timestamp"],
            form.get("type") or form.get("control"),
            *_texts(form, "key"),
            *_texts(form, "value"),
            _ENCODE(form["headers"]),
            None,
        )


def _texts(form: dict[str, Any], name: str) -> tuple[Any, Any]:
    """Return a key or a value as text, and in base64 if it is none."""
    value = form.get(name)
    if isinstance(value, dict):
        value = _ENCODE(value)
    packed = form.get(f"{name}_b64")
    return value, None if packed is None else b64encode(packed)
