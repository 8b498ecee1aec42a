"""The run of `kdiag pipeline stream`, with Spark; it needs the extra `spark`."""

from functools import partial
from typing import TYPE_CHECKING

from kdiag.clock import NS_PER_MS
from kdiag.errors import ReportError
from kdiag.pipeline.decode import FlowRules
from kdiag.pipeline.job import Job
from kdiag.pipeline.streams.capture_log import FolderRules
from kdiag.pipeline.streams.states import StreamJob
from kdiag.pipeline.streams.stream import Messages, close, run_stream
from kdiag.report.tables.catalog import TableChoice
from kdiag_cli.captures.source import read_topic_ids
from kdiag_cli.commands.pipeline.options import PipelineStreamOptions, SparkOptions
from kdiag_cli.commands.pipeline.spark import progress, with_spark
from kdiag_cli.exit_code import ExitCode
from kdiag_cli.output.terminal import say

if TYPE_CHECKING:
    from kdiag.pipeline.session import Session

_WAITS = "is not read yet: it is being written, or ends within a packet"


def follow(options: PipelineStreamOptions, spark: SparkOptions) -> ExitCode:
    """Follow a folder; return the exit code."""
    stream = _stream_job(options)
    losses = 0

    def tell_loss(text: str) -> None:
        nonlocal losses
        losses += 1
        say(text)

    def do(session: "Session") -> ExitCode:
        run_stream(session, stream, Messages(progress(), tell_loss, say))
        if options.is_once:
            say(*(f"{each}: {_WAITS}" for each in stream.captures.waiting()))
        if options.is_closing:
            close(session, stream)
        return ExitCode.PARTIAL if losses else ExitCode.DONE

    return with_spark(spark, do, partial(_require, options))


def _require(options: PipelineStreamOptions) -> None:
    """Require that the folder and the key logs exist.

    Raises:
        ReportError: one does not.
    """
    from kdiag.report.uri import is_folder  # noqa: PLC0415 - pyarrow, an extra

    if not is_folder(options.folder):
        raise ReportError(options.folder, "is not a folder: name the one that captures come into")
    for each in options.keylogs:
        if not each.is_file():
            raise ReportError(str(each), "cannot be opened: no such file")


def _stream_job(options: PipelineStreamOptions) -> StreamJob:
    job = Job(
        (),
        options.out.rstrip("/"),
        name=options.name,
        choice=TableChoice(bodies=options.bodies, records=options.values, tcp=options.tcp),
        rules=FlowRules(tuple(options.ports)),
        topic_names=tuple(read_topic_ids(options.topic_ids).items()),
        parts=options.parts,
        separates_networks=options.separates_networks,
        is_hourly=options.is_hourly,
        store=options.store,
    )
    return StreamJob(
        options.folder,
        options.checkpoint.rstrip("/"),
        job,
        rules=FolderRules(options.quiet_ns, options.wait_ns, options.host_of),
        keylogs=tuple(map(str, options.keylogs)),
        most_files=options.most_files,
        every=f"{options.every_ns // NS_PER_MS} milliseconds",
        idle_ns=options.idle_ns,
        is_once=options.is_once,
    )
