"""The stages of a run on Spark: what their tasks do, and what they hand on.

decode     a task for each part       -> frames, connections, gaps, names    (staged)
resolve    rarely, one task           -> frames identified by other requests (staged)
follow     a task for some brokers    -> partitions of fetch sessions        (staged)
tabulate   a task for each chunk      -> exchanges, batches, records         (staged)
                                      -> what they told of groups, by part   (staged)
groups     a task for each part       -> rebalances, members                 (staged)
"""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Final, NamedTuple

import msgspec
import numpy as np
import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import DataFrame, SparkSession

from kdiag.exchange.context.fetch_session import FetchSessions
from kdiag.exchange.context.topic_names import TopicNames
from kdiag.pipeline.decode import (
    FETCH_ORDER,
    FETCHES,
    RunPart,
    decode_rows,
    resolve_unsure,
)
from kdiag.pipeline.input.segment_timestamps import SegmentTimestamps
from kdiag.pipeline.input.split import Split, Walk
from kdiag.pipeline.input.split_packets import BundleWork, bundle_packets, split_groups
from kdiag.pipeline.job import Job
from kdiag.pipeline.output.checkpoint import load_state, save_state
from kdiag.pipeline.output.partitions import by_folder
from kdiag.pipeline.output.staging import Staged, StagedPiece, Staging, cut, read_all, read_staged
from kdiag.pipeline.rows.bundles import unbundle
from kdiag.pipeline.rows.group_rows import events_of, tabulate_groups
from kdiag.pipeline.rows.packets import MappedFiles
from kdiag.pipeline.rows.partitioner import Partitioner
from kdiag.pipeline.rows.sightings import OF_ALL, OF_GROUPS, GroupDivider
from kdiag.pipeline.session import cores_of
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
from kdiag.report.arrow import Emit, TableBatches
from kdiag.report.tables.catalog import TABLES

_PART_BYTES: Final = 128 << 20
_READS_PER_CORE: Final = 4
_NAMES_OF_A_TASK: Final = 256
_SESSIONS: Final = "sessions"
_FEW_FETCHES: Final = 2000
_FEW_BYTES: Final = 16 << 20
_EXCHANGE_BYTES: Final = 50_000  # an exchange of any size takes as long as so many bytes
_CHUNKS_PER_CORE: Final = 4
_LEAST_CHUNK_BYTES: Final = 32 << 20
_DDL: Final = {
    pa.int32(): "int",
    pa.int64(): "bigint",
    pa.string(): "string",
    pa.binary(): "binary",
    pa.bool_(): "boolean",
}
_FETCHES_DDL: Final = ", ".join(f"{field.name} {_DDL[field.type]}" for field in FETCHES)


def parts_of(spark: SparkSession, job: Job, splits: Sequence[Split]) -> int:
    """Return how many parts the connections are divided into: the same number for each core."""
    if job.parts:
        return job.parts
    size = sum(split.end - split.start for split in splits)
    cores = cores_of(spark)
    return cores * max(1, -(-size // (_PART_BYTES * cores)))


def decode(
    spark: SparkSession, job: Job, splits: Shared[list[Split]], partitioner: Partitioner
) -> Outcome:
    """Decode the connections of each part; return what was staged."""
    bundles = bundles_by_part(spark, job, splits, partitioner)
    answer = bundles.mapInArrow(partial(decode_part, job, splits, partitioner.parts), RESULT_DDL)
    return outcome_of(row["result"] for row in answer.collect())


def bundles_by_part(
    spark: SparkSession, job: Job, splits: Shared[list[Split]], partitioner: Partitioner
) -> DataFrame:
    """Return the packets of splits in bundles, those of a part together and in order."""
    groups = [*split_groups(splits.value, job.times, _READS_PER_CORE * cores_of(spark))]
    work = share(job.staging, BundleWork(groups, partitioner), BundleWork)
    bundles = bundle_packets(spark, splits, job.reading, work)
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
    writer = PartWriter(job, part.number)
    packets = unbundle(rows, job.packet_schema)
    decode_rows(packets, writer.write, part, SegmentTimestamps(splits, job.times), job.rules)
    yield writer.close().row()


class PartWriter:
    """Stages the rows of a part: those of tables by the folder that they belong in."""

    def __init__(self, job: Job, number: int) -> None:
        self._staging = Staging(job.staging, number)
        self._is_hourly = job.is_hourly

    def write(self, name: str, batch: pa.RecordBatch) -> None:
        """Write rows of a table, or of a kind that later tasks read."""
        if name not in TABLES:
            self._staging.write(name, batch)
            return
        for folder, rows in by_folder(name, batch, is_hourly=self._is_hourly):
            self._staging.write(folder, rows)

    def close(self, faults: Sequence[str] = ()) -> Outcome:
        """Complete the files and return them."""
        return Outcome(self._staging.close(), [], [*faults])


def resolve(spark: SparkSession, job: Job, outcome: Outcome) -> Outcome:
    """Identify unmatched responses by the requests of all parts; return what was staged."""
    do = partial(resolve_here, job, outcome.of("unsure"), outcome.of("kinds"))
    return outcome_of(do_tasks(spark, 1, do))


def resolve_here(
    job: Job, unsure: list[Staged], kinds: list[Staged], _: int = 0
) -> Iterator[Outcome]:
    """Identify unmatched responses in this process; yield what was staged."""
    staging = Staging(job.staging, -1)
    resolve_unsure(read_all(unsure), read_all(kinds), staging.write)
    yield Outcome(staging.close(), [], [])


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
        return follow_here(job, parts, files)
    numbers = spark.range(0, len(files), 1, max(1, len(files)))
    shared = share(job.staging, files, list[Staged])
    fetches = numbers.mapInArrow(partial(_read_fetches, shared), _FETCHES_DDL)
    ordered = fetches.repartition(parts, "broker").sortWithinPartitions(*FETCH_ORDER)
    answer = ordered.mapInArrow(partial(_follow_brokers, job, parts, folders), RESULT_DDL)
    return outcome_of(row["result"] for row in answer.collect())


def follow_here(job: Job, parts: int, files: list[Staged]) -> Outcome:
    """Find the partitions of fetch sessions in this process; for few, tasks would take longer."""
    fetches = pa.Table.from_batches(read_all(files), FETCHES)
    ordered = fetches.sort_by([(each, "ascending") for each in FETCH_ORDER])
    staging = Staging(job.staging, 0)
    _stage_sessions(follow_sessions(ordered.to_batches()), parts, staging)
    return Outcome(staging.close(), [], [])


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
        sessions = load_state(before, FetchSessions) or sessions
    _stage_sessions(follow_sessions(fetches, sessions), parts, staging)
    if folders is not None:
        save_state(after, sessions)
    yield Outcome(staging.close(), [], []).row()


def _stage_sessions(rows: Rows, parts: int, staging: Staging) -> None:
    """Stage the partitions of sessions for the parts of their fetches."""
    for batch in rows:
        part_of = batch.column("number").to_numpy() % parts
        for part in np.unique(part_of).tolist():
            staging.write(f"{_SESSIONS}-{part}", batch.filter(pa.array(part_of == part)))


def _weight(file: Staged) -> int:
    return file.bytes + file.rows * _EXCHANGE_BYTES


class Chunks(NamedTuple):
    """The frames of a run in chunks, and what their tasks need besides.

    Attributes:
        chunks: all of them, each read by one task; a task's number is an index.
        names: the names of topic ids.
        sessions: the staged partitions of fetch sessions, by part.
    """

    chunks: list[StagedPiece]
    names: NameBytes
    sessions: dict[int, list[Staged]]


def share_chunks(job: Job, outcome: Outcome, names: NameBytes, cores: int) -> Shared[Chunks]:
    """Share the staged frames in chunks, and what belongs to them.

    Args:
        job: of the run.
        outcome: the frames and the partitions of sessions, staged.
        names: the names of topic ids.
        cores: how many are to be busy.
    """
    files = outcome.of("frames")
    wanted = sum(map(_weight, files)) // (_CHUNKS_PER_CORE * cores)
    chunk_bytes = min(max(wanted, _LEAST_CHUNK_BYTES), job.chunk_bytes)
    chunks = list(cut(files, chunk_bytes, _weight))
    return share(job.staging, Chunks(chunks, names, _sessions_by_part(outcome)), Chunks)


def tabulate_frames(
    spark: SparkSession, job: Job, outcome: Outcome, names: NameBytes | None = None
) -> Outcome:
    """Make rows of the staged frames, and stage them.

    Args:
        spark: the session to run on.
        job: of the run.
        outcome: the frames, and what belongs to them, staged.
        names: the names of topic ids; by default those of the job and of the outcome.
    """
    if names is None:
        names = all_names(spark, job, outcome)
    chunks = share_chunks(job, outcome, names, cores_of(spark))
    count = len(chunks.value.chunks)
    if not count:
        return Outcome([], [], [])
    job = job._replace(topic_names=())
    do = partial(tabulate_chunk, job, chunks, cores_of(spark))
    return outcome_of(do_tasks(spark, count, do))


def tabulate_told_groups(
    spark: SparkSession, job: Job, outcome: Outcome, names: NameBytes
) -> Outcome:
    """Make rows of what exchanges have told of groups, and stage them.

    Where that is little, it is read here: starting tasks would take longer.

    Args:
        spark: the session to run on.
        job: of the run.
        outcome: what was told and the frames, staged.
        names: the names of topic ids.
    """
    found = [each for each in outcome.staged if each.name.startswith(OF_GROUPS)]
    of_all = [each for each in found if each.name == OF_ALL]
    names_of_parts = sorted({each.name for each in found} - {OF_ALL})
    by_part = [[each for each in found if each.name == part] for part in names_of_parts]
    shared = share(job.staging, GroupWork(by_part, of_all, outcome.of("frames"), names), GroupWork)
    read = partial(_read_groups, job, shared)
    if sum(each.bytes for each in found) <= _FEW_BYTES:
        return outcome_of(
            msgspec.json.encode(each) for part in range(len(by_part)) for each in read(part)
        )
    return outcome_of(do_tasks(spark, len(by_part), read))


class GroupWork(NamedTuple):
    """What was told of groups.

    Attributes:
        by_part: of some groups, by their part.
        of_all: what concerns all groups.
        frames: with all fetches, among others.
        names: the names of topic ids.
    """

    by_part: list[list[Staged]]
    of_all: list[Staged]
    frames: list[Staged]
    names: NameBytes


def _read_groups(job: Job, work: Shared[GroupWork], part: int) -> Iterator[Outcome]:
    """Stage the rows of the groups in a part."""
    by_part, of_all, frames, names = work.value
    writer = PartWriter(job, part)
    events = events_of(read_all([*by_part[part], *of_all]), topic_names(names))
    tabulate_groups(events, read_all(frames), writer.write, job.capture_of)
    yield writer.close()


def tabulate_captures(job: Job, walks: Sequence[Walk]) -> Outcome:
    """Make rows of the captures that a run reads, and stage them."""
    writer = PartWriter(job, 0)
    tables = TableBatches(writer.write, TopicNames(), job.choice, capture_of=job.capture_of)
    for each in walks:
        tables.capture(each.file)
    tables.flush()
    return writer.close()


def all_names(spark: SparkSession | None, job: Job, outcome: Outcome) -> NameBytes:
    """Return the names of topic ids that were seen, and those that were given."""
    return {**staged_names(spark, outcome), **name_bytes(dict(job.topic_names))}


def staged_names(spark: SparkSession | None, outcome: Outcome) -> NameBytes:
    """Return the names of topic ids that all parts have staged; read here without a session."""
    files = outcome.of("names")
    groups = [
        files[first : first + _NAMES_OF_A_TASK] for first in range(0, len(files), _NAMES_OF_A_TASK)
    ]
    if spark is None or len(groups) <= 1:
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


def tabulate_chunk(
    job: Job, work: Shared[Chunks], group_parts: int, number: int
) -> Iterator[Outcome]:
    """Stage the rows of a chunk of frames, and what they told of groups."""
    writer = PartWriter(job, number)
    groups = GroupDivider(group_parts)
    chunk = work.value.chunks[number]
    frames = read_staged(chunk.file.uri, *chunk.batches)
    faults = ChunkReader(job, work, number, writer.write).read(frames, groups)
    groups.emit(writer.write)
    yield writer.close(faults)


class ChunkReader:
    """Makes rows of the frames of a chunk."""

    def __init__(self, job: Job, work: Shared[Chunks], number: int, emit: Emit) -> None:
        """Read what belongs to the frames.

        Args:
            job: of the run.
            work: all chunks.
            number: of the chunk.
            emit: called with the names of tables, and batches of their rows.
        """
        chunks, names, sessions = work.value
        part = chunks[number].file.part
        self._sessions = read_sessions(read_all(sorted(sessions.get(part, []))))
        self._tables = TableBatches(emit, topic_names(names), job.choice, capture_of=job.capture_of)
        self._captures = MappedFiles(job.rules.files)

    def read(self, frames: Rows, groups: GroupDivider | None = None) -> list[str]:
        """Emit the rows of some frames; return the faults of kdiag's own.

        Args:
            frames: of the chunk.
            groups: gets what they tell of groups.
        """
        return tabulate(frames, self._sessions, self._tables, self._captures, groups)
