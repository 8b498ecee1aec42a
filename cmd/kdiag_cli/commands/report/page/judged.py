"""What is wrong, as a page tells it, and which of it was not judged.

captures    what their reading proved
tables      what was made of captures, as far as they go
"""

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

import msgspec

from kdiag.clock import ALWAYS, TimeRange
from kdiag.diagnosis.tcp.worst_connections import WorstConnections
from kdiag.errors import ReportError
from kdiag.exchange.line.phrase import count
from kdiag.findings.finding import Finding
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
from kdiag_cli.commands.report.page.findings import PageFindings
from kdiag_cli.commands.report.page.tcp_limits import ConnectionLimitRows
from kdiag_cli.output.pages.parts import PagePart, Remark

_OF_GROUPS: Final = Query("SELECT 1 FROM rebalances, members", {})
_FROM_TABLES: Final = (
    "Made from tables, which tell all but what compression would spare (KD4103): that takes the "
    "bytes of records."
)
_NOT_FOLLOWED: Final = "make the tables with --tcp (kdiag decode --output parquet, kdiag pipeline)"


class Judged(NamedTuple):
    """What is wrong, and what was not judged.

    Attributes:
        findings: by rule.
        notes: what was not judged, and why.
        limits: a table of what limits the throughput of connections, if that is known.
    """

    findings: PageFindings
    notes: list[Remark]
    limits: list[PagePart]


def judge_captures(database: Database, findings: Iterable[Finding]) -> Judged:
    """Return what is wrong in captures.

    Args:
        database: the tables that were made of them, with bodies and what TCP did.
        findings: what their reading proved.

    Raises:
        ReportError: if the tables cannot be read, or memory is full.
    """
    found = PageFindings()
    found.add(findings)
    limits = ConnectionLimitRows()
    for each in followed_connections(database, ALWAYS):
        limits.add(*each)
    return Judged(found, [], list(limits.parts()))


def judge_folder(database: Database, times: TimeRange) -> Judged:
    """Return what tables tell that is wrong, and what they do not tell.

    Args:
        database: the tables.
        times: of their rows.
    """
    limits = ConnectionLimitRows()
    found = PageFindings()
    parts = {
        "failed connections and missing answers (KD1101 to KD1407)": _faults(database, found),
        "clients and brokers (KD4101 to KD5101)": _traffic(database, found),
        "rebalances (KD3301 to KD3312)": _groups(database, found),
        "what TCP did (KD6001 to KD6009)": _tcp(database, times, limits, found),
    }
    notes = [_FROM_TABLES]
    for what, told in parts.items():  # which are judged as their notes are asked for
        try:
            notes += told
        except ReportError as error:
            notes.append(f"Not judged: {what}: {error.why}")
        except (ValueError, msgspec.ValidationError) as error:
            notes.append(f"Not judged: {what}: another release has written the tables: {error}")
    if times != ALWAYS:
        notes.append(
            "Connections and members that were there before --from, and connections that go on "
            "behind --to, are not judged: a part of them is missing here"
        )
    return Judged(found, [Remark("note", each) for each in notes], list(limits.parts()))


def _faults(database: Database, found: PageFindings) -> Iterator[str]:
    faults = recorded_faults(database)
    found.add(faults.findings())
    if faults.left_out:
        yield f"There are too many brokers with faults to tell each: {faults.left_out:,} are not"


def _traffic(database: Database, found: PageFindings) -> Iterator[str]:
    judged = judge_tables(database)
    found.add(judged.findings)
    if judged.left_out:
        few = "There are too many clients and partitions to judge each"
        yield f"{few}: {judged.left_out:,} are not"
    if judged.is_bare:
        yield (
            "A hot partition (KD4106) is compared with those that were written to: without bodies "
            "(--no-bodies) the others of its topic are not known"
        )


def _groups(database: Database, found: PageFindings) -> Iterator[str]:
    groups = read_histories(database)
    found.add(groups.findings())
    yield from notes_on(database.runs, _OF_GROUPS)
    if groups.bare:
        untold = ", ".join(sorted(OF_REFUSALS))
        bodies = f"they take the bodies of {count(groups.bare, 'refused request')}"
        yield f"Not judged: {untold}: {bodies}: make the tables without --no-bodies"
    if groups.left_out:
        few = "There are too many rebalances and members to judge each"
        yield f"{few}: {groups.left_out:,} are not"


def _tcp(
    database: Database, times: TimeRange, limits: ConnectionLimitRows, found: PageFindings
) -> Iterator[str]:
    worst = WorstConnections()
    for connection, cycles in followed_connections(database, times):
        worst.judge(connection, cycles)
        limits.add(connection, cycles)
    found.add(worst.findings())
    there, unfollowed = count_unfollowed(database)
    if there - unfollowed > MOST_CONNECTIONS:
        few = f"the {MOST_CONNECTIONS:,} with the most bytes, of {there - unfollowed:,}"
        yield f"There are too many connections to judge what TCP did on each: these are {few}"
    if unfollowed:
        of = "" if unfollowed == there else f", of {unfollowed:,} of {count(there, 'connection')}"
        yield f"Not judged: what TCP did (KD6001 to KD6009){of}: {_NOT_FOLLOWED}"
