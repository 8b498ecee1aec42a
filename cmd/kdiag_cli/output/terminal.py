"""The two streams of the program: data on stdout, everything else on stderr.

Text from the wire is made harmless here: whatever is not printable becomes an escape, so that a
client id cannot move the cursor, change colours or write right to left.
"""

import os
import re
import shutil
import sys
from collections.abc import Iterable
from functools import lru_cache
from typing import Final, TextIO

_FLUSH_BYTES: Final = 1 << 16
_CLEAR: Final = "\r\x1b[K"
_UNPRINTABLE: Final = re.compile(r"[^ -~]")
_PLAIN: Final = str.maketrans(
    {"→": "->", "…": "..", "µ": "u", "─": "-", "│": "|"}
    | dict.fromkeys("█▉▊▋▌", "#")
    | dict.fromkeys("▍▎▏", ".")
)
_DEFAULT_WIDTH: Final = 100

BOLD, DIM, RED, GREEN, YELLOW, CYAN = 1, 2, 31, 32, 33, 36


def harmless(text: str) -> str:
    r"""Return a text with everything that is not printable as an escape, such as `\x1b`."""
    return text if text.isprintable() else _UNPRINTABLE.sub(_escape, text)


def _escape(match: re.Match[str]) -> str:
    character = match.group()
    if character.isprintable():
        return character
    code = ord(character)
    if 0xDC80 <= code <= 0xDCFF:  # noqa: PLR2004 - a byte that was not UTF-8 (PEP 383)
        code -= 0xDC00
    if code < 0x100:  # noqa: PLR2004 - two digits are enough
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"  # noqa: PLR2004 - as above


class Output:
    """Standard output: written in large pieces, in the encoding that it has.

    Attributes:
        is_terminal: whether a person looks at it.
        has_colour: whether colours may be used (`NO_COLOR` forbids, no-color.org).
        width: columns of the terminal; None where lines may be as long as they like.
        is_prompt: whether to write every line at once, for input that is still being made.
    """

    def __init__(self, stream: TextIO | None = None) -> None:
        stream = stream or sys.stdout
        self.is_terminal = stream.isatty()
        self.has_colour = self.is_terminal and not os.environ.get("NO_COLOR")
        self.width = _width() if self.is_terminal else None
        self.is_prompt = False
        self._buffer = stream.buffer
        self._encoding = stream.encoding or "utf-8"
        self._is_plain = not self._encoding.lower().replace("-", "").startswith("utf")
        self._parts: list[bytes] = []
        self._size = 0

    def write(self, data: bytes) -> None:
        """Write bytes."""
        self._parts.append(data)
        self._size += len(data)
        if self._size > _FLUSH_BYTES:
            self.flush()

    def line(self, text: str) -> None:
        """Write a line of text, which must be harmless."""
        if self._is_plain:
            text = text.translate(_PLAIN)
        self.write(f"{text}\n".encode(self._encoding, "replace"))

    def flush(self) -> None:
        """Hand over what was written."""
        if self._parts:
            data = b"".join(self._parts)
            self._parts.clear()
            self._size = 0
            self._buffer.write(data)
        self._buffer.flush()

    def paint(self, text: str, *codes: int) -> str:
        """Return a text in colour, or as it is where colours may not be used."""
        if not self.has_colour or not text:
            return text
        return f"\x1b[{';'.join(map(str, codes))}m{text}\x1b[0m"


def _width() -> int:
    return shutil.get_terminal_size((_DEFAULT_WIDTH, 24)).columns


def say(*texts: str) -> None:
    """Tell the person, on stderr."""
    for text in texts:
        sys.stderr.write(f"kdiag: {harmless(text)}\n")
    sys.stderr.flush()


def write_over(text: str = "", stream: TextIO | None = None) -> None:
    """Write a line in place of the last one, on stderr unless told otherwise; empty to remove it.

    It is for terminals, which whoever calls has to see to; the text must be harmless.
    """
    stream = stream or sys.stderr
    stream.write(f"{_CLEAR}{text}")
    stream.flush()


def columns_of(text: str) -> int:
    """Return how many columns a text takes: two for a wide character, none for an accent alone."""
    return len(text) if text.isascii() else _columns_of(text)


@lru_cache(maxsize=4096)
def _columns_of(text: str) -> int:
    from rich.cells import cell_len  # noqa: PLC0415 - only what is printed as text needs it

    return cell_len(text)


def clipped(text: str, width: int) -> str:
    """Return a text cut to a number of columns, with `…` where something is left out."""
    if columns_of(text) <= width:
        return text
    if width <= 0:
        return ""
    room = width - 1
    if text.isascii():
        return f"{text[:room]}…"
    for end, character in enumerate(text):
        room -= columns_of(character)
        if room < 0:
            return f"{text[:end]}…"
    return text


def padded(text: str, width: int) -> str:
    """Return a text with spaces up to a number of columns."""
    return text + " " * (width - columns_of(text))


def table(rows: Iterable[tuple[str, ...]], gap: str = "  ") -> list[str]:
    """Return rows as lines with aligned columns; numbers are the caller's to align."""
    rows = list(rows)
    widths = [max(map(columns_of, column)) for column in zip(*rows, strict=True)]
    return [
        gap.join(padded(cell, width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]


def close_quietly() -> None:
    """Give up stdout after its reader has gone, so that nothing complains at the end."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)
