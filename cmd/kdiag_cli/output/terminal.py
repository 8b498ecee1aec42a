"""The two streams of the program: data on stdout, everything else on stderr.

Text from the wire is made harmless here: whatever is not printable becomes an escape, so that a
client id cannot move the cursor, change colours or write right to left.
"""

import fcntl
import io
import os
import re
import select
import sys
from collections.abc import Callable, Iterable
from contextlib import suppress
from enum import StrEnum
from functools import lru_cache
from typing import Final, TextIO

from kdiag_cli.ending import OutputError

_FLUSH_BYTES: Final = 1 << 16
_PIPE_BYTES: Final = 1 << 20
"""Linux allows it to every user (`pipe-max-size`). With the usual 64 KiB, writers of much wake
thousands of times."""
_CLEAR: Final = "\r\x1b[K"
_UNPRINTABLE: Final = re.compile(r"[^ -~]")
_NARROW: Final = re.compile(
    "[ -~\xa0-\xac\xae-\u02ff\u0370-\u03ff\u0400-\u0482\u2010-\u2027\u2190-\u21ff\u2500-\u259f]*"
)
"""Characters of one column: Latin, Greek, Cyrillic, arrows, lines and bars."""
_PLAIN: Final = str.maketrans(
    {"→": "->", "…": "..", "µ": "u", "─": "-", "│": "|", "├": "|", "└": "`", "•": "*"}
    | dict.fromkeys("█▉▊▋▌", "#")
    | dict.fromkeys("▍▎▏", ".")
    | dict.fromkeys("━╸╺", "-")
)
_DEFAULT_WIDTH: Final = 100

BOLD, DIM, RED, GREEN, YELLOW, CYAN = 1, 2, 31, 32, 33, 36


class TimeStyle(StrEnum):
    """How lines show times: those of the day, since the start, or since the line before."""

    OF_DAY = "of day"
    RELATIVE = "relative"
    DELTA = "delta"


_chosen_colour: list[bool | None] = [None]


def choose_colour(choice: bool | None) -> None:  # noqa: FBT001 - the choice itself
    """Decide for all outputs that are made from now on; None leaves it to the environment."""
    _chosen_colour[0] = choice


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
        has_colour: whether colours may be used.
        width: columns of the terminal; None where lines may be as long as they like.
        is_wide: whether tables show all their columns, though they may not fit side by side.
        is_prompt: whether to write every line at once, for input that is still being made.
        before_writing: is called before anything is written, such as to remove a line of status.
    """

    def __init__(self, stream: TextIO | None = None, *, is_wide: bool = False) -> None:
        stream = stream or sys.stdout
        self.is_terminal = stream.isatty()
        self.has_colour = has_colour(stream)
        self.width = width_of(stream) if self.is_terminal else None
        self.is_wide = is_wide
        self.is_prompt = False
        self.before_writing: Callable[[], None] | None = None
        self._buffer = stream.buffer
        self._encoding = stream.encoding or "utf-8"
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
        text = readable(text, self._encoding)
        self.write(f"{text}\n".encode(self._encoding, "backslashreplace"))

    def flush(self) -> None:
        """Hand over what was written.

        Raises:
            BrokenPipeError: the reader has gone.
            OutputError: the disk is full, or the stream was closed.
        """
        data = b"".join(self._parts)
        self._parts.clear()
        self._size = 0
        try:
            if data:
                if self.before_writing is not None:
                    self.before_writing()
                self._buffer.write(data)
            if not self._buffer.closed:  # as a pager is that was left
                self._buffer.flush()
        except BrokenPipeError:
            raise
        except OSError as error:
            raise OutputError(error.strerror) from error

    def paint(self, text: str, *codes: int) -> str:
        """Return a text in colour, or as it is where colours may not be used."""
        if not self.has_colour or not text:
            return text
        return f"\x1b[{';'.join(map(str, codes))}m{text}\x1b[0m"


def readable(text: str, encoding: str) -> str:
    """Return text with plain characters for arrows and bars that an encoding may not have."""
    is_plain = not encoding.lower().replace("-", "").startswith("utf")
    return text.translate(_PLAIN) if is_plain else text


def has_colour(stream: TextIO) -> bool:
    """Return whether colours may be written, by what was chosen, the environment and the terminal.

    `NO_COLOR` forbids them (no-color.org), `FORCE_COLOR` asks for them also in a pipe
    (force-color.org). JSON in a pipe has none in any case.
    """
    chosen = _chosen_colour[0]
    if chosen is not None:
        return chosen
    if os.environ.get("NO_COLOR"):
        return False
    return bool(os.environ.get("FORCE_COLOR")) or can_write_over(stream)


def can_write_over(stream: TextIO) -> bool:
    """Return whether a stream is a terminal that knows more than plain lines."""
    return stream.isatty() and os.environ.get("TERM") != "dumb"


def width_of(stream: TextIO) -> int:
    """Return how many columns a terminal has; `COLUMNS` counts more than what it says itself."""
    columns = os.environ.get("COLUMNS", "")
    if columns.isdecimal() and int(columns) > 0:
        return int(columns)
    with suppress(OSError):  # also of what only says that it is a terminal
        return os.get_terminal_size(stream.fileno()).columns or _DEFAULT_WIDTH
    return _DEFAULT_WIDTH


def say(*texts: str) -> None:
    """Tell the person, on stderr; if that cannot be written, nobody is there to be told."""
    with suppress(OSError, OutputError):
        if sys.stderr.isatty():
            screen = Output(sys.stderr)
            for text in texts:
                print_paragraph(screen, harmless(text), "kdiag: ")
            screen.flush()
            return
        for text in texts:
            sys.stderr.write(f"kdiag: {harmless(text)}\n")
        sys.stderr.flush()


def print_paragraph(output: Output, text: str, head: str = "", below: str | None = None) -> None:
    """Print text: in lines that fit a terminal, or in one line anywhere else.

    Args:
        output: where to.
        text: harmless; what is painted stays so on the next line.
        head: stands before the first line.
        below: stands before the others; by default they are indented as far as the first.
    """
    indented = head + text[: len(text) - len(text.lstrip(" "))]
    text = text.lstrip(" ")
    if output.width is None or columns_of(indented + text) <= output.width:
        output.line(indented + text)
        return
    from kdiag_cli.output.drawing import wrapped  # noqa: PLC0415 - rich: 40 ms, on terminals only

    if below is None:
        below = " " * columns_of(indented)
    room = output.width - columns_of(indented)
    for number, line in enumerate(wrapped(output, text, room)):
        output.line((below if number else indented) + line)


def write_over(text: str = "", stream: TextIO | None = None) -> None:
    """Write a line in place of the last one, on stderr unless told otherwise; empty to remove it.

    Whoever calls has to see to it that the terminal can; the text must be harmless.
    """
    stream = stream or sys.stderr
    stream.write(f"{_CLEAR}{readable(text, stream.encoding or 'utf-8')}")
    stream.flush()


def columns_of(text: str) -> int:
    """Return how many columns a text takes: two for a wide character, none for an accent alone."""
    return len(text) if text.isascii() or _NARROW.fullmatch(text) else _columns_of(text)


@lru_cache(maxsize=4096)
def _columns_of(text: str) -> int:
    from rich.cells import cell_len  # noqa: PLC0415 - rich: 3 ms, which most pipes do without

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


def widen(stream: TextIO) -> None:
    """Widen a stream that is a pipe; any other, or one that may not be widened, stays as it is."""
    set_size = getattr(fcntl, "F_SETPIPE_SZ", None)  # not on macOS
    if set_size is not None:
        with suppress(OSError):  # also of streams that are no files
            fcntl.fcntl(stream.fileno(), set_size, _PIPE_BYTES)


def require_reader(stream: TextIO) -> None:
    """Do nothing if somebody may read what is written; a file or a terminal always has a reader.

    Raises:
        BrokenPipeError: the stream is a pipe, and its reader has closed it.
    """
    watched = select.poll()
    with suppress(io.UnsupportedOperation):  # it is none of the system's streams
        watched.register(stream.fileno(), 0)  # errors and hang-ups are told unasked
        if watched.poll(0):
            raise BrokenPipeError
