"""A scenario as plain data, in the words of its file.

    Scenario(
        name="member-dies",
        teaches="A member that dies is missed when its session is over.",
        clients=(Member(name="reader-1", group="billing", topic="orders"), ...),
        disturb=(Step(crash="reader-1"),),
        find=(WantedFinding(by="rebalance", cause="member_failed"),),
    )

Clients begin one after another, each once what it waits for has happened; then the steps of
`disturb` are taken in their order, and kdiag looks once `until` has come. Steps at the beginning of
`disturb` that wait for nothing are taken before the first client begins.

Source of the names of settings: Kafka's configuration of brokers, topics, consumers and producers.
"""

from typing import Annotated, Any, Literal

import msgspec

Count = Annotated[int, msgspec.Meta(ge=1, le=1_000_000)]
Setting = str | int | float | bool
Text = Annotated[str, msgspec.Meta(min_length=1, max_length=4_096)]
Name = Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$")]

MOST_DEADLINE_S = 600


class _Part(msgspec.Struct, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """A part of a scenario: a key that it does not have is an error."""


class GroupMoment(_Part, kw_only=True, frozen=True):
    """A group is as it is wanted.

    Attributes:
        name: of the group.
        members: how many it has; None for any number.
        state: as Kafka names it.
    """

    name: Name
    members: int | None = None
    state: str = "Stable"


class RequestMoment(_Part, kw_only=True, frozen=True):
    """Brokers have got requests.

    Attributes:
        api: the name of the API.
        client: the client id of who sent them; None for anybody's.
        count: how many, since the step or client before.
    """

    api: Name
    client: str | None = None
    count: Count = 1


class InSyncMoment(_Part, kw_only=True, frozen=True):
    """So many replicas of each partition of a topic are in sync.

    Attributes:
        topic: the topic.
        replicas: how many.
    """

    topic: Name
    replicas: int


class LabMoment(_Part, kw_only=True, frozen=True):
    """What has to happen before the next thing is done; all that is given must be so.

    Attributes:
        group: a group is as it is wanted.
        requests: brokers have got requests.
        ended: clients have ended.
        in_sync: replicas of a topic are in sync.
        fired: so often faults have happened in all.
    """

    group: GroupMoment | None = None
    requests: RequestMoment | None = None
    ended: tuple[Name, ...] = ()
    in_sync: InSyncMoment | None = None
    fired: int = 0


class LabTopic(_Part, kw_only=True, frozen=True):
    """A topic that is there from the beginning.

    Attributes:
        name: its name.
        partitions, replicas: how many.
        settings: as `min.insync.replicas`.
        seeded: so many records are in it.
    """

    name: Name
    partitions: Annotated[int, msgspec.Meta(ge=1, le=1_000)] = 1
    replicas: Annotated[int, msgspec.Meta(ge=1, le=9)] = 1
    settings: dict[str, Setting] = {}
    seeded: Annotated[int, msgspec.Meta(ge=0, le=100_000)] = 0


class _Client(_Part, kw_only=True, frozen=True):
    """What all clients have.

    Attributes:
        name: its client id, too.
        after: when it begins; None for at once.
        settings: of kdiag's client, by Kafka's names.
    """

    name: Name
    after: LabMoment | None = None
    settings: dict[str, Setting] = {}


class ProducerClient(_Client, kw_only=True, frozen=True, tag_field="kind", tag="producer"):
    """Writes records, and ends.

    Attributes:
        topic: where to.
        partition: the only one; None for all in turns.
        records: how many in all.
        per_request: how many in each Produce request.
        value_bytes: the size of a value.
        value: what each value repeats; random bytes without.
        compression: a codec.
        acks: -1 for all.
        pause_ms: between requests.
    """

    topic: Name
    partition: int | None = None
    records: Count = 1
    per_request: Count = 1
    value_bytes: Annotated[int, msgspec.Meta(ge=0, le=8_000_000)] = 100
    value: Text | None = None
    compression: Literal["none", "gzip", "snappy", "lz4", "zstd"] = "none"
    acks: Literal[-1, 0, 1] = -1
    pause_ms: Annotated[int, msgspec.Meta(ge=0, le=10_000)] = 0


class TransactionClient(_Client, kw_only=True, frozen=True, tag_field="kind", tag="transaction"):
    """Writes one transaction, and ends.

    Attributes:
        transactional_id: of the producer.
        topic, partition: where to.
        records: how many.
        timeout_ms: of the transaction.
        ends: how it ends; `open` leaves it.
    """

    transactional_id: Name
    topic: Name
    partition: int = 0
    records: Count = 1
    timeout_ms: Count = 60_000
    ends: Literal["commit", "abort", "open"] = "commit"


class MemberClient(_Client, kw_only=True, frozen=True, tag_field="kind", tag="member"):
    """Is a member of a group until it is told to go, or the scenario is over.

    Attributes:
        group: the group.
        topics: what it reads.
        protocol: the classic one, or that of KIP-848.
        instance_id: of a static member.
        assignors: of the classic protocol.
    """

    group: Name
    topics: tuple[Name, ...]
    protocol: Literal["classic", "consumer"] = "classic"
    instance_id: Name | None = None
    assignors: tuple[str, ...] = ("range",)


class ReaderClient(_Client, kw_only=True, frozen=True, tag_field="kind", tag="reader"):
    """Follows a topic from its beginning on, as `kdiag tail` does, until the scenario is over.

    Attributes:
        topic: the topic.
    """

    topic: Name


class RequestsClient(_Client, kw_only=True, frozen=True, tag_field="kind", tag="requests"):
    """Sends requests of one API, and ends.

    Attributes:
        api: its name.
        body: of each, in Kafka's JSON.
        version: of the request.
        to: a broker's number, any, controller, coordinator:GROUP, leader:TOPIC:PARTITION.
        times: how many.
        in_flight: how many are sent before the first is answered.
        pause_ms: between them.
    """

    api: Name
    version: Annotated[int, msgspec.Meta(ge=0, le=100)]
    body: dict[str, Any] = {}
    to: str = "any"
    times: Count = 1
    in_flight: Annotated[int, msgspec.Meta(ge=1, le=1_000)] = 1
    pause_ms: Annotated[int, msgspec.Meta(ge=0, le=10_000)] = 0


class CommandClient(_Client, kw_only=True, frozen=True, tag_field="kind", tag="command"):
    """Runs a program of somebody else's until it ends; `{bootstrap}` stands for the addresses.

    Attributes:
        command: the program and its arguments.
    """

    command: tuple[str, ...]


ScenarioClient = (
    ProducerClient
    | TransactionClient
    | MemberClient
    | ReaderClient
    | RequestsClient
    | CommandClient
)


class Step(_Part, kw_only=True, frozen=True):
    """Something that disturbs; one thing, or none to wait for `after` alone.

    Attributes:
        after: when; None for at once.
        fault: goes wrong from now on, in the grammar of `kdiag lab --fault`.
        heal: removes all faults.
        stop_node, kill_node, start_node: the number of a broker.
        join: a client that begins now.
        late_record: the name of a transaction, of which a record arrives only now, as it can with
            brokers before KIP-890.
        leave, crash, pause, resume: the name of a member, which does so.
        subscribe: the topics that a member reads from now on, by its name.
    """

    after: LabMoment | None = None
    fault: Text | None = None
    heal: bool = False
    stop_node: int | None = None
    kill_node: int | None = None
    start_node: int | None = None
    join: ScenarioClient | None = None
    late_record: Name | None = None
    leave: Name | None = None
    crash: Name | None = None
    pause: Name | None = None
    resume: Name | None = None
    subscribe: dict[Name, tuple[Name, ...]] = {}


class EvidenceBound(_Part, kw_only=True, frozen=True):
    """What a value must be.

    Attributes:
        min, max: of a number, both included.
        has: a part of a text, or an element of a list.
    """

    min: float | None = None
    max: float | None = None
    has: str | None = None


class WantedFinding(_Part, kw_only=True, frozen=True):
    """What must be found, and must not be without the disturbance.

    Attributes:
        by: what looks, by the name of kdiag's command.
        finding: the id of a finding.
        cause: of a rebalance; instead of a finding.
        notice: the kind of what readers were told, such as `removed`; likewise.
        group: asked about by name, where the look takes groups.
        topic: likewise.
        evidence: what it must tell: equal values, or bounds.
    """

    by: Literal[
        "check", "decode", "find-coordinator", "groups", "latency", "rebalance", "tail", "txn"
    ]
    finding: Annotated[str, msgspec.Meta(pattern=r"^KD\d{4}$")] | None = None
    cause: str | None = None
    notice: str | None = None
    group: Name | None = None
    topic: Name | None = None
    evidence: dict[str, EvidenceBound | Setting] = {}

    @property
    def kind(self) -> str:
        """Return the one of finding, cause and notice that is given."""
        return self.finding or self.cause or self.notice or ""


class Scenario(_Part, kw_only=True, frozen=True):
    """A scenario.

    Attributes:
        name: of the scenario.
        teaches: what one learns from it, in a sentence or two.
        nodes: how many brokers.
        release: the Kafka release that they speak as.
        settings: of the brokers.
        topics: that are there from the beginning.
        clients: in the order in which they begin.
        disturb: what goes wrong.
        until: when kdiag looks; None for once all clients have ended that end by themselves.
        find: what it must find.
        deadline_s: how long all of it may take.
    """

    name: Name
    teaches: Text
    nodes: Annotated[int, msgspec.Meta(ge=1, le=9)] = 1
    release: str | None = None
    settings: dict[str, int] = {}
    topics: tuple[LabTopic, ...] = ()
    clients: tuple[ScenarioClient, ...] = ()
    disturb: tuple[Step, ...] = ()
    until: LabMoment | None = None
    find: Annotated[tuple[WantedFinding, ...], msgspec.Meta(min_length=1)]
    deadline_s: Annotated[int, msgspec.Meta(ge=1, le=MOST_DEADLINE_S)] = 60
