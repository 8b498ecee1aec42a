"""The tables of groups of a stream: a run of their own, which each batch replaces.

    NAME-00000007    what batch 7 has added to all other tables
    NAME-groups      rows of all groups as far as they are known

Readers see the rows after a batch or those before it, which stay until the next one. Rows of groups
that are settled stay for good: the state has the names of their files, so that a batch that is
repeated names them once.
"""

from collections.abc import Iterator
from functools import partial
from typing import Final, NamedTuple

from pyspark.sql import SparkSession

from kdiag.diagnosis.rebalance.capture.capture_events import CaptureEvents
from kdiag.pipeline.input.split import Split
from kdiag.pipeline.job import Job
from kdiag.pipeline.output.checkpoint import load_state, save_state
from kdiag.pipeline.output.staging import Staged, read_all, read_staged
from kdiag.pipeline.output.whole_files import read_whole, write_whole
from kdiag.pipeline.output.writer import GroupRows, TableWriter
from kdiag.pipeline.rows.group_rows import emit_group_rows
from kdiag.pipeline.rows.sightings import OF_GROUPS, read_sightings
from kdiag.pipeline.session import cores_of
from kdiag.pipeline.shared import Shared
from kdiag.pipeline.stages import Chunks, PartWriter, share_chunks
from kdiag.pipeline.streams.group_state import StreamGroups, ToldBatch, fetches_in
from kdiag.pipeline.streams.states import States
from kdiag.pipeline.tabulate import NameBytes, name_bytes, topic_names
from kdiag.pipeline.tasks import Outcome, do_tasks
from kdiag.report.uri import remove_folder

_FEW_BYTES: Final = 32 << 20


class GroupBatch(NamedTuple):
    """A batch, as its groups need it.

    Attributes:
        name: of the batch.
        job: of the run of groups.
        folders: of the states before and after.
        splits: those that are new.
        names: of topic ids, besides those that the job has.
        idle_before_ns: settles groups that have been silent since; None to settle none.
        is_last: whether no batch comes that could remove the files that this one replaces.
    """

    name: str
    job: Job
    folders: tuple[str, str]
    splits: list[Split]
    names: NameBytes
    idle_before_ns: int | None = None
    is_last: bool = False


def follow_groups(
    spark: SparkSession, states: States, writer: TableWriter, batch: GroupBatch, outcome: Outcome
) -> list[str]:
    """Replace the rows of groups; return what is to be told.

    Args:
        spark: the session to run on.
        states: of the stream.
        writer: of the tables.
        batch: its groups.
        outcome: the frames of the batch and what they told of groups, staged.
    """
    before, after = (f"{folder}/groups" for folder in batch.folders)
    groups = load_state(before, StreamGroups) or StreamGroups()
    groups.learn_captures(batch.splits)
    remove_folder(batch.job.staging)
    told = _told(spark, batch.job, outcome)
    late_count = groups.late_count
    names = topic_names({**batch.names, **name_bytes(dict(batch.job.topic_names))})
    parted = groups.add(told, names.name, batch.idle_before_ns)
    settled = [] if parted.settled is None else _stage(batch.job, parted.settled, groups)
    live = _stage(batch.job, parted.live, groups)
    rows = GroupRows(batch.name, live, settled, groups.settled, batch.is_last)
    groups.settled += writer.replace_groups(batch.job, rows, states.entry(batch.job, [], []))
    remove_folder(batch.job.staging)
    groups.forget_packets()
    save_state(after, groups)
    warnings = []
    if parted.cut_count:
        why = "so many events that their rows are settled: what follows is judged from here on"
        warnings.append(f"{parted.cut_count} groups have {why}")
    if groups.late_count > late_count:
        count = groups.late_count - late_count
        warnings.append(f"{count} assignments came late: their first fetches are not looked for")
    return warnings


def _stage(job: Job, events: CaptureEvents, groups: StreamGroups) -> list[Staged]:
    writer = PartWriter(job, 0)
    emit_group_rows(events, writer.write, groups.capture_of)
    return writer.close().staged


def _told(spark: SparkSession, job: Job, outcome: Outcome) -> ToldBatch:
    """Return what the frames of a batch tell; few are read here, as tasks would take longer."""
    staged = [each for each in outcome.staged if each.name.startswith(OF_GROUPS)]
    sightings = list(read_sightings(read_all(staged)))
    frames = outcome.of("frames")
    if sum(each.bytes for each in frames) <= _FEW_BYTES:
        return ToldBatch(sightings, [fetches_in(read_all(frames))])
    chunks = share_chunks(job, outcome, {}, cores_of(spark))
    count = len(chunks.value.chunks)
    do_tasks(spark, count, partial(_keep_fetches, job, chunks))
    found = (read_whole(_fetches_uri(job, number)) for number in range(count))
    return ToldBatch(sightings, [each or b"" for each in found])


def _fetches_uri(job: Job, number: int) -> str:
    return f"{job.staging}/fetches-{number}"


def _keep_fetches(job: Job, work: Shared[Chunks], number: int) -> Iterator[int]:
    """Leave the fetches of a chunk of frames."""
    chunk = work.value.chunks[number]
    fetches = fetches_in(read_staged(chunk.file.uri, *chunk.batches))
    write_whole(_fetches_uri(job, number), fetches)
    yield number
