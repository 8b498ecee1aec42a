"""The records that a latency is measured with: each batch says which request it came in.

    value    8 bytes: who wrote it    8 bytes: number of the request    noise, up to the size

The noise does not compress, so that a topic's compression does not make the records smaller.
"""

import secrets
from collections.abc import Iterable, Iterator
from struct import Struct
from typing import Final

from kdiag.probe.latency.plan import RecordShape
from kdiag.wire.records.batch import RecordBatch
from kdiag.wire.records.batches import Record, write_batch

_MARK: Final = Struct(">8sq")
_NS_PER_MS: Final = 1_000_000


class MarkedRecords:
    """Makes batches, and finds its own among others."""

    def __init__(self, shape: RecordShape) -> None:
        """Make records of one shape."""
        self._writer = secrets.token_bytes(8)
        self._count = shape.batch_records
        self._noise = secrets.token_bytes(shape.value_bytes - _MARK.size)
        self._key = secrets.token_bytes(shape.key_bytes) if shape.key_bytes else None
        value = (
            None if shape.header_value_bytes < 0 else secrets.token_bytes(shape.header_value_bytes)
        )
        self._headers = ((b"k" * shape.header_key_bytes, value),) * shape.headers

    def batch(self, number: int, now_ns: int) -> bytes:
        """Return the batch of a request; `now_ns`, since 1970, is the time of its records."""
        value = _MARK.pack(self._writer, number) + self._noise
        time_ms = now_ns // _NS_PER_MS
        return write_batch(
            [
                Record(offset, time_ms, self._key, value, self._headers)
                for offset in range(self._count)
            ]
        )

    def numbers(self, batches: Iterable[RecordBatch]) -> Iterator[int]:
        """Yield the numbers of the requests whose batches are among fetched ones.

        Raises:
            DecodeError: if their records are not readable.
        """
        for batch in batches:
            if batch.is_control:
                continue
            value = next(iter(batch.records()), Record(0)).value
            if value is not None and len(value) >= _MARK.size:
                writer, number = _MARK.unpack_from(value)
                if writer == self._writer:
                    yield number


def next_offset(batches: Iterable[RecordBatch], offset: int) -> int:
    """Return the offset behind fetched batches; `offset` if there are none."""
    return max([offset, *(each.last_offset + 1 for each in batches)])
