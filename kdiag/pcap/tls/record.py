"""Bytes of one direction of a connection in, TLS records out: the outer layer of TLS.

A record is a header of five bytes (content type, version, length) and a payload. Every record of
a stream is found by the length of the one before it. When bytes are missing, either the record
that lost them had shown its header, so that its end is known by arithmetic; or the next record is
searched for by content: a plausible header whose length leads to another one, or to the end of the
bytes at hand. Random bytes, which ciphertext is, look like a header once in 2.4 million places: one
whose end is still to come does not keep the search from a later one that is confirmed already.

Source: RFC 8446, section 5.1; RFC 5246, section 6.2.
"""

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

CHANGE_CIPHER_SPEC: Final = 20
ALERT: Final = 21
HANDSHAKE: Final = 22
APPLICATION_DATA: Final = 23

HEADER_BYTES: Final = 5
MAX_PAYLOAD_BYTES: Final = (1 << 14) + 2048
_HEADER_START: Final = re.compile(rb"[\x14-\x18]\x03[\x00-\x04]")
_HEADER_START_BYTES: Final = 3
_MOST_UNDECIDED: Final = 16


class TlsRecord(NamedTuple):
    """One record of a direction; offsets count the bytes of the direction from 0.

    Attributes:
        header: its five bytes.
        payload: the bytes behind it; empty if some are missing.
        start: offset of its first byte.
        end: offset behind its last byte.
        is_whole: whether no byte of it is missing.
        skipped_bytes: bytes right before it in which no record was recognised.
    """

    header: bytes
    payload: bytes
    start: int
    end: int
    is_whole: bool = True
    skipped_bytes: int = 0

    @property
    def kind(self) -> int:
        """Return the content type that its header gives."""
        return self.header[0]


class RecordReader:
    """Cuts one direction into records, holding back no more than one that is incomplete.

    Attributes:
        is_tls: whether the bytes are TLS; None until enough were seen. When they are not, nothing
            more is read.
        broken_at: offset where a record header should have been and was not, the first time.
    """

    def __init__(self) -> None:
        self.is_tls: bool | None = None
        self.broken_at: int | None = None
        self._buffer = bytearray()
        self._offset = 0  # of the buffer's first byte
        self._rest_bytes = 0  # still to come of a record that lost bytes
        self._searched_from: int | None = None
        self._searched_to = 0
        self._undecided: list[int] = []  # offsets of headers that only more bytes can confirm
        self._skipped_bytes = 0

    def feed(self, data: bytes) -> list[TlsRecord]:
        """Return the records that these bytes complete; they follow those fed before."""
        if self.is_tls is False:
            return []
        self._buffer += data
        rest_bytes = min(self._rest_bytes, len(self._buffer))
        self._rest_bytes -= rest_bytes
        self._drop(rest_bytes)
        records = []
        while self._reaches_header():
            size = self._record_bytes(0)
            if size > len(self._buffer):
                break
            records.append(self._record(bytes(self._buffer[HEADER_BYTES:size]), is_whole=True))
            self._drop(size)
        return records

    def gap(self, missing_bytes: int) -> TlsRecord | None:
        """Go on behind bytes that are missing, after those fed before.

        Args:
            missing_bytes: how many. 0 says that it is not known where in a record the next byte
                is, as at the start of a capture that began after the connection.

        Returns:
            The record that lost bytes, if its header was seen.
        """
        if self.is_tls is False:
            return None
        lost = None
        lost_end = self._offset + self._rest_bytes
        if self._searched_from is None and len(self._buffer) >= HEADER_BYTES:
            lost = self._record(b"", is_whole=False)
            lost_end = lost.end
        self._drop(len(self._buffer))
        self._undecided.clear()
        self._offset += missing_bytes
        if (lost or self._rest_bytes) and self._offset <= lost_end:
            self._rest_bytes = lost_end - self._offset
        else:
            self._rest_bytes = 0
            if self._searched_from is None:
                self._searched_from = min(lost_end, self._offset)
        return lost

    def _reaches_header(self) -> bool:
        """Return whether the buffer starts with a header, after dropping the bytes before it."""
        if self._searched_from is None:
            if len(self._buffer) < HEADER_BYTES:
                return False
            if self._is_header(0):
                self.is_tls = True
                return True
            if self.is_tls is None:
                self.is_tls = False
                self._buffer.clear()
                return False
            self._searched_from = self._offset
            self.broken_at = self._offset if self.broken_at is None else self.broken_at
        return self._search(self._searched_from)

    def _search(self, searched_from: int) -> bool:
        """Drop bytes up to the next header that is confirmed; return whether there is one."""
        undecided = []
        for position in self._likely_headers():
            is_confirmed = self._is_confirmed(position)
            if is_confirmed:
                self._drop(position)
                self._undecided.clear()
                self._searched_to = self._offset
                self._skipped_bytes = self._offset - searched_from
                self._searched_from = None
                self.is_tls = True
                return True
            if is_confirmed is None:
                undecided.append(self._offset + position)
                if len(undecided) == _MOST_UNDECIDED:
                    break
        self._undecided = undecided
        self._drop(min([*undecided, self._searched_to]) - self._offset)
        return False

    def _likely_headers(self) -> Iterator[int]:
        """Yield positions of bytes that look like a header's: the undecided ones, then new ones."""
        yield from [offset - self._offset for offset in self._undecided]
        position = max(self._searched_to - self._offset, 0)
        while match := _HEADER_START.search(self._buffer, position):
            position = match.start() + 1
            self._searched_to = self._offset + position
            yield match.start()
        position = max(position, len(self._buffer) - _HEADER_START_BYTES + 1)
        self._searched_to = self._offset + position

    def _is_confirmed(self, position: int) -> bool | None:
        """Return whether a header there leads on to another one; None if that takes more bytes."""
        if len(self._buffer) < position + HEADER_BYTES:
            return None
        if not self._is_header(position):
            return False
        end = position + self._record_bytes(position)
        if len(self._buffer) == end:
            return True
        return self._is_header(end) if len(self._buffer) >= end + HEADER_BYTES else None

    def _is_header(self, position: int) -> bool:
        return (
            _HEADER_START.match(self._buffer, position) is not None
            and self._record_bytes(position) <= HEADER_BYTES + MAX_PAYLOAD_BYTES
        )

    def _record_bytes(self, position: int) -> int:
        """Return the size that the header there gives its record."""
        end = position + HEADER_BYTES
        return HEADER_BYTES + int.from_bytes(self._buffer[end - 2 : end])

    def _record(self, payload: bytes, *, is_whole: bool) -> TlsRecord:
        """Return the record whose header the buffer starts with."""
        start, skipped_bytes = self._offset, self._skipped_bytes
        self._skipped_bytes = 0
        end = start + self._record_bytes(0)
        return TlsRecord(
            bytes(self._buffer[:HEADER_BYTES]), payload, start, end, is_whole, skipped_bytes
        )

    def _drop(self, size: int) -> None:
        del self._buffer[:size]
        self._offset += size
