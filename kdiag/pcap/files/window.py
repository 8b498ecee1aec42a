"""Inputs: capture files, compressed or not, and pipes, read in buffers of bounded size.

What an input holds is told by its first bytes, never by its name.
"""

import gzip
import io
import lzma
import os
import select
import stat
import sys
import zlib
from bz2 import BZ2Decompressor
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from lzma import LZMADecompressor
from pathlib import Path
from typing import BinaryIO, Final, Protocol, cast

import lz4.frame
import numpy as np
import numpy.typing as npt
import zstandard

from kdiag.errors import CaptureError
from kdiag.pcap.files.tar import TAR_HEADER_BYTES, Fill, TarFile, is_tar

BLOCK_BYTES: Final = 2 << 20
STDIN: Final = "-"
_PIPE_BYTES: Final = 1 << 20
_MAGIC_BYTES: Final = 4
_BUFFERS: Final = 3  # one is read into while its reader deals with the last, or still holds that
_LEAST_BYTES: Final = 24  # the header of a classic capture, which is the shorter one
_GZIP: Final = b"\x1f\x8b"
_ZSTD: Final = b"\x28\xb5\x2f\xfd"
_LZ4: Final = b"\x04\x22\x4d\x18"
_XZ: Final = b"\xfd7zXZ\x00"
_BZIP2: Final = b"BZh"
_MOST_LAYERS: Final = 3
"""How often an input may be packed: a `.tar.gz` twice."""

_PACKED_BYTES: Final = 64 << 10
_MAX_UNPACKING_BYTES: Final = 256 << 20
"""What unpacking xz may take: `xz -9` takes 65 MiB, and a hostile file may state 4 GiB."""
# lz4's binding raises RuntimeError for a damaged frame.
_READ_ERRORS: Final = (
    OSError,
    EOFError,
    RuntimeError,
    zlib.error,
    zstandard.ZstdError,
    lzma.LZMAError,
)


class _RawInput(io.RawIOBase):
    """The bytes of an input as they are stored: counts them, and can be looked at ahead."""

    def __init__(self, file: BinaryIO) -> None:
        super().__init__()
        self.bytes_read = 0
        self._file = file
        self._ahead = b""
        self._poll = _poll_pipe(file)

    @property
    def is_pipe(self) -> bool:
        return self._poll is not None

    def readable(self) -> bool:
        return True

    def look_ahead(self, size: int) -> bytes:
        """Return the first bytes, fewer at the end of the input, and keep them for reading."""
        while len(self._ahead) < size and (more := self._file.read(size - len(self._ahead))):
            self._ahead += more
        return self._ahead[:size]

    def readinto(self, view: memoryview) -> int:  # type: ignore[override]
        if self._ahead:
            count = min(len(view), len(self._ahead))
            view[:count] = self._ahead[:count]
            self._ahead = self._ahead[count:]
        elif isinstance(self._file, io.BufferedIOBase):
            # Not `readinto1`: it goes on to a read that may wait when it has bytes already.
            some = self._file.read1(min(len(view), _PIPE_BYTES))
            count = len(some)
            view[:count] = some
        else:
            count = cast("io.RawIOBase", self._file).readinto(view) or 0
        self.bytes_read += count
        return count

    def put_back(self, data: bytes) -> None:
        """Let the next read return bytes that were read already."""
        self._ahead = data + self._ahead
        self.bytes_read -= len(data)

    def would_wait(self) -> bool:
        """Return whether the next read would wait for whoever writes into the pipe."""
        return self._poll is not None and not self._poll.poll(0)


class _Decompressor(Protocol):
    """A decompressor of Python's own, of one stream; `bz2` and `lzma` have the same."""

    @property
    def eof(self) -> bool: ...

    @property
    def needs_input(self) -> bool: ...

    @property
    def unused_data(self) -> bytes: ...

    def decompress(self, data: bytes, max_length: int = -1) -> bytes: ...


class _Unpacked:
    """An input of several packed streams behind one another, unpacked in bounded memory."""

    def __init__(self, raw: _RawInput, make: Callable[[], _Decompressor]) -> None:
        self._raw = raw
        self._make = make
        self._stream = make()

    def readinto1(self, view: memoryview) -> int:
        """Fill a part of the view; return how much, and 0 at the end of the input.

        Raises:
            EOFError: the input ends within a stream.
        """
        while True:
            if self._stream.eof and not self._begin_next():
                return 0
            packed = self._raw.read(_PACKED_BYTES) if self._stream.needs_input else b""
            if self._stream.needs_input and not packed:
                raise EOFError("the packed file ends within its data")
            some = self._stream.decompress(packed or b"", len(view))
            if some:
                view[: len(some)] = some
                return len(some)

    def _begin_next(self) -> bool:
        """Begin the stream behind one that has ended; return whether there is one."""
        rest = self._stream.unused_data.lstrip(b"\0")  # xz pads
        if not rest:
            rest = (self._raw.read(_PACKED_BYTES) or b"").lstrip(b"\0")
        if not rest:
            return False
        self._raw.put_back(rest)
        self._stream = self._make()
        return True


class _Buffers:
    """Buffers that are used again, for the memory of a new one costs more than what is read."""

    def __init__(self, least_bytes: int) -> None:
        self._least_bytes = least_bytes
        self._known: deque[bytearray] = deque(maxlen=_BUFFERS)

    def next_buffer(self, size: int) -> npt.NDArray[np.uint8]:
        """Return a buffer of at least `size` bytes of which nobody holds a slice."""
        for buffer in self._known:
            if len(buffer) >= size and _is_free(buffer):
                return np.frombuffer(buffer, np.uint8)
        buffer = bytearray(max(size, self._least_bytes))
        self._known.append(buffer)
        return np.frombuffer(buffer, np.uint8)


def _is_free(buffer: bytearray) -> bool:
    """Return whether nobody holds a slice: a buffer cannot change its size while someone does."""
    try:
        buffer.append(buffer.pop())
    except BufferError:
        return False
    return True


class Window:
    """The part of an input that is in memory, and the way to the rest of it.

    Whoever holds slices of an earlier part keeps them: its buffer is not used again before.

    Attributes:
        name: the name the input was opened by.
        data: the bytes in memory, decompressed.
        offset: how far `data[0]` lies from the start of the decompressed input.
    """

    def __init__(self, name: str, file: BinaryIO, block_bytes: int = BLOCK_BYTES) -> None:
        self.name = name
        self.data: npt.NDArray[np.uint8] = np.empty(0, np.uint8)
        self.offset = 0
        self._buffers = _Buffers(block_bytes)
        self._failure: Exception | None = None
        self._raw = _RawInput(file)
        self._fill: Fill = self._raw.readinto
        try:
            self._fill = _unpacked(self._raw)
        except _READ_ERRORS as error:
            self._failure = error

    @property
    def is_pipe(self) -> bool:
        """Return whether more may come at any time: nothing should wait for it."""
        return self._raw.is_pipe

    @property
    def is_compressed(self) -> bool:
        """Return whether the input is stored compressed: then `offset` is not one of the file."""
        return self._fill != self._raw.readinto

    @property
    def bytes_read(self) -> int:
        """Bytes read of the input as it is stored: of the compressed file, if it is one."""
        return self._raw.bytes_read

    def advance(self, used: int, need: int = 0) -> bool:
        """Let go of the first `used` bytes and read on.

        Reads until the buffer is full or, from a pipe, until nothing more is there at the moment.

        Args:
            used: bytes of `data` that are dealt with.
            need: bytes that are wanted together, however long a pipe takes to bring them.

        Returns:
            Whether anything was read: false at the end of the input and where reading failed.
        """
        rest = self.data[used:]
        buffer = self._buffers.next_buffer(max(need, 2 * len(rest)))
        buffer[: len(rest)] = rest
        filled = self._read_into(buffer.data, len(rest), need)
        self.data = buffer[:filled]
        self.offset += used
        return filled > len(rest)

    def check_end(self) -> None:
        """Do nothing if the input ended where it should.

        Raises:
            CaptureError: reading failed, or bytes are left over in the window.
        """
        if self._failure is not None:
            why = f"cannot be read any further: {self._failure}; everything before is read"
            raise self.error(why, len(self.data)) from self._failure
        if len(self.data):
            raise self.error(
                "the capture ends within a packet: either its recording was not stopped cleanly "
                "or the copy is not complete; everything before is read",
            )

    def error(self, why: str, position: int = 0) -> CaptureError:
        """Return an error that names the byte at `position` in the window."""
        return CaptureError(self.name, why, offset=self.offset + position)

    def _read_into(self, view: memoryview, filled: int, need: int) -> int:
        """Fill the view from `filled` on and return how far it is filled then."""
        enough = max(need, filled + 1)
        while filled < len(view) and self._failure is None:
            if filled >= enough and self._raw.would_wait():
                break
            try:
                count = self._fill(view[filled:])
            except _READ_ERRORS as error:
                self._failure = error
                break
            if not count:
                break
            filled += count
        return filled


@contextmanager
def open_window(source: str | Path | BinaryIO, block_bytes: int = BLOCK_BYTES) -> Iterator[Window]:
    """Open an input, with its first block in the window.

    Args:
        source: a path, `-` for standard input, or an open binary file, which stays open.
        block_bytes: how much to hold in memory at a time.

    Raises:
        CaptureError: it cannot be opened or read, or is empty.
    """
    if isinstance(source, str) and source == STDIN:
        yield _first_window("standard input", sys.stdin.buffer, block_bytes)
    elif isinstance(source, str | Path):
        with _open(source) as file:
            yield _first_window(str(source), cast("BinaryIO", file), block_bytes)
    else:
        yield _first_window(str(getattr(source, "name", "stream")), source, block_bytes)


def _open(path: str | Path) -> io.FileIO:
    try:
        return Path(path).open("rb", buffering=0)
    except OSError as error:
        raise CaptureError(str(path), f"cannot be opened: {error.strerror}") from error


def _first_window(name: str, file: BinaryIO, block_bytes: int) -> Window:
    window = Window(name, file, block_bytes)
    if not window.advance(0, _LEAST_BYTES):
        window.check_end()
        raise CaptureError(name, "is empty: nothing was recorded, or nothing is written yet")
    return window


class _Filled(io.RawIOBase):
    """What a function fills buffers with, as a file that may have failed already."""

    def __init__(self, fill: Fill) -> None:
        super().__init__()
        self.failure: Exception | None = None
        self._fill = fill

    def readable(self) -> bool:
        return True

    def readinto(self, view: memoryview) -> int | None:  # type: ignore[override]
        if self.failure is not None:
            raise self.failure
        return self._fill(memoryview(view))  # `read` gives a bytearray, whose slices are copies


def _unpacked_input(fill: Fill) -> _RawInput:
    """Return what a function unpacks as an input; its first bytes are read, in a large buffer.

    A decompressor that is asked for a few bytes returns none before it has read enough.
    """
    file = _Filled(fill)
    start, buffer = b"", bytearray(_PACKED_BYTES)
    try:
        while len(start) < _MAGIC_BYTES and (count := fill(memoryview(buffer))):
            start += buffer[:count]
    except _READ_ERRORS as error:
        file.failure = error
    raw = _RawInput(cast("BinaryIO", file))
    raw.put_back(start)
    return raw


def _unpacked(raw: _RawInput) -> Fill:
    """Return a function that fills a buffer from the input, without what it is packed in."""
    fill = _without_layer(raw)
    for _ in range(_MOST_LAYERS):
        if fill == raw.readinto:
            break
        raw = _unpacked_input(fill)
        fill = _without_layer(raw)
    return fill


def _without_layer(raw: _RawInput) -> Fill:
    """Return a function that fills a buffer with what an input has packed; itself if nothing."""
    start = raw.look_ahead(_MAGIC_BYTES)
    may_be_name = start.decode("latin-1").isprintable()  # no capture begins so, and pipes wait
    if may_be_name and is_tar(raw.look_ahead(TAR_HEADER_BYTES)):
        return TarFile(raw.readinto).readinto1
    return _decompressed(raw)


def _decompressed(raw: _RawInput) -> Fill:
    """Return a function that fills a buffer from the input, decompressed."""
    magic = raw.look_ahead(_MAGIC_BYTES)
    if magic.startswith(_GZIP):
        return gzip.GzipFile(fileobj=raw, mode="rb").readinto1
    if magic == _ZSTD:
        decompressor = zstandard.ZstdDecompressor()
        return decompressor.stream_reader(cast("BinaryIO", raw), read_across_frames=True).readinto1
    if magic == _LZ4:
        return cast("Fill", lz4.frame.LZ4FrameFile(raw).readinto1)
    if magic.startswith(_BZIP2):
        return _Unpacked(raw, BZ2Decompressor).readinto1
    if magic == _XZ[:_MAGIC_BYTES]:
        return _Unpacked(raw, partial(LZMADecompressor, memlimit=_MAX_UNPACKING_BYTES)).readinto1
    return raw.readinto


def _poll_pipe(file: BinaryIO) -> "select.poll | None":
    """Return a poll for bytes in a pipe; None for a file, which never waits."""
    try:
        descriptor = file.fileno()
    except (AttributeError, OSError):
        return None
    if stat.S_ISREG(os.fstat(descriptor).st_mode) or not hasattr(select, "poll"):
        return None
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    return poll
