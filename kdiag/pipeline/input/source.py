"""The data source `kdiag_packets` of Spark: TCP segments out of captures.

    spark.dataSource.register(CaptureSource)
    spark.read.format("kdiag_packets").load("capture.pcap")        one split a file
    read_packets(spark, splits, ReadOptions(("packet", "time_ns")))    splits inside files

Options: `path`, a file or a JSON list of files; `splits`, those of `split.walk`, as
`split.splits_text` writes them, or the URI where they are shared; `tasks`, how many there are at
least; `from` and `to`, in nanoseconds since 1970; `mode`, `permissive` (a damaged file ends where
the damage begins) or `failfast` (it fails the job); `networks`, true to separate the same addresses
in different VLANs and VXLAN networks. Only the columns of the requested schema are made:
`.schema("packet bigint")`.

With the schema of bundles, many segments come in one row (`bundles`), divided by `partitioner`, the
URI of a shared one; with `positions` true, payloads of plain local files stay there.

A reader opens its file where it runs. The driver never reads the packets of a capture.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

import msgspec
import pyarrow as pa
from pyspark.sql import DataFrame, DataFrameReader, SparkSession
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.types import StructType

from kdiag.clock import ALWAYS, TimeRange
from kdiag.errors import CaptureError
from kdiag.pipeline.input.segment_reader import SegmentReader, SplitRun
from kdiag.pipeline.input.split import (
    DEFAULT_SPLIT_BYTES,
    Split,
    read_splits,
    splits_text,
    uris_of,
    whole,
)
from kdiag.pipeline.rows.bundles import BUNDLES, BUNDLES_DDL, bundle
from kdiag.pipeline.rows.packets import (
    HEADERS,
    NO_FILE,
    NOWHERE,
    PACKETS,
    PACKETS_DDL,
    POSITIONS,
    POSITIONS_DDL,
    PacketRows,
)
from kdiag.pipeline.rows.partitioner import Partitioner, partition_evenly
from kdiag.pipeline.shared import Shared
from kdiag.pipeline.tasks import freeze_gc
from kdiag.report.uri import expand, is_local

FORMAT: Final = "kdiag_packets"
PERMISSIVE: Final = "permissive"
FAILFAST: Final = "failfast"

LEAST_TASKS: Final = 16


class CaptureSource(DataSource):
    """Captures as tables of TCP segments."""

    @classmethod
    def name(cls) -> str:
        """Return the name of the format."""
        return FORMAT

    def schema(self) -> str:
        """Return all columns."""
        return PACKETS_DDL

    def reader(self, schema: StructType) -> "CaptureSourceReader":
        """Return the reader of some of the columns."""
        return CaptureSourceReader(schema.fieldNames(), self.options)


class CaptureSourceReader(DataSourceReader):
    """Reads the splits of captures."""

    def __init__(self, columns: list[str], options: Mapping[str, str]) -> None:
        self._bundles = columns == BUNDLES.names
        if self._bundles:
            has_position = _is_true(options, "positions")
            more = HEADERS.names if _is_true(options, "headers") else ()
            columns = [*PACKETS.names, *(POSITIONS.names if has_position else ()), *more]
        known = (*PACKETS.names, *POSITIONS.names, *HEADERS.names)
        unknown = [name for name in columns if name not in known]
        if unknown:
            raise ValueError(f"no such column: {', '.join(unknown)}")
        mode = options.get("mode", PERMISSIVE).lower()
        if mode not in (PERMISSIVE, FAILFAST):
            raise ValueError(f"mode is {PERMISSIVE} or {FAILFAST}, not {mode}")
        self._columns = columns
        self._is_strict = mode == FAILFAST
        self._times = TimeRange(*(_time(options.get(name)) for name in ("from", "to")))
        self._separates_networks = _is_true(options, "networks")
        self._splits = options.get("splits")
        self._tasks = int(options.get("tasks", LEAST_TASKS))
        self._path = options.get("path", "[]")
        self._partitioner = options.get("partitioner")

    def partitions(self) -> Sequence[InputPartition]:
        """Return the splits that may hold wanted packets."""
        if self._splits is None:
            splits = [whole(uri) for uri, _ in expand(_uris(self._path))]
        elif self._splits.startswith("["):
            splits = read_splits(self._splits)
        else:
            splits = Shared[list[Split]](self._splits, list[Split]).value
        self._splits = None  # the reader goes with every task
        return [InputPartition(group) for group in split_groups(splits, self._times, self._tasks)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Yield the segments of splits.

        Raises:
            CaptureError: if a file cannot be opened or, in the mode `failfast`, is damaged.
        """
        freeze_gc()
        group: SplitGroup = partition.value
        for file, number in zip(group.files, group.numbers, strict=True):
            yield from self._read(file, SplitRun(group.splits, number))

    def _read(self, file: int, split_run: SplitRun) -> Iterator[pa.RecordBatch]:
        apart = self._separates_networks
        reader = SegmentReader(split_run, self._times, separates_networks=apart)
        rows = PacketRows(reader.index.addresses, self._columns)
        partitioner = self._shared_partitioner()
        may_stay = is_local(split_run.split.uri)
        for segments in reader.read():
            if len(segments.packet):
                has_position = may_stay and reader.position.file != NO_FILE
                position = reader.position._replace(file=file) if has_position else NOWHERE
                batch = rows.batch(segments, position)
                if self._bundles:
                    yield from bundle(batch, rows.parts(segments, partitioner.part_of))
                else:
                    yield batch
        if reader.warning and self._is_strict:
            raise CaptureError(split_run.split.uri, reader.warning)

    def _shared_partitioner(self) -> Partitioner:
        if self._partitioner is None:
            return partition_evenly(1)
        return Shared[Partitioner](self._partitioner, Partitioner).value


class SplitGroup(NamedTuple):
    """The splits of one task.

    Attributes:
        splits: consecutive splits of the run, with those after them that datagrams may reach.
        numbers: which of them to read.
        files: the number of the file of each of these.
    """

    splits: Sequence[Split]
    numbers: list[int]
    files: list[int]


class ReadOptions(NamedTuple):
    """The options of reading splits.

    Attributes:
        columns: the wanted ones; all of `PACKETS` by default, and no others.
        times: of the wanted packets.
        mode: for damaged files, `permissive` or `failfast`.
        separates_networks: whether the same addresses in different networks are different.
        tasks: how many there are at least, if there is that much to read.
    """

    columns: tuple[str, ...] = tuple(PACKETS.names)
    times: TimeRange = ALWAYS
    mode: str = PERMISSIVE
    separates_networks: bool = False
    tasks: int = LEAST_TASKS


_ALL: Final = ReadOptions()


def read_packets(
    spark: SparkSession, splits: Sequence[Split], reading: ReadOptions = _ALL
) -> DataFrame:
    """Return the TCP segments of all splits of a run, given in order."""
    known = f"{PACKETS_DDL}, {POSITIONS_DDL}".split(", ")
    wanted = [part for part in known if part.split()[0] in reading.columns]
    return _reader(spark, splits_text(splits), reading).schema(", ".join(wanted)).load()


def read_bundles(
    spark: SparkSession,
    splits: Shared[list[Split]],
    reading: ReadOptions,
    partitioner: Shared[Partitioner],
) -> DataFrame:
    """Return the TCP segments of splits in bundles for the parts of a run."""
    has_position = "offset" in reading.columns
    has_headers = HEADERS.names[0] in reading.columns
    reader = _reader(spark, splits.uri, reading).option("positions", str(has_position))
    reader = reader.option("headers", str(has_headers))
    return reader.option("partitioner", partitioner.uri).schema(BUNDLES_DDL).load()


def _reader(spark: SparkSession, splits: str, reading: ReadOptions) -> DataFrameReader:
    spark.dataSource.register(CaptureSource)
    reader = spark.read.format(FORMAT).option("splits", splits)
    for name, time_ns in zip(("from", "to"), reading.times, strict=True):
        if time_ns is not None:
            reader = reader.option(name, str(time_ns))
    reader = reader.option("tasks", str(reading.tasks)).option(
        "networks", str(reading.separates_networks)
    )
    return reader.option("mode", reading.mode)


def split_groups(
    splits: Sequence[Split], times: TimeRange = ALWAYS, tasks: int = LEAST_TASKS
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
    group: list[int] = []
    group_bytes = 0
    for number, size in zip(wanted, sizes, strict=True):
        if group and group_bytes + size > most:
            yield _group(splits, group, files)
            group, group_bytes = [], 0
        group.append(number)
        group_bytes += size
    if group:
        yield _group(splits, group, files)


def _group(splits: Sequence[Split], numbers: list[int], files: Mapping[str, int]) -> SplitGroup:
    first, end = numbers[0], SplitRun(splits, numbers[-1]).end
    return SplitGroup(
        splits[first:end],
        [number - first for number in numbers],
        [files[splits[number].uri] for number in numbers],
    )


def _is_true(options: Mapping[str, str], name: str) -> bool:
    return options.get(name, "").lower() == "true"


def _time(text: str | None) -> int | None:
    return None if text is None else int(text)


def _uris(path: str) -> list[str]:
    if not path.startswith("["):
        return [path]
    uris: Any = msgspec.json.decode(path, type=list[str])
    return list(uris)
