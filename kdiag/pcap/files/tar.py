"""The first file in a tar archive: people send captures packed as `capture.tar.gz`.

    512 bytes    header: name, size in octal, type, `ustar` at byte 257
    size         the file, padded to a multiple of 512
    512 bytes    the next header; zeros at the end

Source: POSIX.1-2017, pax interchange format; GNU tar for sizes in base 256.
"""

from collections.abc import Callable
from typing import Final, TypeAlias

Fill: TypeAlias = Callable[[memoryview], int | None]
"""Fills a part of a buffer; returns how much, 0 at the end."""

TAR_HEADER_BYTES: Final = 512
_MAGIC: Final = b"ustar"
_MAGIC_AT: Final = 257
_SIZE: Final = slice(124, 136)
_TYPE: Final = slice(156, 157)
_FILES: Final = (b"0", b"\0", b"7")
_BASE_256: Final = 0x80
_SKIPPED_BYTES: Final = 64 << 10


def is_tar(start: bytes) -> bool:
    """Return whether an input that starts with these bytes, 512 if it has them, is an archive."""
    return start[_MAGIC_AT : _MAGIC_AT + len(_MAGIC)] == _MAGIC


class TarFile:
    """Reads the first file with bytes in an archive."""

    def __init__(self, fill: Fill) -> None:
        """Begin before the first header."""
        self._fill = fill
        self._size: int | None = None
        self._left = 0

    def readinto1(self, view: memoryview) -> int:
        """Fill a part of the view; return how much, and 0 at the end of the file.

        Raises:
            EOFError: the archive ends within the file, or holds another one behind it.
        """
        if self._size is None:
            self._size = self._left = self._next_size()
        elif not self._left and self._size:
            self._skip(-self._size % TAR_HEADER_BYTES)
            self._size = 0
            if self._next_size():
                raise EOFError("the archive holds more than one file: unpack it to read them all")
        if not self._left:
            return 0
        count = self._fill(view[: self._left]) or 0
        if not count:
            raise EOFError("the archive ends within its file")
        self._left -= count
        return count

    def _next_size(self) -> int:
        """Return the size of the next file with bytes, whose header is read; 0 if there is none."""
        while is_tar(header := self._read(TAR_HEADER_BYTES)):
            size = _size_in(header)
            if header[_TYPE] in _FILES and size:
                return size
            self._skip(size + -size % TAR_HEADER_BYTES)
        return 0

    def _read(self, size: int) -> bytes:
        """Return the next bytes; fewer at the end."""
        buffer, filled = bytearray(size), 0
        while filled < size and (count := self._fill(memoryview(buffer)[filled:])):
            filled += count
        return bytes(buffer[:filled])

    def _skip(self, size: int) -> None:
        while size > 0 and (some := self._read(min(size, _SKIPPED_BYTES))):
            size -= len(some)


def _size_in(header: bytes) -> int:
    """Return the size of a file by its header.

    Raises:
        EOFError: it states none.
    """
    field = header[_SIZE]
    if field[0] & _BASE_256:
        return int.from_bytes(field[1:])
    try:
        return int(field.strip(b" \0") or b"0", 8)
    except ValueError:
        raise EOFError("the archive is damaged: a header states no size") from None
