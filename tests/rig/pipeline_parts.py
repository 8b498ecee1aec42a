"""Runs the pipeline's functions in this process, with the parts that Spark would make of a run."""

from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final
from zlib import crc32

import pyarrow as pa
from pyarrow import dataset

from kdiag.pcap.decoder import decode_capture
from kdiag.pcap.keylog import KeyLog
from kdiag.pcap.topic_names import learn_all_names
from kdiag.pipeline.flows import FlowRules, Part, decode_rows, resolve_unsure
from kdiag.pipeline.moments import Moments
from kdiag.pipeline.packet_rows import NO_FILE, PACKETS, PLACES, PacketRows
from kdiag.pipeline.segment_reader import SegmentReader, stretches
from kdiag.pipeline.split import in_order, places_of, walk
from kdiag.pipeline.tabulate import follow_sessions, read_sessions, tabulate
from kdiag.report.catalog import TABLES
from kdiag.report.column import RUN_COLUMNS
from kdiag.report.tables import TableBatches, TableChoice
from kdiag.wire.topic_names import TopicNames

CHOICE: Final = TableChoice(bodies=True, records=True)
TABLE_NAMES: Final = ("exchanges", "batches", "records", "connections", "gaps")

Tables = dict[str, list[pa.RecordBatch]]


def in_one_process(files: Sequence[Path], keylog: bytes = b"") -> Tables:
    """Return the tables that one decoder makes of captures."""
    tables: Tables = defaultdict(list)
    names = TopicNames()
    learn_all_names(names, files, keylog=KeyLog.parse(keylog))
    batches = TableBatches(lambda name, batch: tables[name].append(batch), names, CHOICE)
    for item in decode_capture(files, keylog=KeyLog.parse(keylog)):
        batches.take(item)
    batches.flush()
    return tables


def in_parts(
    files: Sequence[Path],
    parts: int,
    split_bytes: int,
    keylog: bytes = b"",
    *,
    is_indexed: bool = False,
) -> Tables:
    """Return the tables that so many parts make, of splits of so many bytes."""
    return tabulated(decoded(files, parts, split_bytes, keylog, is_indexed=is_indexed))


def decoded(
    files: Sequence[Path],
    parts: int,
    split_bytes: int,
    keylog: bytes = b"",
    *,
    is_indexed: bool = False,
) -> Tables:
    """Return all that the parts emit."""
    walks = [walk(str(file), split_bytes) for file in files]
    splits = in_order(walks)
    secrets = tuple(each for found in walks for each in found.secrets)
    rules = FlowRules(keylog=keylog, secrets=secrets, files=tuple(places_of(splits)))
    packets = read_packets(splits, is_indexed=is_indexed)
    outcome: Tables = defaultdict(list)

    def emit(name: str, batch: pa.RecordBatch) -> None:
        outcome[name].append(batch)

    for number, rows in enumerate(shuffled(packets, parts)):
        decode_rows(rows, emit, Part(number, parts), Moments(splits), rules)
    resolve_unsure(outcome["unsure"], outcome["kinds"], emit)
    return outcome


def read_packets(splits: Sequence[Any], *, is_indexed: bool = False) -> list[pa.RecordBatch]:
    """Return the packets of all splits."""
    batches = []
    columns = [*PACKETS.names, *(PLACES.names if is_indexed else ())]
    numbers = places_of(splits)
    for stretch in stretches(splits):
        reader = SegmentReader(stretch)
        rows = PacketRows(reader.index.addresses, columns)
        file = numbers.index(stretch.split.place)
        for batch in reader.read():
            is_placed = reader.place.file != NO_FILE
            place = reader.place._replace(file=file) if is_placed else reader.place
            batches.append(rows.batch(batch, place))
    return batches


def shuffled(batches: list[pa.RecordBatch], parts: int) -> list[list[pa.RecordBatch]]:
    """Return the packets of each part, in their order."""
    table = pa.Table.from_batches(batches)
    keys = zip(table["low"].to_pylist(), table["high"].to_pylist(), strict=True)
    part_of = pa.array([crc32(low + high) % parts for low, high in keys], pa.int64())
    found = []
    for part in range(parts):
        rows = table.filter(pa.compute.equal(part_of, part)).sort_by("packet")
        found.append(rows.to_batches(max_chunksize=1000))
    return found


def tabulated(outcome: Tables) -> Tables:
    """Return the tables of what all parts have emitted."""
    tables: Tables = defaultdict(list)
    for name in ("connections", "gaps"):
        tables[name] = outcome[name]
    fetches = outcome["fetches"]
    sessions = {}
    if fetches:
        ordered = pa.Table.from_batches(fetches).sort_by([("place", "ascending")])
        sessions = read_sessions(follow_sessions(ordered.to_batches()))
    pairs = [each for batch in outcome["names"] for each in batch.to_pylist()]
    names = TopicNames({each["topic_id"]: each["name"] for each in pairs})
    batches = TableBatches(lambda name, batch: tables[name].append(batch), names, CHOICE)
    tabulate(outcome["frames"], sessions, batches)
    return tables


def read_tables(folder: Path) -> Tables:
    """Return the rows of all tables in a folder, columns as the tables have them."""
    tables: Tables = {}
    for name in TABLE_NAMES:
        found = folder / name
        tables[name] = []
        if found.exists():
            partitioning = dataset.partitioning(
                pa.schema([("date", pa.string()), ("broker", pa.string())]), flavor="hive"
            )
            rows = dataset.dataset(found, partitioning=partitioning).to_table()
            columns = [column.name for column in TABLES[name].columns]
            tables[name] = rows.select(columns).to_batches()
    return tables


def comparable(batches: list[pa.RecordBatch]) -> list[str]:
    """Return the rows of a table in an order of their own, without what counts within a run."""
    rows = [row for batch in batches for row in batch.to_pylist()]
    for row in rows:
        for name in RUN_COLUMNS:
            row.pop(name, None)
    return sorted(repr(sorted(row.items())) for row in rows)
