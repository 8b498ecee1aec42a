"""The table `captures`: a row for each capture that was read."""

from typing import Final

from kdiag.clock import NS_PER_US
from kdiag.pcap.files.capture_facts import CaptureFacts
from kdiag.report.tables.column import BIGINT, STRING, TIMESTAMP, Column, Table, cells_of


def _us(time_ns: int | None) -> int | None:
    return None if time_ns is None else time_ns // NS_PER_US


_COLUMNS: Final[tuple[Column[CaptureFacts], ...]] = (
    Column("file", STRING, "Its name, as it was given.", lambda of: of.name),
    Column(
        "size_bytes",
        BIGINT,
        "Its size as it is stored; null for a pipe.",
        lambda of: of.stored_bytes,
        unit="bytes",
    ),
    Column(
        "modified_time",
        TIMESTAMP,
        "When it was written last, UTC; null for a pipe.",
        lambda of: _us(of.modified_ns),
    ),
    Column("modified_ns", BIGINT, "The same since 1970.", lambda of: of.modified_ns, unit="ns"),
    Column(
        "packets",
        BIGINT,
        "How many it has, of all protocols, whatever times were asked for.",
        lambda of: of.packets,
    ),
    Column(
        "first_time",
        TIMESTAMP,
        "The earliest of them, UTC; null without any.",
        lambda of: _us(of.first_ns),
    ),
    Column("first_ns", BIGINT, "The same since 1970.", lambda of: of.first_ns, unit="ns"),
    Column(
        "last_time",
        TIMESTAMP,
        "The latest of them, UTC; null without any.",
        lambda of: _us(of.last_ns),
    ),
    Column("last_ns", BIGINT, "The same since 1970.", lambda of: of.last_ns, unit="ns"),
    Column(
        "damage",
        STRING,
        "Why not all of it could be read; null if it could.",
        lambda of: of.damage,
    ),
)

CAPTURE_FILES: Final = Table(
    "captures",
    "A capture that was read, also one without Kafka: what was looked at, and from when to when.",
    ("file",),
    _COLUMNS,
)

capture_row: Final = cells_of(_COLUMNS)
