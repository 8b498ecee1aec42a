"""Down-conversion: batches as readers take them who came before the batches' magic.

    Fetch 0, 1     magic 0: no timestamps
    Fetch 2, 3     magic 1: no headers, no producers, no transactions
    Fetch 4 on     magic 2: nothing is converted

Batches that are old enough stay as they are; others are written anew, in their codec, each record
at its offset. Control records are left out, records of aborted transactions are not: an old reader
cannot be told. zstd has no place in an old message (UNSUPPORTED_COMPRESSION_TYPE).

Source: Kafka's `RecordsUtil.downConvert`, up to release 3.9; brokers of 4.0 convert nothing
(KIP-724).

Leaves out: the message, too large for any reader, that Kafka puts where control records alone are.
"""

from typing import Final

from kdiag.errors import DecodeError
from kdiag.lab.log.refusal import LogRefusedError
from kdiag.wire.records.batch import MAGIC_2, RecordBatch
from kdiag.wire.records.batches import read_batches
from kdiag.wire.records.record import BatchHeader
from kdiag.wire.records.writer import write_batch

_FIRST_WITH_MAGIC: Final = ((4, MAGIC_2), (2, 1), (0, 0))


def magic_of_reader(version: int) -> int:
    """Return the newest magic that readers of a version of Fetch take."""
    return next(magic for first, magic in _FIRST_WITH_MAGIC if version >= first)


def down_converted(data: bytes, magic: int, offset: int) -> bytes:
    """Return batches in a magic, or as they are where they are older.

    Args:
        data: the batches; one that is cut at the end is left out.
        magic: 0 or 1.
        offset: the first that is asked for: what comes before it need not be converted.

    Raises:
        LogRefusedError: UNSUPPORTED_COMPRESSION_TYPE, CORRUPT_MESSAGE.
    """
    parts = []
    try:
        for batch in read_batches(data).batches:
            if batch.magic <= magic:
                parts.append(data[batch.start : batch.start + batch.size_in_bytes])
            elif not batch.is_control:
                parts.append(_converted(batch, magic, offset))
    except DecodeError as error:
        raise LogRefusedError("CORRUPT_MESSAGE", str(error)) from None
    return b"".join(parts)


def _converted(batch: RecordBatch, magic: int, offset: int) -> bytes:
    if batch.compression == "zstd":
        why = f"the batch with offset {batch.base_offset} is zstd, which magic {magic} has not"
        raise LogRefusedError("UNSUPPORTED_COMPRESSION_TYPE", why)
    records = [each for each in batch.records() if each.offset >= offset]
    for record in records:
        record.headers = ()
    header = BatchHeader(
        magic=magic, compression=batch.compression, timestamp_type=batch.timestamp_type
    )
    return write_batch(records, header)
