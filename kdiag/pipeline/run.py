"""A run of the pipeline: captures in, tables out, on Spark.

    walk       a task for each file       -> splits, numbered through            (to the driver)
    read       a task for each split      -> packets                             (by connection)
    stages     see `kdiag.pipeline.stages`
    commit     the driver                 -> all files at their targets, and in the log

One task decodes a connection, which needs its bytes in order, but reads none of its frames. Reading
frames is most of the work and is shared by all tasks, in chunks. So a connection with most of a
capture's bytes does not keep the other tasks waiting for long.
"""

from collections.abc import Sequence
from functools import partial

from pyspark.sql import SparkSession

from kdiag.clock import SystemClock
from kdiag.errors import CaptureError
from kdiag.pipeline.input.captures import (
    find_captures,
    find_new_captures,
    note_changes,
    secrets_for,
)
from kdiag.pipeline.input.split import Split, Walk, in_order, note_overlap
from kdiag.pipeline.input.split_packets import FAILFAST
from kdiag.pipeline.job import Job
from kdiag.pipeline.output.read_captures import (
    ReadCaptures,
    note_border,
    refuse_doubles,
    refuse_losses,
)
from kdiag.pipeline.output.run_log import open_log, refuse_others, sweep
from kdiag.pipeline.output.writer import Say, open_writer
from kdiag.pipeline.rows.partitioner import partition_by_weight
from kdiag.pipeline.session import RUN_SETTINGS, require_reach, session_with
from kdiag.pipeline.shared import share
from kdiag.pipeline.stages import (
    all_names,
    decode,
    follow_fetches,
    parts_of,
    resolve,
    tabulate_captures,
    tabulate_frames,
    tabulate_told_groups,
)
from kdiag.pipeline.tasks import Outcome
from kdiag.report.run_log import LoggedRun
from kdiag.report.uri import remove_folder


def run(spark: SparkSession, job: Job, say: Say = lambda _: None) -> LoggedRun:
    """Make tables of captures.

    Args:
        spark: the session to run on.
        job: the captures and the tables.
        say: called with the name of each step.

    Raises:
        CaptureError: if an input is not a capture or cannot be opened, or a path is relative on a
            cluster; with `failfast`, also if a capture is damaged.
        ReportError: if captures are in the tables already, or rows of others would be lost, or
            Spark lacks what the format of the tables takes.
    """
    require_reach(spark, (*job.inputs, job.out))
    spark = session_with(spark, RUN_SETTINGS)
    log = open_log(job.out)
    writer = open_writer(spark, job, log, say)
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
    job, outcome = stage_frames(spark, job, walks, say)
    say("reading frames")
    names = all_names(spark, job, outcome)
    outcome.add(tabulate_frames(spark, job, outcome, names))
    outcome.add(tabulate_captures(job, walks))
    say("following groups and writing the tables")
    groups = partial(tabulate_told_groups, spark, job, outcome, names)

    def describe() -> LoggedRun:
        say("putting the tables into place")
        return job.entry(walks, [*warnings, *note_changes(walks), *outcome.faults])

    entry = writer.write(job, outcome, describe, groups)
    remove_folder(job.staging)
    return entry


def stage_frames(
    spark: SparkSession, job: Job, walks: Sequence[Walk], say: Say = lambda _: None
) -> tuple[Job, Outcome]:
    """Take the connections of captures apart; return the job for them, and what was staged."""
    splits = in_order(walks)
    secrets = secrets_for(walks, job.rules.keylogs)
    shared = share(job.staging, splits, list[Split])
    job = job.on(shared, secrets)
    parts = parts_of(spark, job, splits)
    say("taking connections apart")
    partitioner = partition_by_weight(parts, [each.weights for each in walks])
    outcome = decode(spark, job, shared, partitioner)
    if outcome.of("unsure"):
        say("finding out what lone responses answer")
        outcome.add(resolve(spark, job, outcome))
    if outcome.of("fetches"):
        say("following fetch sessions")
        outcome.add(follow_fetches(spark, job, outcome, parts))
    return job, outcome
