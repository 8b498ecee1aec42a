"""Exchanges -> rows of the tables, on any machine and in any order.

Facts that a single exchange lacks are arguments: the names of topic ids, and the partitions of
fetch sessions.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

import pyarrow as pa

from kdiag.exchange.context.fetch_session import FetchSessions
from kdiag.exchange.context.topic_names import TopicNames
from kdiag.exchange.dissection import Dissection
from kdiag.exchange.fence import blame, suppress_faults
from kdiag.pipeline.rows.frames import read_exchanges
from kdiag.pipeline.rows.packets import NO_FILES, MappedFiles
from kdiag.pipeline.rows.sightings import GroupDivider
from kdiag.report.arrow import TableBatches

SESSIONS: Final = pa.schema(
    [
        ("number", pa.int64()),
        ("topics", pa.list_(pa.string())),
        ("partitions", pa.list_(pa.int32())),
    ]
)
"""The partitions of incremental fetches: the exchange's number, and its session's partitions."""

NAMES: Final = pa.schema([("topic_id", pa.string()), ("name", pa.binary()), ("order", pa.int64())])
"""The names of topic ids; of several for one id that with the lowest `order` counts."""

NameBytes = dict[str, bytes]
"""The names by topic id as they crossed the wire, which may be other bytes than text."""

FirstNames = dict[str, tuple[int, bytes]]
"""The names by topic id, and their order."""

_MAX_FAULTS: Final = 10
_MAX_PARTITIONS: Final = 1_000_000

SessionTopics = dict[int, list[tuple[str, int]]]


def follow_sessions(
    fetches: Iterable[pa.RecordBatch], sessions: FetchSessions | None = None
) -> Iterator[pa.RecordBatch]:
    """Yield the partitions of incremental fetches, as `SESSIONS`.

    Args:
        fetches: rows of `decode.FETCHES`, all those of some brokers, in their order.
        sessions: those that are open already; none by default.
    """
    sessions = FetchSessions() if sessions is None else sessions
    found: SessionTopics = {}
    size = 0
    for batch in fetches:
        for fetch in read_exchanges(batch):
            dissection = Dissection(fetch)
            with suppress_faults():
                sessions.follow(dissection)
            if dissection.session_topics is not None:
                found[fetch.number] = dissection.session_topics
                size += len(dissection.session_topics)
            if size > _MAX_PARTITIONS:
                yield _session_rows(found)
                found, size = {}, 0
    if found:
        yield _session_rows(found)


def _session_rows(found: SessionTopics) -> pa.RecordBatch:
    topics = [[topic for topic, _ in each] for each in found.values()]
    partitions = [[partition for _, partition in each] for each in found.values()]
    columns = [
        pa.array(column, field.type)
        for column, field in zip((list(found), topics, partitions), SESSIONS, strict=True)
    ]
    return pa.RecordBatch.from_arrays(columns, schema=SESSIONS)


def read_sessions(rows: Iterable[pa.RecordBatch]) -> SessionTopics:
    """Return the partitions of `SESSIONS` rows by exchange."""
    found: SessionTopics = {}
    for batch in rows:
        columns = [batch.column(name).to_pylist() for name in SESSIONS.names]
        for number, topics, partitions in zip(*columns, strict=True):
            found[number] = list(zip(topics, partitions, strict=True))
    return found


def read_names(rows: Iterable[pa.RecordBatch]) -> FirstNames:
    """Return the first names in `NAMES` rows by topic id."""
    found: FirstNames = {}
    for batch in rows:
        columns = [batch.column(name).to_pylist() for name in NAMES.names]
        add_names(found, {each: (order, name) for each, name, order in zip(*columns, strict=True)})
    return found


def add_names(names: FirstNames, others: FirstNames) -> None:
    """Add the names of others that come before those that are known."""
    for topic_id, first in others.items():
        names[topic_id] = min(names.get(topic_id, first), first)


def name_bytes(names: Mapping[str, str]) -> NameBytes:
    """Return names as bytes."""
    return {each: name.encode(errors="surrogateescape") for each, name in names.items()}


def topic_names(names: NameBytes) -> TopicNames:
    """Return the names in bytes."""
    text = {each: name.decode(errors="surrogateescape") for each, name in names.items()}
    return TopicNames(text)


def tabulate(
    frames: Iterable[pa.RecordBatch],
    sessions: Mapping[int, list[tuple[str, int]]],
    tables: TableBatches,
    files: MappedFiles = NO_FILES,
    groups: GroupDivider | None = None,
) -> list[str]:
    """Read exchanges, add their rows to the tables, and return the faults of kdiag's own.

    Args:
        frames: rows of `rows.frames.FRAMES`.
        sessions: the partitions of incremental fetches, by the exchange's number.
        tables: gets the rows; it knows the names of all topic ids.
        files: the captures, if frames lie in them.
        groups: gets what they tell of groups.
    """
    faults: list[str] = []
    for batch in frames:
        for exchange in read_exchanges(batch, files):
            exchange.session_topics = sessions.get(exchange.number)
            dissection = Dissection(exchange)
            try:
                tables.exchange(dissection)
            except Exception as error:  # noqa: BLE001 - the fence: it costs this exchange alone
                faults.append(blame(dissection, error))
                tables.exchange(dissection)
            if groups is not None:
                groups.add(dissection)
    tables.flush()
    return faults[:_MAX_FAULTS]
