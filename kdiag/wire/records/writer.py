"""The writer of record batches of magic 2; message sets of magic 0 and 1 go to `message_set`."""

import struct
from collections.abc import Sequence
from typing import Final

from kdiag.errors import EncodeError
from kdiag.wire.records import body as record_body
from kdiag.wire.records import compression, message_set
from kdiag.wire.records.compression import crc32c
from kdiag.wire.records.record import (
    CONTROL_BIT,
    DELETE_HORIZON_BIT,
    LOG_APPEND_TIME_BIT,
    NO_TIMESTAMP,
    TRANSACTIONAL_BIT,
    BatchHeader,
    Record,
    TimestampType,
)

AS_RECORDS_SAY: Final = BatchHeader()
"""A batch of magic 2, uncompressed, without producer id."""

_UNCHECKED: Final = struct.Struct(">qiibI")
"""The part of the header that the checksum leaves out: up to and including itself."""
_CHECKED: Final = struct.Struct(">Hiqqqhii")


def write_batch(records: Sequence[Record], header: BatchHeader = AS_RECORDS_SAY) -> bytes:
    """Return records as a batch, or as a message set in magic 0 and 1.

    Args:
        records: in the order of their offsets; there may be none.
        header: the other fields of the batch.

    Raises:
        EncodeError: if the magic has no such field, or a number is too large.
    """
    if header.magic not in (0, 1, 2):
        raise EncodeError("magic", f"{header.magic} is not a magic")
    _check_compression(header)
    try:
        if header.magic < 2:  # noqa: PLR2004 - magic 2 is the first with batches
            return message_set.write_message_set(records, header)
        return _write_batch(records, header)
    except struct.error as error:
        raise EncodeError("", f"a number does not fit its field: {error}") from None


def _check_compression(header: BatchHeader) -> None:
    forms = compression.FORMS.get(header.compression, ())
    if header.compression != "none" and not forms:
        raise EncodeError("compression", f"no such codec: {header.compression}")
    if header.compression_form and header.compression_form not in forms:
        why = f"{header.compression} has no form {header.compression_form!r}"
        raise EncodeError("compression_form", why)


def _write_batch(records: Sequence[Record], header: BatchHeader) -> bytes:
    first_offset, last_offset = (records[0].offset, records[-1].offset) if records else (0, 0)
    base_offset = _given(header.base_offset, first_offset)
    base_timestamp = _given(
        header.base_timestamp, records[0].timestamp if records else NO_TIMESTAMP
    )
    max_timestamp = _given(
        header.max_timestamp,
        max((record.timestamp for record in records), default=NO_TIMESTAMP),
    )
    body = compression.compress(
        header.compression,
        record_body.write_records(records, base_offset, base_timestamp),
        form=header.compression_form,
    )
    checked = _CHECKED.pack(
        _attributes(header),
        _given(header.last_offset, last_offset) - base_offset,
        base_timestamp,
        max_timestamp,
        header.producer_id,
        header.producer_epoch,
        header.base_sequence,
        len(records),
    )
    size = _UNCHECKED.size - message_set.OVERHEAD_BYTES + len(checked) + len(body)
    unchecked = _UNCHECKED.pack(
        base_offset, size, header.partition_leader_epoch, 2, crc32c(checked + body)
    )
    return unchecked + checked + body


def _given(value: int | None, otherwise: int) -> int:
    return otherwise if value is None else value


def _attributes(header: BatchHeader) -> int:
    """Return the attribute bits of a batch of magic 2."""
    attributes = compression.CODECS.index(header.compression)
    if header.timestamp_type is TimestampType.LOG_APPEND_TIME:
        attributes |= LOG_APPEND_TIME_BIT
    if header.is_transactional:
        attributes |= TRANSACTIONAL_BIT
    if header.is_control:
        attributes |= CONTROL_BIT
    if header.has_delete_horizon:
        attributes |= DELETE_HORIZON_BIT
    return attributes
