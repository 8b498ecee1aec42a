"""The tables `rebalances` and `members`: a row for each rebalance of a group, and for each member.

Other than the rows of the other tables, these take all exchanges of a group, in order.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final, NamedTuple, Protocol

from kdiag.clock import NS_PER_US
from kdiag.diagnosis.rebalance.events import Event
from kdiag.diagnosis.rebalance.histories import histories_of
from kdiag.diagnosis.rebalance.model import (
    EvidencePlace,
    GroupHistory,
    GroupMember,
    GroupType,
    Phases,
    Rebalance,
    RebalanceCause,
    Slowest,
)
from kdiag.report.tables.column import (
    BIGINT,
    BIGINTS,
    CAUSES,
    INT,
    MOVES,
    PHASES,
    STRING,
    STRINGS,
    TIMESTAMP,
    Column,
    Table,
    cells_of,
)


class RebalanceFacts(NamedTuple):
    """A rebalance, as the columns read it.

    Attributes:
        history: of its group.
        rebalance: one of its rebalances.
        slowest: the member that joined last; None unless two were seen.
    """

    history: GroupHistory
    rebalance: Rebalance
    slowest: Slowest | None

    @property
    def cause(self) -> RebalanceCause:
        """Return the first of the causes."""
        return self.rebalance.cause

    @property
    def time_ns(self) -> int:
        """Return the first moment that is known of it."""
        times = (self.rebalance.started_ns, self.cause.at_ns, self.rebalance.ended_ns)
        return next((each for each in times if each), 0)

    @property
    def stopped_ns(self) -> int | None:
        """Return the time from the first JoinGroup to the last assignment."""
        phases = self.rebalance.phases.values()
        asked = [each.asked_ns for each in phases if each.asked_ns is not None]
        synced = [each.synced_ns for each in phases if each.synced_ns is not None]
        return max(synced) - min(asked) if asked and synced else None

    @property
    def packet(self) -> int | None:
        """Return the packet that shows the first cause."""
        return next(iter(_packets(self.cause.evidence)), None)


class MemberFacts(NamedTuple):
    """A member of a group, as the columns read it."""

    history: GroupHistory
    member: GroupMember


def _packets(evidence: Sequence[EvidencePlace]) -> list[int]:
    return [each.at for each in evidence if each.kind == "packet"]


def _cause_cell(cause: RebalanceCause) -> dict[str, Any]:
    return {
        "cause": cause.cause.value,
        "confidence": cause.confidence.value,
        "at_ns": cause.at_ns,
        "member_id": cause.member_id,
        "instance_id": cause.instance_id,
        "client_id": cause.client_id,
        "client_host": cause.client_host,
        "software": cause.software,
        "reason": cause.reason,
        "note": cause.note,
        "packets": _packets(cause.evidence),
        "silent_ns": cause.silent_ns,
    }


def _phase_cell(phases: Phases) -> dict[str, Any]:
    return {
        "member_id": phases.member_id,
        "client_id": phases.client_id,
        "client_host": phases.client_host,
        "find_coordinator_ns": phases.find_coordinator_ns,
        "asked_ns": phases.asked_ns,
        "joined_ns": phases.joined_ns,
        "synced_ns": phases.synced_ns,
        "first_heartbeat_ns": phases.first_heartbeat_ns,
        "first_fetch_ns": phases.first_fetch_ns,
        "told_ns": phases.told_ns,
        "beat_gap_ns": phases.beat_gap_ns,
    }


def _move_cells(rebalance: Rebalance) -> list[dict[str, Any]] | None:
    if rebalance.moved is None:
        return None
    return [each._asdict() for each in rebalance.moved.moves]


class HasHistory(Protocol):
    """Facts that belong to a group."""

    @property
    def history(self) -> GroupHistory:
        """Return the group."""
        ...


_CLUSTER: Final[tuple[Column[HasHistory], ...]] = (
    Column(
        "cluster",
        STRING,
        "The id of the group's cluster; null where captures name none, or of one cluster alone.",
        lambda of: of.history.cluster,
    ),
    Column(
        "coordinator",
        STRING,
        "The address of the broker that its members asked last; null without a cluster.",
        lambda of: of.history.coordinator,
    ),
)

_REBALANCE_COLUMNS: Final[tuple[Column[RebalanceFacts], ...]] = (
    Column("group_id", STRING, "The group.", lambda of: of.history.group),
    Column(
        "type",
        STRING,
        "`classic`, `consumer`, `share` or `streams`.",
        lambda of: of.history.type.value,
    ),
    Column(
        "protocol_type",
        STRING,
        "`consumer`, `connect` and so on; null where no JoinGroup tells it.",
        lambda of: of.history.protocol_type,
    ),
    Column(
        "generation",
        BIGINT,
        "The generation, or group epoch, that it made.",
        lambda of: of.rebalance.generation,
    ),
    Column(
        "previous",
        BIGINT,
        "The one before; null where nothing tells it.",
        lambda of: of.rebalance.previous,
    ),
    Column(
        "time", TIMESTAMP, "The first that is known of it, UTC.", lambda of: of.time_ns // NS_PER_US
    ),
    Column("time_ns", BIGINT, "The same since 1970.", lambda of: of.time_ns, unit="ns"),
    Column(
        "started_ns",
        BIGINT,
        "Its first sign, since 1970; null if that was not seen.",
        lambda of: of.rebalance.started_ns,
        unit="ns",
    ),
    Column(
        "ended_ns",
        BIGINT,
        "When the last member that was seen had its assignment; null if none was.",
        lambda of: of.rebalance.ended_ns,
        unit="ns",
    ),
    Column(
        "duration_ns",
        BIGINT,
        "Between these two.",
        lambda of: of.rebalance.duration_ns,
        unit="ns",
    ),
    Column(
        "stopped_ns",
        BIGINT,
        "From the first JoinGroup to the last assignment: how long partitions that are given up to"
        " rebalance have no owner; null for groups other than classic.",
        lambda of: of.stopped_ns if of.history.type is GroupType.CLASSIC else None,
        unit="ns",
    ),
    Column(
        "cause",
        STRING,
        "What made the group rebalance, the first thing if several did: `member_joined`,"
        " `member_left`, `member_failed`, `poll_timeout`, `member_restarted`,"
        " `static_member_returned`, `subscription_changed`, `partitions_changed`,"
        " `assignor_changed`, `member_rejoined`, `coordinator_moved`, `group_emptied` or"
        " `unknown`.",
        lambda of: of.cause.cause.value,
    ),
    Column(
        "confidence",
        STRING,
        "`certain` where a client or a broker said so in bytes, `likely`, or `unknown`.",
        lambda of: of.cause.confidence.value,
    ),
    Column(
        "reason",
        STRING,
        "What the client gave as the reason (KIP-800).",
        lambda of: of.cause.reason,
    ),
    Column(
        "note", STRING, "Why kdiag says so where nobody did, in words.", lambda of: of.cause.note
    ),
    Column("member_id", STRING, "The member that caused it.", lambda of: of.cause.member_id),
    Column(
        "instance_id",
        STRING,
        "Its `group.instance.id`; null for a dynamic member.",
        lambda of: of.cause.instance_id,
    ),
    Column("client_id", STRING, "Its client id.", lambda of: of.cause.client_id),
    Column("client_host", STRING, "Its address.", lambda of: of.cause.client_host),
    Column(
        "software",
        STRING,
        "Name and version of its client (KIP-511).",
        lambda of: of.cause.software,
    ),
    Column(
        "packet",
        BIGINT,
        "The packet that shows the cause, from 1 over all inputs.",
        lambda of: of.packet,
    ),
    Column(
        "cause_kinds",
        STRINGS,
        "All causes by name, in order.",
        lambda of: [each.cause.value for each in of.rebalance.causes],
    ),
    Column(
        "causes",
        CAUSES,
        "All causes in full, in order.",
        lambda of: [_cause_cell(each) for each in of.rebalance.causes],
    ),
    Column(
        "member_count",
        INT,
        "How many members it left; null where nothing tells it.",
        lambda of: of.rebalance.member_count,
    ),
    Column(
        "phases",
        PHASES,
        "For each member that was seen what it did when, since 1970; `find_coordinator_ns` is a"
        " duration.",
        lambda of: [_phase_cell(each) for each in of.rebalance.phases.values()],
    ),
    Column(
        "slowest_member_id",
        STRING,
        "The member that joined last; null unless two were seen.",
        lambda of: of.slowest and of.slowest.phases.member_id,
    ),
    Column(
        "slowest_client_id",
        STRING,
        "Its client id.",
        lambda of: of.slowest and of.slowest.phases.client_id,
    ),
    Column(
        "slowest_client_host",
        STRING,
        "Its address.",
        lambda of: of.slowest and of.slowest.phases.client_host,
    ),
    Column(
        "slowest_wait_ns",
        BIGINT,
        "How long the others waited for it.",
        lambda of: of.slowest and of.slowest.wait_ns,
        unit="ns",
    ),
    Column(
        "moved_count",
        INT,
        "Partitions that changed hands; null where the assignments are not known.",
        lambda of: of.rebalance.moved and len(of.rebalance.moved.moves),
    ),
    Column(
        "partition_count",
        INT,
        "Of how many; null with it.",
        lambda of: of.rebalance.moved and of.rebalance.moved.partition_count,
    ),
    Column(
        "moved",
        MOVES,
        "These partitions with the members that had them and got them; null with it.",
        lambda of: _move_cells(of.rebalance),
    ),
    *_CLUSTER,
)

_MEMBER_COLUMNS: Final[tuple[Column[MemberFacts], ...]] = (
    Column("group_id", STRING, "The group.", lambda of: of.history.group),
    Column(
        "type",
        STRING,
        "`classic`, `consumer`, `share` or `streams`.",
        lambda of: of.history.type.value,
    ),
    Column("member_id", STRING, "The member.", lambda of: of.member.member_id),
    Column(
        "instance_id",
        STRING,
        "Its `group.instance.id`; null for a dynamic member.",
        lambda of: of.member.instance_id,
    ),
    Column("client_id", STRING, "Its client id.", lambda of: of.member.client_id),
    Column("client_host", STRING, "Its address.", lambda of: of.member.client_host),
    Column(
        "software",
        STRING,
        "Name and version of its client (KIP-511).",
        lambda of: of.member.software,
    ),
    Column(
        "first_time",
        TIMESTAMP,
        "When it was first seen, UTC.",
        lambda of: of.member.first_ns // NS_PER_US,
    ),
    Column("first_ns", BIGINT, "The same since 1970.", lambda of: of.member.first_ns, unit="ns"),
    Column(
        "last_time",
        TIMESTAMP,
        "When it was last seen, UTC.",
        lambda of: of.member.last_ns // NS_PER_US,
    ),
    Column("last_ns", BIGINT, "The same since 1970.", lambda of: of.member.last_ns, unit="ns"),
    Column(
        "generations",
        BIGINTS,
        "The generations, or epochs, in which it was seen.",
        lambda of: of.member.generations,
    ),
    Column(
        "session_timeout_ns",
        BIGINT,
        "The session timeout that it asked for; null where nothing tells it.",
        lambda of: of.member.session_timeout_ns or None,
        unit="ns",
    ),
    Column("port", INT, "The port of its last connection.", lambda of: of.member.port),
    Column(
        "back_ns",
        BIGINT,
        "When its process was first heard after it was removed, since 1970; null unless it was.",
        lambda of: of.member.back_ns,
        unit="ns",
    ),
    *_CLUSTER,
)

REBALANCES: Final = Table(
    "rebalances",
    "A change of generation of a classic group, or of the epoch of another.",
    ("group_id", "type", "generation", "time_ns"),
    _REBALANCE_COLUMNS,
)

MEMBERS: Final = Table(
    "members",
    "A member of a group that was seen; one that is started again is another.",
    ("group_id", "type", "member_id"),
    _MEMBER_COLUMNS,
)

_rebalance_cells = cells_of(_REBALANCE_COLUMNS)
_member_cells = cells_of(_MEMBER_COLUMNS)


class GroupRow(NamedTuple):
    """A row of a group.

    Attributes:
        table: its name.
        cells: of its columns.
        packet: a packet that it is from; None where it is from several.
    """

    table: str
    cells: tuple[Any, ...]
    packet: int | None


def group_rows(events: Iterable[Event]) -> Iterator[GroupRow]:
    """Yield the rows of all groups that some events tell of.

    Args:
        events: in the order of time, as captures have them.
    """
    for history in histories_of(events, "capture"):
        for rebalance in history.rebalances:
            facts = RebalanceFacts(history, rebalance, rebalance.slowest)
            yield GroupRow(REBALANCES.name, _rebalance_cells(facts), facts.packet)
        for member in history.members.values():
            yield GroupRow(MEMBERS.name, _member_cells(MemberFacts(history, member)), None)
