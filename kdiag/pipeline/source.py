"""The data source `kdiag` of Spark: TCP segments out of captures.

    spark.dataSource.register(CaptureSource)
    spark.read.format("kdiag").load("capture.pcap")                one split a file
    read_packets(spark, splits, columns=["packet", "time_ns"])     splits inside files

Options: `path`, a file or a JSON list of files; `splits`, what `split.walk` has found, as
`split.splits_text` writes it; `from` and `to`, in nanoseconds since 1970; `mode`, `permissive`
(a damaged file ends where the damage begins) or `failfast` (it fails the job). The columns are
those of the schema that is asked for, so that no other is made: `.schema("packet bigint")`.

A reader opens its file where it runs. The driver never sees what is in a capture.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import msgspec
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.types import StructType

from kdiag.errors import CaptureError
from kdiag.pipeline.packet_rows import NO_FILE, PACKETS, PACKETS_DDL, PLACES, PLACES_DDL, PacketRows
from kdiag.pipeline.place import expand
from kdiag.pipeline.segment_reader import SegmentReader, Stretch, TimeRange, stretches
from kdiag.pipeline.split import Split, places_of, read_splits, splits_text, whole

FORMAT: Final = "kdiag"
PERMISSIVE: Final = "permissive"
FAILFAST: Final = "failfast"

_LEAST_TASKS: Final = 16


class CaptureSource(DataSource):
    """Captures as tables of TCP segments."""

    @classmethod
    def name(cls) -> str:
        """Return the name of the format."""
        return FORMAT

    def schema(self) -> str:
        """Return all columns there are."""
        return PACKETS_DDL

    def reader(self, schema: StructType) -> "CaptureSourceReader":
        """Return what reads some of the columns."""
        return CaptureSourceReader(schema.fieldNames(), self.options)


class CaptureSourceReader(DataSourceReader):
    """Reads the splits of captures."""

    def __init__(self, columns: list[str], options: Mapping[str, str]) -> None:
        unknown = [name for name in columns if name not in (*PACKETS.names, *PLACES.names)]
        if unknown:
            raise ValueError(f"no such column: {', '.join(unknown)}")
        mode = options.get("mode", PERMISSIVE).lower()
        if mode not in (PERMISSIVE, FAILFAST):
            raise ValueError(f"mode is {PERMISSIVE} or {FAILFAST}, not {mode}")
        self._columns = columns
        self._is_strict = mode == FAILFAST
        self._times = TimeRange(*(_time(options.get(name)) for name in ("from", "to")))
        self._splits = options.get("splits")
        self._path = options.get("path", "[]")

    def partitions(self) -> Sequence[InputPartition]:
        """Return the splits that may hold wanted packets."""
        if self._splits is not None:
            splits = read_splits(self._splits)
        else:
            splits = [whole(place) for place, _ in expand(_places(self._path))]
        wanted = [each for each in stretches(splits) if each.split.overlaps(*self._times)]
        numbers = {place: number for number, place in enumerate(places_of(splits))}
        return [
            InputPartition([(numbers[each.split.place], each) for each in group])
            for group in _grouped(wanted)
        ]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Yield the segments of splits.

        Raises:
            CaptureError: a file cannot be opened or, in the mode `failfast`, is damaged.
        """
        for file, stretch in partition.value:
            yield from self._read(file, stretch)

    def _read(self, file: int, stretch: Stretch) -> Iterator[pa.RecordBatch]:
        reader = SegmentReader(stretch, self._times)
        rows = PacketRows(reader.index.addresses, self._columns)
        for segments in reader.read():
            if len(segments.packet):
                is_placed = reader.place.file != NO_FILE
                place = reader.place._replace(file=file) if is_placed else reader.place
                yield rows.batch(segments, place)
        if reader.warning and self._is_strict:
            raise CaptureError(stretch.split.place, reader.warning)


def read_packets(
    spark: SparkSession,
    splits: Sequence[Split],
    *,
    columns: Sequence[str] = (),
    times: TimeRange | None = None,
    mode: str = PERMISSIVE,
) -> DataFrame:
    """Return the TCP segments of splits.

    Args:
        spark: the session.
        splits: all of a run, in order.
        columns: those wanted; all of `PACKETS` by default, and none of `PLACES`.
        times: which packets are wanted; all by default.
        mode: what to do with a file that is damaged.
    """
    spark.dataSource.register(CaptureSource)
    known = f"{PACKETS_DDL}, {PLACES_DDL}".split(", ")
    columns = columns or PACKETS.names
    wanted = [part for part in known if part.split()[0] in columns]
    reader = spark.read.format(FORMAT).schema(", ".join(wanted))
    for name, time_ns in zip(("from", "to"), times or (), strict=False):
        if time_ns is not None:
            reader = reader.option(name, str(time_ns))
    return reader.option("splits", splits_text(splits)).option("mode", mode).load()


def _grouped(stretches: Sequence[Stretch]) -> Iterator[list[Stretch]]:
    """Yield splits for a task each: several small ones together, if there are many."""
    sizes = [split.end - split.start for split, _ in stretches]
    most = min(max(sizes, default=0), sum(sizes) // _LEAST_TASKS)
    group: list[Stretch] = []
    group_bytes = 0
    for stretch, size in zip(stretches, sizes, strict=True):
        if group and group_bytes + size > most:
            yield group
            group, group_bytes = [], 0
        group.append(stretch)
        group_bytes += size
    if group:
        yield group


def _time(text: str | None) -> int | None:
    return None if text is None else int(text)


def _places(path: str) -> list[str]:
    if not path.startswith("["):
        return [path]
    places: Any = msgspec.json.decode(path, type=list[str])
    return list(places)
