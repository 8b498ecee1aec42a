"""The tables `batches` and `records`: the contents of Produce requests and of fetches' responses.

A row begins with cells of its exchange, which are made once for all of them:

    batches    of the exchange | batch_index | of the request | of the batch
    records    of the exchange | batch_index | of the record
"""

from base64 import b64encode
from collections.abc import Iterator
from typing import Any, Final, NamedTuple, Protocol

from msgspec import Struct

from kdiag.errors import DecodeError
from kdiag.exchange.context.topic_names import TopicNames
from kdiag.exchange.documents.document import DocumentEncoder
from kdiag.exchange.documents.records import batch_json, iter_records_json
from kdiag.exchange.model import Status
from kdiag.exchange.side import Side
from kdiag.report.tables.column import (
    BIGINT,
    BOOLEAN,
    BROKER,
    CLIENT,
    CLIENT_HOST,
    CONNECTION_ID,
    INT,
    STRING,
    Column,
    Table,
    cells_of,
)
from kdiag.report.tables.exchanges import (
    API,
    CLIENT_ID,
    CORRELATION_ID,
    EXCHANGE_KEY,
    FETCH_KEYS,
    TIME,
    TIME_NS,
    VERSION,
    ExchangeFacts,
)
from kdiag.report.tables.outcomes import errors_by_partition
from kdiag.wire import api_keys
from kdiag.wire.primitives import uuid_text
from kdiag.wire.records.batch import RecordBatch
from kdiag.wire.schema import ZERO_UUID


class PlacedBatch(NamedTuple):
    """A batch and its position in the exchange.

    Attributes:
        batch_index: its number in the exchange, from 0.
        topic: name, or the id where no name is known; None if neither was read.
        topic_id: as on the wire.
        partition: its number.
        batch: the batch.
        error: the error with which the broker refused it; None for none, or if it is not known.
    """

    batch_index: int
    topic: str | None
    topic_id: str | None
    partition: int
    batch: RecordBatch
    error: str | None = None


class BatchFacts(Struct, gc=False):
    """A batch, as the columns read it.

    Attributes:
        placed: the batch and its position.
        batch: the batch itself.
        header: of the batch, as `batch_json` makes it.
        exchange: the exchange that carries it.
    """

    placed: PlacedBatch
    batch: RecordBatch
    header: dict[str, Any]
    exchange: ExchangeFacts


def _flow(facts: BatchFacts) -> str:
    """Return where a batch goes, or whether it was refused, as the column `flow` has it."""
    exchange = facts.exchange
    if exchange.api_key != api_keys.PRODUCE:
        replica = exchange.replica_id
        return "fetch" if replica is None or replica < 0 else "replicate"
    if facts.placed.error is not None:
        return "refused"
    is_answered = exchange.response is not None and exchange.response.status is Status.OK
    has_answer = exchange.exchange.pairing is not Status.NO_RESPONSE
    return "unconfirmed" if has_answer and not is_answered else "produce"


class RecordFacts(Struct, gc=False):
    """A record, as the columns read it.

    Attributes:
        placed: its batch.
        record_index: its number in the batch, from 0.
        form: the record, as `records_json` makes it; empty if the batch cannot be read.
        fault: why the batch cannot be read.
    """

    placed: PlacedBatch
    record_index: int
    form: dict[str, Any]
    fault: str | None = None


class HasBatch(Protocol):
    """Facts that belong to a batch."""

    @property
    def placed(self) -> PlacedBatch:
        """Return the batch."""
        ...


_ENCODE: Final = DocumentEncoder().encode

_OF_EXCHANGE: Final[tuple[Column[ExchangeFacts], ...]] = (
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
"""The columns that batches and records repeat, so that few questions need a join."""

_BATCH_INDEX: Final[Column[HasBatch]] = Column(
    "batch_index",
    INT,
    "Which batch of the exchange, from 0 in the order of the wire.",
    lambda of: of.placed.batch_index,
)
_PARTITION: Final[tuple[Column[HasBatch], ...]] = (
    Column(
        "topic",
        STRING,
        "The topic; its id where the captures do not tell the name.",
        lambda of: of.placed.topic,
    ),
    Column(
        "topic_id",
        STRING,
        "The id on the wire; null where the name is.",
        lambda of: of.placed.topic_id,
    ),
    Column("partition", INT, "The partition.", lambda of: of.placed.partition),
)

_OF_BATCH: Final[tuple[Column[BatchFacts], ...]] = (
    _BATCH_INDEX,
    Column(
        "acks",
        INT,
        "Of the Produce request: -1 (all), 0 or 1.",
        lambda of: of.exchange.of_request(api_keys.PRODUCE, "acks", "acks"),
    ),
    Column(
        "transactional_id",
        STRING,
        "Of the Produce request.",
        lambda of: of.exchange.of_request(api_keys.PRODUCE, "transactional_id", "transactionalId"),
    ),
    Column(
        "replica_id",
        INT,
        "Who fetches: a broker that follows, or -1 for a consumer.",
        lambda of: of.exchange.replica_id,
    ),
    *_PARTITION,
    Column(
        "base_offset",
        BIGINT,
        "Of its first record; null if it cannot be told.",
        lambda of: of.header["baseOffset"],
    ),
    Column("last_offset", BIGINT, "Of its last record.", lambda of: of.batch.last_offset),
    Column(
        "record_count",
        BIGINT,
        "Records in it; null if it cannot be told.",
        lambda of: of.header["recordCount"],
    ),
    Column(
        "size_bytes",
        BIGINT,
        "Its size with its header, compressed as it is.",
        lambda of: of.batch.size_in_bytes,
        unit="bytes",
    ),
    Column(
        "magic",
        INT,
        "Version of the format: 2, or 0 and 1 before Kafka 0.11.",
        lambda of: of.batch.magic,
    ),
    Column(
        "compression",
        STRING,
        "`none`, `gzip`, `snappy`, `lz4` or `zstd`.",
        lambda of: of.header["compression"],
    ),
    Column(
        "timestamp_type",
        STRING,
        "`CreateTime` or `LogAppendTime`.",
        lambda of: of.header["timestampType"],
    ),
    Column(
        "base_timestamp_ms",
        BIGINT,
        "What its timestamps count from, since 1970.",
        lambda of: of.batch.base_timestamp,
        unit="ms",
    ),
    Column(
        "max_timestamp_ms",
        BIGINT,
        "Its latest timestamp, since 1970.",
        lambda of: of.batch.max_timestamp,
        unit="ms",
    ),
    Column(
        "producer_id",
        BIGINT,
        "Of an idempotent producer, else -1.",
        lambda of: of.batch.producer_id,
    ),
    Column(
        "producer_epoch",
        INT,
        "Of an idempotent producer, else -1.",
        lambda of: of.batch.producer_epoch,
    ),
    Column(
        "base_sequence",
        INT,
        "Of an idempotent producer, else -1.",
        lambda of: of.batch.base_sequence,
    ),
    Column(
        "partition_leader_epoch",
        INT,
        "Set by the broker; -1 in requests.",
        lambda of: of.batch.partition_leader_epoch,
    ),
    Column(
        "is_transactional",
        BOOLEAN,
        "Whether it is part of a transaction.",
        lambda of: of.header["isTransactional"],
    ),
    Column(
        "is_control",
        BOOLEAN,
        "Whether it marks the end of a transaction or the like.",
        lambda of: of.header["isControl"],
    ),
    Column("crc_ok", BOOLEAN, "Whether its checksum fits.", lambda of: of.header["crcOk"]),
    Column(
        "error",
        STRING,
        "Name of the error with which the broker refused to write it; null if it did not, and"
        " where no answer was seen.",
        lambda of: of.placed.error,
    ),
    Column(
        "flow",
        STRING,
        "`produce` for what was written, or sent with acks=0; `refused`; `unconfirmed` for what"
        " was sent without an answer that could be read; `fetch` for what consumers got, and"
        " `replicate` for what brokers got that follow.",
        _flow,
    ),
)

_OF_RECORD: Final[tuple[Column[RecordFacts], ...]] = (
    _BATCH_INDEX,
    Column("record_index", INT, "Which record of the batch, from 0.", lambda of: of.record_index),
    *_PARTITION,
    Column(
        "record_offset",
        BIGINT,
        "Its offset; in a Produce request relative to the batch's.",
        lambda of: of.form.get("offset"),
    ),
    Column(
        "timestamp_ms",
        BIGINT,
        "Since 1970; -1 for none.",
        lambda of: of.form.get("timestamp"),
        unit="ms",
    ),
    Column(
        "type",
        STRING,
        "What a control record or one of Kafka's own topics says.",
        lambda of: of.form.get("type") or of.form.get("control"),
    ),
    Column(
        "key",
        STRING,
        "Text, or JSON where `type` is set; null for none.",
        lambda of: _text(of.form.get("key")),
    ),
    Column(
        "key_b64",
        STRING,
        "The key in base64, where it is not UTF-8.",
        lambda of: _base64(of.form.get("key_b64")),
    ),
    Column("value", STRING, "As `key`.", lambda of: _text(of.form.get("value"))),
    Column("value_b64", STRING, "As `key_b64`.", lambda of: _base64(of.form.get("value_b64"))),
    Column(
        "headers",
        STRING,
        "JSON: a list of [name, value].",
        lambda of: _ENCODE(of.form["headers"]) if of.form else None,
    ),
    Column(
        "fault",
        STRING,
        "Why the batch cannot be read; one row stands for it then.",
        lambda of: of.fault,
    ),
)

BATCHES: Final = Table(
    "batches",
    "A record batch in a Produce request or in the response to a Fetch or ShareFetch; before"
    " Kafka 0.11 a message.",
    (*EXCHANGE_KEY, "batch_index"),
    (*_OF_EXCHANGE, *_OF_BATCH),
)

RECORDS: Final = Table(
    "records",
    "A record of a batch; written only when asked for, because it is what users wrote.",
    (*EXCHANGE_KEY, "batch_index", "record_index"),
    (*_OF_EXCHANGE, *_OF_RECORD),
)

exchange_cells = cells_of(_OF_EXCHANGE)
_batch_cells = cells_of(_OF_BATCH)
_record_cells = cells_of(_OF_RECORD)


def batch_cells(exchange: ExchangeFacts, placed: PlacedBatch) -> tuple[Any, ...]:
    """Return a row of `batches`, without the cells of the exchange."""
    return _batch_cells(BatchFacts(placed, placed.batch, batch_json(placed.batch), exchange))


def record_cells(placed: PlacedBatch, *, show_secrets: bool) -> Iterator[tuple[Any, ...]]:
    """Yield the rows of `records` of a batch, without the cells of the exchange.

    One row says why the records cannot be read, if they cannot.
    """
    try:
        forms = list(iter_records_json(placed.batch, placed.topic, show_secrets, None))
    except DecodeError as error:
        yield _record_cells(RecordFacts(placed, 0, {}, str(error)))
        return
    for index, form in enumerate(forms):
        yield _record_cells(RecordFacts(placed, index, form))


def placed_batches(exchange: ExchangeFacts) -> Iterator[PlacedBatch]:
    """Yield the batches of a Produce request or of a fetch's response, in the order of the wire."""
    is_produce = exchange.api_key == api_keys.PRODUCE
    side = None
    if is_produce:
        side = exchange.request
    elif exchange.api_key in FETCH_KEYS:
        side = exchange.response
    if side is None or not side.batches:
        return
    index = 0
    errors = errors_by_partition(exchange) if is_produce else {}
    fields = iter(side.batches)
    for topic, topic_id, partition in _partitions(side, exchange.names, is_produce=is_produce):
        for batch in next(fields, None) or ():
            error = errors.get((topic, partition)) if errors else None
            yield PlacedBatch(index, topic, topic_id, partition, batch, error)
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


def _text(value: Any) -> Any:
    """Return a key or a value as text."""
    return _ENCODE(value) if isinstance(value, dict) else value


def _base64(data: bytes | None) -> bytes | None:
    return None if data is None else b64encode(data)
