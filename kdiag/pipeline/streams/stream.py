"""Tables that grow with a folder of captures: the pipeline, batch by batch, each exactly once.

    batch 0    a.pcap           state 0    decoders of all parts, fetch sessions, names
    batch 1    b.pcap c.pcap    state 1    the same, continued from state 0

A batch continues from the state of the one before, so connections may run through any number of
captures. It writes its state and then its tables, as a run of its own name. After an interruption
Spark repeats the batch: it starts from the same state again and replaces its tables. Connections
that are open when the stream stops wait in the state; `close` ends them.

A connection without packets for long, by default an hour of the captures, is ended and leaves the
state: Kafka itself closes one after ten minutes, so most likely its end was not captured. Its open
exchanges are reported as at the end of a capture. Later packets of it are a new connection. The
hour is that of the host whose captures are least far, so that a slow one loses no connection.

Names of topic ids are known from the batch in which they were seen, secrets of TLS from that in
which they are in a key log, and an unmatched response is identified by the requests of its own part
alone.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Final, NamedTuple

import pyarrow as pa
from pyspark import TaskContext
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from kdiag.clock import SystemClock
from kdiag.errors import CaptureError, ReportError
from kdiag.pipeline.decode import PartDecoder, RunPart
from kdiag.pipeline.input.captures import find_new_captures, note_changes, secrets_for
from kdiag.pipeline.input.segment_timestamps import SegmentTimestamps
from kdiag.pipeline.input.split import Split, in_order
from kdiag.pipeline.job import Job
from kdiag.pipeline.output.checkpoint import load_state, save_state
from kdiag.pipeline.output.read_captures import ReadCaptures
from kdiag.pipeline.output.run_log import sweep
from kdiag.pipeline.output.state_graph import FORMAT as STATE_FORMAT
from kdiag.pipeline.output.whole_files import locked
from kdiag.pipeline.output.writer import TableWriter, open_writer
from kdiag.pipeline.rows.bundles import unbundle
from kdiag.pipeline.rows.packets import MappedFiles
from kdiag.pipeline.rows.partitioner import partition_evenly
from kdiag.pipeline.session import RUN_SETTINGS, require_reach, session_with
from kdiag.pipeline.shared import Shared, share
from kdiag.pipeline.stages import (
    PartWriter,
    bundles_by_part,
    follow_fetches,
    staged_names,
    tabulate_captures,
    tabulate_frames,
)
from kdiag.pipeline.streams.capture_log import CaptureContent
from kdiag.pipeline.streams.folder_source import FORMAT, FolderSource
from kdiag.pipeline.streams.group_tables import GroupBatch, follow_groups
from kdiag.pipeline.streams.states import (
    END,
    GROUPS,
    NO_BATCH,
    State,
    States,
    StreamJob,
    watermark_ns,
)
from kdiag.pipeline.tabulate import NameBytes, name_bytes
from kdiag.pipeline.tasks import RESULT_DDL, Outcome, Rows, do_tasks, freeze_gc, outcome_of
from kdiag.report.run_log import LoggedRun
from kdiag.report.uri import remove_folder, state_of

_STARTS: Final = 3
_WORKER_IS_LATE: Final = "Python worker failed to connect back"
"""Spark's words where the process that lists the folder took more than 10 s to start."""

_LEFT_OUT: Final = {
    CaptureContent.CHANGED: "changed after it was read: what was added is not in the tables",
    CaptureContent.FOREIGN: "is no capture: left out",
}


def _nothing(_: str) -> None:
    """Say nothing."""


class Messages(NamedTuple):
    """Who is told what.

    Attributes:
        step: the name of each step.
        loss: what is missing in the tables.
        note: what else a person wants to know.
    """

    step: Callable[[str], object] = _nothing
    loss: Callable[[str], object] = _nothing
    note: Callable[[str], object] = _nothing


_SILENT: Final = Messages()


def start(spark: SparkSession, stream: StreamJob, tell: Messages = _SILENT) -> StreamingQuery:
    """Start to follow a folder.

    Args:
        spark: the session to run on.
        stream: the folder and the tables.
        tell: who is told what.

    Raises:
        CaptureError: if a path is relative on a cluster.
        ReportError: if the checkpoint is closed or of another release, or the tables have batches
            of this name from another checkpoint, or Spark lacks what the format of the tables
            takes.
    """
    require_reach(spark, (stream.folder, stream.checkpoint, stream.job.out))
    states = States(stream)
    states.begin()
    spark = session_with(spark, RUN_SETTINGS)
    work = _Work(spark, stream, states, open_writer(spark, stream.job, states.log, tell.step))
    remove_folder(stream.batch((), GROUPS).staging)  # so that files of a killed batch go, too
    sweep(stream.job.out, SystemClock().epoch_ns())
    spark.dataSource.register(FolderSource)
    captures = (
        spark.readStream.format(FORMAT)
        .option("log", f"{stream.checkpoint}/files.json")
        .option("most", str(stream.most_files))
        .options(**{name: str(value) for name, value in stream.rules._asdict().items()})
        .load(stream.folder)
    )

    def do(rows: DataFrame, batch: int) -> None:
        found = rows.collect()
        for row in found:
            if row["content"] in _LEFT_OUT:
                tell.loss(f"{row['uri']}: {_LEFT_OUT[CaptureContent(row['content'])]}")
        new = {row["uri"]: row["host"] for row in found if row["content"] == CaptureContent.NEW}
        files = _still_there(new, tell)
        if files:
            tell.step(f"batch {batch}: {len(files)} captures")
            _do_batch(work, _Files(files, batch), tell)

    writer = captures.writeStream.foreachBatch(do)
    writer = writer.option("checkpointLocation", f"{stream.checkpoint}/spark")
    if stream.is_once:
        return writer.trigger(availableNow=True).start()
    return writer.trigger(processingTime=stream.every).start()


def _still_there(files: Mapping[str, str], tell: Messages) -> dict[str, str]:
    """Return the files that a ring buffer has not removed yet, with their hosts."""
    left = {}
    for uri, host in files.items():
        try:
            state_of(uri)
        except CaptureError:
            tell.loss(f"{uri}: was removed before it was read: it is not in the tables")
        else:
            left[uri] = host
    return left


def run_stream(
    spark: SparkSession,
    stream: StreamJob,
    tell: Messages = _SILENT,
    until_end: Callable[[StreamingQuery], None] | None = None,
) -> None:
    """Follow a folder to the end; start again where a busy machine made Spark fail.

    Args:
        spark: the session to run on.
        stream: the folder and the tables.
        tell: who is told what, such as why the stream is started again.
        until_end: waits for the end of a stream; by default `wait`.

    Raises:
        ReportError: as `start` and `wait` do, or if another process uses the checkpoint.
    """
    until_end = until_end or wait
    with locked(stream.checkpoint):
        for _ in range(_STARTS - 1):
            try:
                until_end(start(spark, stream, tell))
            except ReportError as error:
                if _WORKER_IS_LATE not in str(error):
                    raise
                tell.note("Spark's worker did not start within 10 s: the stream is started again")
            else:
                return
        until_end(start(spark, stream, tell))


def wait(query: StreamingQuery) -> None:
    """Wait until the stream ends: when it has read what was there, or when a batch fails.

    Raises:
        ReportError: if a batch fails.
    """
    try:
        query.awaitTermination()
    except PySparkException as error:
        raise ReportError("stream", str(error)) from error
    finally:
        query.stop()


def close(spark: SparkSession, stream: StreamJob) -> None:
    """End all open connections, and add their last rows to the tables.

    The stream cannot go on afterwards.

    Raises:
        ReportError: if the checkpoint is of another release, or Spark cannot write a table.
    """
    states = States(stream)
    batch, state = states.last(None)
    if batch == NO_BATCH:
        return
    spark = session_with(spark, RUN_SETTINGS)
    writer = open_writer(spark, stream.job, states.log)
    job = stream.batch((), END)
    remove_folder(job.staging)
    before = states.folder(batch)
    splits = share(job.staging, state.splits, list[Split])
    job = job._replace(recorded=splits)
    end = partial(_end_part, job, splits, before)
    outcome = outcome_of(do_tasks(spark, state.parts, end))
    folders = before, f"{before}/end"
    names = _read_frames(spark, job, state, outcome, folders)
    writer.write(job, outcome, lambda: states.entry(job, [], []))
    of_groups = job._replace(name=stream.batch((), GROUPS).run)
    groups = GroupBatch(END, of_groups, folders, [], names, is_last=True)
    follow_groups(spark, states, writer, groups, outcome)
    remove_folder(stream.batch((), END).staging)
    states.mark_closed()


class _Work(NamedTuple):
    """What all batches of a stream share."""

    spark: SparkSession
    stream: StreamJob
    states: States
    writer: TableWriter


class _Files(NamedTuple):
    """The captures of a batch, each with its host, and the batch's number."""

    hosts: Mapping[str, str]
    batch: int


def _do_batch(work: _Work, files: _Files, tell: Messages) -> None:
    """Make tables of the captures of a batch."""
    spark, stream, states, writer = work
    earlier, state = states.last(files.batch)
    number = f"{files.batch:08}"
    job = stream.batch(tuple(files.hosts), number)
    remove_folder(job.staging)
    log = states.log
    others = ReadCaptures(each for each in log.runs() if each.run != job.run)
    walks, warnings = find_new_captures(spark, job.wanted, others)
    known = len(files.hosts) - len(walks) - len(warnings)
    if known:
        tell.note(f"{known} of {len(files.hosts)} captures are in the tables already: left out")
    if walks:
        latest_ns = max((split.last_ns for split in state.splits), default=0)
        new = in_order(walks, state.packets, latest_ns)
        folders = states.folder(earlier), states.folder(files.batch)
        shared = share(job.staging, new, list[Split])
        recorded = share(job.staging, [*state.splits, *new], list[Split])
        secrets = secrets_for(walks, job.rules.keylogs)
        job = job.on(shared, secrets, recorded)
        now_ns = SystemClock().epoch_ns()
        hosts = state.hosts_with(walks, files.hosts, now_ns)
        idle_before_ns = None
        if stream.idle_ns:
            idle_before_ns = watermark_ns(hosts, stream.idle_ns, now_ns) - stream.idle_ns
        batch_of_parts = _Batch(state.parts, folders, recorded, idle_before_ns, len(hosts))
        outcome = _feed(spark, job, shared, batch_of_parts)
        warnings += [each.warning for each in walks if each.warning]
        outcome.add(tabulate_captures(job, walks))
        names = _read_frames(spark, job, state, outcome, folders)
        warnings += outcome.faults

        def describe() -> LoggedRun:
            warnings.extend(note_changes(walks))
            return states.entry(job, walks, warnings)

        writer.write(job, outcome, describe)
        of_groups = job._replace(name=stream.batch((), GROUPS).run)
        groups = GroupBatch(number, of_groups, folders, new, names, idle_before_ns)
        warnings += follow_groups(spark, states, writer, groups, outcome)
        remove_folder(job.staging)
        total = state.packets + sum(split.packets for split in new)
        last = [*state.splits[-1:], *new]
        states.write(files.batch, State(STATE_FORMAT, state.parts, total, names, last, hosts))
        states.forget_before(earlier)
    for warning in warnings:
        tell.loss(warning)


def _feed(spark: SparkSession, job: Job, splits: Shared[list[Split]], batch: "_Batch") -> Outcome:
    """Continue the connections of all parts with the packets of splits."""
    bundles = bundles_by_part(spark, job, splits, partition_evenly(batch.parts))
    answer = bundles.mapInArrow(partial(_feed_part, job, batch), RESULT_DDL)
    return outcome_of(row["result"] for row in answer.collect())


def _read_frames(
    spark: SparkSession, job: Job, state: State, outcome: Outcome, folders: tuple[str, str]
) -> NameBytes:
    """Add the rows of decoded frames to the outcome, and return all names known so far."""
    outcome.add(follow_fetches(spark, job, outcome, state.parts, folders))
    names = {**staged_names(spark, outcome), **state.names}
    known = {**names, **name_bytes(dict(job.topic_names))}
    outcome.add(tabulate_frames(spark, job, outcome, known))
    return names


class _Batch(NamedTuple):
    """A batch, as the tasks of its parts need it.

    Attributes:
        parts: how many there are.
        folders: of the states before and after.
        splits: those of the batch, and of the one before.
        idle_before_ns: ends connections that have been silent since; None to end none.
        hosts: how many there are.
    """

    parts: int
    folders: tuple[str, str]
    splits: Shared[list[Split]]
    idle_before_ns: int | None
    hosts: int


def _feed_part(job: Job, batch: _Batch, rows: Rows) -> Iterator[pa.RecordBatch]:
    """Continue the connections of a part."""
    freeze_gc()
    context = TaskContext.get()
    assert context is not None
    part = RunPart(context.partitionId(), batch.parts)
    before, after = (f"{folder}/part-{part.number}" for folder in batch.folders)
    decoder = load_state(before, PartDecoder) or PartDecoder(part, job.rules)
    decoder.learn_secrets(job.rules)
    if job.rules.follows_tcp:
        decoder.follow_tcp()
    decoder.has_one_clock(is_so=batch.hosts <= 1)
    writer = PartWriter(job, part.number)
    recording = SegmentTimestamps(batch.splits, job.times)
    packets = unbundle(rows, job.packet_schema)
    decoder.feed(packets, writer.write, recording, MappedFiles(job.rules.files))
    if batch.idle_before_ns is not None:
        decoder.end_idle(batch.idle_before_ns, writer.write, recording)
    save_state(after, decoder)
    yield writer.close().row()


def _end_part(job: Job, splits: Shared[list[Split]], before: str, number: int) -> Iterator[Outcome]:
    """End the connections of a part."""
    decoder = load_state(f"{before}/part-{number}", PartDecoder)
    if decoder is not None:
        writer = PartWriter(job, number)
        decoder.finish(writer.write, SegmentTimestamps(splits, job.times))
        yield writer.close()
