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
from kdiag.report.tables.exchanges import (
    FETCH_KEY,
    NS_PER_US,
    PRODUCE_KEY,
    SHARE_FETCH_KEY,
    client_host,
    replica_id,
    told,
)
from kdiag.wire.primitives import uuid_text
from kdiag.wire.records.batch import RecordBatch
from kdiag.wire.schema import ZERO_UUID

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
    if api_key == PRODUCE_KEY:
        side = dissection.request
    elif api_key in (FETCH_KEY, SHARE_FETCH_KEY):
        side = dissection.response
    if side is None or not side.batches:
        return
    index = 0
    fields = iter(side.batches)
    for topic, topic_id, partition in _partitions(side, names, is_produce=api_key == PRODUCE_KEY):
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
    if dissection.exchange.api_key == PRODUCE_KEY:
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
