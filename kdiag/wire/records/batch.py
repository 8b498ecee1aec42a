"""One record batch: a header of numbers, and records that stay bytes until they are read."""

import zlib
from typing import TYPE_CHECKING, Final

import msgspec

from kdiag.errors import DecodeError
from kdiag.wire.records import body as record_body
from kdiag.wire.records import message_set
from kdiag.wire.records.compression import ALLOWANCE, DEFAULT_MAX_BYTES, crc32c, decompress, name_of
from kdiag.wire.records.record import (
    CODEC_MASK,
    CONTROL_BIT,
    DELETE_HORIZON_BIT,
    HEADER_COST_BYTES,
    LOG_APPEND_TIME_BIT,
    RECORD_COST_BYTES,
    TRANSACTIONAL_BIT,
    BatchHeader,
    Record,
    TimestampType,
)

if TYPE_CHECKING:
    from kdiag.wire.records.columns import RecordColumns

MAGIC_2: Final = 2
HEADER_BYTES: Final = 61
"""The header of a batch of magic 2."""

COUNT_START: Final = 57
CRC_2_START: Final = 21
CRC_LEGACY_START: Final = 16

_INT32_MAX: Final = (1 << 31) - 1


class RecordBatch(msgspec.Struct, gc=False, eq=False):
    """One batch: its header, and its records on demand.

    Attributes:
        data: the bytes around it; never a view in magic 0 and 1.
        start: its start in `data`.
        size_in_bytes: its size, offset and size fields included.
        magic: 0, 1 or 2.
        crc: the checksum as written, unsigned.
        attributes: the bits as written, unsigned.
        last_offset: of its last record, which compaction may have removed.
        base_timestamp: the base of record timestamps, in milliseconds since 1970; the delete
            horizon if there is one; -1 in magic 0, the message's own in magic 1.
        max_timestamp: the largest of its timestamps, or the time of appending (LogAppendTime).
        producer_id, producer_epoch, base_sequence: of an idempotent producer, else -1.
        partition_leader_epoch: set by the broker, -1 in magic 0 and 1.
    """

    data: bytes | memoryview
    start: int
    size_in_bytes: int
    magic: int
    crc: int
    attributes: int
    last_offset: int
    base_timestamp: int
    max_timestamp: int
    producer_id: int = -1
    producer_epoch: int = -1
    base_sequence: int = -1
    partition_leader_epoch: int = -1
    _base_offset: int | None = None
    _record_count: int | None = None

    def __repr__(self) -> str:
        return (
            f"<RecordBatch magic {self.magic}, {self.size_in_bytes} bytes, {self.compression},"
            f" last offset {self.last_offset}>"
        )

    @property
    def base_offset(self) -> int:
        """Return the offset of its first record, which compaction may have removed.

        A compressed message of magic 0 or 1 does not have it: its records are read.

        Raises:
            DecodeError: if they are wrong.
        """
        if self._base_offset is None:
            self._count_messages()
        assert self._base_offset is not None
        return self._base_offset

    @property
    def record_count(self) -> int:
        """Return the number of records; see `base_offset` for magic 0 and 1.

        Raises:
            DecodeError: if a compressed message of magic 0 or 1 is wrong.
        """
        if self._record_count is None:
            self._count_messages()
        assert self._record_count is not None
        return self._record_count

    @property
    def compression(self) -> str:
        """Return the name of its codec, `unknown (5)` for a number without one."""
        return name_of(self.attributes & CODEC_MASK)

    @property
    def timestamp_type(self) -> TimestampType:
        """Return the meaning of its timestamps."""
        if self.magic == 0:
            return TimestampType.NO_TIMESTAMP_TYPE
        if self.attributes & LOG_APPEND_TIME_BIT:
            return TimestampType.LOG_APPEND_TIME
        return TimestampType.CREATE_TIME

    @property
    def is_transactional(self) -> bool:
        """Return whether it is part of a transaction."""
        return self.magic == MAGIC_2 and bool(self.attributes & TRANSACTIONAL_BIT)

    @property
    def is_control(self) -> bool:
        """Return whether its records are control records (`read_control_type`)."""
        return self.magic == MAGIC_2 and bool(self.attributes & CONTROL_BIT)

    @property
    def delete_horizon_ms(self) -> int | None:
        """Return the time from which the cleaner may drop its tombstones and markers (KIP-534)."""
        if self.magic == MAGIC_2 and self.attributes & DELETE_HORIZON_BIT:
            return self.base_timestamp
        return None

    @property
    def last_sequence(self) -> int:
        """Return the sequence number of its last record, -1 if it has none.

        Sequence numbers continue with 0 after 2147483647.
        """
        if self.base_sequence < 0:
            return -1
        return self.base_sequence + self.last_offset - self.base_offset & _INT32_MAX

    @property
    def crc_ok(self) -> bool:
        """Return whether the checksum fits the bytes: CRC-32C in magic 2, CRC-32 before."""
        end = self.start + self.size_in_bytes
        if self.magic != MAGIC_2:
            view = memoryview(self.data)[self.start + CRC_LEGACY_START : end]
            return zlib.crc32(view) == self.crc
        return crc32c(memoryview(self.data)[self.start + CRC_2_START : end]) == self.crc

    def body(self, *, max_bytes: int = DEFAULT_MAX_BYTES) -> bytes:
        """Return the records of a batch of magic 2 as bytes, decompressed.

        Raises:
            DecodeError: if they are not of the codec, or become more than `max_bytes`.
        """
        assert self.magic == MAGIC_2
        start = self.start + HEADER_BYTES
        packed = bytes(self.data[start : self.start + self.size_in_bytes])
        if not self.attributes & CODEC_MASK:
            return packed
        try:
            return decompress(self.compression, packed, max_bytes=max_bytes)
        except DecodeError as error:
            raise DecodeError("records", start + error.offset, error.why) from None

    def records(
        self,
        *,
        max_bytes: int = DEFAULT_MAX_BYTES,
        stored_timestamps: bool = False,
    ) -> list[Record]:
        """Return the records.

        Args:
            max_bytes: the approximate limit of memory: the bytes after decompression, and
                `RECORD_COST_BYTES` for each record.
            stored_timestamps: with LogAppendTime every record has the batch's `max_timestamp`;
                True returns the timestamp that is stored with each record instead, the
                producer's if the broker did not rewrite the batch.

        Raises:
            DecodeError: with a path such as `records[3].headers[0].key`, at an offset in `data`;
                in the decompressed bytes, if the records could be decompressed.
        """
        if self.magic != MAGIC_2:
            assert isinstance(self.data, bytes)
            return message_set.read_records(
                self.data, self.start, max_bytes=max_bytes, stored_timestamps=stored_timestamps
            )
        arguments = self.body_and_bases(max_bytes)
        left = max_bytes - len(arguments[0]) - self.record_count * RECORD_COST_BYTES
        try:
            records = record_body.read_records(*arguments, left // HEADER_COST_BYTES)
        except DecodeError as error:
            raise self._in_data(error) from None
        if self.attributes & LOG_APPEND_TIME_BIT and not stored_timestamps:
            for record in records:
                record.timestamp = self.max_timestamp
        return records

    def columns(self, *, max_bytes: int = DEFAULT_MAX_BYTES) -> "RecordColumns":
        """Return the records as columns: three times as fast for batches of many.

        Raises:
            DecodeError: as `records` does.
        """
        from kdiag.wire.records import columns as record_columns  # noqa: PLC0415 - 75 ms: numpy

        if self.magic != MAGIC_2:
            return record_columns.columns_of(self.records(max_bytes=max_bytes))
        arguments = self.body_and_bases(max_bytes)
        try:
            columns = record_columns.read_columns(*arguments)
        except DecodeError as error:
            raise self._in_data(error) from None
        if self.attributes & LOG_APPEND_TIME_BIT:
            columns.timestamp[:] = self.max_timestamp
        return columns

    def header(self) -> BatchHeader:
        """Return the header with which `write_batch` writes the batch again.

        With `records(stored_timestamps=True)` an uncompressed batch becomes the same bytes; so
        does a message of magic 0 or 1.
        """
        return BatchHeader(
            magic=self.magic,
            compression=self.compression,
            base_offset=self.base_offset,
            last_offset=self.last_offset,
            base_timestamp=self.base_timestamp,
            max_timestamp=self.max_timestamp,
            timestamp_type=self.timestamp_type,
            producer_id=self.producer_id,
            producer_epoch=self.producer_epoch,
            base_sequence=self.base_sequence,
            partition_leader_epoch=self.partition_leader_epoch,
            is_transactional=self.is_transactional,
            is_control=self.is_control,
            has_delete_horizon=self.delete_horizon_ms is not None,
        )

    def body_and_bases(self, max_bytes: int = DEFAULT_MAX_BYTES) -> tuple[bytes, int, int, int]:
        """Return the arguments of the readers of magic 2, if the records fit into `max_bytes`.

        Raises:
            DecodeError: as `body` does, or if they do not fit.
        """
        body, count = self.body(max_bytes=max_bytes), self.record_count
        if not 0 <= count <= len(body) // record_body.MIN_RECORD_BYTES:
            why = f"{len(body)} bytes cannot hold {count} records"
            raise DecodeError("record_count", self.start + COUNT_START, why)
        needed_bytes = len(body) + count * RECORD_COST_BYTES
        max_bytes = ALLOWANCE.at_most(needed_bytes, max_bytes)
        if needed_bytes > max_bytes:
            why = f"{count} records take more than {max_bytes} bytes of memory"
            raise DecodeError("records", self.start, why)
        return body, count, self.base_offset, self.base_timestamp

    def _in_data(self, error: DecodeError) -> DecodeError:
        """Return a fault in the records with its offset in `data`, unless they are compressed."""
        if self.attributes & CODEC_MASK:
            return error
        return DecodeError(error.path, self.start + HEADER_BYTES + error.offset, error.why)

    def _count_messages(self) -> None:
        """Read compressed messages for the facts that their wrapper lacks."""
        records = self.records()
        self._base_offset = records[0].offset
        self._record_count = len(records)
