"""The tables as Parquet, by date, and by hour on request.

    DIR/exchanges/date=2026-11-01/RUN-t0-ATTEMPT.parquet
    DIR/exchanges/date=2026-11-01/hour=13/RUN-t1-ATTEMPT.parquet

The tasks that make rows stage them by the folder that they belong in. Then a task for each file
reads what others have staged, and writes it sorted by broker (or group) and time, so that whoever
asks for one broker or one hour reads a small part of a file. There are as many files as the rows
fill, and as cores can write at a time, however many brokers, clients and tasks there were.

A file has the columns of its table, `capture_file` and `run`. Its path has `date`, the UTC day of
its rows. Columns are only ever added to tables, by name: readers that unite the columns of all
files by name read files of older versions with nulls in them. Those lie in folders
`date=.../broker=...`, and lack the column `broker`.
"""

from collections.abc import Iterator, Sequence
from datetime import UTC, date, datetime
from typing import Final, NamedTuple
from uuid import uuid4

import numpy as np
import pyarrow as pa
from pyarrow import parquet

from kdiag.clock import NS_PER_S
from kdiag.pipeline.output.staging import Staged, StagedPiece, cut, read_staged
from kdiag.report.arrow import CAPTURE_FILE, extended
from kdiag.report.tables.catalog import TABLES, time_column
from kdiag.report.tables.column import Table
from kdiag.report.uri import create_parent, resolve

RUN: Final = pa.field("run", pa.string())
"""The column with the name of the run that has written a row."""

_COMPRESSION: Final = "zstd"
_ROW_GROUP_ROWS: Final = 1 << 17
_LEAST_FILE_BYTES: Final = 16 << 20
_MOST_FILE_BYTES: Final = 128 << 20
_S_PER_HOUR: Final = 3_600
_NS_PER_HOUR: Final = _S_PER_HOUR * NS_PER_S
_HOURS_PER_DAY: Final = 24
_DATE_LETTERS: Final = len("2026-11-01")
_SORTED_BY: Final = ("broker", "group_id", "file")


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


class FilePlan(NamedTuple):
    """A file to write.

    Attributes:
        folder: of the table and its date, in the folder of tables.
        pieces: the staged rows.
    """

    folder: str
    pieces: list[StagedPiece]

    @property
    def table(self) -> str:
        """Return the name of the table."""
        return self.folder.partition("/")[0]

    @property
    def date(self) -> date:
        """Return the day of the rows."""
        return date.fromisoformat(self.folder.partition("date=")[2][:_DATE_LETTERS])


def by_folder(
    table: str, rows: pa.RecordBatch, *, is_hourly: bool = False
) -> Iterator[tuple[str, pa.RecordBatch]]:
    """Yield rows by the folder that they belong in."""
    time_ns = rows.column(time_column(table)).fill_null(0)  # a capture may be without packets
    hours = time_ns.to_numpy() // _NS_PER_HOUR
    spans = hours if is_hourly else hours // _HOURS_PER_DAY * _HOURS_PER_DAY
    found = np.unique(spans).tolist()
    for hour in found:
        start = datetime.fromtimestamp(hour * _S_PER_HOUR, UTC)
        folder = f"{table}/date={start.date()}"
        if is_hourly:
            folder += f"/hour={start.hour}"
        yield folder, rows if len(found) == 1 else rows.filter(pa.array(spans == hour))


def plan_files(staged: Sequence[Staged], cores: int) -> list[FilePlan]:
    """Return the files to write: as few as keep the cores busy and fit into memory.

    Args:
        staged: files whose names are folders.
        cores: how many there are.
    """
    total = sum(each.bytes for each in staged)
    file_bytes = min(max(total // cores, _LEAST_FILE_BYTES), _MOST_FILE_BYTES)
    plans: list[FilePlan] = []
    for folder in sorted({each.name for each in staged}):
        files = sorted(each for each in staged if each.name == folder)
        count = max(1, round(sum(each.bytes for each in files) / file_bytes))
        most = sum(each.bytes for each in files) / count
        pieces: list[StagedPiece] = []
        planned = 0.0
        for piece in cut(files, file_bytes // 4, lambda file: file.bytes):
            pieces.append(piece)
            planned += piece.file.bytes * (piece.last - piece.first) / piece.file.batches
            if planned >= most:
                plans.append(FilePlan(folder, pieces))
                pieces, planned = [], 0.0
        if pieces:
            plans.append(FilePlan(folder, pieces))
    return plans


def added_up(table: Table, rows: pa.Table) -> pa.Table:
    """Return rows with those as one that differ in nothing but what adds up."""
    if not table.sum:
        return rows
    others = [name for name in rows.column_names if name != table.sum]
    sums = rows.group_by(others).aggregate([(table.sum, "sum")])
    return sums.rename_columns([*others, table.sum]).select(rows.column_names).cast(rows.schema)


def read_planned(run: str, plan: FilePlan) -> pa.Table:
    """Return the rows of a file, sorted, with the run that they are of."""
    table = TABLES[plan.table]
    batches = [
        batch for piece in plan.pieces for batch in read_staged(piece.file.uri, *piece.batches)
    ]
    schema = extended(table, [CAPTURE_FILE])
    rows = added_up(table, pa.Table.from_batches(batches, schema))
    owner = next(name for name in _SORTED_BY if name in schema.names)
    rows = rows.combine_chunks()  # of many chunks, a row would be looked for in each
    rows = rows.sort_by([(owner, "ascending"), (time_column(table.name), "ascending")])
    return rows.append_column(RUN, pa.repeat(run, rows.num_rows))


def write_file(staging: str, run: str, number: int, plan: FilePlan) -> Written:
    """Write a file of a table.

    Args:
        staging: the folder for files until the commit.
        run: name of the run.
        number: of the file, from 0.
        plan: what is in it.
    """
    attempt = uuid4().hex[:12]
    target = f"{plan.folder}/{run}-t{number}-{attempt}.parquet"
    rows = read_planned(run, plan)
    uri = f"{staging}/{attempt}/{target}"
    system, path = resolve(uri)
    create_parent(system, path)
    with system.open_output_stream(path) as stream:
        parquet.write_table(rows, stream, _ROW_GROUP_ROWS, compression=_COMPRESSION)
    return Written(plan.table, uri, target, rows.num_rows)
