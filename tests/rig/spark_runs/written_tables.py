"""Writes rows of a table as a run of the pipeline does, without captures and without Spark."""

from pathlib import Path

import pyarrow as pa

from kdiag.pipeline.output.partitions import TableFiles, Written
from kdiag.pipeline.output.run_log import commit, open_log, staging_folder
from kdiag.report.arrow import arrow_schema
from kdiag.report.run_log import LoggedRun
from kdiag.report.tables.catalog import TABLES

Row = tuple[int, str, str]
"""First time, broker, client."""


def connections(*rows: Row) -> pa.RecordBatch:
    """Return rows of `connections`."""
    schema = arrow_schema(TABLES["connections"])
    given = {"first_ns": 0, "broker": 1, "client": 2}
    columns = {
        field.name: pa.array(
            [row[given[field.name]] if field.name in given else None for row in rows], field.type
        )
        for field in schema
    }
    return pa.record_batch(columns, schema=schema)


def stage(folder: Path, run: str, *rows: Row) -> list[Written]:
    """Write rows as the only task of a run."""
    files = TableFiles(staging_folder(str(folder), run), run, "c0")
    files.write("connections", connections(*rows))
    return files.close()


def write(folder: Path, run: str, *rows: Row) -> list[str]:
    """Write rows as a run, and commit it; return the files that are there then."""
    written, entry = stage(folder, run, *rows), LoggedRun(run, warnings=["a warning"])
    commit(str(folder), open_log(str(folder)), entry, written)
    return files_in(folder)


def files_in(folder: Path) -> list[str]:
    """Return the files of connections that are there, whoever named them."""
    return sorted(str(path.relative_to(folder)) for path in folder.glob("connections/**/*.parquet"))
