"""What exchanges told of groups -> rows of `rebalances` and `members`, as in one process.

Fetches name no group, and are most of a capture. Of them a group needs only which was the first of
a client behind each of its assignments. Their columns tell that; no frame is read for it.
"""

from collections.abc import Callable, Iterable
from typing import Any, Final

import numpy as np
import pyarrow as pa
from pyarrow import compute

from kdiag.diagnosis.rebalance.capture.capture_events import CaptureEvents, ClientKey, FetchPoint
from kdiag.diagnosis.rebalance.capture.exchange_events import TELLING_APIS, host_of
from kdiag.exchange.context.topic_names import TopicNames
from kdiag.exchange.dissection import Dissection
from kdiag.exchange.fence import suppress_faults
from kdiag.pipeline.rows.frames import read_exchanges
from kdiag.pipeline.rows.packets import NO_FILES, MappedFiles
from kdiag.pipeline.rows.sightings import read_sightings
from kdiag.report.arrow import (
    CAPTURE_FILE,
    DEFAULT_MAX_BYTES,
    DEFAULT_MAX_ROWS,
    CaptureOf,
    Emit,
    RowBatches,
    add_group_rows,
    extended,
)
from kdiag.report.tables.catalog import GROUP_TABLES, TABLES
from kdiag.wire import api_keys

_TELLING: Final = pa.array(sorted(TELLING_APIS), pa.int32())
_FETCH_COLUMNS: Final = ("client_id", "client", "request_last_byte_ns", "request_first_packet")


def events_in(
    frames: Iterable[pa.RecordBatch], names: TopicNames, files: MappedFiles = NO_FILES
) -> CaptureEvents:
    """Return what exchanges tell of groups.

    Args:
        frames: rows of `rows.frames.FRAMES`, in any order.
        names: the names of all topic ids.
        files: the captures, if frames lie in them.
    """
    events = CaptureEvents(names.name)
    for batch in frames:
        is_telling = compute.is_in(batch.column("api_key"), _TELLING)
        for exchange in read_exchanges(batch.filter(is_telling), files):
            with suppress_faults():
                events.add_told(Dissection(exchange))
    return events


def events_of(sightings: Iterable[pa.RecordBatch], names: TopicNames) -> CaptureEvents:
    """Return what exchanges have told of groups.

    Args:
        sightings: rows of `rows.sightings.SIGHTINGS`, in any order.
        names: the names of all topic ids.
    """
    events = CaptureEvents(names.name)
    events.add_sightings(read_sightings(sightings))
    return events


def tabulate_groups(
    events: CaptureEvents, fetches: Iterable[pa.RecordBatch], emit: Emit, capture_of: CaptureOf
) -> None:
    """Make the rows of some groups.

    Args:
        events: all that was told of them.
        fetches: rows of `FRAMES` with all fetches, among others.
        emit: called with the names of tables, and batches of their rows.
        capture_of: returns the capture that holds a packet.
    """
    syncs = events.syncs()
    if syncs:
        events.add_first_fetches(first_fetches(fetches, syncs))
    emit_group_rows(events, emit, capture_of)


def emit_group_rows(events: CaptureEvents, emit: Emit, capture_of: CaptureOf) -> None:
    """Make the rows of some groups of all that was seen of them.

    Args:
        events: what was told, and the first fetches.
        emit: called with the names of tables, and batches of their rows.
        capture_of: returns the capture that holds a packet.
    """
    rows = {
        name: RowBatches(
            name, extended(TABLES[name], [CAPTURE_FILE]), emit, DEFAULT_MAX_ROWS, DEFAULT_MAX_BYTES
        )
        for name in sorted(GROUP_TABLES)
    }
    add_group_rows(events, rows, _place_by(capture_of))
    for each in rows.values():
        each.flush()


def _place_by(capture_of: CaptureOf) -> Callable[[int | None], tuple[Any, ...]]:
    def place(packet: int | None) -> tuple[Any, ...]:
        return (None if packet is None else capture_of(packet),)

    return place


def first_fetches(
    frames: Iterable[pa.RecordBatch], syncs: dict[ClientKey, list[int]]
) -> dict[tuple[ClientKey, int], FetchPoint]:
    """Return the first fetch of a client at or behind each of some moments.

    Args:
        frames: rows of `FRAMES`, in any order.
        syncs: the moments by client, in order.
    """
    found: dict[tuple[ClientKey, int], FetchPoint] = {}
    for batch in frames:
        fetches = select_fetches(batch)
        if fetches.num_rows:
            _note_first(found, fetches, syncs)
    return found


def select_fetches(frames: pa.RecordBatch) -> pa.RecordBatch:
    """Return the fetches among rows of `FRAMES`, with what tells whose they are, and when."""
    is_fetch = compute.equal(frames.column("api_key"), api_keys.FETCH)
    is_asked = compute.is_valid(frames.column("request_first_packet"))
    return frames.select((*_FETCH_COLUMNS, "api_key")).filter(compute.and_(is_fetch, is_asked))


def _note_first(
    found: dict[tuple[ClientKey, int], FetchPoint],
    fetches: pa.RecordBatch,
    syncs: dict[ClientKey, list[int]],
) -> None:
    """Note the first of some fetches behind each moment."""
    ids, clients = (fetches.column(name).dictionary_encode() for name in _FETCH_COLUMNS[:2])
    id_of = compute.fill_null(ids.indices, -1).to_numpy().astype(np.int64)
    times, packets = (fetches.column(name).to_numpy() for name in _FETCH_COLUMNS[2:])
    codes = (id_of + 1) * len(clients.dictionary) + clients.indices.to_numpy()
    for code in np.unique(codes).tolist():
        id_at, client_at = divmod(code, len(clients.dictionary))
        client_id = None if id_at == 0 else ids.dictionary[id_at - 1].as_py()
        key = (client_id, host_of(clients.dictionary[client_at].as_py()))
        if key not in syncs:
            continue
        here = codes == code
        order = np.lexsort((packets[here], times[here]))
        sorted_ns, sorted_packets = times[here][order], packets[here][order]
        places = np.searchsorted(sorted_ns, np.array(syncs[key], np.int64)).tolist()
        for sync_ns, place in zip(syncs[key], places, strict=True):
            if place < len(sorted_ns):
                point = (int(sorted_ns[place]), int(sorted_packets[place]))
                found[key, sync_ns] = min(found.get((key, sync_ns), point), point)
