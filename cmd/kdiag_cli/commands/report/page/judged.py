"""What is wrong in captures or tables, the worst first, and which of it was not judged.

captures    what their reading proved
tables      what was made of captures, as far as they go
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Final, NamedTuple

import msgspec

from kdiag.clock import ALWAYS, TimeRange
from kdiag.diagnosis.rebalance.findings import joined
from kdiag.diagnosis.tcp.worst_connections import WorstConnections
from kdiag.errors import ReportError
from kdiag.exchange.line.phrase import count
from kdiag.findings.finding import Finding, by_harm
from kdiag.report.engine import Database
from kdiag.report.overview.faults.judgement import recorded_faults
from kdiag.report.overview.groups.histories import OF_REFUSALS, read_histories
from kdiag.report.overview.tcp.connections import (
    MOST_CONNECTIONS,
    count_unfollowed,
    followed_connections,
)
from kdiag.report.overview.traffic.judgement import judge_tables
from kdiag.report.run_log import notes_on
from kdiag.report.sql_report import Query
from kdiag_cli.commands.report.page.tcp_limits import ConnectionLimitRows
from kdiag_cli.output.pages.parts import PagePart

_OF_GROUPS: Final = Query("SELECT 1 FROM rebalances, members", {})
_OF_RECORDS: Final = (
    "what compression would save (KD4103): this takes the bytes of records, which tables do not "
    "have; kdiag decode CAPTURE --summary judges it"
)
_NOT_FOLLOWED: Final = "make the tables with --tcp (kdiag decode --output parquet, kdiag pipeline)"
_CONNECTIONS: Final = "failed connections and missing answers (KD1101 to KD1410)"
_TRAFFIC: Final = "clients and brokers (KD4101 to KD5101)"
_GROUPS: Final = "rebalances (KD3301 to KD3315)"
_TCP: Final = "what TCP did (KD6001 to KD6009)"


class Judged(NamedTuple):
    """What is wrong, and what was judged.

    Attributes:
        findings: the worst first.
        parts: what was judged.
        notes: what was not judged, and why.
        limits: a table of what limits the throughput of connections, if that is known.
    """

    findings: list[Finding]
    parts: list[str]
    notes: list[str]
    limits: list[PagePart]


def judge_captures(database: Database, findings: Iterable[Finding]) -> Judged:
    """Return what is wrong in captures.

    Args:
        database: the tables that were made of them, with bodies and what TCP did.
        findings: what their reading proved.

    Raises:
        ReportError: if the tables cannot be read, or memory is full.
    """
    limits = ConnectionLimitRows()
    for each in followed_connections(database, ALWAYS):
        limits.add(*each)
    parts = [_CONNECTIONS, _TRAFFIC, _GROUPS, _TCP]
    return Judged(by_harm(findings), parts, [], list(limits.parts()))


def judge_folder(database: Database, times: TimeRange) -> Judged:
    """Return what tables show that is wrong, and what they do not show.

    Args:
        database: the tables.
        times: of their rows.
    """
    limits = ConnectionLimitRows()
    found: list[Finding] = []
    parts: dict[str, Callable[[], Iterator[str]]] = {
        _CONNECTIONS: lambda: _faults(database, found),
        _TRAFFIC: lambda: _traffic(database, found),
        _GROUPS: lambda: _groups(database, found),
        _TCP: lambda: _tcp(database, times, limits, found),
    }
    judged, notes = [], []
    for what, judge in parts.items():
        try:
            lacking = [*judge()]
            notes += lacking
            if not any(each.startswith(f"Not judged: {what}: ") for each in lacking):
                judged.append(what)
        except ReportError as error:
            notes.append(f"Not judged: {what}: {error.why}")
        except (ValueError, msgspec.ValidationError) as error:
            notes.append(f"Not judged: {what}: another release has written the tables: {error}")
    if times != ALWAYS:
        notes.append(
            "Not judged: connections and members that were there before --from, and connections "
            "that continue after --to: a part of them is missing here"
        )
    return Judged(by_harm(found), judged, notes, list(limits.parts()))


def _faults(database: Database, found: list[Finding]) -> Iterator[str]:
    faults = recorded_faults(database)
    found.extend(faults.findings())
    if faults.left_out:
        yield f"Not judged: {faults.left_out:,} faults: there are too many brokers with faults"


def _traffic(database: Database, found: list[Finding]) -> Iterator[str]:
    judged = judge_tables(database)
    found.extend(judged.findings)
    yield f"Not judged: {_OF_RECORDS}"
    for each in judged.unjudged:
        yield f"Not judged: {each}"
    if judged.left_out:
        few = "there are too many to judge each"
        yield f"Not judged: {judged.left_out:,} clients and partitions: {few}"
    if judged.is_bare:
        yield (
            "A hot partition (KD4106) is compared with those that were written to: without bodies "
            "(--no-bodies) the others of its topic are not known"
        )


def _groups(database: Database, found: list[Finding]) -> Iterator[str]:
    groups = read_histories(database)
    found[:] = joined(found, groups.findings())
    yield from notes_on(database.runs, _OF_GROUPS)
    if groups.bare:
        untold = ", ".join(sorted(OF_REFUSALS))
        bodies = f"they take the bodies of {count(groups.bare, 'refused request')}"
        yield f"Not judged: {untold}: {bodies}: make the tables without --no-bodies"
    if groups.left_out:
        few = "there are too many to judge each"
        yield f"Not judged: {groups.left_out:,} rebalances and members: {few}"


def _tcp(
    database: Database, times: TimeRange, limits: ConnectionLimitRows, found: list[Finding]
) -> Iterator[str]:
    worst = WorstConnections()
    for connection, cycles in followed_connections(database, times):
        worst.judge(connection, cycles)
        limits.add(connection, cycles)
    found.extend(worst.findings())
    there, unfollowed = count_unfollowed(database)
    if there - unfollowed > MOST_CONNECTIONS:
        few = f"judged were the {MOST_CONNECTIONS:,} with the most bytes"
        yield f"Not judged: what TCP did on each of {there - unfollowed:,} connections: {few}"
    if unfollowed:
        of = "" if unfollowed == there else f", of {unfollowed:,} of {count(there, 'connection')}"
        yield f"Not judged: {_TCP}{of}: {_NOT_FOLLOWED}"
