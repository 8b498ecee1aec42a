"""Exchanges, gaps and connections as Arrow record batches of bounded size.

    tables = TableBatches(emit, TopicNames())
    for item in decode_capture(["traffic.pcap"]):
        tables.add(item)
    tables.flush()

`emit` is called with a table's name and a batch whenever enough rows are there. Batches of a table
are of one schema, `arrow_schema(TABLES[name])`, and of plain columns only, which every reader of
Arrow understands, Spark's included.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeAlias

import pyarrow as pa

from kdiag.diagnosis.rebalance.capture.capture_events import CaptureEvents
from kdiag.exchange.context.fetch_session import FetchSessions
from kdiag.exchange.context.topic_names import TopicNames
from kdiag.exchange.dissection import Dissection
from kdiag.exchange.documents.document import without_surrogates
from kdiag.exchange.model import Connection, Exchange, Gap
from kdiag.pcap.decoder import Item
from kdiag.pcap.files.capture_facts import CaptureFacts
from kdiag.report.tables.batches import (
    batch_cells,
    exchange_cells,
    placed_batches,
    record_cells,
)
from kdiag.report.tables.body_texts import BodyTexts
from kdiag.report.tables.captures import capture_row
from kdiag.report.tables.catalog import DEFAULT_CHOICE, TABLES, TableChoice
from kdiag.report.tables.column import (
    BIGINT,
    BOOLEAN,
    DOUBLE,
    INT,
    STRING,
    TIMESTAMP,
    Table,
)
from kdiag.report.tables.connections import connection_row, gap_row, not_understood_row
from kdiag.report.tables.exchanges import ExchangeFacts, exchange_row, facts_of
from kdiag.report.tables.groups import group_rows
from kdiag.report.tables.latency_counts import LatencyCounts
from kdiag.report.tables.tcp import tcp_rows

DEFAULT_MAX_ROWS: Final = 16_384
DEFAULT_MAX_BYTES: Final = 32 << 20

Emit: TypeAlias = Callable[[str, pa.RecordBatch], object]
"""Is called with a name and a batch."""

CaptureOf: TypeAlias = Callable[[int], str | None]
"""Returns the capture that holds the packet of a number; None if that is not known."""

CAPTURE_FILE: Final = pa.field("capture_file", pa.string())
"""One more column of every table where rows are of many captures."""

_SCALARS: Final = {
    STRING: pa.string(),
    BOOLEAN: pa.bool_(),
    INT: pa.int32(),
    BIGINT: pa.int64(),
    DOUBLE: pa.float64(),
    TIMESTAMP: pa.timestamp("us", tz="UTC"),
}
_REQUEST_BODY: Final = [each.name for each in TABLES["exchanges"].columns].index("request_body")


def arrow_type(ddl: str) -> pa.DataType:
    """Return the type that Spark's DDL names, such as `array<struct<topic:string,number:int>>`."""
    outer, _, inner = ddl.removesuffix(">").partition("<")
    if outer == "array":
        return pa.list_(arrow_type(inner))
    if outer == "struct":
        fields = (each.partition(":") for each in _fields_of(inner))
        return pa.struct([(name, arrow_type(type_)) for name, _, type_ in fields])
    return _SCALARS[ddl]


def _fields_of(inner: str) -> list[str]:
    """Return the fields of a struct; commas within other brackets separate none of them."""
    fields = [""]
    depth = 0
    for letter in inner:
        depth += (letter == "<") - (letter == ">")
        if letter == "," and depth == 0:
            fields.append("")
        else:
            fields[-1] += letter
    return fields


def arrow_schema(table: Table) -> pa.Schema:
    """Return the schema of a table; the meanings of its columns are in their metadata."""
    return pa.schema(
        [
            pa.field(each.name, arrow_type(each.type), metadata={"comment": each.meaning})
            for each in table.columns
        ],
        metadata={"comment": table.meaning},
    )


def extended(table: Table, fields: Sequence[pa.Field]) -> pa.Schema:
    """Return the schema of a table with more columns behind its own."""
    schema = arrow_schema(table)
    for each in fields:
        schema = schema.append(each)
    return schema


class RowBatches:
    """The rows of one table that are not emitted yet."""

    def __init__(
        self, name: str, schema: pa.Schema, emit: Emit, max_rows: int, max_bytes: int
    ) -> None:
        """Start without rows; `emit` is called with the name once there are so many."""
        self._name = name
        self._schema = schema
        self._emit = emit
        self._max_rows = max_rows
        self._max_bytes = max_bytes
        self._rows: list[tuple[Any, ...]] = []
        self._bytes = 0

    def add(self, row: tuple[Any, ...], size: int) -> None:
        """Add a row that counts for so many bytes; emit a batch if it is full."""
        self._rows.append(row)
        self._bytes += size
        if len(self._rows) >= self._max_rows or self._bytes >= self._max_bytes:
            self.flush()

    def flush(self) -> None:
        """Emit the rows, if there are any."""
        if not self._rows:
            return
        columns = zip(*self._rows, strict=True)
        arrays = [
            _array(column, field.type) for column, field in zip(columns, self._schema, strict=True)
        ]
        self._rows.clear()
        self._bytes = 0
        self._emit(self._name, pa.RecordBatch.from_arrays(arrays, schema=self._schema))


def _array(values: Sequence[Any], type_: pa.DataType) -> pa.Array:
    """Return values as a column; text that is not Unicode gets replacement characters.

    Lists take long to convert, and many rows share one.
    """
    if pa.types.is_nested(type_):
        keys = [*map(id, values)]
        distinct = dict(zip(keys, values, strict=True))
        if len(distinct) < len(values):
            places = dict(zip(distinct, range(len(distinct)), strict=True))
            indices = [*map(places.__getitem__, keys)]
            return _array([*distinct.values()], type_).take(pa.array(indices, pa.int32()))
    try:
        return pa.array(values, type_)
    except UnicodeEncodeError:
        return pa.array([without_surrogates(value) for value in values], type_)


def add_group_rows(
    events: CaptureEvents,
    rows: Mapping[str, RowBatches],
    place: Callable[[int | None], tuple[Any, ...]],
) -> None:
    """Add the rows of all groups to their tables.

    Args:
        events: all that was seen of the groups.
        rows: of the tables, by name.
        place: returns the cells that say where a row is from, given a packet if it is from one.
    """
    for row in group_rows(events.in_order()):
        rows[row.table].add(row.cells + place(row.packet), 0)


class TableBatches:
    """Makes rows of exchanges, gaps and connections, and record batches of the rows."""

    def __init__(  # noqa: PLR0913 - the last four are keywords that few callers give
        self,
        emit: Emit,
        names: TopicNames,
        choice: TableChoice = DEFAULT_CHOICE,
        *,
        capture_of: CaptureOf | None = None,
        groups: CaptureEvents | None = None,
        max_rows: int = DEFAULT_MAX_ROWS,
        max_bytes: int = DEFAULT_MAX_BYTES,
    ) -> None:
        """Start without rows.

        Args:
            emit: called with the name of a table and a record batch of it.
            names: the names of topic ids, which `add` adds to.
            choice: of tables.
            capture_of: gives rows the column `CAPTURE_FILE`; None for tables without it.
            groups: collects what makes the tables of groups, which `flush` completes; None where
                not all exchanges of a group come here.
            max_rows: how many rows a batch has at most.
            max_bytes: from how many bytes of JSON and records on a batch gets no more rows.
        """
        self._names = names
        self._choice = choice
        self._sessions = FetchSessions()
        self._bodies = None
        if choice.bodies:
            self._bodies = BodyTexts(names, show_secrets=choice.show_secrets)
        self._capture_of = capture_of
        self._groups = groups
        more = [] if capture_of is None else [CAPTURE_FILE]
        schemas = {table.name: extended(table, more) for table in choice.tables}
        self._latencies = LatencyCounts(schemas.pop("latency_minutes"), emit, max_rows)
        self._emit = emit
        emits = {"exchanges": self._emit_exchanges}
        self._rows = {
            name: RowBatches(name, schema, emits.get(name, emit), max_rows, max_bytes)
            for name, schema in schemas.items()
        }

    def add(self, item: Item) -> None:
        """Add what a decoder has completed, in its order; for callers without their own pipeline.

        Topic names are learnt and fetch sessions followed on the way.
        """
        if isinstance(item, Exchange):
            dissection = Dissection(item)
            self._names.learn(dissection)
            self._sessions.follow(dissection)
            self.exchange(dissection)
        elif isinstance(item, Connection):
            self.connection(item)
        else:
            self.gap(item)

    def exchange(self, dissection: Dissection) -> None:
        """Add an exchange whose fetch session was followed already."""
        if self._groups is not None:
            self._groups.add(dissection)
        facts = facts_of(dissection, self._names)
        row = exchange_row(facts, self._bodies)
        size = 0 if self._bodies is None else len(row[_REQUEST_BODY] or b"") + len(row[-1] or b"")
        frame = dissection.exchange.request or dissection.exchange.response
        place = self._place(0 if frame is None else frame.first_packet)
        self._add_batches(facts, place)
        self._rows["exchanges"].add(row + place, size)

    def gap(self, gap: Gap) -> None:
        """Add a gap, or bytes that are not understood."""
        place = self._place(gap.connection.first_packet)
        if gap.is_missing:
            self._rows["gaps"].add(gap_row(gap) + place, 0)
        else:
            self._rows["not_understood"].add(not_understood_row(gap) + place, 0)

    def connection(self, connection: Connection) -> None:
        """Add a connection that has ended, or whose capture has."""
        place = self._place(connection.first_packet)
        self._rows["connections"].add(connection_row(connection) + place, 0)
        if self._choice.tcp:
            for row in tcp_rows(connection):
                self._rows["tcp"].add(row + place, 0)

    def capture(self, capture: CaptureFacts) -> None:
        """Add a capture, all of which was read."""
        place = () if self._capture_of is None else (capture.name,)
        self._rows["captures"].add(capture_row(capture) + place, 0)

    def flush(self) -> None:
        """Emit the rows that have not filled a batch, and those of groups: the end has come."""
        if self._groups is not None:
            add_group_rows(self._groups, self._rows, lambda _: ())
        for rows in self._rows.values():
            rows.flush()
        self._latencies.flush()

    def _emit_exchanges(self, name: str, batch: pa.RecordBatch) -> None:
        """Emit exchanges, and count their latencies."""
        self._latencies.add(batch)
        self._emit(name, batch)

    def _place(self, packet: int) -> tuple[Any, ...]:
        """Return the cells that say where a row is from."""
        return () if self._capture_of is None else (self._capture_of(packet),)

    def _add_batches(self, facts: ExchangeFacts, place: tuple[Any, ...]) -> None:
        """Add the batches of an exchange and, if they are chosen, their records."""
        head: tuple[Any, ...] = ()
        for placed in placed_batches(facts):
            head = head or exchange_cells(facts)
            self._rows["batches"].add(head + batch_cells(facts, placed) + place, 0)
            if self._choice.records:
                for cells in record_cells(placed, show_secrets=self._choice.show_secrets):
                    size = sum(len(each) for each in cells if isinstance(each, str | bytes))
                    self._rows["records"].add(head + cells + place, size)
