"""Tables that grow with a folder of captures: the pipeline, batch by batch, each exactly once.

    batch 0    a.pcap           state 0    decoders of all parts, fetch sessions, names
    batch 1    b.pcap c.pcap    state 1    the same, continued from state 0

A batch continues from the state of the one before, so connections may run through any number of
captures. It writes its state and then its tables, as a run of its own name. After an interruption
Spark repeats the batch: it starts from the same state again and replaces its tables. Connections
that are open when the stream stops wait in the state; `close` ends them.

A connection without packets for long, by default an hour of the captures, is ended and leaves the
state: Kafka itself closes one after ten minutes, so most likely its end was not captured. Its open
exchanges are reported as at the end of a capture. Later packets of it are a new connection.

TLS is not decrypted. Names of topic ids are known from the batch in which they were seen, and an
unmatched response is identified by the requests of its own part alone.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, partial
from typing import Final, NamedTuple
from uuid import uuid4

import msgspec
import pyarrow as pa
from pyspark import TaskContext
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

import kdiag
from kdiag.clock import NS_PER_S, SystemClock
from kdiag.errors import ReportError
from kdiag.pcap.memory_budget import Limits
from kdiag.pipeline.decode import PartDecoder, RunPart
from kdiag.pipeline.input.capture_log import CaptureContent
from kdiag.pipeline.input.captures import find_new_captures, note_changes
from kdiag.pipeline.input.folder_source import FORMAT, FolderSource
from kdiag.pipeline.input.segment_timestamps import SegmentTimestamps
from kdiag.pipeline.input.split import Split, Walk, in_order
from kdiag.pipeline.job import Job
from kdiag.pipeline.output.checkpoint import load_state, read_whole, save_state, write_whole
from kdiag.pipeline.output.read_captures import ReadCaptures
from kdiag.pipeline.output.run_log import commit, open_log, refuse_others, sweep
from kdiag.pipeline.rows.bundles import unbundle
from kdiag.pipeline.rows.packets import MappedFiles
from kdiag.pipeline.rows.partitioner import partition_evenly
from kdiag.pipeline.run import Say
from kdiag.pipeline.session import RUN_SETTINGS, session_with
from kdiag.pipeline.shared import Shared, share
from kdiag.pipeline.stages import (
    PartWriter,
    bundles_by_part,
    follow_fetches,
    staged_names,
    tabulate_frames,
    write_tables,
)
from kdiag.pipeline.tabulate import NameBytes, name_bytes
from kdiag.pipeline.tasks import RESULT_DDL, Outcome, Rows, do_tasks, freeze_gc, outcome_of
from kdiag.pipeline.uri import canonical, folders_in, remove_folder
from kdiag.report.run_log import LoggedRun

DEFAULT_PARTS: Final = 8
DEFAULT_IDLE_S: Final = 3600
_NAME: Final = "stream"
_NO_BATCH: Final = -1
_END: Final = "end"
_STARTS: Final = 3
_WORKER_IS_LATE: Final = "Python worker failed to connect back"
"""Spark's words where the process that lists the folder took more than 10 s to start."""


class StreamJob(NamedTuple):
    """The job of a stream.

    Attributes:
        folder: where captures appear, as a path or URI.
        checkpoint: the folder of the stream's state.
        job: of each batch; the stream sets its inputs and parts.
        quiet_s: how long a capture must have been quiet to be read.
        most_files: how many captures a batch has at most.
        every: how often to list the folder, in Spark's notation.
        idle_s: how long a connection may be without packets; 0 for ever.
    """

    folder: str
    checkpoint: str
    job: Job
    quiet_s: float = 60
    most_files: int = 16
    every: str = "10 seconds"
    idle_s: int = DEFAULT_IDLE_S


class State(msgspec.Struct, frozen=True):
    """The state after a batch, besides decoders and sessions.

    Attributes:
        version: of kdiag.
        parts: how many parts connections are divided into, the same in all batches.
        packets: how many packets all batches had.
        names: the names of topic ids.
        splits: those of the batch, after the last one of the batch before.
    """

    version: str
    parts: int
    packets: int = 0
    names: NameBytes = {}
    splits: list[Split] = []


def start(
    spark: SparkSession, stream: StreamJob, say: Say = lambda _: None, warn: Say = lambda _: None
) -> StreamingQuery:
    """Start to follow a folder.

    Args:
        spark: the session to run on.
        stream: the folder and the tables.
        say: called with the name of each step.
        warn: called with what could not be read.

    Raises:
        ReportError: if the checkpoint is closed or of another release, or the tables have batches
            of this name from another checkpoint.
    """
    states = _States(stream)
    if states.is_closed:
        raise ReportError(stream.checkpoint, "is closed: begin another with a folder of its own")
    states.last(None)
    states.refuse_others()
    sweep(stream.job.out, SystemClock().epoch_ns())
    spark = session_with(spark, RUN_SETTINGS)
    spark.dataSource.register(FolderSource)
    captures = (
        spark.readStream.format(FORMAT)
        .option("log", f"{stream.checkpoint}/files.json")
        .option("quiet_s", str(stream.quiet_s))
        .option("most", str(stream.most_files))
        .load(stream.folder)
    )

    def do(rows: DataFrame, batch: int) -> None:
        found = rows.collect()
        for uri in (row["uri"] for row in found if row["content"] == CaptureContent.CHANGED):
            warn(f"{uri}: changed after it was read: what was added is not in the tables")
        files = tuple(row["uri"] for row in found if row["content"] == CaptureContent.NEW)
        if files:
            say(f"batch {batch}: {len(files)} captures")
            for warning in _do_batch(spark, stream, states, files, batch):
                warn(warning)

    return (
        captures.writeStream.foreachBatch(do)
        .option("checkpointLocation", f"{stream.checkpoint}/spark")
        .trigger(processingTime=stream.every)
        .start()
    )


def run_stream(
    spark: SparkSession,
    stream: StreamJob,
    is_over: Callable[[StreamingQuery], None],
    say: Say = lambda _: None,
    warn: Say = lambda _: None,
) -> None:
    """Follow a folder until `is_over` returns; start again where a busy machine made Spark fail.

    Args:
        spark: the session to run on.
        stream: the folder and the tables.
        is_over: waits for the end of a stream, such as `drain`.
        say: called with the name of each step.
        warn: called with what could not be read, and why the stream is started again.

    Raises:
        ReportError: as `start` and `is_over` do.
    """
    for _ in range(_STARTS - 1):
        try:
            return is_over(start(spark, stream, say, warn))
        except ReportError as error:
            if _WORKER_IS_LATE not in str(error):
                raise
            warn("Spark's worker did not start within 10 s: the stream is started again")
    return is_over(start(spark, stream, say, warn))


def wait(query: StreamingQuery) -> None:
    """Wait until the stream ends, which it does only if a batch fails.

    Raises:
        ReportError: if a batch fails.
    """
    _until(query.awaitTermination, query)


def drain(query: StreamingQuery) -> None:
    """Wait until all captures in the folder are in the tables, and stop.

    Raises:
        ReportError: if a batch fails.
    """
    _until(query.processAllAvailable, query)


def _until(is_over: Callable[[], object], query: StreamingQuery) -> None:
    """Wait for a condition of a stream, and stop it."""
    try:
        is_over()
    except PySparkException as error:
        raise ReportError("stream", str(error)) from error
    finally:
        query.stop()


def close(spark: SparkSession, stream: StreamJob) -> None:
    """End all open connections, and add their last rows to the tables.

    The stream cannot go on afterwards.

    Raises:
        ReportError: if the checkpoint is of another release.
    """
    states = _States(stream)
    batch, state = states.last(None)
    if batch == _NO_BATCH:
        return
    spark = session_with(spark, RUN_SETTINGS)
    job = _job(stream, (), _END)
    remove_folder(job.staging)
    before = states.folder(batch)
    splits = share(job.staging, state.splits, list[Split])
    job = job._replace(recorded=splits)
    end = partial(_end_part, job, splits, before)
    outcome = outcome_of(do_tasks(spark, state.parts, end))
    _read_frames(spark, job, state, outcome, (before, f"{before}/end"))
    commit(job.out, states.log, states.entry(job, [], []), outcome.written)
    remove_folder(job.staging)
    states.mark_closed()


class _States:
    """The states of a stream, a folder for each batch.

    Attributes:
        log: of the folder of tables.
    """

    def __init__(self, stream: StreamJob) -> None:
        self.log = open_log(stream.job.out)
        self._checkpoint = stream.checkpoint
        self._name = stream.job.name or _NAME
        self._folder = f"{stream.checkpoint}/state"
        self._parts = stream.job.parts or DEFAULT_PARTS

    @cached_property
    def id(self) -> str:
        """Return what tells this stream from all others; it is in the checkpoint from the start."""
        uri = f"{self._checkpoint}/id"
        if (known := read_whole(uri)) is not None:
            return known.decode()
        made = uuid4().hex
        write_whole(uri, made.encode())
        return made

    def entry(self, job: Job, walks: Sequence[Walk], warnings: list[str]) -> LoggedRun:
        """Return the entry of a batch in the log, but for files and rows."""
        checkpoint = canonical(self._checkpoint)
        entry = job.entry(walks, warnings)
        return msgspec.structs.replace(entry, stream=self.id, checkpoint=checkpoint)

    def refuse_others(self) -> None:
        """Refuse to replace batches of another stream, whose names are the same.

        Raises:
            ReportError: with what to do.
        """
        batch = re.compile(rf"{re.escape(self._name)}-(\d{{8}}|{_END})")
        for each in self.log.runs():
            if batch.fullmatch(each.run):
                refuse_others([each], LoggedRun(each.run, stream=self.id))

    @property
    def is_closed(self) -> bool:
        return read_whole(f"{self._folder}.closed") is not None

    def mark_closed(self) -> None:
        write_whole(f"{self._folder}.closed", b"")

    def folder(self, batch: int) -> str:
        return f"{self._folder}/{batch:08}"

    def last(self, before: int | None) -> tuple[int, State]:
        """Return the last complete state, or the last before a batch.

        Raises:
            ReportError: if it is of another release.
        """
        for name in sorted(folders_in(self._folder), reverse=True):
            data = read_whole(f"{self._folder}/{name}/state.json")
            if data is not None and (before is None or int(name) < before):
                state = msgspec.json.decode(data, type=State)
                if state.version != kdiag.__version__:
                    why = f"is of kdiag {state.version}: close it with that, and begin a new one"
                    raise ReportError(self._folder, why)
                return int(name), state
        return _NO_BATCH, State(kdiag.__version__, self._parts)

    def write(self, batch: int, state: State) -> None:
        write_whole(f"{self.folder(batch)}/state.json", msgspec.json.encode(state))

    def forget_before(self, batch: int) -> None:
        for name in folders_in(self._folder):
            if int(name) < batch:
                remove_folder(f"{self._folder}/{name}")


def _job(stream: StreamJob, files: tuple[str, ...], batch: str) -> Job:
    name, rules = stream.job.name or _NAME, stream.job.rules
    idle_ns = stream.idle_s * NS_PER_S
    limits = msgspec.structs.replace(rules.limits or Limits(), idle_ns=idle_ns)
    rules = rules._replace(limits=limits)
    return stream.job._replace(inputs=files, name=f"{name}-{batch}", rules=rules)


def _do_batch(
    spark: SparkSession, stream: StreamJob, states: _States, files: tuple[str, ...], batch: int
) -> list[str]:
    """Make tables of the captures of a batch; return what could not be read."""
    earlier, state = states.last(batch)
    job = _job(stream, files, f"{batch:08}")
    remove_folder(job.staging)
    log = states.log
    others = ReadCaptures(each for each in log.runs() if each.run != job.run)
    walks, warnings = find_new_captures(spark, job.wanted, others)
    known = len(files) - len(walks) - len(warnings)
    if known:
        warnings.append(f"{known} of {len(files)} captures are in the tables already: left out")
    if not walks:
        return warnings
    latest_ns = max((split.last_ns for split in state.splits), default=0)
    new = in_order(walks, state.packets, latest_ns)
    folders = states.folder(earlier), states.folder(batch)
    shared = share(job.staging, new, list[Split])
    recorded = share(job.staging, [*state.splits, *new], list[Split])
    job = job.on(shared, recorded=recorded)
    bundles = bundles_by_part(spark, job, shared, partition_evenly(state.parts))
    idle_before_ns = None
    if stream.idle_s:
        idle_before_ns = max(split.last_ns for split in new) - stream.idle_s * NS_PER_S
    batch_of_parts = _Batch(state.parts, folders, recorded, idle_before_ns)
    feed = partial(_feed_part, job, batch_of_parts)
    outcome = outcome_of(row["result"] for row in bundles.mapInArrow(feed, RESULT_DDL).collect())
    warnings += [each.warning for each in walks if each.warning]
    names = _read_frames(spark, job, state, outcome, folders)
    warnings += note_changes(walks)
    entry = states.entry(job, walks, [*warnings, *outcome.faults])
    commit(job.out, log, entry, outcome.written)
    remove_folder(job.staging)
    total = state.packets + sum(split.packets for split in new)
    last = [*state.splits[-1:], *new]
    states.write(batch, State(state.version, state.parts, total, names, last))
    states.forget_before(earlier)
    return warnings


def _read_frames(
    spark: SparkSession, job: Job, state: State, outcome: Outcome, folders: tuple[str, str]
) -> NameBytes:
    """Add the rows of decoded frames to the outcome, and return all names known so far."""
    outcome.add(follow_fetches(spark, job, outcome, state.parts, folders))
    names = {**staged_names(spark, outcome), **state.names}
    known = {**names, **name_bytes(dict(job.topic_names))}
    outcome.add(tabulate_frames(spark, job, outcome, known))
    outcome.add(write_tables(spark, job, outcome))
    return names


class _Batch(NamedTuple):
    """A batch, as the tasks of its parts need it.

    Attributes:
        parts: how many there are.
        folders: of the states before and after.
        splits: those of the batch, and of the one before.
        idle_before_ns: ends connections that have been silent since; None to end none.
    """

    parts: int
    folders: tuple[str, str]
    splits: Shared[list[Split]]
    idle_before_ns: int | None


def _feed_part(job: Job, batch: _Batch, rows: Rows) -> Iterator[pa.RecordBatch]:
    """Continue the connections of a part."""
    freeze_gc()
    context = TaskContext.get()
    assert context is not None
    part = RunPart(context.partitionId(), batch.parts)
    before, after = (f"{folder}/part-{part.number}" for folder in batch.folders)
    decoder = load_state(before) or PartDecoder(part, job.rules)
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
    decoder = load_state(f"{before}/part-{number}")
    if decoder is not None:
        writer = PartWriter(job, number)
        decoder.finish(writer.write, SegmentTimestamps(splits, job.times))
        yield writer.close()
