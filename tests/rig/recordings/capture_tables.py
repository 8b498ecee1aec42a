"""The tables of captures in memory, and the answers that they give."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from kdiag.diagnosis.rebalance.capture.capture_events import CaptureEvents
from kdiag.exchange.context.topic_names import TopicNames
from kdiag.exchange.model import Connection, Exchange
from kdiag.pcap.decoder import decode_reader
from kdiag.pcap.reader import CaptureReader
from kdiag.pcap.tls.keylog import KeyLog
from kdiag.report.arrow import TableBatches, arrow_schema
from kdiag.report.engine import open_tables
from kdiag.report.sql_report import Query, load_report
from kdiag.report.tables.catalog import TableChoice

WITHOUT_BODIES = TableChoice(bodies=False)
_WITH_TCP = TableChoice(bodies=False, tcp=True)


def tables_of(
    files: Iterable[Path], choice: TableChoice = WITHOUT_BODIES, keylog: bytes = b""
) -> dict[str, pa.Table]:
    """Return the tables of captures by name."""
    batches: dict[str, list[pa.RecordBatch]] = {table.name: [] for table in choice.tables}
    names = TopicNames()
    groups = CaptureEvents(names.name)
    tables = TableBatches(
        lambda name, batch: batches[name].append(batch), names, choice, groups=groups
    )
    reader = CaptureReader(list(files))
    for item in decode_reader(reader, keylog=KeyLog.parse(keylog)):
        tables.add(item)
    for each in reader.files:
        tables.capture(each)
    tables.flush()
    return {
        table.name: pa.Table.from_batches(batches[table.name], arrow_schema(table))
        for table in choice.tables
    }


def tables_of_items(
    *items: Exchange | Connection, choice: TableChoice = _WITH_TCP
) -> dict[str, pa.Table]:
    """Return the tables of exchanges and connections."""
    batches: dict[str, list[pa.RecordBatch]] = {each.name: [] for each in choice.tables}
    names = TopicNames()
    groups = CaptureEvents(names.name)
    tables = TableBatches(
        lambda name, batch: batches[name].append(batch), names, choice, groups=groups
    )
    for item in items:
        tables.add(item)
    tables.flush()
    return {
        table.name: pa.Table.from_batches(batches[table.name], arrow_schema(table))
        for table in choice.tables
    }


def rows_of_query(tables: Mapping[str, pa.Table], query: Query) -> list[dict[str, Any]]:
    """Return the rows that answer a query."""
    with open_tables(tables) as database:
        rows: list[dict[str, Any]] = database.ask(query).read_all().to_pylist()
        return rows


def report_rows(tables: Mapping[str, pa.Table], name: str, **values: str) -> list[dict[str, Any]]:
    """Return the rows of a report."""
    return rows_of_query(tables, load_report(name).query(values))
