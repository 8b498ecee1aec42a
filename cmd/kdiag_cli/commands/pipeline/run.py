"""What `kdiag pipeline` does once its arguments are read."""

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from kdiag.errors import CaptureError
from kdiag_cli.captures.source import read_topic_ids
from kdiag_cli.commands.pipeline.spark import SparkOptions, progress, with_spark
from kdiag_cli.exit_code import ExitCode
from kdiag_cli.output.answer import Answer, AnswerFormat, print_answer
from kdiag_cli.output.result import ResultFormat, print_document
from kdiag_cli.output.tables import print_table
from kdiag_cli.output.terminal import Output, say

if TYPE_CHECKING:
    from kdiag.pipeline.output.partitions import Manifest
    from kdiag.pipeline.session import Session
    from kdiag.report.sql_report import Query


class RunOptions(NamedTuple):
    """What `kdiag pipeline run` is told; see its options."""

    inputs: list[str]
    out: str
    name: str
    parts: int
    split_bytes: int
    is_indexed: bool
    mode: str
    from_ns: int | None
    to_ns: int | None
    values: bool
    bodies: bool
    ports: list[int]
    topic_ids: Path | None
    keylogs: list[Path]
    separates_networks: bool


def run_job(options: RunOptions, spark: SparkOptions, output: ResultFormat) -> ExitCode:
    """Write tables; return the exit code."""
    topic_names = read_topic_ids(options.topic_ids)

    def do(session: "Session") -> ExitCode:
        from kdiag.pipeline.decode import FlowRules  # noqa: PLC0415 - pyarrow
        from kdiag.pipeline.input.segment_reader import TimeRange  # noqa: PLC0415
        from kdiag.pipeline.run import Job, run  # noqa: PLC0415
        from kdiag.report.tables.catalog import TableChoice  # noqa: PLC0415

        job = Job(
            tuple(options.inputs),
            options.out.rstrip("/"),
            name=options.name,
            choice=TableChoice(bodies=options.bodies, records=options.values),
            rules=FlowRules(tuple(options.ports), _keylog(options.keylogs)),
            topic_names=tuple(topic_names.items()),
            times=TimeRange(options.from_ns, options.to_ns),
            mode=options.mode,
            parts=options.parts,
            split_bytes=options.split_bytes,
            is_indexed=options.is_indexed,
            separates_networks=options.separates_networks,
        )
        manifest = run(session, job, progress())
        say(*manifest.warnings)
        _print_manifest(manifest, output)
        return ExitCode.PARTIAL if manifest.warnings else ExitCode.DONE

    return with_spark(spark, do)


def report_tables(  # noqa: PLR0913 - two are only passed on
    query: "Query",
    folder: str,
    spark: SparkOptions,
    output: AnswerFormat,
    name: str,
    *,
    has_headers: bool,
    is_wide: bool,
) -> ExitCode:
    """Print the answer of Spark to a report; return the exit code."""

    def do(session: "Session") -> ExitCode:
        from kdiag.pipeline.output.views import ask  # noqa: PLC0415 - pyarrow

        answer = ask(session, folder, query)
        screen = Output(is_wide=is_wide)
        print_answer(
            screen,
            Answer(answer.schema.names, answer.to_batches()),
            output,
            command=f"report {name}",
            has_headers=has_headers,
            wide=query.wide,
        )
        screen.flush()
        return ExitCode.DONE

    return with_spark(spark, do)


def _print_manifest(manifest: "Manifest", output: ResultFormat) -> None:
    screen = Output()
    if output is ResultFormat.JSON:
        data = [{"run": manifest.run, "rows": manifest.rows, "files": len(manifest.files)}]
        print_document(screen, "pipeline run", data, warnings=manifest.warnings)
    else:
        print_table(screen, ("TABLE", "ROWS"), list(manifest.rows.items()))
    screen.flush()


def _keylog(files: list[Path]) -> bytes:
    """Return the secrets of all key logs.

    Raises:
        CaptureError: a file cannot be read.
    """
    found = []
    for file in files:
        try:
            found.append(file.read_bytes())
        except OSError as error:
            raise CaptureError(str(file), f"cannot be opened: {error.strerror}") from error
    return b"\n".join(found)
