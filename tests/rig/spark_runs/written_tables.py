"""Writes rows of a table as a run of the pipeline does, without captures and without Spark."""

from pathlib import Path

import pyarrow as pa

from kdiag.pipeline.output.partitions import Written, by_folder, plan_files, write_file
from kdiag.pipeline.output.run_log import commit, open_log, staging_folder
from kdiag.pipeline.output.staging import Staging
from kdiag.report.arrow import CAPTURE_FILE, extended
from kdiag.report.run_log import LoggedRun
from kdiag.report.tables.catalog import TABLES

Row = tuple[int, str, str]
"""First time, broker, client."""


def connections(*rows: Row) -> pa.RecordBatch:
    """Return rows of `connections`."""
    schema = extended(TABLES["connections"], [CAPTURE_FILE])
    given = {"first_ns": 0, "broker": 1, "client": 2}
    columns = {
        field.name: pa.array(
            [row[given[field.name]] if field.name in given else None for row in rows], field.type
        )
        for field in schema
    }
    return pa.record_batch(columns, schema=schema)


def stage(folder: Path, run: str, *rows: Row, is_hourly: bool = False) -> list[Written]:
    """Write rows as the only task of a run."""
    uri = staging_folder(str(folder), run)
    staging = Staging(uri, 0)
    for name, batch in by_folder("connections", connections(*rows), is_hourly=is_hourly):
        staging.write(name, batch)
    plans = enumerate(plan_files(staging.close(), 1))
    return [write_file(uri, run, number, plan) for number, plan in plans]


def write(folder: Path, run: str, *rows: Row, is_hourly: bool = False) -> list[str]:
    """Write rows as a run, and commit it; return the files that are there then."""
    written = stage(folder, run, *rows, is_hourly=is_hourly)
    entry = LoggedRun(run, warnings=["a warning"])
    commit(str(folder), open_log(str(folder)), entry, written)
    return files_in(folder)


def files_in(folder: Path) -> list[str]:
    """Return the files of connections that are there, whoever named them."""
    return sorted(str(path.relative_to(folder)) for path in folder.glob("connections/**/*.parquet"))
