"""A run of the pipeline: captures in, tables out, on Spark.

    walk       a task for each file       -> splits, numbered through            (to the driver)
    read       a task for each split      -> packets                             (by connection)
    decode     a task for each part       -> frames, connections, gaps, names    (staged, or tables)
    resolve    rarely, one task           -> frames identified by other requests (staged)
    follow     a task for some brokers    -> partitions of fetch sessions        (staged)
    tabulate   a task for each chunk      -> exchanges, batches, records         (tables)
    commit     the driver                 -> all files at their targets, and in the log

One task decodes a connection, which needs its bytes in order, but reads none of its frames. Reading
frames is most of the work and is shared by all tasks, in chunks. So a connection with most of a
capture's bytes does not keep the other tasks waiting for long.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from hashlib import sha256
from itertools import pairwise
from typing import Final, NamedTuple

import msgspec
import numpy as np
import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import DataFrame, SparkSession

import kdiag
from kdiag.clock import SystemClock
from kdiag.errors import CaptureError
from kdiag.exchange.context.fetch_session import FetchSessions
from kdiag.pcap.files.pcapng import Secrets
from kdiag.pipeline.captures import Wanted, find_captures, find_new_captures, note_changes
from kdiag.pipeline.decode import (
    FETCH_ORDER,
    FETCHES,
    FlowRules,
    RunPart,
    decode_rows,
    resolve_unsure,
)
from kdiag.pipeline.input.segment_reader import ALWAYS, TimeRange
from kdiag.pipeline.input.segment_timestamps import SegmentTimestamps
from kdiag.pipeline.input.source import FAILFAST, PERMISSIVE, ReadOptions, read_bundles
from kdiag.pipeline.input.split import (
    DEFAULT_SPLIT_BYTES,
    Split,
    Walk,
    in_order,
    note_overlap,
)
from kdiag.pipeline.input.split_index import CaptureUris
from kdiag.pipeline.output.checkpoint import load_state, save_state
from kdiag.pipeline.output.partitions import TableFiles
from kdiag.pipeline.output.read_captures import (
    ReadCaptures,
    note_border,
    refuse_doubles,
    refuse_losses,
)
from kdiag.pipeline.output.run_log import commit, open_log, refuse_others, staging_folder, sweep
from kdiag.pipeline.output.staging import Staged, Staging, read_all, read_staged
from kdiag.pipeline.rows.bundles import unbundle
from kdiag.pipeline.rows.packets import PACKETS, POSITIONS, MappedFiles
from kdiag.pipeline.rows.partitioner import Partitioner, partition_by_weight
from kdiag.pipeline.session import RUN_SETTINGS, cores_of, session_with
from kdiag.pipeline.shared import Shared, share
from kdiag.pipeline.tabulate import (
    FirstNames,
    NameBytes,
    add_names,
    follow_sessions,
    name_bytes,
    read_names,
    read_sessions,
    tabulate,
    topic_names,
)
from kdiag.pipeline.tasks import RESULT_DDL, Outcome, Rows, do_tasks, freeze_gc, outcome_of
from kdiag.pipeline.uri import canonical, remove_folder
from kdiag.report.arrow import TableBatches
from kdiag.report.run_log import LoggedRun
from kdiag.report.tables.catalog import DEFAULT_CHOICE, TableChoice

DEFAULT_PART_BYTES: Final = 128 << 20
DEFAULT_CHUNK_BYTES: Final = 1 << 30
_READS_PER_CORE: Final = 4
_NAMES_OF_A_TASK: Final = 256
_SESSIONS: Final = "sessions"
_FEW_FETCHES: Final = 2000
_EXCHANGE_BYTES: Final = 50_000  # an exchange of any size takes as long as so many bytes
_CHUNKS_PER_CORE: Final = 4
_LEAST_CHUNK_BYTES: Final = 32 << 20
_RUN_NAME_DIGITS: Final = 12
_DDL: Final = {
    pa.int32(): "int",
    pa.int64(): "bigint",
    pa.string(): "string",
    pa.binary(): "binary",
    pa.bool_(): "boolean",
}
_FETCHES_DDL: Final = ", ".join(f"{field.name} {_DDL[field.type]}" for field in FETCHES)

Say = Callable[[str], object]


class Job(NamedTuple):
    """The job of a run.

    Attributes:
        inputs: captures and folders of captures, as paths or URIs.
        out: the folder of tables; all machines must reach it by this name.
        name: of the run, whose files replace those of an earlier run of the same name. Empty to
            derive it from the inputs.
        choice: of tables.
        rules: for reading connections.
        topic_names: names of topic ids that are known beforehand.
        times: of the wanted packets.
        mode: for damaged files, `permissive` or `failfast`.
        parts: how many parts the connections are divided into; 0 to choose by the size.
        split_bytes: about how long a split is.
        chunk_bytes: about how many bytes of frames one task reads at most; an exchange counts for
            50,000 more than its own.
        is_indexed: whether payloads of plain files stay in the captures until a connection is
            decoded, which saves their shuffle; all machines must reach them.
        separates_networks: whether the same addresses in different VLANs or VXLAN networks are
            different.
        is_new: whether captures are left out that the log of the folder has already.
    """

    inputs: tuple[str, ...]
    out: str
    name: str = ""
    choice: TableChoice = DEFAULT_CHOICE
    rules: FlowRules = FlowRules()
    topic_names: tuple[tuple[str, str], ...] = ()
    times: TimeRange = ALWAYS
    mode: str = PERMISSIVE
    parts: int = 0
    split_bytes: int = DEFAULT_SPLIT_BYTES
    chunk_bytes: int = DEFAULT_CHUNK_BYTES
    is_indexed: bool = True
    separates_networks: bool = False
    is_new: bool = False

    @property
    def run(self) -> str:
        """Return the name of the run."""
        if self.name:
            return self.name
        return self.named_after(map(canonical, self.inputs)).name

    @property
    def wanted(self) -> Wanted:
        """Return what is wanted of the captures."""
        return Wanted(self.inputs, self.split_bytes, self.times)

    @property
    def packet_schema(self) -> pa.Schema:
        """Return the schema of packets on their way to a part."""
        return pa.schema([*PACKETS, *(POSITIONS if self.is_indexed else ())])

    @property
    def staging(self) -> str:
        """Return the folder of the run's staged files."""
        return staging_folder(self.out, self.run)

    def named_after(self, facts: Iterable[object]) -> "Job":
        """Return the job with a name that is made of facts about its captures, and its times."""
        text = "\n".join([*sorted(map(str, facts)), *map(str, self.times)])
        return self._replace(name=sha256(text.encode()).hexdigest()[:_RUN_NAME_DIGITS])

    def entry(self, walks: Sequence[Walk], warnings: list[str]) -> LoggedRun:
        """Return the entry of the run in the log of its folder, but for files and rows.

        Args:
            walks: through the captures that it reads.
            warnings: about them.
        """
        return LoggedRun(
            self.run,
            warnings=warnings,
            captures=[each.capture for each in walks],
            from_ns=self.times.from_ns,
            to_ns=self.times.to_ns,
            kdiag=kdiag.__version__,
        )

    def on(self, splits: Shared[list[Split]], secrets: tuple[Secrets, ...] = ()) -> "Job":
        """Return the job for the splits and the secrets of its captures, small enough to send."""
        files = CaptureUris(splits) if self.is_indexed else ()
        rules = self.rules._replace(files=files, secrets=secrets)
        return self._replace(inputs=(), name=self.run, rules=rules)


def run(spark: SparkSession, job: Job, say: Say = lambda _: None) -> LoggedRun:
    """Make tables of captures.

    Args:
        spark: the session to run on.
        job: the captures and the tables.
        say: called with the name of each step.

    Raises:
        CaptureError: if an input is not a capture or cannot be opened; with `failfast`, also if it
            is damaged.
        ReportError: if captures are in the tables already, or rows of others would be lost.
    """
    spark = session_with(spark, RUN_SETTINGS)
    log = open_log(job.out)
    say("finding the packets")
    if job.is_new:
        walks, warnings = find_new_captures(spark, job.wanted, ReadCaptures(log.runs()))
        if not walks:
            return LoggedRun("", warnings=warnings)
        job = job.named_after(each.capture for each in walks)
    else:
        walks, warnings = find_captures(spark, job.wanted), []
    runs, entry = log.runs(), job.entry(walks, [])
    refuse_others(runs, entry)
    refuse_doubles(runs, entry)
    if not job.name:
        refuse_losses(runs, entry)
    remove_folder(job.staging)
    sweep(job.out, SystemClock().epoch_ns())
    damage = [each.warning for each in walks if each.warning]
    if damage and job.mode == FAILFAST:
        raise CaptureError(damage[0], f"is damaged, and the mode is {FAILFAST}")
    warnings += [*damage, *note_overlap(walks), *note_border(runs, entry)]
    splits = in_order(walks)
    secrets = tuple(each for found in walks for each in found.secrets)
    shared = share(job.staging, splits, list[Split])
    job = job.on(shared, secrets)
    parts = parts_of(spark, job, splits)
    say("taking connections apart")
    partitioner = partition_by_weight(parts, [each.weights for each in walks])
    outcome = _decode(spark, job, shared, partitioner)
    if outcome.of("unsure"):
        say("finding out what lone responses answer")
        outcome.add(_resolve(spark, job, outcome))
    if outcome.of("fetches"):
        say("following fetch sessions")
        outcome.add(follow_fetches(spark, job, outcome, parts))
    say("reading frames")
    outcome.add(tabulate_frames(spark, job, outcome))
    say("putting the tables into place")
    entry = job.entry(walks, [*warnings, *note_changes(walks), *outcome.faults])
    entry = commit(job.out, log, entry, outcome.written)
    remove_folder(job.staging)
    return entry


def parts_of(spark: SparkSession, job: Job, splits: Sequence[Split]) -> int:
    """Return how many parts the connections are divided into: the same number for each core."""
    if job.parts:
        return job.parts
    size = sum(split.end - split.start for split in splits)
    cores = cores_of(spark)
    return cores * max(1, -(-size // (DEFAULT_PART_BYTES * cores)))


def _decode(
    spark: SparkSession, job: Job, splits: Shared[list[Split]], partitioner: Partitioner
) -> Outcome:
    bundles = bundles_by_part(spark, job, splits, partitioner)
    answer = bundles.mapInArrow(partial(decode_part, job, splits, partitioner.parts), RESULT_DDL)
    return outcome_of(row["result"] for row in answer.collect())


def bundles_by_part(
    spark: SparkSession, job: Job, splits: Shared[list[Split]], partitioner: Partitioner
) -> DataFrame:
    """Return the packets of splits in bundles, those of a part together and in order."""
    columns = tuple(job.packet_schema.names)
    tasks = _READS_PER_CORE * cores_of(spark)
    reading = ReadOptions(columns, job.times, job.mode, job.separates_networks, tasks)
    shared = share(job.staging, partitioner, Partitioner)
    bundles = read_bundles(spark, splits, reading, shared)
    parts = bundles.repartitionById(partitioner.parts, "part")
    return parts.drop("part").sortWithinPartitions("packet")


def decode_part(
    job: Job, splits: Shared[list[Split]], parts: int, rows: Rows
) -> Iterator[pa.RecordBatch]:
    """Decode the connections of a part; yield the outcome.

    Args:
        job: of the run.
        splits: all of the run.
        parts: how many there are; Spark knows which of them this is.
        rows: bundles of the part's packets.
    """
    freeze_gc()
    context = TaskContext.get()
    assert context is not None
    part = RunPart(context.partitionId(), parts)
    writers = PartWriters(job, part)
    packets = unbundle(rows, job.packet_schema)
    decode_rows(packets, writers.write, part, SegmentTimestamps(splits, job.times), job.rules)
    yield writers.close().row()


class PartWriters:
    """Writes the rows of a part: to tables, or to staged files."""

    def __init__(self, job: Job, part: RunPart) -> None:
        self._staging = Staging(job.staging, part.number)
        self._files = TableFiles(job.staging, job.run, f"c{part.number}")

    def write(self, name: str, batch: pa.RecordBatch) -> None:
        """Write rows of a table, or of a kind that later tasks read."""
        write = self._files.write if name in ("connections", "gaps") else self._staging.write
        write(name, batch)

    def close(self) -> Outcome:
        """Complete the files and return them."""
        return Outcome(list(self._staging.close()), self._files.close(), [])


def _resolve(spark: SparkSession, job: Job, outcome: Outcome) -> Outcome:
    do = partial(_resolve_all, job, outcome.of("unsure"), outcome.of("kinds"))
    return outcome_of(do_tasks(spark, 1, do))


def _resolve_all(job: Job, unsure: list[Staged], kinds: list[Staged], _: int) -> Iterator[Outcome]:
    staging = Staging(job.staging, -1)
    resolve_unsure(read_all(unsure), read_all(kinds), staging.write)
    yield Outcome(list(staging.close()), [], [])


def follow_fetches(
    spark: SparkSession,
    job: Job,
    outcome: Outcome,
    parts: int,
    folders: tuple[str, str] | None = None,
) -> Outcome:
    """Find the partitions of fetch sessions.

    Args:
        spark: the session to run on.
        job: of the run.
        outcome: the fetches, staged.
        parts: how many parts there are.
        folders: of the sessions before and after, for a stream.
    """
    files = outcome.of("fetches")
    if folders is None and sum(file.rows for file in files) <= _FEW_FETCHES:
        return _follow_few(job, parts, files)
    numbers = spark.range(0, len(files), 1, max(1, len(files)))
    shared = share(job.staging, files, list[Staged])
    fetches = numbers.mapInArrow(partial(_read_fetches, shared), _FETCHES_DDL)
    ordered = fetches.repartition(parts, "broker").sortWithinPartitions(*FETCH_ORDER)
    answer = ordered.mapInArrow(partial(_follow_brokers, job, parts, folders), RESULT_DDL)
    return outcome_of(row["result"] for row in answer.collect())


def _follow_few(job: Job, parts: int, files: list[Staged]) -> Outcome:
    """Follow a few fetches here: starting tasks would take longer."""
    fetches = pa.Table.from_batches(read_all(files), FETCHES)
    ordered = fetches.sort_by([(each, "ascending") for each in FETCH_ORDER])
    staging = Staging(job.staging, 0)
    _stage_sessions(follow_sessions(ordered.to_batches()), parts, staging)
    return Outcome(list(staging.close()), [], [])


def _read_fetches(files: Shared[list[Staged]], numbers: Rows) -> Iterator[pa.RecordBatch]:
    for batch in numbers:
        for number in batch.column(0).to_pylist():
            yield from read_staged(files.value[number].uri)


def _follow_brokers(
    job: Job, parts: int, folders: tuple[str, str] | None, fetches: Rows
) -> Iterator[pa.RecordBatch]:
    context = TaskContext.get()
    assert context is not None
    staging = Staging(job.staging, context.partitionId())
    sessions = FetchSessions()
    before, after = (f"{folder}/sessions-{context.partitionId()}" for folder in folders or ("", ""))
    if folders is not None:
        sessions = load_state(before) or sessions
    _stage_sessions(follow_sessions(fetches, sessions), parts, staging)
    if folders is not None:
        save_state(after, sessions)
    yield Outcome(list(staging.close()), [], []).row()


def _stage_sessions(rows: Rows, parts: int, staging: Staging) -> None:
    """Stage the partitions of sessions for the parts of their fetches."""
    for batch in rows:
        part_of = batch.column("number").to_numpy() % parts
        for part in np.unique(part_of).tolist():
            staging.write(f"{_SESSIONS}-{part}", batch.filter(pa.array(part_of == part)))


class Chunk(NamedTuple):
    """Frames that one task reads."""

    file: Staged
    first: int
    last: int


def _chunks(files: Sequence[Staged], chunk_bytes: int) -> Iterator[Chunk]:
    """Yield the frames of all files in chunks of about the same size."""
    for file in files:
        count = max(1, min(file.batches, round(_weight(file) / chunk_bytes)))
        edges = [file.batches * index // count for index in range(count + 1)]
        for first, last in pairwise(edges):
            yield Chunk(file, first, last)


def _weight(file: Staged) -> int:
    return file.bytes + file.rows * _EXCHANGE_BYTES


class Chunks(NamedTuple):
    """The frames of a run in chunks, and what their tasks need besides.

    Attributes:
        chunks: all of them; a task's number is an index.
        names: the names of topic ids.
        sessions: the staged partitions of fetch sessions, by part.
    """

    chunks: list[Chunk]
    names: NameBytes
    sessions: dict[int, list[Staged]]


def tabulate_frames(
    spark: SparkSession, job: Job, outcome: Outcome, names: NameBytes | None = None
) -> Outcome:
    """Make rows of the staged frames.

    Args:
        spark: the session to run on.
        job: of the run.
        outcome: the frames, and what belongs to them, staged.
        names: the names of topic ids; by default those of the job and of the outcome.
    """
    files = outcome.of("frames")
    wanted = sum(map(_weight, files)) // (_CHUNKS_PER_CORE * cores_of(spark))
    chunks = list(_chunks(files, min(max(wanted, _LEAST_CHUNK_BYTES), job.chunk_bytes)))
    if not chunks:
        return Outcome([], [], [])
    if names is None:
        names = {**staged_names(spark, outcome), **name_bytes(dict(job.topic_names))}
    work = Chunks(chunks, names, _sessions_by_part(outcome))
    shared = share(job.staging, work, Chunks)
    job = job._replace(topic_names=())
    return outcome_of(do_tasks(spark, len(chunks), partial(tabulate_chunk, job, shared)))


def staged_names(spark: SparkSession, outcome: Outcome) -> NameBytes:
    """Return the names of topic ids that all parts have staged."""
    files = outcome.of("names")
    groups = [
        files[first : first + _NAMES_OF_A_TASK] for first in range(0, len(files), _NAMES_OF_A_TASK)
    ]
    if len(groups) <= 1:
        return _names_of(read_names(read_all(files)))
    names: FirstNames = {}
    for found in do_tasks(spark, len(groups), partial(_read_group_names, groups)):
        add_names(names, msgspec.json.decode(found, type=FirstNames))
    return _names_of(names)


def _names_of(names: FirstNames) -> NameBytes:
    return {topic_id: name for topic_id, (_, name) in names.items()}


def _read_group_names(groups: list[list[Staged]], number: int) -> Iterator[FirstNames]:
    yield read_names(read_all(groups[number]))


def _sessions_by_part(outcome: Outcome) -> dict[int, list[Staged]]:
    """Return the staged partitions of fetch sessions by the part that they are for."""
    sessions: dict[int, list[Staged]] = {}
    for each in outcome.staged:
        name, _, part = each.name.rpartition("-")
        if name == _SESSIONS:
            sessions.setdefault(int(part), []).append(each)
    return sessions


def tabulate_chunk(job: Job, work: Shared[Chunks], number: int) -> Iterator[Outcome]:
    """Make rows of a chunk of frames; yield the outcome.

    Args:
        job: of the run.
        work: all chunks.
        number: of the chunk.
    """
    chunks, names, sessions = work.value
    file, first, last = chunks[number]
    partitions = read_sessions(read_all(sorted(sessions.get(file.part, []))))
    files = TableFiles(job.staging, job.run, f"e{number}")
    tables = TableBatches(files.write, topic_names(names), job.choice)
    captures = MappedFiles(job.rules.files)
    faults = tabulate(read_staged(file.uri, first, last), partitions, tables, captures)
    yield Outcome([], files.close(), faults)
