"""The rebalances of groups, for people: a table for each group, or one rebalance in full.

    grp-crash: classic group (consumer), 4 rebalances, 2 members, from the capture
    GENERATION  TIME          TOOK     CAUSE          SURE     WHO              MEMBERS  MOVED
             3  10:40:56.572  2.65 ms  member failed  likely   rdkafka-4bbd...  1        2 of 4

In full, each member has a bar: its wait for JoinGroup, then for SyncGroup.
"""

from collections.abc import Sequence
from typing import Final

from kdiag.diagnosis.rebalance.model import (
    CauseKind,
    Confidence,
    EvidencePlace,
    GroupHistory,
    GroupType,
    Rebalance,
    RebalanceCause,
)
from kdiag.exchange.line.phrase import count
from kdiag.exchange.line.shown_time import date_and_time, shared_zone, stamp, zone_label
from kdiag_cli.commands.rebalance.bars import bars, name_of, short_id
from kdiag_cli.output.result import milliseconds
from kdiag_cli.output.table.layout import TableColumn
from kdiag_cli.output.table.printer import print_table
from kdiag_cli.output.terminal import (
    BOLD,
    GREEN,
    RED,
    YELLOW,
    Output,
    harmless,
    print_paragraph,
)
from kdiag_cli.output.units import duration

_SURE: Final = {Confidence.CERTAIN: GREEN, Confidence.LIKELY: YELLOW, Confidence.UNKNOWN: RED}
COLUMNS: Final = (
    TableColumn("GENERATION"),
    TableColumn("TIME", 2),
    TableColumn("TOOK-MS", unit="ms"),
    TableColumn("CAUSE"),
    TableColumn("SURE", 1, colours={str(key): value for key, value in _SURE.items()}),
    TableColumn("WHO"),
    TableColumn("HOST", 4),
    TableColumn("REASON", 5),
    TableColumn("MEMBERS", 6),
    TableColumn("MOVED", 3),
    TableColumn("SLOWEST", 7),
    TableColumn("WAIT-MS", 7, unit="ms"),
)
_KINDS: Final = {
    GroupType.CLASSIC: "classic group",
    GroupType.CONSUMER: "consumer group (KIP-848)",
    GroupType.SHARE: "share group (KIP-932)",
    GroupType.STREAMS: "streams group (KIP-1071)",
}
_MOST_MOVES: Final = 20


def print_histories(
    output: Output,
    histories: Sequence[GroupHistory],
    generation: int | None,
    *,
    has_headers: bool = True,
) -> None:
    """Print groups: one rebalance of each in full, or all in tables.

    In a pipe there is one table of all groups.
    """
    if generation is not None:
        for history in histories:
            for rebalance in history.rebalances:
                if rebalance.generation == generation:
                    _print_whole(output, history, rebalance)
    elif output.is_terminal:
        for number, history in enumerate(histories):
            if number:
                output.line("")
            print_paragraph(output, _heading(output, history))
            zone = zone_of([history])
            rows = [rebalance_row(history, each, zone) for each in history.rebalances]
            print_table(output, columns_in(zone), rows, has_headers=has_headers)
    else:
        zone = zone_of(histories)
        has_clusters = any(each.cluster is not None for each in histories)
        rows = [
            (
                history.group,
                *((history.cluster,) if has_clusters else ()),
                history.type,
                *rebalance_row(history, each, zone),
            )
            for history in histories
            for each in history.rebalances
        ]
        cluster = (TableColumn("CLUSTER"),) if has_clusters else ()
        columns = (TableColumn("GROUP"), *cluster, TableColumn("TYPE"), *columns_in(zone))
        print_table(output, columns, rows, has_headers=has_headers)


def zone_of(histories: Sequence[GroupHistory]) -> str | None:
    """Return the zone of all times of groups; None if it changes between them."""
    return shared_zone(_time_ns(each) for history in histories for each in history.rebalances)


def columns_in(zone: str | None) -> tuple[TableColumn, ...]:
    """Return the columns, of which one names the zone of its times if all have one."""
    times = TableColumn(f"TIME-{zone}" if zone else "TIME", 2)
    return tuple(times if each.header == "TIME" else each for each in COLUMNS)


def _heading(output: Output, history: GroupHistory) -> str:
    return f"{output.paint(harmless(history.group), BOLD)}: {described(history)}"


def described(history: GroupHistory) -> str:
    """Return what a group is, and how much is known of it."""
    protocol = history.protocol_type
    kind = _KINDS[history.type] + (f" ({harmless(protocol)})" if protocol else "")
    rebalances = count(len(history.rebalances), "rebalance")
    members = count(history.member_count, "member")
    place = harmless(history.cluster_text)
    return f"{kind}{place}, {rebalances}, {members}, from the {history.source}"


def rebalance_row(
    history: GroupHistory, rebalance: Rebalance, zone: str | None
) -> tuple[object, ...]:
    """Return a rebalance as a row of the table; its time has a zone where the column has none."""
    time_ns = _time_ns(rebalance)
    cause, slowest, moved = rebalance.cause, rebalance.slowest, rebalance.moved
    is_slow = slowest is not None and slowest.wait_ns > 0
    return (
        rebalance.generation,
        None if time_ns is None else (date_and_time if zone else stamp)(time_ns),
        milliseconds(rebalance.duration_ns),
        words(cause.cause) + _more(rebalance),
        cause.confidence,
        who(history, cause),
        cause.client_host,
        cause.reason or cause.note,
        rebalance.member_count,
        None if moved is None else f"{len(moved.moves)} of {moved.partition_count}",
        name_of(slowest.phases) if slowest is not None and is_slow else None,
        milliseconds(slowest.wait_ns) if slowest is not None and is_slow else None,
    )


def _time_ns(rebalance: Rebalance) -> int | None:
    return rebalance.started_ns or rebalance.ended_ns


def _more(rebalance: Rebalance) -> str:
    """Return how many causes follow the first; that the group is empty then is said."""
    others = rebalance.causes[1:]
    if not others:
        return ""
    if [each.cause for each in others] == [CauseKind.GROUP_EMPTIED]:
        return ", empty"
    return f" +{len(others)}"


def words(kind: CauseKind) -> str:
    """Return a cause as people read it."""
    return kind.replace("_", " ")


def who(history: GroupHistory, cause: RebalanceCause) -> str | None:
    """Return whom a cause names; None if nobody."""
    if cause.instance_id is not None:
        return f"instance {cause.instance_id}"
    if cause.member_id is None:
        return None
    known = history.members.get(cause.member_id)
    client = cause.client_id or (known and known.client_id)
    return f"{client} {short_id(cause.member_id)}" if client else short_id(cause.member_id)


def _when(rebalance: Rebalance) -> str:
    """Return when a rebalance began, or at least when it was over."""
    if rebalance.started_ns is not None or rebalance.ended_ns is None:
        return _named(rebalance.started_ns) or "beginning not seen"
    return f"beginning not seen, over at {_named(rebalance.ended_ns)}"


def _named(time_ns: int | None) -> str | None:
    """Return a moment with its zone."""
    return None if time_ns is None else f"{date_and_time(time_ns)} {zone_label(time_ns)}"


def _print_whole(output: Output, history: GroupHistory, rebalance: Rebalance) -> None:
    """Print one rebalance: its causes with their evidence, its members' phases, what moved."""
    before = "" if rebalance.previous is None else f" after {rebalance.previous}"
    took = "" if rebalance.duration_ns is None else f", took {duration(rebalance.duration_ns)}"
    when = _when(rebalance)
    name = output.paint(harmless(history.group), BOLD) + harmless(history.cluster_text)
    print_paragraph(output, f"{name}: generation {rebalance.generation}{before}, {when}{took}")
    for cause in rebalance.causes:
        print_paragraph(output, _cause_text(output, history, cause), "  cause    ")
    for line in bars(output, history.type, rebalance):
        output.line(line)
    if rebalance.moved is not None:
        _print_moves(output, rebalance)


def _cause_text(output: Output, history: GroupHistory, cause: RebalanceCause) -> str:
    parts = [output.paint(f"{words(cause.cause)} ({cause.confidence})", _SURE[cause.confidence])]
    named = who(history, cause)
    if named is not None:
        at = f" at {cause.client_host}" if cause.client_host else ""
        software = f", {cause.software}" if cause.software else ""
        parts.append(harmless(f"{named}{at}{software}"))
    if cause.reason is not None:
        parts.append(f"said: {harmless(cause.reason)}")
    if cause.note is not None:
        parts.append(harmless(cause.note))
    seen = ", ".join(_evidence_text(each) for each in cause.evidence)
    return "; ".join([*parts, *([seen] if seen else [])])


def _evidence_text(evidence: EvidencePlace) -> str:
    where = f" of {harmless(evidence.file)}" if evidence.file else ""
    return f"{evidence.kind} {evidence.at}{where}"


def _print_moves(output: Output, rebalance: Rebalance) -> None:
    moved = rebalance.moved
    assert moved is not None
    print_paragraph(
        output, f"{len(moved.moves)} of {count(moved.partition_count, 'partition')}", "  moved    "
    )
    for move in moved.moves[:_MOST_MOVES]:
        source = "no member" if move.source is None else short_id(move.source)
        target = "no member" if move.target is None else short_id(move.target)
        place = harmless(f"{move.topic}[{move.partition}]: {source} → {target}")
        print_paragraph(output, place, "           ")
    rest = len(moved.moves) - _MOST_MOVES
    if rest > 0:
        output.line(f"           and {count(rest, 'partition')} more (-o json has all)")
