"""Rebalances as values: who or what caused each, how sure that is, and how it went.

A rebalance is a change of generation (classic groups) or of group epoch (the others). What a source
cannot tell is None, or the cause `unknown`; nothing is guessed and then called certain.
"""

from collections.abc import Sequence
from enum import StrEnum
from typing import Final, NamedTuple

import msgspec
import msgspec.structs

from kdiag.clock import NS_PER_S
from kdiag.diagnosis.rebalance.moves import Moved


class GroupType(StrEnum):
    """The four kinds of groups."""

    CLASSIC = "classic"
    CONSUMER = "consumer"
    SHARE = "share"
    STREAMS = "streams"


class CauseKind(StrEnum):
    """What made a group rebalance."""

    MEMBER_JOINED = "member_joined"
    MEMBER_LEFT = "member_left"
    MEMBER_FAILED = "member_failed"
    """Its session expired."""
    POLL_TIMEOUT = "poll_timeout"
    """It left by itself, as its program did not poll within max.poll.interval.ms."""
    MEMBER_RESTARTED = "member_restarted"
    """A new member with the client id and host of one that has gone."""
    STATIC_MEMBER_RETURNED = "static_member_returned"
    SUBSCRIPTION_CHANGED = "subscription_changed"
    PARTITIONS_CHANGED = "partitions_changed"
    ASSIGNOR_CHANGED = "assignor_changed"
    MEMBER_REJOINED = "member_rejoined"
    """A known member joined again, for no reason in this list, or one that had been removed."""
    COORDINATOR_MOVED = "coordinator_moved"
    GROUP_EMPTIED = "group_emptied"
    UNKNOWN = "unknown"


class Confidence(StrEnum):
    """How sure a cause is: `certain` only where a broker or a client said so in bytes."""

    CERTAIN = "certain"
    LIKELY = "likely"
    UNKNOWN = "unknown"


class EvidencePlace(NamedTuple):
    """Where a source says something.

    Attributes:
        kind: `packet` (a number from 1), `offset` (of a record) or `line` (a number from 1).
        file: the capture, log or partition; None where packets are numbered over several.
        at: the number.
    """

    kind: str
    file: str | None
    at: int


class RebalanceCause(msgspec.Struct, frozen=True, kw_only=True):
    """One of the things that happened before a rebalance was over.

    Attributes:
        cause: what happened.
        confidence: how sure that is.
        at_ns: when, since 1970.
        member_id, instance_id, client_id, client_host, software: of the member that did it; None
            where no member did, or the source does not tell.
        reason: what the client or the broker gave as the reason, as sent (KIP-800).
        note: why kdiag says so where nobody did, in words.
        evidence: where the source says it.
        silent_ns: when a member that failed was last heard, since 1970.
    """

    cause: CauseKind
    confidence: Confidence
    at_ns: int
    member_id: str | None = None
    instance_id: str | None = None
    client_id: str | None = None
    client_host: str | None = None
    software: str | None = None
    reason: str | None = None
    note: str | None = None
    evidence: tuple[EvidencePlace, ...] = ()
    silent_ns: int | None = None


class Phases(msgspec.Struct, kw_only=True):
    """What one member did in a rebalance, and when; None for what was not seen.

    Attributes:
        member_id, client_id, client_host: the member.
        find_coordinator_ns: how long it took to be told the coordinator.
        asked_ns: when its JoinGroup request was sent (or its heartbeat that first told of the
            epoch), since 1970.
        joined_ns: when that was answered.
        synced_ns: when it had its assignment.
        first_heartbeat_ns, first_fetch_ns: when it first did so behind that.
        told_ns: when it sent the heartbeat whose answer had it join again; None, too, where brokers
            held it up after that.
        beat_gap_ns: how long before that heartbeat it had sent the last one.
    """

    member_id: str
    client_id: str | None = None
    client_host: str | None = None
    find_coordinator_ns: int | None = None
    asked_ns: int | None = None
    joined_ns: int | None = None
    synced_ns: int | None = None
    first_heartbeat_ns: int | None = None
    first_fetch_ns: int | None = None
    told_ns: int | None = None
    beat_gap_ns: int | None = None


class Slowest(NamedTuple):
    """The member that joined last, and how long the others waited for it.

    Attributes:
        phases: the member.
        wait_ns: from the join before its own to its own.
    """

    phases: Phases
    wait_ns: int

    @property
    def program_ns(self) -> int | None:
        """Return how long of that it knew that it was to join; None where that was not seen.

        The rest it spent before the heartbeat with which it learned of the rebalance.
        """
        told_ns, asked_ns = self.phases.told_ns, self.phases.asked_ns
        if told_ns is None or asked_ns is None:
            return None
        return min(self.wait_ns, asked_ns - told_ns)


class Rebalance(msgspec.Struct, kw_only=True):
    """One change of generation or group epoch.

    Attributes:
        generation: the generation or epoch that it made.
        previous: the one before; None where the source does not say.
        causes: all that happened before it was over, in order; never empty.
        started_ns: its first sign; None if that is not in the source.
        ended_ns: when the last member that was seen had its assignment.
        phases: by member, in the order in which they joined.
        member_count: how many members it left; None where the source does not say.
        moved: None where the assignments before or after are not known.
        is_told: whether the source told its generation; else that was counted on from the last one.
    """

    generation: int
    previous: int | None = None
    causes: list[RebalanceCause]
    started_ns: int | None = None
    ended_ns: int | None = None
    phases: dict[str, Phases] = {}
    member_count: int | None = None
    moved: Moved | None = None
    is_told: bool = True

    @property
    def cause(self) -> RebalanceCause:
        """Return the first of the causes."""
        return self.causes[0]

    @property
    def duration_ns(self) -> int | None:
        """Return the time from its first sign to its end."""
        if self.started_ns is None or self.ended_ns is None:
            return None
        return max(0, self.ended_ns - self.started_ns)

    @property
    def slowest(self) -> Slowest | None:
        """Return the member that joined last; None unless two were seen."""
        seen = [(each.asked_ns, each) for each in self.phases.values() if each.asked_ns is not None]
        if len(seen) < _FEWEST_TO_COMPARE:
            return None
        (before_ns, _), (last_ns, last) = sorted(seen, key=lambda pair: pair[0])[-2:]
        return Slowest(last, last_ns - before_ns)


_FEWEST_TO_COMPARE: Final = 2


class GroupMember(msgspec.Struct, kw_only=True):
    """A member of a group, as far as it was seen.

    Attributes:
        member_id, instance_id, client_id, client_host, software: the member.
        first_ns, last_ns: when it was first and last seen.
        generations: those in which it was seen.
        session_timeout_ns: what it asked for; 0 where the source does not tell.
        port: of its last connection; None where the source does not say.
        back_ns: when its process was first heard after it was removed, since 1970; None unless it
            was.
        fenced_ns: when it was first answered that another member has its instance id, since 1970;
            None unless it was.
    """

    member_id: str
    instance_id: str | None = None
    client_id: str | None = None
    client_host: str | None = None
    software: str | None = None
    first_ns: int
    last_ns: int
    generations: list[int] = []
    session_timeout_ns: int = 0
    port: int | None = None
    back_ns: int | None = None
    fenced_ns: int | None = None

    def cause(
        self, kind: CauseKind, confidence: Confidence, at_ns: int, note: str
    ) -> RebalanceCause:
        """Return a cause of this member that no request of its own shows.

        Args:
            kind: what happened.
            confidence: how sure that is.
            at_ns: when, since 1970.
            note: why kdiag says so.
        """
        return RebalanceCause(
            cause=kind,
            confidence=confidence,
            at_ns=at_ns,
            member_id=self.member_id,
            instance_id=self.instance_id,
            client_id=self.client_id,
            client_host=self.client_host,
            software=self.software,
            note=note,
        )


class Refusals(msgspec.Struct):
    """What the coordinator refused the members of a group.

    Attributes:
        commits: how many commits, by error.
        fenced: how often a static member was told that another one has its instance id.
        unknown: how often a member was told that it is none (any more), by its id.
        coordinator: when a broker did not coordinate the group, or not yet, by error: the latest.
        joins: how often a client was not let in for what it asked for: by error, what that was, and
            the client's id and host.
    """

    commits: dict[str, int] = {}
    fenced: dict[str, int] = {}
    unknown: dict[str, int] = {}
    coordinator: dict[str, list[int]] = {}
    joins: dict[tuple[str, str, str | None, str | None], int] = {}

    def note_lost_coordinator(self, error: str, at_ns: int) -> bool:
        """Note an error if it says that the broker does not coordinate the group (yet)."""
        is_lost = error in _NO_COORDINATOR
        if is_lost:
            times_ns = self.coordinator.setdefault(error, [])
            times_ns.append(at_ns)
            del times_ns[:-_MOST_TIMES]
        return is_lost

    def note_join(
        self,
        error: str,
        assignors: Sequence[str],
        session_timeout_ns: int,
        client: tuple[str | None, str | None],
    ) -> None:
        """Count the error of a JoinGroup if it is for what the client asked for.

        Args:
            error: Kafka's name.
            assignors: what the client asked for.
            session_timeout_ns: likewise.
            client: its id and host.
        """
        if error in NOT_LET_IN:
            seconds = session_timeout_ns / NS_PER_S
            asked = f"assignors {'/'.join(assignors) or 'none'}, session.timeout.ms {seconds:g} s"
            place = (error, asked, *client)
            self.joins[place] = self.joins.get(place, 0) + 1

    def note_commit(self, error: str) -> None:
        """Count the error of a commit."""
        self.commits[error] = self.commits.get(error, 0) + 1

    def note_member(self, error: str, member: GroupMember, at_ns: int) -> None:
        """Count an error if it says that a member is none any more."""
        instance = member.instance_id
        if error == FENCED and instance is not None:
            self.fenced[instance] = self.fenced.get(instance, 0) + 1
            member.fenced_ns = min(member.fenced_ns or at_ns, at_ns)
        if error == UNKNOWN:
            self.unknown[member.member_id] = self.unknown.get(member.member_id, 0) + 1


_MOST_TIMES: Final = 10_000
FENCED: Final = "FENCED_INSTANCE_ID"
UNKNOWN: Final = "UNKNOWN_MEMBER_ID"
NOT_LET_IN: Final = frozenset(
    {"INCONSISTENT_GROUP_PROTOCOL", "INVALID_SESSION_TIMEOUT", "GROUP_MAX_SIZE_REACHED"}
)
"""The errors of a JoinGroup that are for what it asks for."""

_NO_COORDINATOR: Final = frozenset(
    {"NOT_COORDINATOR", "COORDINATOR_NOT_AVAILABLE", "COORDINATOR_LOAD_IN_PROGRESS"}
)


class GroupHistory(msgspec.Struct, kw_only=True):
    """The rebalances of one group, from one source or several.

    Attributes:
        group: its id.
        type: its kind.
        protocol_type: `consumer`, `connect`, ...; None where the source does not say.
        source: `capture`, `offsets` or `log`, or several with commas.
        rebalances: in order.
        members: by id.
        refusals: what its members were refused.
        cluster: the id of its cluster; None where the source has one, or does not say.
        coordinator: the address of the broker that its members asked last, if it has a cluster.
    """

    group: str
    type: GroupType
    protocol_type: str | None = None
    source: str
    rebalances: list[Rebalance] = []
    members: dict[str, GroupMember] = {}
    refusals: Refusals = msgspec.field(default_factory=Refusals)
    cluster: str | None = None
    coordinator: str | None = None

    @property
    def worked_ns(self) -> int | None:
        """Return when a member was first seen in the group; None if none was.

        A group that begins in the source works from its first generation on.
        """
        if self.rebalances and self.rebalances[0].previous is None:
            phases = self.rebalances[0].phases.values()
            return min((each.joined_ns for each in phases if each.joined_ns), default=None)
        return min((each.first_ns for each in self.members.values()), default=None)

    @property
    def cluster_text(self) -> str:
        """Return its cluster by name, if there are others: ` of cluster A (10.0.0.1:9092)`."""
        return "" if self.cluster is None else f" of cluster {self.cluster} ({self.coordinator})"

    @property
    def member_count(self) -> int:
        """Return how many members it had; a static one has another id after each start."""
        return len({each.instance_id or (each.member_id,) for each in self.members.values()})


_MOST_UNSEEN: Final = 50


def unseen_rebalances(generations: range, at_ns: int, note: str) -> list[Rebalance]:
    """Return rebalances of which nothing is known, one by one up to the last fifty.

    Args:
        generations: those that they made.
        at_ns: when the next one is told.
        note: why nothing is known.
    """
    cause = RebalanceCause(
        cause=CauseKind.UNKNOWN, confidence=Confidence.UNKNOWN, at_ns=at_ns, note=note
    )
    return [
        Rebalance(generation=each, previous=each - 1, causes=[cause], phases={})
        for each in generations[-_MOST_UNSEEN:]
    ]


def less_sure(cause: RebalanceCause, note: str) -> RebalanceCause:
    """Return a cause that is at most likely; the note says why unless there is one already."""
    if cause.confidence is not Confidence.CERTAIN:
        return cause
    return msgspec.structs.replace(cause, confidence=Confidence.LIKELY, note=cause.note or note)
