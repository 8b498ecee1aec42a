"""The frames of captures, found and staged once, from which tasks read any table.

    captures  ->  FOLDER/plan-HASH/...         frames, connections and gaps, staged
                  FOLDER/plan-HASH.msgpack     the plan: what there is to read, in chunks

Taking connections apart needs the captures in order, so it comes before any table. What a plan is
made of names it: the captures with their sizes and times, the options, and the release of kdiag. So
a question that is asked again, or another table of the same captures, finds the plan there.
"""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from hashlib import sha256
from typing import Final

import msgspec
import pyarrow as pa
from pyarrow import compute, fs
from pyspark.sql import SparkSession

import kdiag
from kdiag.clock import ALWAYS, NS_PER_S, SystemClock, TimeRange
from kdiag.errors import CaptureError, ReportError
from kdiag.pipeline.decode import FlowRules, RunPart, decode_rows
from kdiag.pipeline.input.captures import find_captures, secrets_for
from kdiag.pipeline.input.segment_timestamps import SegmentTimestamps
from kdiag.pipeline.input.split import Split, Walk, in_order, walk
from kdiag.pipeline.input.split_index import CaptureUris
from kdiag.pipeline.input.split_packets import FAILFAST, read_packets
from kdiag.pipeline.job import Job
from kdiag.pipeline.output.partitions import RUN
from kdiag.pipeline.output.staging import Staged, StagedPiece, read_all, read_staged
from kdiag.pipeline.output.whole_files import read_whole, write_whole
from kdiag.pipeline.rows.group_rows import events_in, tabulate_groups
from kdiag.pipeline.rows.packets import MappedFiles
from kdiag.pipeline.run import stage_frames
from kdiag.pipeline.session import cores_of
from kdiag.pipeline.shared import Shared, share
from kdiag.pipeline.stages import (
    ChunkReader,
    Chunks,
    PartWriter,
    all_names,
    follow_here,
    resolve_here,
    share_chunks,
    tabulate_captures,
)
from kdiag.pipeline.tabulate import topic_names
from kdiag.pipeline.tasks import Outcome
from kdiag.report.tables.catalog import (
    DEFAULT_CHOICE,
    GROUP_TABLES,
    TableChoice,
    time_column,
)
from kdiag.report.uri import canonical, expand, remove_folder, resolve, state_of

_PLAN: Final = "plan-"
_ENTRY: Final = ".msgpack"
_HASH_DIGITS: Final = 20
_FORGOTTEN_NS: Final = 86_400 * NS_PER_S
_STAGED: Final = ("connections", "gaps", "not_understood", "captures", "tcp")
_FRAME_TIMES: Final = ("request_first_byte_ns", "response_first_byte_ns")
_FEW_BYTES: Final = 32 << 20
_CORES: Final = 8
"""How many chunks are to be read at a time where nobody knows the cores; more do no harm."""

Span = tuple[int, int]
"""The earliest and the latest time of some rows; the former is the larger if there are none."""


class Plan(msgspec.Struct, frozen=True):
    """What there is to read.

    Attributes:
        run: its name, which the column `run` has.
        splits: where the splits of the captures are shared.
        chunks: where the chunks of frames are shared.
        spans: the times in each chunk.
        staged: the rows of connections, gaps and captures.
        is_indexed: whether frames may lie in the captures.
        warnings: what could not be read.
    """

    run: str
    splits: str
    chunks: str
    spans: list[Span]
    staged: list[Staged]
    is_indexed: bool
    warnings: list[str]

    def parts(self, table: str, times: TimeRange) -> list[int]:
        """Return the parts of a table that may hold rows of the times."""
        if table in _STAGED:
            return list(range(len(self._of(table))))
        if table in GROUP_TABLES:
            return [0] if self.spans else []  # a group takes all frames
        return [number for number, span in enumerate(self.spans) if _overlaps(span, times)]

    def read(
        self, table: str, number: int, choice: TableChoice, times: TimeRange
    ) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a part of a table.

        Args:
            table: its name.
            number: of the part.
            choice: of what the rows hold.
            times: of the rows.
        """
        if table in _STAGED:
            batches = read_staged(self._of(table)[number].uri)
            batches = (_during(each, (time_column(table),), times) for each in batches)
        elif table in GROUP_TABLES:
            batches = self._groups(table)
            batches = (_during(each, (time_column(table),), times) for each in batches)
        else:
            batches = self._tabulated(table, number, choice, times)
        for batch in batches:
            run = pa.repeat(self.run, batch.num_rows)
            yield batch.append_column(RUN.name, run)

    def _of(self, table: str) -> list[Staged]:
        return [each for each in self.staged if each.name.partition("/")[0] == table]

    def _tabulated(
        self, table: str, number: int, choice: TableChoice, times: TimeRange
    ) -> Iterator[pa.RecordBatch]:
        job = self._job(choice)
        chunks = Shared[Chunks](self.chunks, Chunks)
        found: list[pa.RecordBatch] = []

        def emit(name: str, batch: pa.RecordBatch) -> None:
            if name == table:
                found.append(batch)

        reader = ChunkReader(job, chunks, number, emit)
        piece = chunks.value.chunks[number]
        for frames in read_staged(piece.file.uri, *piece.batches):
            reader.read([_during(frames, _FRAME_TIMES, times)])
            yield from found
            found.clear()

    def _groups(self, table: str) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a table of groups."""
        work = Shared[Chunks](self.chunks, Chunks).value
        frames = sorted({each.file for each in work.chunks})
        found: list[pa.RecordBatch] = []

        def emit(name: str, batch: pa.RecordBatch) -> None:
            if name == table:
                found.append(batch)

        job = self._job(DEFAULT_CHOICE)
        files = MappedFiles(job.rules.files)
        events = events_in(read_all(frames), topic_names(work.names), files)
        tabulate_groups(events, read_all(frames), emit, job.capture_of)
        yield from found

    def _job(self, choice: TableChoice) -> Job:
        splits = Shared[list[Split]](self.splits, list[Split])
        files = CaptureUris(splits) if self.is_indexed else ()
        return Job((), "", choice=choice, rules=FlowRules(files=files), recorded=splits)


def plan_of(folder: str, job: Job, spark: SparkSession | None = None) -> str:
    """Return the URI of the plan for the captures of a job, which is made if it is not there.

    Args:
        folder: for plans; all machines that read tables reach it.
        job: the captures and the rules.
        spark: the session whose executors take connections apart; by default, and where there is
            little to do, this process does.

    Raises:
        CaptureError: if an input is not a capture or cannot be opened; with `failfast`, also if it
            is damaged.
    """
    captures = [(canonical(uri), *state_of(uri)) for uri, _ in expand(list(job.inputs))]
    name = _PLAN + _fingerprint(job, captures)
    uri = f"{folder}/{name}{_ENTRY}"
    if read_whole(uri) is None:
        _sweep(folder, SystemClock().epoch_ns())
        job = job._replace(out=folder, name=name)
        is_small = sum(size for _, size, _ in captures) <= _FEW_BYTES
        plan = _make(job, None if is_small else spark)
        write_whole(uri, msgspec.msgpack.encode(plan))
    return uri


@lru_cache(maxsize=8)
def load_plan(uri: str) -> Plan:
    """Return a plan.

    Raises:
        ReportError: if it is not there.
    """
    data = read_whole(uri)
    if data is None:
        why = "is not there on this machine: name a folder that all machines reach (staging)"
        raise ReportError(uri, why)
    return msgspec.msgpack.decode(data, type=Plan)


def _fingerprint(job: Job, captures: Sequence[tuple[str, int, int]]) -> str:
    """Return what tells a plan from all others."""
    facts = (
        kdiag.__version__,
        captures,
        job.rules.ports,
        [(each, *state_of(each)) for each in job.rules.keylogs],
        job.topic_names,
        job.times,
        job.mode,
        job.split_bytes,
        job.separates_networks,
        job.choice.tcp,
    )
    return sha256(msgspec.msgpack.encode(facts)).hexdigest()[:_HASH_DIGITS]


def _make(job: Job, spark: SparkSession | None) -> Plan:
    """Find the frames of captures, and stage them."""
    walks = _walk_here(job) if spark is None else find_captures(spark, job.wanted)
    damage = [each.warning for each in walks if each.warning]
    if damage and job.mode == FAILFAST:
        raise CaptureError(damage[0], f"is damaged, and the mode is {FAILFAST}")
    run = job.name.removeprefix(_PLAN)
    if spark is None:
        job, outcome = _stage_here(job, walks)
        cores = _CORES
    else:
        job, outcome = stage_frames(spark, job, walks)
        cores = cores_of(spark)
    outcome.add(tabulate_captures(job, walks))
    chunks = share_chunks(job, outcome, all_names(spark, job, outcome), cores)
    assert job.recorded is not None
    return Plan(
        run=run,
        splits=job.recorded.uri,
        chunks=chunks.uri,
        spans=[_span(each) for each in chunks.value.chunks],
        staged=[each for each in outcome.staged if each.name.partition("/")[0] in _STAGED],
        is_indexed=job.is_indexed,
        warnings=[*damage, *outcome.faults],
    )


def _walk_here(job: Job) -> list[Walk]:
    """Walk through the captures in this process; in a folder, what is no capture is ignored."""
    walks = []
    for uri, is_in_folder in expand(list(job.inputs)):
        try:
            walks.append(walk(uri, job.split_bytes))
        except CaptureError:
            if not is_in_folder:
                raise
    if not walks:
        raise CaptureError(", ".join(job.inputs), "holds no capture file")
    return walks


def _stage_here(job: Job, walks: Sequence[Walk]) -> tuple[Job, Outcome]:
    """Take the connections of captures apart in this process."""
    secrets = secrets_for(walks, job.rules.keylogs)
    shared = share(job.staging, in_order(walks), list[Split])
    job = job.on(shared, secrets)
    packets = read_packets(shared.value, job.reading)
    writer = PartWriter(job, 0)
    recording = SegmentTimestamps(shared, job.times)
    decode_rows(packets, writer.write, RunPart(0, 1), recording, job.rules)
    outcome = writer.close()
    if unsure := outcome.of("unsure"):
        for more in resolve_here(job, unsure, outcome.of("kinds")):
            outcome.add(more)
    if fetches := outcome.of("fetches"):
        outcome.add(follow_here(job, 1, fetches))
    return job, outcome


def _span(chunk: StagedPiece) -> Span:
    """Return the times in a chunk of frames."""
    spans = []
    for batch in read_staged(chunk.file.uri, *chunk.batches):
        times = compute.min_max(compute.coalesce(*(batch.column(each) for each in _FRAME_TIMES)))
        if times["min"].is_valid:
            spans.append((times["min"].as_py(), times["max"].as_py()))
    if not spans:
        return 0, -1
    return min(first for first, _ in spans), max(last for _, last in spans)


def _overlaps(span: Span, times: TimeRange) -> bool:
    first_ns, last_ns = span
    is_before = times.from_ns is not None and last_ns < times.from_ns
    is_after = times.to_ns is not None and first_ns >= times.to_ns
    return not (is_before or is_after)


def _during(batch: pa.RecordBatch, columns: tuple[str, ...], times: TimeRange) -> pa.RecordBatch:
    """Return the rows of some time; of several columns the first that is not null counts."""
    if times == ALWAYS:
        return batch
    time_ns = compute.coalesce(*(batch.column(each) for each in columns))
    wanted = pa.repeat(True, batch.num_rows)  # noqa: FBT003 - a value, not a choice
    if times.from_ns is not None:
        wanted = compute.and_(wanted, compute.greater_equal(time_ns, times.from_ns))
    if times.to_ns is not None:
        wanted = compute.and_(wanted, compute.less(time_ns, times.to_ns))
    return batch.filter(wanted)


def _sweep(folder: str, now_ns: int) -> None:
    """Remove plans that are a day old, and what was staged for them."""
    system, path = resolve(folder)
    for each in system.get_file_info(fs.FileSelector(path, allow_not_found=True)):
        is_old = (each.mtime_ns or 0) < now_ns - _FORGOTTEN_NS
        if is_old and each.base_name.startswith(_PLAN) and each.base_name.endswith(_ENTRY):
            system.delete_file(each.path)
            name = each.base_name.removesuffix(_ENTRY)
            remove_folder(Job((), folder, name=name).staging)
