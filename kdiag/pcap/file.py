"""Inputs: the bytes of capture files, read in buffers of bounded size."""

import io
from pathlib import Path
from typing import BinaryIO, Final

import numpy as np
import numpy.typing as npt

BLOCK_BYTES: Final = 4 << 20


class Window:
    """The part of an input that is in memory.

    A new buffer is made for each part, so that whoever holds slices of an old one keeps them.

    Attributes:
        name: the name the input was opened by.
        data: the bytes in memory.
        offset: how far `data[0]` lies from the start of the input.
    """

    def __init__(self, name: str, file: io.RawIOBase | BinaryIO, block_bytes: int = BLOCK_BYTES) -> None:
        self.name = name
        self.data: npt.NDArray[np.uint8] = np.empty(0, np.uint8)
        self.offset = 0
        self._file = file
        self._block_bytes = block_bytes

    def advance(self, used: int, need: int = 0) -> bool:
        """Let go of the first `used` bytes and read on until the buffer is full.

        Args:
            used: bytes of `data` that are dealt with.
            need: bytes that must fit into the buffer together.

        Returns:
            Whether anything was read: false at the end of the input.
        """
        rest = self.data[used:]
        size = max(self._block_bytes, need)
        buffer = np.empty(size, np.uint8)
        filled = len(rest)
        buffer[:filled] = rest
        view = memoryview(buffer)
        while filled < size:
            count = self._file.readinto(view[filled:])  # type: ignore[union-attr]
            if not count:
                break
            filled += count
        self.data = buffer[:filled]
        self.offset += used
        return filled > len(rest)


def open_window(path: str | Path) -> Window:
    """Open a file."""
    return Window(str(path), Path(path).open("rb", buffering=0))
