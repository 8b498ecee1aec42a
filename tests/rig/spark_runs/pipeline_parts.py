"""Runs the pipeline's functions in this process, with the parts that Spark would make of a run."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final
from unittest.mock import patch
from zlib import crc32

import numpy as np
import pyarrow as pa
from pyarrow import dataset

from kdiag.diagnosis.rebalance.capture.capture_events import CaptureEvents
from kdiag.exchange.context.topic_names import TopicNames
from kdiag.exchange.dissection import Dissection
from kdiag.pcap.decoder import CaptureDecoder, Item
from kdiag.pcap.files.pcapng import TLS_KEY_LOG, Secrets
from kdiag.pcap.look_ahead import learn_all_names
from kdiag.pcap.reader import CaptureReader
from kdiag.pcap.tls.keylog import KeyLog
from kdiag.pipeline.decode import (
    FETCH_ORDER,
    FlowRules,
    RunPart,
    decode_rows,
    resolve_unsure,
)
from kdiag.pipeline.input.segment_reader import SegmentReader, SplitRun
from kdiag.pipeline.input.segment_timestamps import SegmentTimestamps
from kdiag.pipeline.input.split import Split, in_order, walk
from kdiag.pipeline.output.run_log import open_log
from kdiag.pipeline.rows.bundles import bundle, unbundle
from kdiag.pipeline.rows.frames import read_exchanges
from kdiag.pipeline.rows.group_rows import events_of, tabulate_groups
from kdiag.pipeline.rows.packets import (
    HEADERS,
    NO_FILE,
    NO_FILES,
    PACKETS,
    POSITIONS,
    MappedFiles,
    PacketRows,
)
from kdiag.pipeline.rows.sightings import OF_ALL, GroupDivider
from kdiag.pipeline.tabulate import (
    follow_sessions,
    read_names,
    read_sessions,
    tabulate,
    topic_names,
)
from kdiag.report.arrow import TableBatches
from kdiag.report.tables.catalog import RUN_COLUMNS, TABLES, TableChoice

CHOICE: Final = TableChoice(bodies=True, records=True, tcp=True)
TABLE_NAMES: Final = (
    *("exchanges", "batches", "records", "connections", "gaps", "not_understood"),
    "latency_minutes",
    *("rebalances", "members", "captures", "tcp"),
)
GROUP_PARTS: Final = 3

Tables = dict[str, list[pa.RecordBatch]]


def in_one_process(
    files: Sequence[Path], keylog: bytes = b"", *, links_sightings: bool = True
) -> Tables:
    """Return the tables that one decoder makes of captures, read one by one as on Spark.

    Args:
        files: the captures.
        keylog: the TLS secrets.
        links_sightings: whether a connection that is seen between other ends again counts once,
            which takes all connections: the pipeline lists it each time.
    """
    tables: Tables = defaultdict(list)
    names = TopicNames()
    learn_all_names(names, files, keylog=KeyLog.parse(keylog))
    groups = CaptureEvents(names.name)
    emit = partial(_append, tables)
    batches = TableBatches(emit, names, CHOICE, groups=groups)
    with patch("kdiag.pcap.files.merge.MAX_MERGED", 1):
        reader = CaptureReader(files)
        for item in decode_followed(reader, KeyLog.parse(keylog), links_sightings=links_sightings):
            batches.add(item)
    for each in reader.files:
        batches.capture(each)
    batches.flush()
    return tables


def decode_followed(
    reader: CaptureReader, keylog: KeyLog, *, links_sightings: bool
) -> Iterator[Item]:
    """Yield what captures hold, with the facts of TCP."""
    keylog.look_ahead = reader.find_secrets
    decoder = CaptureDecoder(reader.addresses, keylog=keylog)
    decoder.follow_tcp()
    if links_sightings:
        decoder.link_sightings()
    for batch in reader.read_segments():
        keylog.add_secrets(reader.secrets)
        yield from decoder.feed(batch)
    yield from decoder.finish()


def has_sightings(tables: Tables) -> bool:
    """Return whether a connection counts once that was seen more than once."""
    return any(batch["sightings"].null_count < batch.num_rows for batch in tables["connections"])


def in_parts(
    files: Sequence[Path],
    parts: int,
    split_bytes: int,
    keylog: bytes = b"",
    *,
    is_indexed: bool = False,
) -> Tables:
    """Return the tables that so many parts make, of splits of so many bytes."""
    outcome = decoded(files, parts, split_bytes, keylog, is_indexed=is_indexed)
    tables = tabulated(outcome, MappedFiles(list(map(str, files))))
    batches = TableBatches(partial(_append, tables), TopicNames(), CHOICE)
    for file in files:
        batches.capture(walk(str(file), split_bytes).file)
    batches.flush()
    return tables


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
    inside = (each for found in walks for each in found.secrets)
    secrets = (*inside, Secrets(TLS_KEY_LOG, keylog))
    captures = tuple(map(str, files))
    # No frame is too small to stay where it is.
    rules = FlowRules(secrets=secrets, files=captures, least_span_bytes=1, follows_tcp=True)
    packets = read_packets(splits, captures, is_indexed=is_indexed)
    outcome: Tables = defaultdict(list)

    def emit(name: str, batch: pa.RecordBatch) -> None:
        outcome[name].append(batch)

    for number, rows in enumerate(shuffled(packets, parts)):
        decode_rows(rows, emit, RunPart(number, parts), SegmentTimestamps(splits), rules)
    resolve_unsure(outcome["unsure"], outcome["kinds"], emit)
    return outcome


def read_packets(
    splits: Sequence[Split], files: Sequence[str], *, is_indexed: bool = False
) -> list[pa.RecordBatch]:
    """Return the packets of all splits."""
    batches = []
    columns = [*PACKETS.names, *(POSITIONS.names if is_indexed else ()), *HEADERS.names]
    for number, split in enumerate(splits):
        reader = SegmentReader(SplitRun(splits, number))
        rows = PacketRows(reader.index.addresses, columns)
        file = files.index(split.uri)
        for batch in reader.read():
            has_position = reader.position.file != NO_FILE
            position = reader.position._replace(file=file) if has_position else reader.position
            batches.append(rows.batch(batch, position))
    return batches


def shuffled(batches: list[pa.RecordBatch], parts: int) -> list[list[pa.RecordBatch]]:
    """Return the packets of each part, in their order."""
    bundles: list[list[pa.RecordBatch]] = [[] for _ in range(parts)]
    for batch in batches:
        keys = zip(batch["low"].to_pylist(), batch["high"].to_pylist(), strict=True)
        part_of = np.array([crc32(low + high) % parts for low, high in keys], np.int64)
        for each in bundle(batch, part_of):
            bundles[each["part"][0].as_py()].append(each)
    for each in bundles:
        each.sort(key=lambda row: row["packet"][0].as_py())
    # A capture may be damaged so badly that it has no packets.
    schema = batches[0].schema if batches else PACKETS
    return [list(unbundle(each, schema)) for each in bundles]


def tabulated(outcome: Tables, files: MappedFiles = NO_FILES) -> Tables:
    """Return the tables of what all parts have emitted."""
    tables: Tables = defaultdict(list)
    for name in ("connections", "gaps", "not_understood", "tcp"):
        tables[name] = outcome[name]
    fetches = outcome["fetches"]
    sessions = {}
    if fetches:
        keys = [(each, "ascending") for each in FETCH_ORDER]
        ordered = pa.Table.from_batches(fetches).sort_by(keys)
        sessions = read_sessions(follow_sessions(ordered.to_batches()))
    found = read_names(outcome["names"])
    names = topic_names({topic_id: name for topic_id, (_, name) in found.items()})
    batches = TableBatches(partial(_append, tables), names, CHOICE)
    groups = GroupDivider(GROUP_PARTS)
    tabulate(outcome["frames"], sessions, batches, files, groups)
    told: Tables = defaultdict(list)
    groups.emit(partial(_append, told))
    for part in told.keys() - {OF_ALL}:
        events = events_of([*told[part], *told[OF_ALL]], names)
        tabulate_groups(events, outcome["frames"], partial(_append, tables), lambda _: None)
    return tables


def told_of(frames: list[pa.RecordBatch]) -> Tables:
    """Return what frames tell of groups, divided by these."""
    told: Tables = defaultdict(list)
    groups = GroupDivider(GROUP_PARTS)
    for batch in frames:
        for exchange in read_exchanges(batch, NO_FILES):
            groups.add(Dissection(exchange))
    groups.emit(partial(_append, told))
    return told


def _append(tables: Tables, name: str, batch: pa.RecordBatch) -> None:
    tables[name].append(batch)


def read_tables(folder: Path) -> Tables:
    """Return the rows of all tables that count in a folder, columns as the tables have them."""
    files = [folder / file for run in open_log(str(folder)).runs() for file in run.files]
    tables: Tables = {}
    for name in TABLE_NAMES:
        own = [str(file) for file in files if file.is_relative_to(folder / name)]
        tables[name] = []
        if own:
            columns = [column.name for column in TABLES[name].columns]
            tables[name] = dataset.dataset(own).to_table(columns=columns).to_batches()
    return tables


def comparable(batches: list[pa.RecordBatch]) -> list[str]:
    """Return the rows of a table in an order of their own, without what counts within a run."""
    rows = [row for batch in batches for row in batch.to_pylist()]
    for row in rows:
        for name in (*RUN_COLUMNS, "capture_file", "run"):
            row.pop(name, None)
    return sorted(repr(sorted(row.items())) for row in _added_up(rows))


def _added_up(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return rows with counts that add up, if these are such, as one for each of the same kind."""
    name = TABLES["latency_minutes"].sum
    if not rows or name not in rows[0]:
        return rows
    sums: dict[tuple[Any, ...], int] = {}
    for row in rows:
        answers = row.pop(name)
        key = tuple(row.items())
        sums[key] = sums.get(key, 0) + answers
    return [{**dict(key), name: answers} for key, answers in sums.items()]
