"""The tables as Parquet, by date and broker.

    DIR/exchanges/date=2026-11-01/broker=10.0.0.1%3A9092/RUN-PART-ATTEMPT-N.parquet

Tasks write into a folder of the run, from where `run_log` puts the files into their place. No two
tasks ever write a file of the same name, whether they belong to the same run or to a later one.

A file has the columns of its table except `broker`, which is in its path with `date`, the UTC day
of its rows. Columns are only ever added to tables, by name: readers that unite the columns of all
files by name (DuckDB's `union_by_name`, Spark's `mergeSchema`) read files of older versions with
nulls in them.
"""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple
from urllib.parse import quote
from uuid import uuid4

import numpy as np
import pyarrow as pa
from pyarrow import parquet

from kdiag.clock import NS_PER_S
from kdiag.pipeline.uri import create_parent, resolve
from kdiag.report.arrow import arrow_schema
from kdiag.report.tables.catalog import TABLES

_COMPRESSION: Final = "zstd"
_MAX_OPEN: Final = 64
_S_PER_DAY: Final = 86_400
_NS_PER_DAY: Final = _S_PER_DAY * NS_PER_S
_TIME_COLUMNS: Final = ("time_ns", "first_ns")


class Written(NamedTuple):
    """A file of a table that a task has written.

    Attributes:
        table: its name.
        uri: where it lies until the commit.
        target: its path in the folder of tables.
        rows: how many rows it has.
    """

    table: str
    uri: str
    target: str
    rows: int


class TableFiles:
    """Writes rows of the tables into files by date and broker."""

    def __init__(self, folder: str, run: str, part: str) -> None:
        """Write nothing yet.

        Args:
            folder: for the files until the commit.
            run: name of the run.
            part: name of this part of the run; no other task has the same.
        """
        attempt = uuid4().hex[:12]
        self._folder = f"{folder}/{attempt}"
        self._name = f"{run}-{part}-{attempt}"
        self._open: dict[str, _TableFile] = {}
        self._counts: dict[str, int] = {}
        self._written: list[Written] = []

    def write(self, table: str, batch: pa.RecordBatch) -> None:
        """Write rows of a table."""
        for folder, rows in _by_folder(table, batch):
            if folder not in self._open:
                if len(self._open) >= _MAX_OPEN:
                    self._close(next(iter(self._open)))
                number = self._counts[folder] = self._counts.get(folder, -1) + 1
                target = f"{folder}/{self._name}-{number}.parquet"
                self._open[folder] = _TableFile(table, f"{self._folder}/{target}", target)
            self._open[folder].write(rows)

    def close(self) -> list[Written]:
        """Complete the files, and return them."""
        for folder in list(self._open):
            self._close(folder)
        return self._written

    def _close(self, folder: str) -> None:
        self._written.append(self._open.pop(folder).close())


def _by_folder(table: str, batch: pa.RecordBatch) -> Iterator[tuple[str, pa.RecordBatch]]:
    """Yield rows by their target folder."""
    times = next(name for name in _TIME_COLUMNS if name in batch.schema.names)
    days = batch.column(times).to_numpy() // _NS_PER_DAY
    brokers = batch.column("broker").dictionary_encode()
    names = brokers.dictionary.to_pylist()
    codes = days * len(names) + brokers.indices.to_numpy()
    rows = batch.drop_columns(["broker"])
    for code in np.unique(codes).tolist():
        day, broker = divmod(code, len(names))
        date = datetime.fromtimestamp(day * _S_PER_DAY, UTC).date()
        folder = f"{table}/date={date}/broker={quote(names[broker], safe='')}"
        yield folder, rows.filter(pa.array(codes == code))


class _TableFile:
    """A file of a table under way."""

    def __init__(self, table: str, uri: str, target: str) -> None:
        schema = arrow_schema(TABLES[table])
        self._written = Written(table, uri, target, 0)
        self._stream = _create(uri)
        self._writer = parquet.ParquetWriter(
            self._stream,
            schema.remove(schema.get_field_index("broker")),
            compression=_COMPRESSION,
        )

    def write(self, rows: pa.RecordBatch) -> None:
        self._writer.write_batch(rows)
        self._written = self._written._replace(rows=self._written.rows + rows.num_rows)

    def close(self) -> Written:
        self._writer.close()
        self._stream.close()
        return self._written


def _create(uri: str) -> Any:
    system, path = resolve(uri)
    create_parent(system, path)
    return system.open_output_stream(path)
