"""The data source `kdiag` of Spark: TCP segments out of captures.

    spark.dataSource.register(CaptureSource)
    spark.read.format("kdiag").load("capture.pcap")                one split a file
    read_packets(spark, splits, Reading(("packet", "time_ns")))    splits inside files

Options: `path`, a file or a JSON list of files; `splits`, what `split.walk` has found, as
`split.splits_text` writes it; `from` and `to`, in nanoseconds since 1970; `mode`, `permissive`
(a damaged file ends where the damage begins) or `failfast` (it fails the job); `networks`, true to
tell the same addresses in other VLANs and VXLAN networks apart. The columns are those of the schema
that is asked for, so that no other is made: `.schema("packet bigint")`.

With the schema of bundles, segments come many in one row (`bundles`), divided by `division`, as
JSON; with `places` true, payloads that lie in plain files stay there.

A reader opens its file where it runs. The driver never sees what is in a capture.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

import msgspec
import pyarrow as pa
from pyspark.sql import DataFrame, DataFrameReader, SparkSession
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.types import StructType

from kdiag.errors import CaptureError
from kdiag.pipeline.input.segment_reader import (
    ALWAYS,
    SegmentReader,
    Stretch,
    TimeRange,
    stretches,
)
from kdiag.pipeline.input.split import Split, places_of, read_splits, splits_text, whole
from kdiag.pipeline.rows.bundles import BUNDLES, BUNDLES_DDL, bundle
from kdiag.pipeline.rows.packets import (
    NO_FILE,
    NOWHERE,
    PACKETS,
    PACKETS_DDL,
    PLACES,
    PLACES_DDL,
    PacketRows,
)
from kdiag.pipeline.rows.partitioner import Division, divide_evenly
from kdiag.pipeline.tasks import settle
from kdiag.pipeline.uri import expand, is_here

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
        self._bundles = columns == BUNDLES.names
        if self._bundles:
            is_placed = _is_true(options, "places")
            columns = [*PACKETS.names, *(PLACES.names if is_placed else ())]
        unknown = [name for name in columns if name not in (*PACKETS.names, *PLACES.names)]
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
        self._path = options.get("path", "[]")
        division = options.get("division")
        self._division = divide_evenly(1)
        if division is not None:
            self._division = msgspec.json.decode(division, type=Division)

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
        settle()
        for file, stretch in partition.value:
            yield from self._read(file, stretch)

    def _read(self, file: int, stretch: Stretch) -> Iterator[pa.RecordBatch]:
        apart = self._separates_networks
        reader = SegmentReader(stretch, self._times, separates_networks=apart)
        rows = PacketRows(reader.index.addresses, self._columns)
        may_stay = is_here(stretch.split.place)
        for segments in reader.read():
            if len(segments.packet):
                is_placed = may_stay and reader.place.file != NO_FILE
                place = reader.place._replace(file=file) if is_placed else NOWHERE
                batch = rows.batch(segments, place)
                if self._bundles:
                    yield from bundle(batch, rows.parts(segments, self._division.part_of))
                else:
                    yield batch
        if reader.warning and self._is_strict:
            raise CaptureError(stretch.split.place, reader.warning)


class Reading(NamedTuple):
    """What is read of splits.

    Attributes:
        columns: those wanted; all of `PACKETS` by default, and no others.
        times: which packets are wanted.
        mode: what to do with a file that is damaged.
        separates_networks: whether the same addresses in other networks are others.
    """

    columns: tuple[str, ...] = tuple(PACKETS.names)
    times: TimeRange = ALWAYS
    mode: str = PERMISSIVE
    separates_networks: bool = False


_ALL: Final = Reading()


def read_packets(
    spark: SparkSession, splits: Sequence[Split], reading: Reading = _ALL
) -> DataFrame:
    """Return the TCP segments of splits, which are all of a run, in order."""
    known = f"{PACKETS_DDL}, {PLACES_DDL}".split(", ")
    wanted = [part for part in known if part.split()[0] in reading.columns]
    return _reader(spark, splits, reading).schema(", ".join(wanted)).load()


def read_bundles(
    spark: SparkSession, splits: Sequence[Split], reading: Reading, division: Division
) -> DataFrame:
    """Return the TCP segments of splits in bundles for the parts of a division."""
    is_placed = "offset" in reading.columns
    reader = _reader(spark, splits, reading).option("places", str(is_placed))
    reader = reader.option("division", msgspec.json.encode(division).decode())
    return reader.schema(BUNDLES_DDL).load()


def _reader(spark: SparkSession, splits: Sequence[Split], reading: Reading) -> DataFrameReader:
    spark.dataSource.register(CaptureSource)
    reader = spark.read.format(FORMAT).option("splits", splits_text(splits))
    for name, time_ns in zip(("from", "to"), reading.times, strict=True):
        if time_ns is not None:
            reader = reader.option(name, str(time_ns))
    reader = reader.option("networks", str(reading.separates_networks))
    return reader.option("mode", reading.mode)


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


def _is_true(options: Mapping[str, str], name: str) -> bool:
    return options.get(name, "").lower() == "true"


def _time(text: str | None) -> int | None:
    return None if text is None else int(text)


def _places(path: str) -> list[str]:
    if not path.startswith("["):
        return [path]
    places: Any = msgspec.json.decode(path, type=list[str])
    return list(places)
