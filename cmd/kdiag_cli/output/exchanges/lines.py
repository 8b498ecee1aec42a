"""Exchanges as lines of text: what happened first, then between whom.

      # 2026-11-21   LATENCY API         ABOUT
        CLIENT-ID     CLIENT→BROKER
      4 13:14:02.118 3.20 ms Produce v10 orders[0] 10 records 1.2 kB lz4,
        order-writer  10.0.0.5→:9092     acks all → at 120

A terminal gets columns under a header: whoever took part stands below what happened, or beside it
where there is room. Where there is little, the client id and the client's address give way, latency
and broker never do. Anywhere else lines are whole and carry the date, so that they can be searched
and cut.

Exchanges are complete in another order than they began in. Lines of files wait for a while and are
printed in the order of time; lines of what is still going on are printed at once.
"""

from collections import Counter
from enum import StrEnum
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from kdiag.exchange.context.broker_ids import BrokerIds
from kdiag.exchange.context.topic_names import TopicNames
from kdiag.exchange.dissection import Dissection
from kdiag.exchange.line.line_writer import LineWriter
from kdiag.exchange.line.phrase import count
from kdiag.exchange.model import (
    FAULTY_REASONS,
    Connection,
    Gap,
    Protocol,
    Status,
)
from kdiag.exchange.summary.counts import add_trouble
from kdiag_cli.output.exchanges.text import (
    api_text,
    connection_text,
    gap_text,
    others_text,
    protocol_text,
    sighting_text,
    timing_text,
    unanswered_text,
)
from kdiag_cli.output.exchanges.times import WIDE_COLUMNS, LineTimes
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
    print_paragraph,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

MAX_WAITING: Final = 5_000
"""How many lines wait for earlier ones at most, after which they are printed as they are."""

_MOST_LINES: Final = 4
"""How many lines of a terminal a row takes at most: what an exchange came to stands last in it."""

_TRANSFER: Final = " +"
_OFTEN: Final = 5
"""The column of latencies has room for transfers where every fifth row has one."""

_MAX_ABOUT: Final = 1_000
"""The most characters of what a line says of an exchange: hostile names are no longer."""

_NARROW: Final = 70
_CLIENT_ID_WIDTH: Final = 16
_WIDE_CLIENT_ID_WIDTH: Final = 28
_LEAST_CLIENT_ID_WIDTH: Final = 8
_LEAST_CLIENT_WIDTH: Final = 6
_ENDS_WIDTH: Final = 44
_API_WIDTH: Final = 28
_NARROW_API_WIDTH: Final = 20
_FULL: Final = 100
_LATENCY_WIDTH: Final = 7
_LEAST_ABOUT: Final = 40
"""With fewer columns left for what a row is about, who took part goes below it."""

_LAST: Final = 1 << 62  # behind the exchanges of the same moment
_TITLES: Final = ("CLIENT-ID", "CLIENT→BROKER")
_NOTABLE: Final = {
    Status.MALFORMED: RED,
    Status.PARTIAL: YELLOW,
    Status.UNDECODED: YELLOW,
    Status.UNMATCHED: YELLOW,
    Status.UNANSWERED: YELLOW,
    Status.OPAQUE: DIM,
}
_MOST_TROUBLES: Final = 20


Parts: TypeAlias = "Sequence[tuple[str, int | None]]"
"""Texts with a colour each."""


class _Row(NamedTuple):
    """A line, in parts; what it is about comes with a colour each."""

    time_ns: int
    order: int
    number: str
    latency: str
    api: str
    about: Parts
    client_id: str
    connection: Connection


class _RowLayout(StrEnum):
    """Where a terminal has room for what."""

    BESIDE = "who stands beside what happened"
    BELOW = "who stands below what happened"
    APART = "every group of cells has a line of its own"


class _Widths(NamedTuple):
    """The columns of the cells of all lines, and their layout."""

    number: int
    latency: int
    api: int
    client_id: int = 0
    ends: int = 0
    about: int = 0
    layout: _RowLayout = _RowLayout.BESIDE


class ExchangeLines:
    """Prints exchanges and gaps as lines; connections that are not Kafka's as one line for all."""

    def __init__(
        self,
        output: Output,
        names: TopicNames,
        brokers: BrokerIds,
        *,
        lists_all: bool = False,
        times: LineTimes | None = None,
    ) -> None:
        """Start without lines.

        Args:
            output: where to.
            names: topic names by topic id.
            brokers: node ids by address.
            lists_all: whether each connection that is not Kafka's gets a line.
            times: writes the times; None for those of the day.
        """
        self._output = output
        self._line_writer = LineWriter(names)
        self._brokers = brokers
        self._lists_all = lists_all
        self._times = times or LineTimes(output)
        self._rows: list[_Row] = []
        self._widths: _Widths | None = None
        self._day = ""
        self._others: Counter[str] = Counter()
        self._troubles: Counter[tuple[str, str]] = Counter()
        self._spans: dict[tuple[str, str], tuple[int, int]] = {}

    def exchange(self, dissection: Dissection) -> None:
        """Print an exchange."""
        exchange = dissection.exchange
        self._take(
            _Row(
                exchange.time_ns,
                exchange.number,
                str(exchange.number),
                timing_text(exchange),
                api_text(exchange),
                self._about(dissection),
                harmless(exchange.client_id or "-"),
                exchange.connection,
            )
        )

    def gap(self, gap: Gap) -> None:
        """Print that bytes are missing, or are not understood."""
        kind = "gap" if gap.is_missing else "unread"
        about = [(gap_text(gap), RED if gap.is_fault else YELLOW)]
        self._take(_Row(gap.time_ns, 0, "", "", kind, about, "", gap.connection))

    def connection(self, connection: Connection) -> None:
        """Print its other addresses and what TCP did; count one that was not Kafka's."""
        for each in connection.sightings:
            about = [(sighting_text(each), DIM)]
            self._take(_Row(connection.first_ns, 0, "", "", "again", about, "", connection))
        if connection.tcp is not None:
            about = [(tcp_phrase(connection.tcp), DIM)]
            self._take(_Row(connection.last_ns, _LAST, "", "", "TCP", about, "", connection))
        trouble = connection.trouble
        if trouble is not None:
            key = add_trouble(self._troubles, connection.broker, trouble)
            if key in self._troubles:
                first_ns, last_ns = self._spans.get(key, (connection.first_ns,) * 2)
                span = min(first_ns, connection.first_ns), max(last_ns, connection.first_ns)
                self._spans[key] = span
        if trouble is None and connection.protocol in {Protocol.KAFKA, Protocol.EMPTY}:
            return
        if self._lists_all:
            is_known = connection.protocol in {Protocol.KAFKA, Protocol.EMPTY, Protocol.TLS}
            kind = protocol_text(connection.protocol) if is_known else "not Kafka"
            kind = "connect" if connection.protocol is Protocol.EMPTY else kind
            about = [(connection_text(connection), DIM if trouble is None else YELLOW)]
            self._take(_Row(connection.first_ns, 0, "", "", kind, about, "", connection))
        elif connection.protocol in {Protocol.KAFKA, Protocol.EMPTY}:
            return
        else:
            self._others[protocol_text(connection.protocol)] += 1

    def finish(self) -> None:
        """Print what waits, and how many connections were not Kafka's."""
        self._rows.sort(key=_place)
        self._print_rows(self._rows)
        self._rows.clear()
        for key, number in self._troubles.most_common(_MOST_TROUBLES):
            broker, trouble = key
            when = self._times.span(*self._spans[key])
            text = harmless(f"{count(number, 'connection')} to {broker}{when}: {trouble}")
            print_paragraph(self._output, self._output.paint(text, YELLOW))
        more = len(self._troubles) - _MOST_TROUBLES
        if more > 0:
            self._output.line(f"and {count(more, 'other such kind')} (--summary counts them)")
        self._troubles.clear()
        self._spans.clear()
        if self._others:
            print_paragraph(self._output, self._output.paint(others_text(self._others), DIM))
            self._others.clear()

    def _about(self, dissection: Dissection) -> list[tuple[str, int | None]]:
        parts: list[tuple[str, int | None]] = []
        error = dissection.error
        if error is not None:
            parts.append((error, RED))
        subject = harmless(self._line_writer.line_of(dissection))
        if len(subject) > _MAX_ABOUT:
            subject = f"{subject[:_MAX_ABOUT]}…"
        if subject:
            parts.append((subject, None))
        mark = _mark(dissection)
        if mark is not None:
            text, colour = mark
            parts.insert(0, (f"{text};" if parts else text, colour))
        return parts

    def _take(self, row: _Row) -> None:
        if self._output.is_prompt:
            self._print_rows([row])
            return
        rows = self._rows
        rows.append(row)
        if len(rows) >= 2 * MAX_WAITING:
            rows.sort(key=_place)
            self._print_rows(rows[:MAX_WAITING])
            del rows[:MAX_WAITING]

    def _print_rows(self, rows: "Sequence[_Row]") -> None:
        """Print rows; the first ones settle the widths of the columns."""
        if not rows:
            return
        if self._widths is None:
            self._widths = self._settled(rows)
        print_row = self._print
        if self._output.width is None:
            print_row = self._paint_whole if self._output.has_colour else self._print_whole
        for row in rows:
            print_row(row, self._widths)

    def _settled(self, rows: "Sequence[_Row]") -> _Widths:
        """Return the widths of the columns that suit rows and terminal."""
        width = self._output.width
        long = sum(_TRANSFER in row.latency for row in rows)
        is_frequent = width is None or long * _OFTEN >= len(rows)
        latencies = (row.latency if is_frequent else _brief(row.latency) for row in rows)
        latency = max(_LATENCY_WIDTH, *map(len, latencies))
        api = min(_API_WIDTH, max(columns_of(row.api) for row in rows))
        number = max(3, *(len(row.number) for row in rows))
        if width is None:
            return _Widths(number, latency, api)
        if width < _FULL:
            api = min(_NARROW_API_WIDTH, api)
        client_id = max(columns_of(_TITLES[0]), *(columns_of(row.client_id) for row in rows))
        most = _WIDE_CLIENT_ID_WIDTH if width >= WIDE_COLUMNS else _CLIENT_ID_WIDTH
        client_id = min(most, client_id)
        ends = max(columns_of(_TITLES[1]), *(columns_of(self._ends(row)) for row in rows))
        ends = min(_ENDS_WIDTH, ends)
        if self._output.is_prompt:  # there is one row to go by
            number, api = number + 2, max(_NARROW_API_WIDTH, api)
            client_id = max(_CLIENT_ID_WIDTH, client_id)
        start = number + self._times.width + latency + 3
        about = width - start - api - 1 - client_id - ends - 3
        if about >= _LEAST_ABOUT:
            if not self._output.is_prompt:
                longest = max(_columns(row.about) for row in rows)
                about = min(about, max(_LEAST_ABOUT, longest))
            return _Widths(number, latency, api, client_id, ends, about)
        # Below, who has the columns of time, latency and API above.
        room = start - number - 1 + api
        missing = min(client_id + 1 + ends - room, _NARROW_API_WIDTH - api)
        api, room = api + max(0, missing), room + max(0, missing)
        broker = max(columns_of(_short_broker(row.connection)) for row in rows)
        client_id, ends = _shrunk(client_id, ends, broker + 1 + _LEAST_CLIENT_WIDTH, room - 1)
        layout = _RowLayout.APART if width < _NARROW else _RowLayout.BELOW
        about = max(0, width - start - api - 1)
        return _Widths(number, latency, api, client_id, ends, about, layout)

    def _print_whole(self, row: _Row, widths: _Widths) -> None:
        """Print a row where lines may be as long as they like."""
        connection = row.connection
        who = f"{row.client_id}  " if row.client_id else ""
        who += f"{connection.client} → {connection.broker}{self._id_text(connection)}"
        about = " ".join([text for text, _ in row.about])
        self._output.line(
            f"{row.number:>{widths.number}} {self._times.text(row.time_ns)}"
            f" {row.latency:>{widths.latency}} {row.api:<{widths.api}} {about}  {who}"
        )

    def _paint_whole(self, row: _Row, widths: _Widths) -> None:
        """Print such a row in colours."""
        parts = (*self._cells(row, widths, row.api.ljust(widths.api)), *row.about)
        connection = row.connection
        ends = f"{connection.client} → {connection.broker}{self._id_text(connection)}"
        who = [(row.client_id, CYAN), ("", None)] if row.client_id else []
        self._output.line(self._painted((*parts, ("", None), *who, (ends, DIM)), 1 << 30))

    def _cells(self, row: _Row, widths: _Widths, api: str) -> Parts:
        """Return the first columns of a row."""
        return (
            (row.number.rjust(widths.number), DIM),
            (self._times.text(row.time_ns).ljust(self._times.width), DIM),
            (row.latency.rjust(widths.latency), None),
            (api, BOLD),
        )

    def _print(self, row: _Row, widths: _Widths) -> None:
        """Print a row on a terminal; the header before the first of each day and zone."""
        day = self._times.day(row.time_ns) if self._times.is_of_day else "TIME"
        if day != self._day:
            self._day = day
            self._print_header(day, widths)
        about = row.about
        if len(row.latency) > widths.latency:
            latency, _, transfer = row.latency.partition(_TRANSFER)
            row = row._replace(latency=latency)
            if transfer:
                about = [(f"+{transfer} transfer;", None), *about]
        cells = self._cells(row, widths, _api_cell(row.api, widths.api))
        client_id = padded(clipped(row.client_id, widths.client_id), widths.client_id)
        ends = padded(self._ends_within(row, widths.ends), widths.ends)
        self._print_cells(cells, about, ((client_id, CYAN), (ends, DIM)), widths)

    def _id_text(self, connection: Connection) -> str:
        """Return the broker's node id behind its address, once something told it."""
        broker_id = self._brokers.of(connection)
        return "" if broker_id is None else f" (id {broker_id})"

    def _ends(self, row: _Row) -> str:
        connection = row.connection
        return f"{connection.client}→{_short_broker(connection)}{self._id_text(connection)}"

    def _ends_within(self, row: _Row, width: int) -> str:
        """Return both addresses; the broker's loses nothing.

        Where they are too long the node id goes, then the client's port, then the client's end.
        """
        client, broker = row.connection.client, _short_broker(row.connection)
        for text in (self._ends(row), f"{client}→{broker}"):
            if columns_of(text) <= width:
                return text
        return f"{clipped(client.rpartition(':')[0], width - columns_of(broker) - 1)}→{broker}"

    def _print_cells(self, cells: Parts, about: Parts, who: Parts, widths: _Widths) -> None:
        """Print what happened and who took part, as the layout has it."""
        output, width = self._output, self._output.width
        assert width is not None
        if widths.layout is _RowLayout.APART:
            for parts in (cells, about, who):
                output.line(self._painted(parts, width).rstrip())
            return
        rest: Parts
        first, rest = _split_at(about, widths.about)
        top = f"{self._painted(cells, width)} {self._filled(first, widths.about)}"
        left = _MOST_LINES - 1
        if widths.layout is _RowLayout.BESIDE:
            output.line(f"{top}  {self._painted(who, width)}".rstrip())
        else:
            output.line(top.rstrip())
            indent = widths.number + 1
            spare = _columns(cells) - indent - _columns(who)
            second, rest = _cut_at(rest, widths.about + min(0, spare))
            below = f"{' ' * indent}{self._painted(who, width)} {' ' * max(0, spare)}"
            output.line(f"{below}{self._painted(second, widths.about)}".rstrip())
            left -= 1
        self._print_rest(rest, left, _columns(cells), widths.about)

    def _print_rest(self, parts: Parts, left: int, indent: int, room: int) -> None:
        """Print what is left of a row on so many lines; the last one is cut."""
        while parts and left:
            left -= 1
            if left:
                first, parts = _cut_at(parts, room)
            else:
                first, parts = parts, []
            self._output.line(f"{' ' * indent}{self._painted(first, room)}")

    def _filled(self, parts: Parts, room: int) -> str:
        """Return parts as a cell of some columns."""
        return self._painted(parts, room) + " " * max(0, room - _columns(parts) + bool(parts))

    def _painted(self, parts: Parts, room: int) -> str:
        """Return parts with spaces between them, cut to some columns."""
        painted = []
        for text, colour in parts:
            if room <= 0:
                break
            shown = clipped(text, room)
            room -= columns_of(shown) + 1
            painted.append(shown if colour is None else self._output.paint(shown, colour))
        return " ".join(painted)

    def _print_header(self, day: str, widths: _Widths) -> None:
        cells = (
            ("#".rjust(widths.number), GREEN),
            (day.ljust(self._times.width), GREEN),
            ("LATENCY".rjust(widths.latency), GREEN),
            ("API".ljust(widths.api), GREEN),
        )
        widths_of_who = (widths.client_id, widths.ends)
        pairs = zip(_TITLES, widths_of_who, strict=True)
        who = [(padded(title, columns), GREEN) for title, columns in pairs]
        self._print_cells(cells, [("ABOUT", GREEN)], who, widths)


def _mark(dissection: Dissection) -> tuple[str, int] | None:
    """Return what is notable about the state of an exchange; None of one that is in order."""
    status, exchange = dissection.status, dissection.exchange
    reason = exchange.unanswered_reason
    if status is Status.UNANSWERED and reason is not None:
        return unanswered_text(exchange, reason), YELLOW if reason in FAULTY_REASONS else DIM
    if status in _NOTABLE and reason is not None:
        return f"{status.value}, {unanswered_text(exchange, reason)}", _NOTABLE[status]
    if exchange.is_violation:
        what = "answers no request" if exchange.request is None else "answered out of order"
        return f"{what}: protocol violation", RED
    if status not in _NOTABLE:
        return None
    guessed = ", guessed" if exchange.guessed else ""
    return f"{status.value}{guessed}", _NOTABLE[status]


def _place(row: _Row) -> tuple[int, int]:
    return row[:2]


def _columns(parts: Parts) -> int:
    """Return the columns of parts with a space behind each."""
    return sum(columns_of(text) + 1 for text, _ in parts)


def _split_at(
    parts: Parts, room: int
) -> "tuple[list[tuple[str, int | None]], list[tuple[str, int | None]]]":
    """Return the parts that fit into some columns, and the rest; the last one breaks at a space."""
    first: list[tuple[str, int | None]] = []
    for position, (text, colour) in enumerate(parts):
        columns = columns_of(text)
        if columns <= room:
            first.append((text, colour))
            room -= columns + 1
            continue
        cut = clipped(text, room + 2)[:-1].rpartition(" ")[0] if room > 0 else ""
        cut = "" if cut == "→" else cut.removesuffix(" →")
        if cut:
            first.append((cut, colour))
        rest = text[len(cut) + 1 :] if cut else text
        return first, [(rest, colour), *parts[position + 1 :]]
    return first, []


def _cut_at(parts: Parts, room: int) -> "tuple[Parts, Parts]":
    """Return the parts that fit into some columns, and the rest; a longer word breaks."""
    first, rest = _split_at(parts, room)
    if first or not rest:
        return first, rest
    (text, colour), *others = rest
    cut = clipped(text, room + 1)[:-1]
    cut = cut[: cut.rfind(",") + 1] or cut
    return [(cut, colour)], [(text[len(cut) :], colour), *others]


def _brief(latency: str) -> str:
    """Return a latency without the transfer behind it."""
    return latency.partition(_TRANSFER)[0]


def _shrunk(client_id: int, ends: int, least_ends: int, room: int) -> tuple[int, int]:
    """Return the widths of client id and ends that fit, or the least ones."""
    while client_id + ends > room:
        spares = client_id - _LEAST_CLIENT_ID_WIDTH, ends - least_ends
        if max(spares) <= 0:
            break
        if spares[0] >= spares[1]:
            client_id -= 1
        else:
            ends -= 1
    return client_id, ends


def _short_broker(connection: Connection) -> str:
    """Return the broker's address: its port alone where it has the host of the client."""
    client_host = connection.client.rpartition(":")[0]
    broker_host, _, broker_port = connection.broker.rpartition(":")
    return f":{broker_port}" if broker_host == client_host else connection.broker


def _api_cell(text: str, width: int) -> str:
    """Return API and version in a cell; the version is never cut."""
    name, space, version = text.rpartition(" ")
    room = width - len(space + version)
    return padded(f"{clipped(name, room)}{space}{version}", width)
