"""The tables as Parquet, by date and broker; a run's files are committed all together.

    DIR/exchanges/date=2026-11-01/broker=10.0.0.1%3A9092/RUN-PART-N.parquet
    DIR/_runs/RUN.json

Tasks write into a folder of the run. When all have finished, their files are moved to their
targets, where they replace those of an earlier run of the same name, and `RUN.json` lists them. So
a repeated run replaces itself, and an interrupted one leaves the tables as they were; after an
interruption while files are moved, another run of that name completes the move.

A file has the columns of its table except `broker`, which is in its path with `date`, the UTC day
of its rows. Columns are only ever added to tables, by name: readers that unite the columns of all
files by name (DuckDB's `union_by_name`, Spark's `mergeSchema`) read files of older versions with
nulls in them.
"""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple
from urllib.parse import quote
from uuid import uuid4

import msgspec
import numpy as np
import pyarrow as pa
from pyarrow import fs, parquet

from kdiag.clock import NS_PER_S
from kdiag.pipeline.uri import create_parent, resolve
from kdiag.report.arrow import arrow_schema
from kdiag.report.tables.catalog import TABLES

_COMPRESSION: Final = "zstd"
_MAX_OPEN: Final = 64
_S_PER_DAY: Final = 86_400
_NS_PER_DAY: Final = _S_PER_DAY * NS_PER_S
_TIME_COLUMNS: Final = ("time_ns", "first_ns")
RUNS: Final = "_runs"


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
        self._folder = f"{folder}/{uuid4().hex[:12]}"
        self._name = f"{run}-{part}"
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


class Manifest(msgspec.Struct, frozen=True):
    """The list of a run's files.

    Attributes:
        run: its name.
        is_complete: whether all files are committed.
        rows: of each table.
        files: their paths in the folder of tables.
        warnings: about captures that could not be read completely.
        schema: number of this document's shape.
    """

    run: str
    is_complete: bool
    rows: dict[str, int]
    files: list[str]
    warnings: list[str] = []
    schema: int = 1


def commit(folder: str, run: str, written: Sequence[Written], warnings: Sequence[str]) -> Manifest:
    """Move the files of a run to their targets, and remove those of an earlier run of this name."""
    earlier = read_manifest(folder, run)
    files = [each.target for each in written]
    rows: dict[str, int] = {}
    for each in written:
        rows[each.table] = rows.get(each.table, 0) + each.rows
    old = set() if earlier is None else {*earlier.files}
    both = sorted(old | {*files})
    _write_manifest(folder, Manifest(run, is_complete=False, rows={}, files=both))
    system, root = resolve(folder)
    for target in sorted(old - {*files}):
        _delete(system, f"{root}/{target}")
    for each in written:
        _, source = resolve(each.uri)
        target = f"{root}/{each.target}"
        create_parent(system, target)
        system.move(source, target)
    manifest = Manifest(run, is_complete=True, rows=rows, files=files, warnings=[*warnings])
    _write_manifest(folder, manifest)
    return manifest


def read_manifest(folder: str, run: str) -> Manifest | None:
    """Return the manifest of a run; None if it has none."""
    system, path = resolve(_manifest_uri(folder, run))
    if system.get_file_info(path).type != fs.FileType.File:
        return None
    with system.open_input_stream(path) as stream:
        return msgspec.json.decode(stream.read(), type=Manifest)


def _write_manifest(folder: str, manifest: Manifest) -> None:
    uri = _manifest_uri(folder, manifest.run)
    with _create(f"{uri}.partial") as stream:
        stream.write(msgspec.json.encode(manifest))
    system, path = resolve(uri)
    system.move(f"{path}.partial", path)


def _manifest_uri(folder: str, run: str) -> str:
    return f"{folder}/{RUNS}/{run}.json"


def _create(uri: str) -> Any:
    system, path = resolve(uri)
    create_parent(system, path)
    return system.open_output_stream(path)


def _delete(system: fs.FileSystem, path: str) -> None:
    if system.get_file_info(path).type == fs.FileType.File:
        system.delete_file(path)
