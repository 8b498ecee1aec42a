"""An exchange becomes what it tells of groups: what members asked, and what they were told.

It depends on this exchange alone, so that any machine can read any of them. What takes several,
such as the software of a client, or that a topic has more partitions than before, is told as a
fact of this one: see `CaptureEvents`.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final, NamedTuple

from kdiag.diagnosis.rebalance.events import (
    Beat,
    Client,
    CoordinatorFound,
    EpochBeat,
    Event,
    JoinAnswered,
    JoinAsked,
    Leaving,
    Subscription,
    SyncAnswered,
    SyncAsked,
)
from kdiag.diagnosis.rebalance.model import EvidencePlace, GroupType
from kdiag.exchange.context.broker_ids import NAMING_BROKERS
from kdiag.exchange.context.clusters import NamedBrokers, named_brokers
from kdiag.exchange.dissection import Dissection
from kdiag.exchange.embedded import read_assignment, read_subscription
from kdiag.exchange.model import Connection, Exchange, Status
from kdiag.wire import api_keys
from kdiag.wire.error_code import error_name
from kdiag.wire.frame import Frame
from kdiag.wire.primitives import uuid_text

_GROUP_KEY_TYPE: Final = 0
_MS: Final = 1_000_000
Partitions = frozenset[tuple[str, int]]


class PartitionCount(NamedTuple):
    """Metadata of a broker says how many partitions a topic has."""

    at_ns: int
    evidence: EvidencePlace
    topic: str
    partition_count: int
    connection: str | None = None
    broker: str | None = None


class BrokersSeen(NamedTuple):
    """A broker named who is in its cluster."""

    at_ns: int
    evidence: EvidencePlace
    named: NamedBrokers


class SoftwareSeen(NamedTuple):
    """A client told its software, name and version (KIP-511)."""

    at_ns: int
    evidence: EvidencePlace
    connection_id: str
    software: str


OfAll = PartitionCount | SoftwareSeen | BrokersSeen
"""What concerns all groups."""

Fact = Event | PartitionCount | SoftwareSeen | BrokersSeen


class GroupSighting(NamedTuple):
    """A fact, and where it stands among all those of a recording.

    Attributes:
        at_ns, packet: when, and in which packet; the same in every run.
        correlation_id: of the exchange: of two frames in one packet the first has the lower one.
        place: among several facts of an exchange.
        fact: what was seen.
    """

    at_ns: int
    packet: int
    correlation_id: int
    place: int
    fact: Fact

    @property
    def order(self) -> tuple[int, int, int, int]:
        """Return the key to sort sightings by."""
        return self[:4]


def tells(exchange: Exchange) -> bool:
    """Return whether an exchange may tell anything of groups, without decoding it."""
    return exchange.api_key in _READERS


def names_brokers(exchange: Exchange) -> bool:
    """Return whether an exchange may name the brokers of a cluster."""
    return exchange.api_key in NAMING_BROKERS


def brokers_in(dissection: Dissection) -> list[GroupSighting]:
    """Return which brokers an exchange names."""
    return [_sighting(dissection.exchange, 0, fact) for fact in _brokers(dissection)]


def is_of_group(exchange: Exchange) -> bool:
    """Return whether an exchange is about membership."""
    return exchange.api_key in _OF_GROUPS


def sightings_of(dissection: Dissection) -> list[GroupSighting] | None:
    """Return what an exchange tells; None if it tells, but its request cannot be read."""
    exchange, request = dissection.exchange, dissection.request
    read = _READERS.get(exchange.api_key if exchange.api_key is not None else -1)
    if read is None:
        return []
    if request is None or request.status is not Status.OK or request.message is None:
        return None
    facts = read(dissection, request.message)
    return [_sighting(exchange, index, fact) for index, fact in enumerate(facts)]


def _sighting(exchange: Exchange, index: int, fact: Fact) -> GroupSighting:
    return GroupSighting(fact.at_ns, fact.evidence.at, exchange.correlation_id or 0, index, fact)


def host_of(address: str) -> str:
    """Return an address without its port, IPv6 without brackets."""
    return address.rpartition(":")[0].strip("[]")


def _answer(dissection: Dissection) -> Any | None:
    """Return the response's message; None if it was not seen or is not readable."""
    response = dissection.response
    if response is None or response.status is not Status.OK:
        return None
    return response.message


def _join(dissection: Dissection, request: Any) -> Iterator[Event]:
    exchange = dissection.exchange
    asked = JoinAsked(
        at_ns=_asked_ns(dissection),
        group=request.group_id,
        evidence=_evidence(exchange.request),
        client=_client(exchange.connection, exchange.client_id),
        member_id=request.member_id,
        instance_id=request.group_instance_id,
        protocol_type=request.protocol_type,
        subscription=_subscription(request.protocols),
        session_timeout_ns=request.session_timeout_ms * _MS,
        rebalance_timeout_ns=request.rebalance_timeout_ms * _MS,
        reason=request.reason or None,
    )
    yield asked
    answer = _answer(dissection)
    if answer is None:
        return
    members = {each.member_id: each.group_instance_id for each in answer.members}
    yield JoinAnswered(
        at_ns=exchange.end_ns,
        group=request.group_id,
        evidence=_evidence(exchange.response),
        asked=asked,
        error=_error(answer.error_code),
        member_id=answer.member_id,
        generation=answer.generation_id,
        leader=answer.leader,
        members=members or None,
    )


def _sync(dissection: Dissection, request: Any) -> Iterator[Event]:
    exchange = dissection.exchange
    client = _client(exchange.connection, exchange.client_id)
    common = (request.group_id, _evidence(exchange.request), client, request.member_id)
    shares = {each.member_id: _assignment(each.assignment) for each in request.assignments}
    known = {member: share for member, share in shares.items() if share is not None}
    yield SyncAsked(
        _asked_ns(dissection),
        *common,
        request.generation_id,
        known if known and len(known) == len(shares) else None,
    )
    answer = _answer(dissection)
    if answer is not None:
        error = _error(answer.error_code)
        yield SyncAnswered(exchange.end_ns, *common, request.generation_id, error)


def _heartbeat(dissection: Dissection, request: Any) -> Iterator[Event]:
    yield _beat(dissection, request, request.generation_id, is_heartbeat=True)


def _commit(dissection: Dissection, request: Any) -> Iterator[Event]:
    if request.member_id and request.generation_id_or_member_epoch >= 0:
        generation = request.generation_id_or_member_epoch
        yield _beat(dissection, request, generation, is_heartbeat=False)


def _beat(dissection: Dissection, request: Any, generation: int, *, is_heartbeat: bool) -> Beat:
    exchange = dissection.exchange
    answer = _answer(dissection)
    return Beat(
        at_ns=_asked_ns(dissection) if answer is None else exchange.end_ns,
        group=request.group_id,
        evidence=_evidence(exchange.response if answer else exchange.request),
        client=_client(exchange.connection, exchange.client_id),
        member_id=request.member_id,
        generation=generation,
        error=None if answer is None else _error(dissection.error_code),
        is_answered=answer is not None,
        is_heartbeat=is_heartbeat,
        asked_ns=_asked_ns(dissection),
        instance_id=request.group_instance_id,
    )


def _leave(dissection: Dissection, request: Any) -> Iterator[Event]:
    exchange = dissection.exchange
    answer = _answer(dissection)
    refusals: dict[str, int] = {}
    if answer is not None:
        refusals = {each.member_id: each.error_code for each in answer.members}
    leavers = [(each.member_id, each.group_instance_id, each.reason) for each in request.members]
    for member_id, instance_id, reason in leavers or [(request.member_id, None, None)]:
        code = 0 if answer is None else answer.error_code or refusals.get(member_id, 0)
        yield Leaving(
            at_ns=_asked_ns(dissection) if answer is None else exchange.end_ns,
            group=request.group_id,
            evidence=_evidence(exchange.request),
            client=_client(exchange.connection, exchange.client_id),
            member_id=member_id,
            instance_id=instance_id,
            reason=reason or None,
            is_confirmed=answer is not None and code == 0,
            refusal=_error(code),
        )


def _consumer_beat(dissection: Dissection, request: Any) -> Iterator[Event]:
    topics = request.subscribed_topic_names
    pattern = request.subscribed_topic_regex
    wanted = None
    if topics is not None or pattern is not None:
        wanted = frozenset([*(topics or ()), *([f"/{pattern}/"] if pattern else ())])
    yield _epoch_beat(
        dissection,
        request,
        GroupType.CONSUMER,
        topics=wanted,
        owned=_by_id(request.topic_partitions),
    )


def _share_beat(dissection: Dissection, request: Any) -> Iterator[Event]:
    topics = request.subscribed_topic_names
    wanted = None if topics is None else frozenset(topics)
    yield _epoch_beat(dissection, request, GroupType.SHARE, topics=wanted, owned=None)


def _streams_beat(dissection: Dissection, request: Any) -> Iterator[Event]:
    topology = request.topology
    wanted = None
    if topology is not None:
        wanted = frozenset(topic for part in topology.subtopologies for topic in part.source_topics)
    owned = _tasks(request.active_tasks)
    yield _epoch_beat(dissection, request, GroupType.STREAMS, topics=wanted, owned=owned)


def _epoch_beat(
    dissection: Dissection,
    request: Any,
    group_type: GroupType,
    *,
    topics: frozenset[str] | None,
    owned: Partitions | None,
) -> EpochBeat:
    exchange = dissection.exchange
    answer = _answer(dissection)
    error = None if answer is None else _error(answer.error_code)
    assigned = None
    if answer is not None and group_type is GroupType.STREAMS:
        assigned = _tasks(answer.active_tasks)
    elif answer is not None and answer.assignment is not None:
        assigned = _by_id(answer.assignment.topic_partitions)
    return EpochBeat(
        at_ns=_asked_ns(dissection) if answer is None else exchange.end_ns,
        group=request.group_id,
        evidence=_evidence(exchange.request),
        type=group_type,
        client=_client(exchange.connection, exchange.client_id),
        member_id=(answer and answer.member_id) or request.member_id,
        instance_id=getattr(request, "instance_id", None),
        sent_ns=_asked_ns(dissection),
        sent_epoch=request.member_epoch,
        epoch=answer.member_epoch if answer is not None and error is None else None,
        error=error,
        topics=topics,
        assignor=getattr(request, "server_assignor", None),
        owned=owned,
        assigned=assigned,
        interval_ns=0 if answer is None else answer.heartbeat_interval_ms * _MS,
    )


def _by_id(topics: Iterable[Any] | None) -> Partitions | None:
    """Return partitions with the ids of their topics: their names may be told later."""
    if topics is None:
        return None
    return frozenset(
        (uuid_text(each.topic_id), number) for each in topics for number in each.partitions
    )


def _brokers(dissection: Dissection, _: Any = None) -> Iterator[BrokersSeen]:
    exchange, answer = dissection.exchange, _answer(dissection)
    if answer is not None:
        connection = exchange.connection
        named = named_brokers(connection.connection_id, connection.broker, answer)
        if named.brokers:
            yield BrokersSeen(exchange.end_ns, _evidence(exchange.response), named)


def _found(dissection: Dissection, request: Any) -> Iterator[Event | BrokersSeen]:
    exchange = dissection.exchange
    yield from _brokers(dissection)
    answer, took_ns = _answer(dissection), exchange.latency_ns
    if answer is None or took_ns is None or request.key_type != _GROUP_KEY_TYPE:
        return
    answers = answer.coordinators or [answer]
    for key, each in zip(request.coordinator_keys or [request.key], answers, strict=False):
        if each.error_code == 0:
            client = _client(exchange.connection, exchange.client_id)
            evidence = _evidence(exchange.response)
            yield CoordinatorFound(exchange.end_ns, key, evidence, client, took_ns)


def _metadata(dissection: Dissection, _: Any) -> Iterator[PartitionCount | BrokersSeen]:
    answer = _answer(dissection)
    yield from _brokers(dissection)
    for topic in answer.topics if answer is not None else ():
        if topic.name and not topic.error_code:
            exchange = dissection.exchange
            evidence, connection = _evidence(exchange.response), exchange.connection
            yield PartitionCount(
                exchange.end_ns,
                evidence,
                topic.name,
                len(topic.partitions),
                connection.connection_id,
                connection.broker,
            )


def _api_versions(dissection: Dissection, request: Any) -> Iterator[SoftwareSeen]:
    words = (request.client_software_name, request.client_software_version)
    if request.client_software_name:
        connection_id = dissection.exchange.connection.connection_id
        evidence = _evidence(dissection.exchange.request)
        yield SoftwareSeen(_asked_ns(dissection), evidence, connection_id, " ".join(words))


def _client(connection: Connection, client_id: str | None) -> Client:
    port = connection.client.rpartition(":")[2]
    return Client(
        client_id,
        host_of(connection.client),
        None,
        connection.connection_id,
        int(port) if port.isdecimal() else None,
        connection.broker,
    )


def _evidence(frame: Frame | None) -> EvidencePlace:
    return EvidencePlace("packet", None, 0 if frame is None else frame.first_packet)


def _asked_ns(dissection: Dissection) -> int:
    frame = dissection.exchange.request
    assert frame is not None
    return frame.last_byte_ns


def _error(code: int) -> str | None:
    return error_name(code) if code else None


def _subscription(protocols: list[Any]) -> Subscription:
    topics = None
    if protocols:
        found = read_subscription(protocols[0].metadata)
        topics = frozenset(found.message.topics) if found is not None else None
    return Subscription(topics, tuple(each.name for each in protocols))


def _assignment(data: bytes) -> Partitions | None:
    if not data:
        return frozenset()
    found = read_assignment(data)
    if found is None:
        return None
    return frozenset(
        (each.topic, number)
        for each in found.message.assigned_partitions
        for number in each.partitions
    )


def _tasks(tasks: list[Any] | None) -> Partitions | None:
    """Return the tasks of a streams group: subtopologies stand for topics."""
    if tasks is None:
        return None
    return frozenset((each.subtopology_id, number) for each in tasks for number in each.partitions)


_Reader = Callable[[Dissection, Any], Iterator[Fact]]
_READERS: Final[dict[int, _Reader]] = {
    api_keys.JOIN_GROUP: _join,
    api_keys.SYNC_GROUP: _sync,
    api_keys.HEARTBEAT: _heartbeat,
    api_keys.OFFSET_COMMIT: _commit,
    api_keys.LEAVE_GROUP: _leave,
    api_keys.CONSUMER_GROUP_HEARTBEAT: _consumer_beat,
    api_keys.SHARE_GROUP_HEARTBEAT: _share_beat,
    api_keys.STREAMS_GROUP_HEARTBEAT: _streams_beat,
    api_keys.FIND_COORDINATOR: _found,
    api_keys.METADATA: _metadata,
    api_keys.DESCRIBE_CLUSTER: _brokers,
    api_keys.API_VERSIONS: _api_versions,
}
TELLING_APIS: Final = frozenset(_READERS)
"""The keys of the APIs that tell something of groups."""

_OF_GROUPS: Final = TELLING_APIS - {
    api_keys.FIND_COORDINATOR,
    api_keys.METADATA,
    api_keys.DESCRIBE_CLUSTER,
    api_keys.API_VERSIONS,
    api_keys.OFFSET_COMMIT,
}
