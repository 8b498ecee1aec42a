"""Where the records of `kdiag tail` go: lines in a pipe, columns on a terminal, a Parquet file."""

from collections.abc import Sequence
from typing import Final, NamedTuple, Protocol

from kdiag.clock import NS_PER_MS
from kdiag.exchange.line.shown_time import ZoneNotice, date_and_time
from kdiag.probe.tail.record_runs import MAX_RUN_BYTES, RecordRun
from kdiag_cli.commands.tail.json_columns import is_internal
from kdiag_cli.commands.tail.line_template import Column, LineTemplate, Piece
from kdiag_cli.commands.tail.text_columns import NO_MARK, TextColumns
from kdiag_cli.output.json_text import shown
from kdiag_cli.output.terminal import BOLD, CYAN, DIM, GREEN, RED, YELLOW, Output, clipped, harmless

_TERMINAL_RUN_BYTES: Final = 1 << 14
"""Small on a terminal, so that it is known after Ctrl-C what was shown."""

_VALUES_RUN_BYTES: Final = 1 << 16
"""Little enough for the processor's cache, and for memory that was used just before: a third less
time than with half a megabyte."""

_BLUE: Final = 34
_MAGENTA: Final = 35
_PALETTE: Final = (CYAN, GREEN, YELLOW, _MAGENTA, _BLUE)
_LEAST_VALUE_WIDTH: Final = 20
_MOST_KEY_WIDTH: Final = 40
_NULL: Final = "null"
_NO_TIME: Final = "-"


class RecordPrinter(Protocol):
    """Prints or stores records.

    Attributes:
        run_bytes: about how many bytes a run should have.
        only_values: whether it looks at nothing but values.
    """

    run_bytes: int
    only_values: bool

    def write(self, run: RecordRun) -> None:
        """Write the records of a run, and flush."""
        ...

    def finish(self) -> None:
        """Complete the output."""
        ...


class LinePrinter:
    """Lines by a template."""

    def __init__(self, output: Output, template: LineTemplate) -> None:
        self.run_bytes = _VALUES_RUN_BYTES if template.only_values else MAX_RUN_BYTES
        if output.is_terminal:
            self.run_bytes = _TERMINAL_RUN_BYTES
        self._output = output
        self._template = template
        self.only_values = template.only_values

    def write(self, run: RecordRun) -> None:
        """Print a line for each record."""
        self._output.write(self._template.lines(run))
        self._output.flush()

    def finish(self) -> None:
        """Print nothing more."""


class JsonPrinter(LinePrinter):
    """JSON lines; on a terminal in colours, and with escapes for what could move its cursor."""

    def write(self, run: RecordRun) -> None:
        """Print a line for each record."""
        self._output.write(shown(self._output, self._template.lines(run)))
        self._output.flush()


def default_template(columns: TextColumns, *, has_marks: bool) -> LineTemplate:
    """Return the template of a pipe: the value; of Kafka's own topics, the key before it.

    Args:
        columns: make keys and values.
        has_marks: whether a line begins with what makes its record unlike others.
    """

    def internal_key(run: RecordRun) -> Sequence[Piece]:
        if run.origin.is_control or not is_internal(run, columns.key_format):
            return ()
        return (*columns.key(run), b"\t")

    marks: tuple[bytes | Column, ...] = (columns.mark, b"\t") if has_marks else ()
    return LineTemplate([*marks, internal_key, columns.value, b"\n"], only_values=True)


class _TerminalLine(NamedTuple):
    """The cells of a line on a terminal."""

    place: str
    timestamp_ms: int
    mark: bytes
    key: str | None
    value: str | None
    headers: str


class TerminalPrinter:
    """A line for each record: time, place, key, value and headers, cut to the width."""

    def __init__(self, output: Output, columns: TextColumns, *, is_wide: bool) -> None:
        """Print to a terminal.

        Args:
            output: the terminal.
            columns: make keys and values.
            is_wide: whether lines are printed whole.
        """
        self.run_bytes = _TERMINAL_RUN_BYTES
        self.only_values = False
        self._output = output
        self._columns = columns
        self._width = None if is_wide else output.width
        self._zone = ZoneNotice()
        self._place_width = 0

    def write(self, run: RecordRun) -> None:
        """Print a line for each record."""
        colour = _PALETTE[run.origin.key.partition % len(_PALETTE)]
        for row in self._rows(run):
            self._print(row, colour)
        self._output.flush()

    def finish(self) -> None:
        """Print nothing more."""

    def _rows(self, run: RecordRun) -> Sequence[_TerminalLine]:
        cells, count = run.columns, len(run.columns)
        columns = (
            [f"{run.origin.key}@{offset}" for offset in cells.offsets()],
            cells.timestamps(),
            _each(self._columns.mark(run), count),
            _texts(self._columns.key(run), cells.keys()),
            _texts(self._columns.value(run), cells.values()),
            [each.decode("utf-8", "replace") for each in _each(self._columns.headers(run), count)],
        )
        return [_TerminalLine(*row) for row in zip(*columns, strict=True)]

    def _print(self, row: _TerminalLine, colour: int) -> None:
        paint = self._output.paint
        self._place_width = max(self._place_width, len(row.place))
        if row.timestamp_ms >= 0 and (notice := self._zone.due(row.timestamp_ms * NS_PER_MS)):
            self._output.line(paint(notice, DIM))
        time, place = time_text(row.timestamp_ms), row.place.ljust(self._place_width)
        key = _NULL if row.key is None else clipped(harmless(row.key), self._key_width())
        mark = "" if row.mark == NO_MARK else f"{row.mark.decode()}  "
        headers = f"  {harmless(row.headers)}" if row.headers else ""
        shown = len(time) + len(place) + len(key) + len(mark) + 6
        first, *more = self._value_lines(row.value, shown, headers)
        value = paint(first, DIM) if row.value is None else first
        self._output.line(
            f"{paint(time, DIM)}  {paint(place, colour)}  {paint(mark, RED)}"
            f"{paint(key, DIM if row.key is None else BOLD)}  {value}{paint(headers, DIM)}"
        )
        for line in more:
            self._output.line(line)

    def _key_width(self) -> int:
        return _MOST_KEY_WIDTH if self._width is not None else 1 << 62

    def _value_lines(self, value: str | None, shown: int, headers: str) -> list[str]:
        """Return a value as lines: one that fits, or all that pretty JSON has."""
        if value is None:
            return [_NULL]
        lines = [harmless(line) for line in value.split("\n")]
        if len(lines) > 1 and self._columns.is_pretty:
            return ["", *lines]
        line = harmless(value)
        if self._width is not None:
            room = self._width - shown - len(headers)
            line = clipped(line, max(room, _LEAST_VALUE_WIDTH))
        return [line]


def time_text(timestamp_ms: int) -> str:
    """Return a moment in the zone that is shown; `-` for none."""
    return _NO_TIME if timestamp_ms < 0 else date_and_time(timestamp_ms * NS_PER_MS)


def _each(pieces: Sequence[Piece], count: int) -> list[bytes]:
    """Return a column's piece for each record."""
    (piece,) = pieces
    return [piece] * count if isinstance(piece, bytes) else piece


def _texts(pieces: Sequence[Piece], data: Sequence[bytes | None]) -> list[str | None]:
    """Return keys or values as texts, None for null."""
    texts = _each(pieces, len(data))
    return [
        None if original is None else text.decode("utf-8", "surrogateescape")
        for text, original in zip(texts, data, strict=True)
    ]
