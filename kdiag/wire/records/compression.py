"""The codecs of record batches: gzip, snappy, lz4 and zstd, both ways, with a cap on the output.

The forms that Kafka's clients write, all of which are read:

* **gzip**: one member or several in a row;
* **snappy**: one raw block (franz-go, KafkaJS), or the framing of snappy-java, called xerial here:
  sixteen bytes of header, then blocks of 32 KiB, each behind its length (Java, kafka-python);
* **lz4**: one frame. Up to magic 0 Kafka computed the checksum of the frame's header over four
  bytes too many and did not verify it; since magic 1 the checksum is right (KAFKA-3160);
* **zstd**: frames with or without the size of their content.

A few bytes can claim to be gigabytes. So memory grows with the output, not with the claim: a codec
gets about as many bytes at a time as it can blow up to the room that is left, and a claim that its
bytes cannot fulfil is refused. What a run may spend is said once, in `ALLOWANCE`, and holds
wherever that run reads batches: it is of the context (PEP 567), so two runs do not share it.
"""

import struct
import threading
import zlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from contextvars import ContextVar
from functools import cache
from typing import Final, Protocol

import cramjam
import lz4.frame
from zstandard import ZstdCompressor, ZstdDecompressor, ZstdError

from kdiag.errors import DecodeError

CODECS: Final = ("none", "gzip", "snappy", "lz4", "zstd")
"""The codecs by their number in the attributes of batches and messages."""

FORMS: Final = {"gzip": ("",), "snappy": ("xerial", "raw"), "lz4": ("",), "zstd": ("", "sized")}
"""The forms that each codec can be written in; the first is that of Kafka's Java client."""

DEFAULT_MAX_BYTES: Final = 256 * 1024 * 1024

MAX_FRAMES: Final = 1024
"""The most gzip members, lz4 or zstd frames in one batch."""

# The most bytes that one byte of input can become, by the codecs' formats.
GZIP_RATIO: Final = 1032
LZ4_RATIO: Final = 255
ZSTD_RATIO: Final = 1 << 15
SNAPPY_RATIO: Final = 22

MIN_CHUNK_BYTES: Final = 256
"""The least input of a codec at a time; output may exceed the cap by that times its ratio."""

XERIAL_MAGIC: Final = b"\x82SNAPPY\x00"
XERIAL_HEADER: Final = XERIAL_MAGIC + struct.pack(">ii", 1, 1)
XERIAL_BLOCK_BYTES: Final = 32 * 1024

LZ4_CONTENT_SIZE_FLAG: Final = 0x08
LZ4_DICTIONARY_FLAG: Final = 0x01


def name_of(number: int) -> str:
    """Return the codec with a number, or a name that `decompress` refuses: `unknown (5)`."""
    return CODECS[number] if 0 <= number < len(CODECS) else f"unknown ({number})"


class DecompressionAllowance:
    """How many decompressed bytes, and records made of them, may be in memory at a time."""

    _LITTLE_BYTES: Final = 16 << 20  # so little is not worth measuring, and always allowed

    def __init__(self) -> None:
        self._measure = ContextVar[Callable[[], int] | None]("measure", default=None)

    @property
    def measure(self) -> Callable[[], int] | None:
        """Return what measures the room that this run has; None without a budget."""
        return self._measure.get()

    def limit(self, measure: Callable[[], int]) -> None:
        """Limit what the current context may spend.

        Args:
            measure: returns what the budget of the run leaves just now.
        """
        self._measure.set(measure)

    def at_most(self, needed_bytes: int, max_bytes: int) -> int:
        """Return how much what may need so much may take, which is no more than `max_bytes`."""
        measure = self.measure
        if measure is None or needed_bytes <= self._LITTLE_BYTES:
            return max_bytes
        return min(max_bytes, max(measure(), self._LITTLE_BYTES))

    def steps(self, max_bytes: int) -> Iterator[int]:
        """Yield limits to try one after the other: most batches need no measuring."""
        if self.measure is None or max_bytes <= self._LITTLE_BYTES:
            yield max_bytes
            return
        yield self._LITTLE_BYTES
        limit = self.at_most(max_bytes, max_bytes)
        if limit > self._LITTLE_BYTES:
            yield limit


ALLOWANCE: Final = DecompressionAllowance()
"""That of the run in whose context it is asked."""


class _OutgrownError(Exception):
    """The output exceeds the cap."""


class _Stream(Protocol):
    """A decompressor of one frame: the common interface of zlib, lz4 and zstandard."""

    @property
    def eof(self) -> bool: ...

    @property
    def unused_data(self) -> bytes | None: ...

    def decompress(self, data: bytes, /) -> bytes: ...


def decompress(
    codec: str, data: bytes, *, max_bytes: int = DEFAULT_MAX_BYTES, magic: int = 2
) -> bytes:
    """Return the bytes that a codec compressed to `data`.

    Args:
        codec: a name of `CODECS`.
        data: the compressed bytes, all of them.
        max_bytes: the most bytes of output.
        magic: of the batch; in 0 the checksum of an lz4 frame's header is ignored.

    Raises:
        DecodeError: if the bytes are not the codec's, end early, or become more than `max_bytes`
            or than `ALLOWANCE` leaves.
    """
    try:
        decode = _DECOMPRESSORS[codec]
    except KeyError:
        raise DecodeError("", 0, f"no such codec: {codec}") from None
    if codec == "lz4" and magic == 0:
        data = _with_header_checksum(data, skipped=4)
    limit = max_bytes
    try:
        for limit in ALLOWANCE.steps(max_bytes):
            with suppress(_OutgrownError):
                return decode(data, limit)
    except _failures(codec) as error:
        raise DecodeError("", 0, f"not {codec}: {error}") from None
    raise DecodeError("", 0, f"decompresses to more than {limit} bytes")


def compress(codec: str, data: bytes, *, form: str = "", magic: int = 2) -> bytes:
    """Return `data` compressed as Kafka's Java client does, or in another form of the codec.

    Args:
        codec: a name of `CODECS`.
        data: the bytes to compress.
        form: one of the codec's `FORMS`; empty for the first.
        magic: of the batch; in 0 an lz4 frame's header gets the wrong checksum of that time.

    Raises:
        ValueError: if there is no such codec or form.
    """
    if codec == "none":
        return data
    if codec not in FORMS:
        raise ValueError(f"no such codec: {codec}")
    form = form or FORMS[codec][0]
    if form not in FORMS[codec]:
        raise ValueError(f"{codec} has no form {form!r}")
    if codec == "gzip":
        return zlib.compress(data, wbits=16 + zlib.MAX_WBITS)
    if codec == "lz4":
        frame = _write_lz4(data)
        return _with_header_checksum(frame, skipped=0) if magic == 0 else frame
    if codec == "zstd":
        return _write_zstd(data, is_sized=form == "sized")
    return _write_raw_snappy(data) if form == "raw" else _write_xerial(data)


def _failures(codec: str) -> tuple[type[Exception], ...]:
    """Return the exceptions of the codec's library for wrong bytes."""
    if codec == "zstd":
        return (ZstdError, MemoryError)
    if codec == "snappy":
        return (cramjam.DecompressionError, MemoryError)
    return (zlib.error if codec == "gzip" else RuntimeError, MemoryError)


def _read_frames(new: Callable[[], _Stream], data: bytes, max_bytes: int, ratio: int) -> bytes:
    """Return the content of frames in a row.

    Args:
        new: makes the decompressor of one frame.
        data: the frames.
        max_bytes: the most bytes of output.
        ratio: the most bytes that one byte of input can become.
    """
    pieces: list[bytes] = []
    position, room = 0, max_bytes
    for _ in range(MAX_FRAMES):
        stream = new()
        while not stream.eof:
            if position == len(data):
                raise DecodeError("", position, "the compressed bytes end early")
            chunk = data[position : position + max(room // ratio, MIN_CHUNK_BYTES)]
            piece = stream.decompress(chunk)
            pieces.append(piece)
            position += len(chunk) - len(stream.unused_data or b"")
            room -= len(piece)
            if room < 0:
                raise _OutgrownError
        if position == len(data):
            return pieces[0] if len(pieces) == 1 else b"".join(pieces)
    raise DecodeError("", position, f"more than {MAX_FRAMES} compressed frames in a row")


def _read_none(data: bytes, max_bytes: int) -> bytes:
    if len(data) > max_bytes:
        raise _OutgrownError
    return data


def _read_gzip(data: bytes, max_bytes: int) -> bytes:
    def new() -> _Stream:
        return zlib.decompressobj(wbits=16 + zlib.MAX_WBITS)

    return _read_frames(new, data, max_bytes, GZIP_RATIO)


def _read_lz4(data: bytes, max_bytes: int) -> bytes:
    return _read_frames(lz4.frame.LZ4FrameDecompressor, data, max_bytes, LZ4_RATIO)


def _read_zstd(data: bytes, max_bytes: int) -> bytes:
    return _read_frames(_zstd_decompressor().decompressobj, data, max_bytes, ZSTD_RATIO)


def _read_snappy(data: bytes, max_bytes: int) -> bytes:
    if not data.startswith(XERIAL_MAGIC):
        return _read_raw_snappy(data, max_bytes)
    blocks: list[bytes] = []
    position, room = len(XERIAL_HEADER), max_bytes
    if len(data) < position:
        raise DecodeError("", len(data), "the header of the snappy framing is cut")
    while position < len(data):
        # snappy-java writes its header again when streams are appended to one another
        if data.startswith(XERIAL_MAGIC, position):
            position += len(XERIAL_HEADER)
            continue
        start = position + 4
        position = start + int.from_bytes(data[position:start], "big")
        if position > len(data) or position == start:
            raise DecodeError("", start, f"no snappy block of {position - start} bytes here")
        block = _read_raw_snappy(data[start:position], room)
        room -= len(block)
        blocks.append(block)
    return b"".join(blocks)


def _read_raw_snappy(data: bytes, max_bytes: int) -> bytes:
    size = 0
    for index, byte in enumerate(data[:5]):
        size |= (byte & 0x7F) << 7 * index
        if not byte & 0x80:
            break
    if size > max_bytes:
        raise _OutgrownError
    if size > SNAPPY_RATIO * len(data):
        raise DecodeError("", 0, f"{len(data)} bytes of snappy cannot become {size}")
    return bytes(cramjam.snappy.decompress_raw(data))


_DECOMPRESSORS: Final[dict[str, Callable[[bytes, int], bytes]]] = {
    "none": _read_none,
    "gzip": _read_gzip,
    "snappy": _read_snappy,
    "lz4": _read_lz4,
    "zstd": _read_zstd,
}


def _write_raw_snappy(data: bytes) -> bytes:
    return bytes(cramjam.snappy.compress_raw(data))


def _write_xerial(data: bytes) -> bytes:
    parts = [XERIAL_HEADER]
    for position in range(0, len(data), XERIAL_BLOCK_BYTES):
        block = _write_raw_snappy(data[position : position + XERIAL_BLOCK_BYTES])
        parts += (len(block).to_bytes(4, "big"), block)
    return b"".join(parts)


def _write_lz4(data: bytes) -> bytes:
    """Return one frame of independent blocks: Kafka's Java client reads no linked ones."""
    written: bytes = lz4.frame.compress(
        data, block_size=lz4.frame.BLOCKSIZE_MAX64KB, block_linked=False, store_size=False
    )
    return written


def _write_zstd(data: bytes, *, is_sized: bool) -> bytes:
    return ZstdCompressor(write_content_size=is_sized).compress(data)


def _with_header_checksum(frame: bytes, *, skipped: int) -> bytes:
    """Return an lz4 frame with another checksum in its header.

    Args:
        frame: the frame; returned as it is if it is too short or needs a dictionary.
        skipped: the bytes that the checksum leaves out: 4 (the magic number) is right, Kafka used
            0 up to magic 0.
    """
    flags = frame[4] if len(frame) > 4 else LZ4_DICTIONARY_FLAG  # noqa: PLR2004 - magic number
    end = 14 if flags & LZ4_CONTENT_SIZE_FLAG else 6
    if flags & LZ4_DICTIONARY_FLAG or len(frame) <= end:
        return frame
    checksum = _xxh32(frame[skipped:end]) >> 8 & 0xFF
    return b"%b%c%b" % (frame[:end], checksum, frame[end + 1 :])


def _xxh32(data: bytes) -> int:
    """Return the xxHash of fewer than sixteen bytes: 32 bits, seed 0.

    Source: the specification of xxHash, where bytes up to fifteen skip the four lanes.
    """
    primes = (0x9E3779B1, 0x85EBCA77, 0xC2B2AE3D, 0x27D4EB2F, 0x165667B1)
    mask = 0xFFFFFFFF
    value = primes[4] + len(data)
    words = len(data) // 4 * 4
    for (word,) in struct.iter_unpack("<I", data[:words]):
        value = value + word * primes[2] & mask
        value = (value << 17 | value >> 15) * primes[3] & mask
    for byte in data[words:]:
        value = value + byte * primes[4] & mask
        value = (value << 11 | value >> 21) * primes[0] & mask
    value = (value ^ value >> 15) * primes[1] & mask
    value = (value ^ value >> 13) * primes[2] & mask
    return value ^ value >> 16


class _OfThread(threading.local):
    """The objects of each thread, because no two may use one at once."""

    zstd_decompressor: ZstdDecompressor | None = None


_of_thread = _OfThread()


def _zstd_decompressor() -> ZstdDecompressor:
    """Return this thread's decompressor: making one takes longer than reading a small batch."""
    if _of_thread.zstd_decompressor is None:
        _of_thread.zstd_decompressor = ZstdDecompressor()
    return _of_thread.zstd_decompressor


def crc32c(data: bytes | memoryview) -> int:
    """Return the CRC-32C of bytes, unsigned."""
    return _library()(data)


@cache
def _library() -> Callable[[bytes | memoryview], int]:
    from crc32c import crc32c as compute  # noqa: PLC0415 - 23 ms: it looks its own version up

    return compute
