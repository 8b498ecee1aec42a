r"""JSON on stdout: for programs on one line, for people on lines of their own and in colours.

Texts come from the wire. JSON escapes what is below a space; everything else that can move a
cursor, turn the direction of a line or end one for some reader (Python's `splitlines`, JavaScript)
is escaped here, as `\u009b`: any parser reads the same values. Letters stay as they are.

The colours are made by one regular expression. rich makes them too, but needs 1.5 seconds for a
document of 350 kB, of which this needs 0.05.
"""

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import IO, Final

import msgspec

from kdiag_cli.ending import OutputError
from kdiag_cli.output.terminal import BOLD, CYAN, DIM, GREEN, Output

_TOKEN: Final = re.compile(
    r'(?P<text>"(?:[^"\\]|\\.)*")(?P<colon>\s*:)?|(?P<number>-?[0-9][0-9.eE+-]*)|(?P<word>true|false|null)'
)
_UNPRINTABLE: Final = re.compile(r"[^ -~\n]")
_CONTROLS: Final = re.compile(
    rb"\x7f|\xc2[\x80-\x9f]"  # DEL and C1; U+0085 ends a line
    rb"|\xe2\x80[\xa8\xa9]"  # U+2028 and U+2029 end one, too
    rb"|\xd8\x9c|\xe2\x80[\x8e\x8f\xaa-\xae]|\xe2\x81[\xa6-\xaf]"  # the direction of text
    rb"|\xef\xbb\xbf|\xef\xbf[\xb9-\xbb]|\xf3\xa0[\x80\x81][\x80-\xbf]"  # unseen: marks, tags
)
"""In UTF-8: half the time of decoding it all."""
_BLUE: Final = 34
_SPILLED_BYTES: Final = 1 << 20


def print_json(output: Output, data: bytes, *, is_line: bool = False) -> None:
    """Print a JSON document.

    Args:
        output: where to.
        data: the document, on one line.
        is_line: whether it stays on one line for people too, as one of many.
    """
    if output.is_terminal and not is_line:
        data = msgspec.json.format(data, indent=2)
    output.write(shown(output, data) + b"\n")


def write_pieces(output: Output, pieces: Iterable[bytes]) -> None:
    """Write a part of a document that comes in pieces, one by one where it need not be coloured."""
    pieces = (shown(output, b"".join(pieces)),) if output.is_terminal else map(escaped, pieces)
    for piece in pieces:
        output.write(piece)


class SpilledElements:
    """The elements of a JSON array that can be written only when others have been.

    They wait in a temporary file that has no name and is gone with the program: a capture may have
    any number of connections.
    """

    def __init__(self) -> None:
        self._file: IO[bytes] | None = None

    def add(self, element: bytes) -> None:
        """Keep the JSON of an element, which is on one line.

        Raises:
            OutputError: the temporary file cannot be written.
        """
        with self._errors():
            if self._file is None:
                from tempfile import SpooledTemporaryFile  # noqa: PLC0415 - 4 ms, seldom needed

                self._file = SpooledTemporaryFile(_SPILLED_BYTES, prefix="kdiag-")  # noqa: SIM115
            self._file.write(element + b"\n")

    def pieces(self) -> Iterator[bytes]:
        """Yield the array, in pieces that are whole elements.

        Raises:
            OutputError: the temporary file cannot be read.
        """
        yield b"["
        with self._errors():
            if self._file is not None:
                self._file.seek(0)
                separator = b""
                for line in self._file:
                    yield separator + line[:-1]
                    separator = b","
                self._file.close()
        yield b"]"

    @contextmanager
    def _errors(self) -> Iterator[None]:
        """Give up the file if it cannot be written or read."""
        try:
            yield
        except OSError as error:
            from tempfile import gettempdir  # noqa: PLC0415 - as above

            if self._file is not None:
                with suppress(OSError):  # the bytes that were not written are tried once more
                    self._file.close()
            why = f"{error.strerror}; set TMPDIR to a folder with more room"
            raise OutputError(why, f"a temporary file in {gettempdir()}") from error


def escaped(data: bytes) -> bytes:
    """Return JSON, or a part of it, with its control characters and marks of direction escaped."""
    if data.isascii() and b"\x7f" not in data:
        return data
    return _CONTROLS.sub(lambda match: _units(match[0].decode()).encode(), data)


def shown(output: Output, data: bytes) -> bytes:
    """Return JSON, or a part of it, as an output shows it: nothing in it moves a cursor."""
    if not output.is_terminal:
        return escaped(data)
    text = _UNPRINTABLE.sub(_escape, data.decode("utf-8", "replace"))
    if output.has_colour:
        text = _TOKEN.sub(lambda match: _painted(output, match), text)
    return text.encode()


def _painted(output: Output, match: re.Match[str]) -> str:
    if match["colon"]:
        return f"{output.paint(match['text'], BOLD, _BLUE)}{match['colon']}"
    if match["text"]:
        return output.paint(match["text"], GREEN)
    return output.paint(match[0], CYAN if match["number"] else DIM)


def _escape(match: re.Match[str]) -> str:
    character = match[0]
    return character if character.isprintable() else _units(character)


def _units(character: str) -> str:
    units = character.encode("utf-16-be").hex()
    return "".join(f"\\u{units[start : start + 4]}" for start in range(0, len(units), 4))
