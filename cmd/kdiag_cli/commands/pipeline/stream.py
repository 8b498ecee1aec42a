"""The run of `kdiag pipeline stream`, with Spark; it needs the extra `spark`."""

from functools import partial
from typing import TYPE_CHECKING

from kdiag.clock import NS_PER_MS, NS_PER_S
from kdiag.errors import ReportError
from kdiag.pipeline.decode import FlowRules
from kdiag.pipeline.job import Job
from kdiag.pipeline.stream import StreamJob, close, drain, run_stream, wait
from kdiag.report.tables.catalog import TableChoice
from kdiag_cli.commands.pipeline.options import PipelineStreamOptions, SparkOptions
from kdiag_cli.commands.pipeline.spark import progress, with_spark
from kdiag_cli.exit_code import ExitCode
from kdiag_cli.output.terminal import say

if TYPE_CHECKING:
    from kdiag.pipeline.session import Session


def follow(options: PipelineStreamOptions, spark: SparkOptions) -> ExitCode:
    """Follow a folder; return the exit code."""

    def do(session: "Session") -> ExitCode:
        job = _stream_job(options)
        run_stream(session, job, drain if options.is_once else wait, progress(), say)
        if options.is_closing:
            close(session, job)
        return ExitCode.DONE

    return with_spark(spark, do, partial(_require_folder, options.folder))


def _require_folder(folder: str) -> None:
    """Require that a folder exists.

    Raises:
        ReportError: it does not.
    """
    from kdiag.pipeline.uri import is_folder  # noqa: PLC0415 - pyarrow, an extra

    if not is_folder(folder):
        raise ReportError(folder, "is not a folder: name the one that captures come into")


def _stream_job(options: PipelineStreamOptions) -> StreamJob:
    job = Job(
        (),
        options.out.rstrip("/"),
        name=options.name,
        choice=TableChoice(bodies=options.bodies),
        rules=FlowRules(tuple(options.ports)),
        parts=options.parts,
        separates_networks=options.separates_networks,
    )
    return StreamJob(
        options.folder,
        options.checkpoint.rstrip("/"),
        job,
        quiet_s=options.quiet_ns / NS_PER_S,
        most_files=options.most_files,
        every=f"{options.every_ns // NS_PER_MS} milliseconds",
        idle_s=-(-options.idle_ns // NS_PER_S),
    )
