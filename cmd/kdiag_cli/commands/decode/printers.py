"""Exchanges, gaps and connections for programs: JSON lines, one JSON document, CSV."""

from collections.abc import Callable
from typing import Any, Final

from kdiag.exchange.dissection import Dissection
from kdiag.exchange.documents.document import SCALARS, SCHEMA, DocumentEncoder, Documents
from kdiag.exchange.line.phrase import count
from kdiag.exchange.model import Connection, Gap
from kdiag_cli.output.json_text import SpilledElements, print_json, write_pieces
from kdiag_cli.output.table.delimited import DelimitedRows
from kdiag_cli.output.terminal import Output


class JsonLines:
    """One document on a line for each."""

    def __init__(self, output: Output, documents: Documents) -> None:
        self._output = output
        self._documents = documents
        self._encode = DocumentEncoder().encode

    def exchange(self, dissection: Dissection) -> None:
        """Print an exchange."""
        write_pieces(self._output, self._documents.exchange_text(dissection, b"\n"))

    def gap(self, gap: Gap) -> None:
        """Print a gap."""
        print_json(self._output, self._encode(self._documents.gap(gap)), is_line=True)

    def connection(self, connection: Connection) -> None:
        """Print a connection that has ended."""
        document = self._documents.connection(connection)
        print_json(self._output, self._encode(document), is_line=True)

    def finish(self) -> None:
        """Print nothing more."""


class JsonDocument:
    """One document for all; exchanges are written as they come, the rest behind them."""

    def __init__(
        self, output: Output, documents: Documents, account: Callable[[], dict[str, Any]]
    ) -> None:
        """Begin the document.

        Args:
            output: where it goes.
            documents: make its parts.
            account: returns, at the end, what became of the packets.
        """
        self._output = output
        self._documents = documents
        self._account = account
        self._encode = DocumentEncoder().encode
        self._connections = SpilledElements()
        self._gaps = SpilledElements()
        self._not_understood = SpilledElements()
        self._separator = b""
        write_pieces(output, (b'{"schema":%d,"exchanges":[' % SCHEMA,))

    def exchange(self, dissection: Dissection) -> None:
        """Print an exchange."""
        self._output.write(self._separator)
        write_pieces(self._output, self._documents.exchange_text(dissection))
        self._separator = b",\n"

    def gap(self, gap: Gap) -> None:
        """Keep a gap."""
        kept = self._gaps if gap.is_missing else self._not_understood
        kept.add(self._encode(self._documents.gap(gap)))

    def connection(self, connection: Connection) -> None:
        """Keep a connection that has ended."""
        self._connections.add(self._encode(self._documents.connection(connection)))

    def finish(self) -> None:
        """Print connections and gaps, and end the document."""
        for name, elements in (
            (b'],"connections":', self._connections),
            (b',"gaps":', self._gaps),
            (b',"not_understood":', self._not_understood),
        ):
            write_pieces(self._output, (name,))
            for piece in elements.pieces():
                write_pieces(self._output, (piece,))
        write_pieces(self._output, (b',"capture":', self._encode(self._account()), b"}\n"))


_CSV_COLUMNS: Final = (*SCALARS, "topics", "groups", "request_bytes", "response_bytes")


class CsvRows:
    """A row for each exchange: its plain values, topics, groups and sizes."""

    def __init__(self, output: Output, documents: Documents, *, is_safe: bool = False) -> None:
        """Print the names of the columns.

        Args:
            output: where rows go.
            documents: make their cells.
            is_safe: whether no cell may begin like a formula.
        """
        self._documents = documents
        self._rows = DelimitedRows(output.write, is_safe=is_safe)
        self._rows.row(_CSV_COLUMNS)

    def exchange(self, dissection: Dissection) -> None:
        """Print an exchange."""
        document = self._documents.csv_values(dissection)
        self._rows.row(document[key] for key in _CSV_COLUMNS)

    def gap(self, gap: Gap) -> None:
        """Print nothing: a gap is not an exchange."""

    def connection(self, connection: Connection) -> None:
        """Print nothing: a connection is not an exchange."""

    def finish(self) -> None:
        """Print nothing more."""


class SingleExchange:
    """Keeps the exchange with one number.

    Attributes:
        number: the number looked for.
        found: the exchange, once it has come.
    """

    def __init__(self, number: int) -> None:
        self.number = number
        self.found: Dissection | None = None

    def exchange(self, dissection: Dissection) -> None:
        """Keep the exchange if it is the one."""
        if dissection.exchange.number == self.number:
            self.found = dissection

    def gap(self, gap: Gap) -> None:
        """Let a gap pass."""

    def connection(self, connection: Connection) -> None:
        """Let a connection pass."""

    def finish(self) -> None:
        """Do nothing: whoever asked looks at `found`."""


def absence_text(number: int, last_number: int) -> str:
    """Return why an exchange is not shown: it does not exist, or the options do not choose it."""
    if number <= last_number:
        return f"exchange {number} is not one of those that the options choose"
    return f"there is no exchange {number}: the capture has {count(last_number, 'exchange')}"
