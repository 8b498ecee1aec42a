"""What `kdiag pipeline stream` does once its arguments are read."""

from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from kdiag.clock import NS_PER_MS, NS_PER_S
from kdiag.errors import ReportError
from kdiag_cli.commands.pipeline.spark import SparkOptions, progress, with_spark
from kdiag_cli.exit_code import ExitCode

if TYPE_CHECKING:
    from kdiag.pipeline.session import Session
    from kdiag.pipeline.stream import StreamJob


class StreamOptions(NamedTuple):
    """What `kdiag pipeline stream` is told; see its options."""

    folder: str
    out: str
    checkpoint: str
    name: str
    parts: int
    every_ns: int
    quiet_ns: int
    most_files: int
    idle_ns: int
    is_once: bool
    is_closing: bool
    bodies: bool
    ports: list[int]
    separates_networks: bool


def follow(options: StreamOptions, spark: SparkOptions) -> ExitCode:
    """Follow a folder; return the exit code."""

    def do(session: "Session") -> ExitCode:
        from kdiag.pipeline.stream import close, drain, start, wait  # noqa: PLC0415

        job = _stream_job(options)
        query = start(session, job, progress())
        if not options.is_once:
            wait(query)
        drain(query)
        if options.is_closing:
            close(session, job)
        return ExitCode.DONE

    return with_spark(spark, do, partial(_require_folder, options.folder))


def _require_folder(folder: str) -> None:
    """Do nothing if a folder is there.

    Raises:
        ReportError: it is not.
    """
    from kdiag.pipeline.uri import is_folder  # noqa: PLC0415 - pyarrow

    if not is_folder(folder):
        raise ReportError(folder, "is no folder: name the one that captures come into")


def _stream_job(options: StreamOptions) -> "StreamJob":
    from kdiag.pipeline.decode import FlowRules  # noqa: PLC0415 - pyarrow
    from kdiag.pipeline.run import Job  # noqa: PLC0415
    from kdiag.pipeline.stream import StreamJob  # noqa: PLC0415
    from kdiag.report.tables.catalog import TableChoice  # noqa: PLC0415

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
