"""Exchanges as lines of text: one each, in columns, as wide as the terminal is.

    #    2026-11-21 UTC   CLIENT → BROKER          CLIENT ID     API          LATENCY  ABOUT
    4    13:14:02.118     127.0.0.1:41034→:9092    order-writer  Produce v10   3.2 ms  orders[0] ...

On a terminal lines are cut to its width, and a header tells the columns; anywhere else lines are
whole, carry the date, and there is no header, so that they can be searched and cut.
"""

from typing import TYPE_CHECKING, Final, NamedTuple

from kdiag.clock import NS_PER_S
from kdiag.exchange.dissection import Dissection
from kdiag.exchange.documents.document import moment_of
from kdiag.exchange.line.line_writer import LineWriter
from kdiag.exchange.line.phrase import size
from kdiag.exchange.model import Connection, Exchange, Gap, Protocol, Status
from kdiag.exchange.topic_names import TopicNames
from kdiag.wire.catalog import API_BY_KEY
from kdiag_cli.output.tcp_text import tcp_phrase
from kdiag_cli.output.terminal import (
    BOLD,
    CYAN,
    DIM,
    GREEN,
    RED,
    YELLOW,
    Output,
    clipped,
    columns_of,
    harmless,
    padded,
)
from kdiag_cli.output.units import duration

if TYPE_CHECKING:
    from collections.abc import Sequence

_LOOK_AHEAD: Final = 200
"""How many lines are kept until the widths of the columns are settled."""

_WIDE: Final = 130
_CLIENT_ID_WIDTH: Final = 16
_WIDE_CLIENT_ID_WIDTH: Final = 28
_API_WIDTH: Final = 28
_ENDPOINTS_WIDTH: Final = 44
_LATENCY_WIDTH: Final = 7
_NOTABLE_TRANSFER_NS: Final = 1_000_000
_NOTABLE_SHARE: Final = 10
"""A transfer is shown from a millisecond and a tenth of the latency on."""
_LEAST_WIDTHS: Final = (12, 4, 8)
"""What of endpoints, client id and API must stay on a narrow terminal."""
_ENOUGH: Final = 50
"""With fewer columns left for it, what a row is about goes to a line of its own if it is long."""

_NARROW: Final = 40
_GAPS: Final = 5
_DAY_S: Final = 86_400
_TITLES: Final = ("CLIENT→BROKER", "CLIENT-ID", "API")
_NOTABLE: Final = {
    Status.MALFORMED: RED,
    Status.PARTIAL: YELLOW,
    Status.UNDECODED: YELLOW,
    Status.UNMATCHED: YELLOW,
    Status.UNANSWERED: YELLOW,
    Status.NO_RESPONSE: DIM,
    Status.OPAQUE: DIM,
}


class _Row(NamedTuple):
    """The cells of a line; what it is about comes in parts with a colour each."""

    second: int
    number: str
    time: str
    endpoints: str
    client_id: str
    api: str
    latency: str
    about: "Sequence[tuple[str, int | None]]"


class ExchangeLines:
    """Prints exchanges, gaps and connections that are not Kafka's as lines."""

    def __init__(self, output: Output, names: TopicNames) -> None:
        self._output = output
        self._line_writer = LineWriter(names)
        self._is_wide = output.width is None or output.width >= _WIDE
        self._rows: list[_Row] = []
        self._widths: list[int] | None = None
        self._day = -1

    def exchange(self, dissection: Dissection) -> None:
        """Print an exchange."""
        exchange = dissection.exchange
        seconds, rest = divmod(exchange.time_ns, NS_PER_S)
        connection = exchange.connection
        self._take(
            _Row(
                seconds,
                str(exchange.number),
                self._time(seconds, rest),
                self._endpoints(connection),
                harmless(exchange.client_id or "-"),
                api_text(exchange),
                timing_text(exchange),
                self._about(dissection),
            )
        )

    def gap(self, gap: Gap) -> None:
        """Print that bytes are missing."""
        seconds, rest = divmod(gap.time_ns, NS_PER_S)
        text = f"{size(gap.size)} missing in the {gap.direction} stream: {gap.reason}"
        about = [(text, YELLOW)]
        endpoints = self._endpoints(gap.connection)
        self._take(_Row(seconds, "", self._time(seconds, rest), endpoints, "", "gap", "", about))

    def connection(self, connection: Connection) -> None:
        """Print that a connection was not Kafka's, or hidden; what TCP did, if that is known."""
        if connection.tcp is not None:
            about = [(tcp_phrase(connection.tcp), DIM)]
            self._take_connection(connection, connection.last_ns, "TCP", about)
        if connection.protocol not in {Protocol.KAFKA, Protocol.EMPTY}:
            about = [(connection_text(connection), DIM)]
            self._take_connection(connection, connection.first_ns, "not Kafka", about)

    def _take_connection(
        self, connection: Connection, time_ns: int, kind: str, about: "list[tuple[str, int]]"
    ) -> None:
        seconds, rest = divmod(time_ns, NS_PER_S)
        endpoints = self._endpoints(connection)
        time = self._time(seconds, rest)
        self._take(_Row(seconds, "", time, endpoints, "", kind, "", about))

    def finish(self) -> None:
        """Print what waits."""
        self._settle()

    def _time(self, seconds: int, rest_ns: int) -> str:
        moment = moment_of(seconds)
        if not self._output.is_terminal:
            return f"{moment:%Y-%m-%d %H:%M:%S}.{rest_ns // 1000:06}"
        if self._is_wide:
            return f"{moment:%H:%M:%S}.{rest_ns // 1000:06}"
        return f"{moment:%H:%M:%S}.{rest_ns // 1_000_000:03}"

    def _endpoints(self, connection: Connection) -> str:
        if not self._output.is_terminal:
            return f"{connection.client} → {connection.broker}"
        client_host, _, _ = connection.client.rpartition(":")
        broker_host, _, broker_port = connection.broker.rpartition(":")
        broker = f":{broker_port}" if broker_host == client_host else connection.broker
        return f"{connection.client}→{broker}"

    def _about(self, dissection: Dissection) -> list[tuple[str, int | None]]:
        parts: list[tuple[str, int | None]] = []
        status = dissection.status
        if status in _NOTABLE:
            parts.append((status.value.replace("_", " "), _NOTABLE[status]))
        if dissection.exchange.guessed:
            parts.append(("guessed", YELLOW))
        error = dissection.error
        if error is not None:
            parts.append((error, RED))
        subject = harmless(self._line_writer.line_of(dissection))
        if subject:
            parts.append((subject, None))
        return parts

    def _take(self, row: _Row) -> None:
        if self._widths is not None:
            self._print(row, self._widths)
            return
        self._rows.append(row)
        if len(self._rows) >= _LOOK_AHEAD or self._output.is_prompt:
            self._settle()

    def _settle(self) -> None:
        """Choose the widths of the columns and print the rows that waited."""
        rows, self._rows = self._rows, []
        if not rows or self._widths is not None:
            return
        client_id = _WIDE_CLIENT_ID_WIDTH if self._is_wide else _CLIENT_ID_WIDTH
        limits = (_ENDPOINTS_WIDTH, client_id, _API_WIDTH)
        cells = [(row.endpoints, row.client_id, row.api) for row in rows]
        columns = [_TITLES, *cells] if self._output.is_terminal else cells
        widths = [
            min(limit, max(map(columns_of, column)))
            for limit, column in zip(limits, zip(*columns, strict=True), strict=True)
        ]
        number = max(3, *(len(row.number) for row in rows))
        if self._output.width is not None:
            rest = number + len(rows[0].time) + _LATENCY_WIDTH + _GAPS
            _shrink(widths, self._output.width - rest)
        self._widths = [number, *widths]
        for row in rows:
            self._print(row, self._widths)

    def _print(self, row: _Row, widths: list[int]) -> None:
        """Print a row; the header before the first one of each day."""
        output = self._output
        if output.is_terminal and row.second // _DAY_S != self._day:
            self._day = row.second // _DAY_S
            self._print_header(row, widths)
        number, endpoints, client_id, api = widths
        is_cut = output.width is not None
        cells = (
            (row.number.rjust(number), DIM),
            (row.time, DIM),
            (_cell(row.endpoints, endpoints, is_cut=is_cut), None),
            (_cell(row.client_id, client_id, is_cut=is_cut), CYAN),
            (_api_cell(row.api, api, is_cut=is_cut), BOLD),
            (row.latency.rjust(_LATENCY_WIDTH), None),
        )
        if output.width is None:
            output.line(" ".join([text for text, _ in (*cells, *row.about)]).rstrip())
            return
        columns = self._painted(cells, output.width)
        room = output.width - sum(columns_of(text) + 1 for text, _ in cells)
        is_long = sum(columns_of(text) + 1 for text, _ in row.about) > room + 1
        if is_long and room < _ENOUGH:
            output.line(columns.rstrip())
            indent = number + 1 if output.width > _NARROW else 1
            output.line(f"{' ' * indent}{self._painted(row.about, output.width - indent)}")
        else:
            output.line(f"{columns} {self._painted(row.about, room)}".rstrip())

    def _painted(self, parts: "Sequence[tuple[str, int | None]]", room: int) -> str:
        """Return what a row is about, cut to the columns that are left."""
        painted = []
        for text, colour in parts:
            if room <= 0:
                break
            shown = clipped(text, room)
            room -= columns_of(shown) + 1
            painted.append(shown if colour is None else self._output.paint(shown, colour))
        return " ".join(painted)

    def _print_header(self, row: _Row, widths: list[int]) -> None:
        number, endpoints, client_id, api = widths
        date = f"{moment_of(row.second):%Y-%m-%d} UTC"
        time_width = len(row.time)
        cells = (
            "#".rjust(number),
            (date if len(date) <= time_width else date[:10]).ljust(time_width),
            _TITLES[0].ljust(endpoints),
            _TITLES[1].ljust(client_id),
            _TITLES[2].ljust(api),
            "LATENCY".rjust(_LATENCY_WIDTH),
            "ABOUT",
        )
        line = " ".join(cells)
        self._output.line(self._output.paint(clipped(line, self._output.width or len(line)), GREEN))


def _cell(text: str, width: int, *, is_cut: bool) -> str:
    return padded(clipped(text, width) if is_cut else text, width)


def _shrink(widths: list[int], room: int) -> None:
    """Take columns from the cells that can spare most, until they fit or none can."""
    while sum(widths) > room:
        spare = [width - least for width, least in zip(widths, _LEAST_WIDTHS, strict=True)]
        if max(spare) <= 0:
            return
        widths[spare.index(max(spare))] -= 1


def _api_cell(text: str, width: int, *, is_cut: bool) -> str:
    """Return API and version in a cell; the version is never cut."""
    name, space, version = text.rpartition(" ")
    room = width - len(space + version)
    return padded(f"{clipped(name, room)}{space}{version}" if is_cut else text, width)


def api_text(exchange: Exchange) -> str:
    """Return API and version: `Fetch v13`."""
    if exchange.api_key is None:
        return "SASL token" if exchange.pairing is Status.OPAQUE else "?"
    api = API_BY_KEY.get(exchange.api_key)
    name = f"API {exchange.api_key}" if api is None else api.name
    return f"{name} v{exchange.version}"


def latency_text(latency_ns: int | None) -> str:
    """Return a latency with three digits: `812 µs`, `3.21 ms`, `1.50 s`."""
    return "-" if latency_ns is None else duration(latency_ns)


def timing_text(exchange: Exchange) -> str:
    """Return latency and, if it takes notably long, transfer: `6.00 ms +4.07 s`."""
    latency_ns, transfer_ns = exchange.latency_ns, exchange.transfer_ns
    text = latency_text(latency_ns)
    if transfer_ns is None or transfer_ns < _NOTABLE_TRANSFER_NS:
        return text
    if latency_ns is not None and transfer_ns * _NOTABLE_SHARE < latency_ns:
        return text
    return f"{text} +{duration(transfer_ns)}"


def connection_text(connection: Connection) -> str:
    """Return what a connection that could not be read as Kafka carried."""
    total = size(connection.request_bytes + connection.response_bytes)
    if connection.protocol is Protocol.TLS:
        version = connection.tls_version or "TLS"
        name = f", server name {harmless(connection.sni)}" if connection.sni else ""
        return f"{version}{name}, {total}: encrypted, not read"
    if connection.protocol is Protocol.UNKNOWN:
        return f"unknown protocol, {total}"
    return f"{connection.protocol.value.upper()}, {total}"
