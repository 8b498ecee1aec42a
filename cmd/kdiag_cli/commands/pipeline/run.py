"""The runs of `kdiag pipeline run` and `report`, with Spark; they need the extra `spark`."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from kdiag.clock import TimeRange
from kdiag.errors import CaptureError, ReportError
from kdiag.pipeline.decode import FlowRules
from kdiag.pipeline.job import Job
from kdiag.pipeline.output.run_log import open_log
from kdiag.pipeline.output.views import ask
from kdiag.pipeline.run import run
from kdiag.report.engine import missing_table
from kdiag.report.run_log import LoggedRun, is_unmade, notes_on
from kdiag.report.sql_report import SPARK
from kdiag.report.stored_tables import StoredTables
from kdiag.report.tables.catalog import TABLES, TableChoice
from kdiag.report.tables.exchanges import EXCHANGES
from kdiag.report.tables.tcp import TCP
from kdiag.report.uri import has_wildcard
from kdiag_cli.captures.source import read_topic_ids
from kdiag_cli.commands.pipeline.options import PipelineRunOptions, SparkOptions
from kdiag_cli.commands.pipeline.spark import progress, with_spark
from kdiag_cli.exit_code import ExitCode
from kdiag_cli.options.report import TableQuestion
from kdiag_cli.output.answer import TableAnswer, print_answer
from kdiag_cli.output.result import ResultFormat, print_document
from kdiag_cli.output.table.printer import print_table
from kdiag_cli.output.terminal import Output, say

if TYPE_CHECKING:
    from kdiag.pipeline.session import Session


def run_job(options: PipelineRunOptions, spark: SparkOptions, output: ResultFormat) -> ExitCode:
    """Write tables; return the exit code."""
    topic_names = read_topic_ids(options.topic_ids)

    def do(session: "Session") -> ExitCode:
        job = Job(
            tuple(options.inputs),
            options.out.rstrip("/"),
            name=options.name,
            choice=TableChoice(bodies=options.bodies, records=options.values, tcp=options.tcp),
            rules=FlowRules(tuple(options.ports), _keylogs(options.keylogs)),
            topic_names=tuple(topic_names.items()),
            times=TimeRange(options.from_ns, options.to_ns),
            mode=options.mode,
            parts=options.parts,
            split_bytes=options.split_bytes,
            is_indexed=options.is_indexed,
            separates_networks=options.separates_networks,
            is_new=options.is_new,
            is_hourly=options.is_hourly,
            store=options.store,
        )
        done = run(session, job, progress())
        say(*done.warnings)
        if not done.captures:
            say("no capture is new: all are in the tables already")
        _print_run(done, output)
        return ExitCode.PARTIAL if done.warnings else ExitCode.DONE

    return with_spark(spark, do, partial(_require_files, options.inputs))


def answer(question: TableQuestion, folder: str, spark: SparkOptions) -> ExitCode:
    """Print the answer of Spark to a question; return the exit code."""

    def check() -> None:
        question.query.text(SPARK)  # what is no question is refused before Spark starts
        for each in question.query.tables().intersection(unmade) - {TCP.name}:  # which is joined
            raise missing_table(each)

    def do(session: "Session") -> ExitCode:
        found = ask(session, folder, question.query, question.times)
        screen = Output(is_wide=question.is_wide)
        print_answer(
            screen,
            TableAnswer(found.schema.names, found.to_batches()),
            question.form,
            command=question.command,
            has_headers=question.has_headers,
            is_csv_safe=question.is_csv_safe,
            wide=question.query.wide,
        )
        screen.flush()
        say(*notes_on(runs, question.query, [TCP.name] if TCP.name in unmade else []))
        return ExitCode.DONE

    runs = _runs_in(folder)
    unmade = _unmade_in(folder, runs)
    spark = spark._replace(table_format=runs[0].format if runs else "")
    return with_spark(spark, do, check)


def _runs_in(folder: str) -> list[LoggedRun]:
    """Return the runs that have written into a folder of tables."""
    try:
        return open_log(folder.rstrip("/")).runs()
    except (ReportError, CaptureError, OSError):
        return []  # whoever reads the tables says why


def _unmade_in(folder: str, runs: Sequence[LoggedRun]) -> list[str]:
    """Return the tables that nobody has made; none where there are no tables at all."""
    if runs:
        return [name for name in TABLES if is_unmade(runs, name)]
    try:
        stored = StoredTables(folder)
        unmade = [name for name in TABLES if not stored.files(name)]
    except (ReportError, CaptureError, OSError):
        return []  # as above
    return [] if EXCHANGES.name in unmade else unmade


def _require_files(inputs: Sequence[str]) -> None:
    """Check that the captures in folders of this machine are there: Spark takes seconds to start.

    Raises:
        CaptureError: if one is not.
    """
    for each in inputs:
        if "://" not in each and not Path(each).exists() and not has_wildcard(each):
            raise CaptureError(each, "cannot be opened: No such file or directory")


def _print_run(done: LoggedRun, output: ResultFormat) -> None:
    screen = Output()
    if output is ResultFormat.JSON:
        place = {"format": done.format, "catalog": done.catalog or None}
        data = [{"run": done.run, "rows": done.rows, "files": len(done.files), **place}]
        print_document(screen, "pipeline run", data, warnings=done.warnings)
    else:
        print_table(screen, ("TABLE", "ROWS"), list(done.rows.items()))
    screen.flush()


def _keylogs(files: Sequence[Path]) -> tuple[str, ...]:
    """Return the key logs for Spark, which reads them when it has been through the captures.

    Raises:
        CaptureError: a file does not exist.
    """
    for file in files:
        try:
            file.stat()
        except OSError as error:
            raise CaptureError(str(file), f"cannot be opened: {error.strerror}") from error
    return tuple(map(str, files))
