"""The last stage of a run: its staged rows become rows of the tables, by one entry in the log.

FileWriter    a task for each file    -> Parquet, moved to its place
LakeWriter    Spark                   -> Delta or Iceberg

A stream has a run whose rows each batch replaces, that of its groups: at once where tables are
files, table by table in a lake.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Final, NamedTuple

import msgspec
import pyarrow as pa
from pyspark import inheritable_thread_target
from pyspark.sql import DataFrame, SparkSession

from kdiag.pipeline.job import Job
from kdiag.pipeline.output.lake_tables import LakeTables, ddl_of
from kdiag.pipeline.output.partitions import (
    FilePlan,
    Written,
    plan_files,
    read_planned,
    write_file,
)
from kdiag.pipeline.output.read_captures import refuse_doubles
from kdiag.pipeline.output.run_log import commit, enter, refuse_others, refuse_stores
from kdiag.pipeline.output.staging import Staged
from kdiag.pipeline.session import cores_of
from kdiag.pipeline.shared import Shared, share
from kdiag.pipeline.tasks import Outcome, Rows, do_tasks, freeze_gc, outcome_of
from kdiag.report.run_log import LoggedRun, RunLog
from kdiag.report.tables.catalog import GROUP_TABLES, TABLES
from kdiag.report.tables.column import Table

_FEW_BYTES: Final = 16 << 20
_WRITES_PER_CORE: Final = 4
_BATCH_ROWS: Final = 10_000

Say = Callable[[str], object]
Stage = Callable[[], Outcome]
"""Stages rows."""

Entry = Callable[[], LoggedRun]
"""Returns the entry of a run."""

_RunPlan = tuple[str, FilePlan]
"""A file to write, behind what its rows have in the column `run`."""


class GroupRows(NamedTuple):
    """The rows of groups as a stream knows them after a batch.

    Attributes:
        batch: its name.
        live: rows that later batches replace, staged.
        settled: new rows that stay, staged.
        kept: files with rows that have been settled before.
        is_last: whether no batch comes that could remove what this one replaces.
    """

    batch: str
    live: list[Staged]
    settled: list[Staged]
    kept: Sequence[Written]
    is_last: bool


class TableRows(NamedTuple):
    """New rows of a table.

    Attributes:
        table: which one.
        staged_count: how many were staged; those that add up are fewer as rows.
        rows: they, for Spark to write.
    """

    table: Table
    staged_count: int
    rows: DataFrame


class TableWriter(ABC):
    """Writes the rows of runs into the tables of a folder."""

    def __init__(self, spark: SparkSession, log: RunLog, out: str) -> None:
        """Write nothing yet.

        Args:
            spark: the session to run on.
            log: of the folder.
            out: the folder.
        """
        self._spark = spark
        self._log = log
        self._out = out

    @abstractmethod
    def write(
        self, job: Job, outcome: Outcome, entry: Entry, stage_last: Stage | None = None
    ) -> LoggedRun:
        """Replace the rows of a run by those that it has staged, and enter it.

        Args:
            job: of the run.
            outcome: what was staged; gets what is staged last.
            entry: returns the run's entry but for rows and files, once these are written.
            stage_last: stages more rows, in few tasks, while others may be written; None if there
                are no more.

        Returns:
            The entry as it is in the log.

        Raises:
            ReportError: if another run has read the same captures in the meantime, or the entry is
                of another stream, or Spark cannot write a table.
        """

    @abstractmethod
    def replace_groups(self, job: Job, groups: GroupRows, entry: LoggedRun) -> list[Written]:
        """Replace the rows of groups of a stream, those that are settled but once.

        Args:
            job: of the run of groups.
            groups: their rows.
            entry: the run's entry but for rows and files.

        Returns:
            The files of those that are settled; none where tables are not files of the log.

        Raises:
            ReportError: as `write` does.
        """


def open_writer(
    spark: SparkSession, job: Job, log: RunLog, say: Say = lambda _: None
) -> TableWriter:
    """Return what writes tables where a job puts them.

    Args:
        spark: the session to run on.
        job: of a run, or of the batches of a stream.
        log: of the folder of tables.
        say: called with the name of each step.

    Raises:
        ReportError: if the folder has tables elsewhere, or Spark lacks what the format takes.
    """
    refuse_stores(log, job.store)
    if job.store.is_files:
        return FileWriter(spark, log, job.out)
    say(f"looking for the tables as {job.store.format}")
    lake = LakeTables(spark, job.out, job.store)
    lake.require()
    return LakeWriter(spark, log, job.out, lake)


class FileWriter(TableWriter):
    """Writes Parquet files, which the log names."""

    def write(
        self, job: Job, outcome: Outcome, entry: Entry, stage_last: Stage | None = None
    ) -> LoggedRun:
        """See `TableWriter`."""
        if stage_last is None:
            written = self._written(job, outcome.staged)
        else:
            with ThreadPoolExecutor(1) as beside:
                staging = beside.submit(inheritable_thread_target(self._spark)(stage_last))
                written = self._written(job, outcome.staged)
                last = staging.result()
            written += self._written(job, last.staged)
            outcome.add(last)
        return commit(self._out, self._log, entry(), written)

    def replace_groups(self, job: Job, groups: GroupRows, entry: LoggedRun) -> list[Written]:
        """See `TableWriter`."""
        settled = self._written(job, groups.settled)
        written = [*settled, *self._written(job, groups.live)]
        spares = not groups.is_last
        commit(self._out, self._log, entry, written, groups.kept, spares_readers=spares)
        return settled

    def _written(self, job: Job, staged: Sequence[Staged]) -> list[Written]:
        """Write files; a few are written here, as starting tasks would take longer."""
        cores = cores_of(self._spark)
        own = list(filter(_is_of_table, staged))
        plans = plan_files(own, cores)
        if sum(each.bytes for each in own) <= _FEW_BYTES:
            return [write_file(job.staging, job.run, *each) for each in enumerate(plans)]
        shared = share(job.staging, plans, list[FilePlan])
        do = partial(_write_planned, job.staging, job.run, shared)
        tasks = min(len(plans), _WRITES_PER_CORE * cores)
        return outcome_of(do_tasks(self._spark, len(plans), do, tasks)).written


def _write_planned(
    staging: str, run: str, plans: Shared[list[FilePlan]], number: int
) -> Iterator[Outcome]:
    yield Outcome([], [write_file(staging, run, number, plans.value[number])], [])


class LakeWriter(TableWriter):
    """Has Spark write Delta or Iceberg."""

    def __init__(self, spark: SparkSession, log: RunLog, out: str, lake: LakeTables) -> None:
        """Write nothing yet.

        Args:
            spark: the session to run on.
            log: of the folder.
            out: the folder.
            lake: its tables.
        """
        super().__init__(spark, log, out)
        self._lake = lake

    def write(
        self, job: Job, outcome: Outcome, entry: Entry, stage_last: Stage | None = None
    ) -> LoggedRun:
        """See `TableWriter`."""
        if stage_last is not None:
            outcome.add(stage_last())
        rows = self._rows(job, {job.run: outcome.staged})
        run = entry()
        self._refuse(run)
        enter(self._out, msgspec.structs.replace(run, is_complete=False))
        self._replace(TABLES, [run.run], rows)
        counts = {
            table.name: self._lake.count(table, [run.run]) if table.sum else staged_count
            for table, staged_count, _ in rows
        }
        run = msgspec.structs.replace(run, rows=counts)
        enter(self._out, run)
        return run

    def replace_groups(self, job: Job, groups: GroupRows, entry: LoggedRun) -> list[Written]:
        """See `TableWriter`. A batch that is repeated replaces what it has settled before.

        Until both tables are replaced, one may be a batch ahead of the other. None is without rows
        in the meantime, for the entry names the new parts before there are any.
        """
        settled = f"{job.run}-settled-{groups.batch}"
        rows = self._rows(job, {job.run: groups.live, settled: groups.settled})
        earlier = self._refuse(entry) or entry
        stay = [settled] if groups.settled else []
        parts = [*dict.fromkeys((job.run, *earlier.parts, *stay))]
        enter(self._out, msgspec.structs.replace(entry, rows=earlier.rows, parts=parts))
        self._replace(GROUP_TABLES, [job.run, *stay], rows)
        counts = {name: self._lake.count(TABLES[name], parts) for name in sorted(GROUP_TABLES)}
        counts = {name: count for name, count in counts.items() if count}
        enter(self._out, msgspec.structs.replace(entry, rows=counts, parts=parts))
        return []

    def _refuse(self, run: LoggedRun) -> LoggedRun | None:
        """Refuse what `run_log.commit` refuses; return the run's entry so far."""
        runs = self._log.runs()
        refuse_stores(self._log, run.store)
        refuse_others(runs, run)
        refuse_doubles(runs, run)
        return next((each for each in runs if each.run == run.run), None)

    def _replace(
        self, tables: Iterable[str], runs: Sequence[str], rows: Iterable[TableRows]
    ) -> None:
        """Replace the rows of some runs in some tables, also in those that have no new ones."""
        found = {each.table.name: each.rows for each in rows}
        for name in tables:
            self._lake.replace(TABLES[name], runs, found.get(name))

    def _rows(self, job: Job, staged: Mapping[str, Sequence[Staged]]) -> list[TableRows]:
        """Return the staged rows of each table that has some, a partition for each day and size.

        Args:
            job: of the run.
            staged: where they are, by what they are to have in the column `run`.
        """
        cores = cores_of(self._spark)
        found = []
        for table in TABLES.values():
            own = {
                run: [each for each in files if each.name.partition("/")[0] == table.name]
                for run, files in staged.items()
            }
            plans = [(run, plan) for run, files in own.items() for plan in plan_files(files, cores)]
            if not plans:
                continue
            shared = share(job.staging, plans, list[_RunPlan])
            numbers = self._spark.range(0, len(plans), 1, min(len(plans), _WRITES_PER_CORE * cores))
            rows = numbers.mapInArrow(partial(_planned_rows, shared), ddl_of(table))
            count = sum(each.rows for files in own.values() for each in files)
            found.append(TableRows(table, count, rows))
        return found


def _planned_rows(plans: Shared[list[_RunPlan]], numbers: Rows) -> Iterator[pa.RecordBatch]:
    """Yield the rows of files, with their day."""
    freeze_gc()
    for batch in numbers:
        for number in batch.column(0).to_pylist():
            run, plan = plans.value[number]
            rows = read_planned(run, plan)
            day = pa.repeat(pa.scalar(plan.date, pa.date32()), rows.num_rows)
            rows = rows.append_column("date", day).replace_schema_metadata()
            yield from rows.to_batches(max_chunksize=_BATCH_ROWS)


def _is_of_table(file: Staged) -> bool:
    return file.name.partition("/")[0] in TABLES
