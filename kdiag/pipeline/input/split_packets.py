"""The packets of splits as rows, and the tasks that read them.

    splits  ->  groups of about the same size, one for each task  ->  rows of packets, or bundles

A task opens its files where it runs: the driver never reads the packets of a capture. What a task
is sent does not grow with the run: a process reads splits, groups and the partitioner once.
"""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Final, NamedTuple

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from kdiag.clock import ALWAYS, TimeRange
from kdiag.errors import CaptureError
from kdiag.pcap.packets.index import SegmentBatch
from kdiag.pipeline.input.segment_reader import SegmentReader, SplitRun
from kdiag.pipeline.input.split import DEFAULT_SPLIT_BYTES, Split, uris_of
from kdiag.pipeline.rows.bundles import BUNDLES_DDL, bundle
from kdiag.pipeline.rows.packets import NO_FILE, NOWHERE, PACKETS, PacketRows
from kdiag.pipeline.rows.partitioner import Partitioner
from kdiag.pipeline.shared import Shared
from kdiag.pipeline.tasks import Rows, freeze_gc
from kdiag.report.uri import is_local

PERMISSIVE: Final = "permissive"
FAILFAST: Final = "failfast"


class Reading(NamedTuple):
    """How packets are read.

    Attributes:
        columns: the wanted ones of `PACKETS`, `POSITIONS` and `HEADERS`, in that order.
        times: of the wanted packets.
        mode: `permissive`, a damaged file ends where the damage begins, or `failfast`.
        separates_networks: whether the same addresses in different networks are different.
    """

    columns: tuple[str, ...] = tuple(PACKETS.names)
    times: TimeRange = ALWAYS
    mode: str = PERMISSIVE
    separates_networks: bool = False


class SplitGroup(NamedTuple):
    """The splits of one task.

    Attributes:
        numbers: of the splits among all of a run.
        files: the number of the file of each.
    """

    numbers: list[int]
    files: list[int]


class BundleWork(NamedTuple):
    """What the tasks read that bundle packets; a task's number is an index of groups."""

    groups: list[SplitGroup]
    partitioner: Partitioner


def split_groups(
    splits: Sequence[Split], times: TimeRange = ALWAYS, tasks: int = 1
) -> Iterator[SplitGroup]:
    """Yield the wanted splits of each task: several small ones together, if there are many.

    Args:
        splits: all of a run, in order.
        times: of the wanted packets.
        tasks: how many there are at least, if there is that much to read.
    """
    files = {uri: number for number, uri in enumerate(uris_of(splits))}
    wanted = [number for number, each in enumerate(splits) if each.overlaps(*times)]
    sizes = [splits[number].end - splits[number].start for number in wanted]
    most = min(max([DEFAULT_SPLIT_BYTES, *sizes]), sum(sizes) // tasks)
    group = SplitGroup([], [])
    group_bytes = 0
    for number, size in zip(wanted, sizes, strict=True):
        if group.numbers and group_bytes + size > most:
            yield group
            group, group_bytes = SplitGroup([], []), 0
        group.numbers.append(number)
        group.files.append(files[splits[number].uri])
        group_bytes += size
    if group.numbers:
        yield group


def read_packets(splits: Sequence[Split], reading: Reading) -> Iterator[pa.RecordBatch]:
    """Yield the packets of all splits of a run, in their order, read in this process.

    Raises:
        CaptureError: if a file cannot be opened or, in the mode `failfast`, is damaged.
    """
    for group in split_groups(splits, reading.times):
        for number, file in zip(*group, strict=True):
            for _, _, rows in _read(SplitRun(splits, number), file, reading):
                yield rows


def bundle_packets(
    spark: SparkSession,
    splits: Shared[list[Split]],
    reading: Reading,
    work: Shared[BundleWork],
) -> DataFrame:
    """Return the packets of splits in bundles for the parts of a run: a task for each group."""
    count = len(work.value.groups)
    numbers = spark.range(0, count, 1, max(1, count))
    return numbers.mapInArrow(partial(bundle_groups, splits, reading, work), BUNDLES_DDL)


def bundle_groups(
    splits: Shared[list[Split]], reading: Reading, work: Shared[BundleWork], numbers: Rows
) -> Iterator[pa.RecordBatch]:
    """Yield the packets of some groups as rows of `BUNDLES`.

    Args:
        splits: all of the run.
        reading: how to read them.
        work: the groups, and where their packets go.
        numbers: of the groups.

    Raises:
        CaptureError: if a file cannot be opened or, in the mode `failfast`, is damaged.
    """
    freeze_gc()
    part_of = work.value.partitioner.part_of
    for batch in numbers:
        for each in batch.column(0).to_pylist():
            for number, file in zip(*work.value.groups[each], strict=True):
                for maker, segments, rows in _read(SplitRun(splits.value, number), file, reading):
                    yield from bundle(rows, maker.parts(segments, part_of))


def _read(
    run: SplitRun, file: int, reading: Reading
) -> Iterator[tuple[PacketRows, SegmentBatch, pa.RecordBatch]]:
    """Yield the segments of a split, and rows of them with what made the rows."""
    reader = SegmentReader(run, reading.times, separates_networks=reading.separates_networks)
    maker = PacketRows(reader.index.addresses, list(reading.columns))
    may_stay = is_local(run.split.uri)
    for segments in reader.read():
        if len(segments.packet):
            has_position = may_stay and reader.position.file != NO_FILE
            position = reader.position._replace(file=file) if has_position else NOWHERE
            yield maker, segments, maker.batch(segments, position)
    if reader.warning and reading.mode == FAILFAST:
        raise CaptureError(run.split.uri, reader.warning)
