"""What members of groups ask and are told, in order of time: what the state machines take.

Adapters make these of captures; every event has the moment at which it happened, the group, and
where the source shows it. What coordinators wrote about groups is a `GroupRecord`.
"""

from typing import Any, Final, NamedTuple

from kdiag.diagnosis.rebalance.model import EvidencePlace, GroupType


class Client(NamedTuple):
    """Who sent a request.

    Attributes:
        client_id, host, software: as far as they are known.
        connection: names its connection within the source.
        port: of its end of that.
        broker: the address of the other end.
        cluster: the id of the cluster; None where the source has one, or that is not known.
    """

    client_id: str | None
    host: str | None
    software: str | None
    connection: str | None = None
    port: int | None = None
    broker: str | None = None
    cluster: str | None = None


class Subscription(NamedTuple):
    """What a member of a classic group wants.

    Attributes:
        topics: of its first protocol; None if that is no subscription of consumers.
        assignors: the names of its protocols, in its order of preference.
    """

    topics: frozenset[str] | None
    assignors: tuple[str, ...]


class JoinAsked(NamedTuple):
    """A member asked to join (JoinGroup).

    Attributes:
        member_id: empty for one that has none yet.
        session_timeout_ns, rebalance_timeout_ns: what it asked for; the latter is a consumer's
            max.poll.interval.ms.
    """

    at_ns: int
    group: str
    evidence: EvidencePlace
    client: Client
    member_id: str
    instance_id: str | None
    protocol_type: str
    subscription: Subscription
    session_timeout_ns: int
    rebalance_timeout_ns: int
    reason: str | None


class JoinAnswered(NamedTuple):
    """The coordinator answered a JoinGroup.

    Attributes:
        asked: the request.
        error: Kafka's name; None for success.
        generation: -1 with an error.
        members: instance ids by id of all members, which the leader alone is told.
    """

    at_ns: int
    group: str
    evidence: EvidencePlace
    asked: JoinAsked
    error: str | None
    member_id: str
    generation: int
    leader: str
    members: dict[str, str | None] | None


class SyncAsked(NamedTuple):
    """A member asked for its assignment (SyncGroup).

    Attributes:
        assignments: the partitions of each member, which the leader sends; None from others.
    """

    at_ns: int
    group: str
    evidence: EvidencePlace
    client: Client
    member_id: str
    generation: int
    assignments: dict[str, frozenset[tuple[str, int]]] | None


class SyncAnswered(NamedTuple):
    """The coordinator answered a SyncGroup."""

    at_ns: int
    group: str
    evidence: EvidencePlace
    client: Client
    member_id: str
    generation: int
    error: str | None


class Beat(NamedTuple):
    """A member's heartbeat or commit was answered, or not seen to be answered.

    Attributes:
        error: Kafka's name; None for success.
        is_answered: whether the answer was seen.
        is_heartbeat: whether it was a heartbeat; commits tell the generation as well.
        asked_ns: when it was sent; `at_ns` is the moment of the answer.
        instance_id: of a static member.
    """

    at_ns: int
    group: str
    evidence: EvidencePlace
    client: Client
    member_id: str
    generation: int
    error: str | None
    is_answered: bool
    is_heartbeat: bool = True
    asked_ns: int = 0
    instance_id: str | None = None


class Leaving(NamedTuple):
    """A member left (LeaveGroup).

    Attributes:
        is_confirmed: whether the coordinator's consent was seen.
        refusal: the error with which the coordinator refused; None without one.
    """

    at_ns: int
    group: str
    evidence: EvidencePlace
    client: Client
    member_id: str
    instance_id: str | None
    reason: str | None
    is_confirmed: bool
    refusal: str | None


class EpochBeat(NamedTuple):
    """A member of a consumer, share or streams group sent its heartbeat.

    Attributes:
        sent_ns: when; `at_ns` is the moment of the answer.
        sent_epoch: 0 joins, -1 leaves, -2 leaves for now.
        epoch: what the coordinator answered; None without an answer.
        topics: what the member subscribed to, where the request says so; patterns count too.
        owned, assigned: partitions, where the request or the answer says so.
        interval_ns: how long the coordinator has it wait until the next one; 0 without an answer.
    """

    at_ns: int
    group: str
    evidence: EvidencePlace
    type: GroupType
    client: Client
    member_id: str
    instance_id: str | None
    sent_ns: int
    sent_epoch: int
    epoch: int | None
    error: str | None
    topics: frozenset[str] | None
    assignor: str | None
    owned: frozenset[tuple[str, int]] | None
    assigned: frozenset[tuple[str, int]] | None
    interval_ns: int = 0


class CoordinatorFound(NamedTuple):
    """A client was told who coordinates a group."""

    at_ns: int
    group: str
    evidence: EvidencePlace
    client: Client
    took_ns: int


class FetchBegan(NamedTuple):
    """A client fetched for the first time since its member had an assignment."""

    at_ns: int
    group: str
    evidence: EvidencePlace
    client: Client


class FetchesPaused(NamedTuple):
    """A connection of a client with a member in the group carried no fetch for a while.

    Attributes:
        at_ns: when the last one before that was sent.
        until_ns: when the next one was sent; None if there was none.
    """

    at_ns: int
    group: str
    evidence: EvidencePlace
    client: Client
    until_ns: int | None


class PartitionsSeen(NamedTuple):
    """Metadata told another number of partitions of a topic than before.

    Attributes:
        group: empty, it concerns all groups of the cluster.
        cluster: as that of a client.
    """

    at_ns: int
    group: str
    evidence: EvidencePlace
    topic: str
    before: int
    after: int
    cluster: str | None = None


Event = (
    JoinAsked
    | JoinAnswered
    | SyncAsked
    | SyncAnswered
    | Beat
    | Leaving
    | EpochBeat
    | CoordinatorFound
    | FetchBegan
    | FetchesPaused
    | PartitionsSeen
)


class GroupRecord(NamedTuple):
    """A record about a group in `__consumer_offsets`, or what a look at the group makes of it.

    Attributes:
        at_ns: its timestamp, since 1970.
        name: Kafka's, such as `GroupMetadata` or `ConsumerGroupMemberMetadata`, or `MEMBER_SEEN`.
        member_id: of the key; empty for what is about the whole group.
        value: the message; None for a tombstone.
    """

    at_ns: int
    group: str
    evidence: EvidencePlace
    name: str
    member_id: str
    value: Any


MEMBER_SEEN: Final = "GroupMember"
"""The name of a record that only looks make: a classic group had a member while it rebalanced."""
