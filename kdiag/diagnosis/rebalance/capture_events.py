"""Exchanges of a capture become events of groups: what members asked, and what they were told."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

from kdiag.diagnosis.rebalance.events import (
    Beat,
    Client,
    CoordinatorFound,
    EpochBeat,
    Event,
    FetchBegan,
    JoinAnswered,
    JoinAsked,
    Leaving,
    PartitionsSeen,
    Subscription,
    SyncAnswered,
    SyncAsked,
)
from kdiag.diagnosis.rebalance.model import EvidencePlace, GroupType
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


class CaptureEvents:
    """Collects the events of groups among exchanges, which may come in any order.

    Heartbeats that only repeat the one before are kept as the first and the last of a row, so that
    quiet groups take no memory.

    Attributes:
        unread_count: requests about groups that could not be read.
        orphan_count: responses whose requests were not seen: they may be about groups.
    """

    def __init__(self, topic_name: Callable[[str], str | None]) -> None:
        """Begin with nothing.

        Args:
            topic_name: returns the name of a topic id, in Kafka's text form.
        """
        self.unread_count = 0
        self.orphan_count = 0
        self._topic_name = topic_name
        self._events: list[Event] = []
        self._rows: dict[tuple[str, str], list[int]] = {}
        self._awaited_fetches: dict[tuple[str | None, str | None], list[tuple[str, int]]] = {}
        self._partition_counts: dict[str, int] = {}

    def concerns(self, exchange: Exchange) -> bool:
        """Return whether an exchange is about membership, so that it has to be decoded."""
        return exchange.api_key in _OF_GROUPS

    def add(self, dissection: Dissection) -> None:
        """Add an exchange."""
        exchange, request = dissection.exchange, dissection.request
        if exchange.request is None:
            self.orphan_count += 1
            return
        read = _READERS.get(exchange.api_key if exchange.api_key is not None else -1)
        if read is None:
            return
        if request is None or request.status is not Status.OK or request.message is None:
            self.unread_count += exchange.api_key in _OF_GROUPS
            return
        for event in read(self, dissection, request.message):
            self._keep(event)

    def in_order(self) -> list[Event]:
        """Return the events in the order of time."""
        return sorted(self._events, key=lambda event: event.at_ns)

    def _keep(self, event: Event) -> None:
        if isinstance(event, Beat | EpochBeat):
            key = (event.group, event.member_id)
            row = self._rows.setdefault(key, [])
            if row and _says_the_same(self._events[row[-1]], event):
                row.append(len(self._events))
                if len(row) > _KEPT_OF_A_ROW:  # the one between is of no use any more
                    self._events[row[-2]] = event
                    row.pop()
                    return
            else:
                self._rows[key] = [len(self._events)]
        self._events.append(event)

    def _answer(self, dissection: Dissection) -> Any | None:
        """Return the response's message; None if it was not seen or is not readable."""
        response = dissection.response
        if response is None or response.status is not Status.OK:
            return None
        return response.message

    def _join(self, dissection: Dissection, request: Any) -> Iterator[Event]:
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
        answer = self._answer(dissection)
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

    def _sync(self, dissection: Dissection, request: Any) -> Iterator[Event]:
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
        answer = self._answer(dissection)
        if answer is None:
            return
        error = _error(answer.error_code)
        yield SyncAnswered(exchange.end_ns, *common, request.generation_id, error)
        if error is None:
            key = (client.client_id, client.host)
            self._awaited_fetches.setdefault(key, []).append((request.group_id, exchange.end_ns))

    def _heartbeat(self, dissection: Dissection, request: Any) -> Iterator[Event]:
        yield self._beat(dissection, request, request.generation_id, is_heartbeat=True)

    def _commit(self, dissection: Dissection, request: Any) -> Iterator[Event]:
        if request.member_id and request.generation_id_or_member_epoch >= 0:
            generation = request.generation_id_or_member_epoch
            yield self._beat(dissection, request, generation, is_heartbeat=False)

    def _beat(
        self, dissection: Dissection, request: Any, generation: int, *, is_heartbeat: bool
    ) -> Beat:
        exchange = dissection.exchange
        answer = self._answer(dissection)
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
        )

    def _leave(self, dissection: Dissection, request: Any) -> Iterator[Event]:
        exchange = dissection.exchange
        answer = self._answer(dissection)
        refusals: dict[str, int] = {}
        if answer is not None:
            refusals = {each.member_id: each.error_code for each in answer.members}
        leavers = [
            (each.member_id, each.group_instance_id, each.reason) for each in request.members
        ]
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

    def _consumer_beat(self, dissection: Dissection, request: Any) -> Iterator[Event]:
        topics = request.subscribed_topic_names
        pattern = request.subscribed_topic_regex
        wanted = None
        if topics is not None or pattern is not None:
            wanted = frozenset([*(topics or ()), *([f"/{pattern}/"] if pattern else ())])
        yield self._epoch_beat(
            dissection,
            request,
            GroupType.CONSUMER,
            topics=wanted,
            owned=self._by_id(request.topic_partitions),
        )

    def _share_beat(self, dissection: Dissection, request: Any) -> Iterator[Event]:
        topics = request.subscribed_topic_names
        wanted = None if topics is None else frozenset(topics)
        yield self._epoch_beat(dissection, request, GroupType.SHARE, topics=wanted, owned=None)

    def _streams_beat(self, dissection: Dissection, request: Any) -> Iterator[Event]:
        topology = request.topology
        wanted = None
        if topology is not None:
            wanted = frozenset(
                topic for part in topology.subtopologies for topic in part.source_topics
            )
        owned = _tasks(request.active_tasks)
        yield self._epoch_beat(dissection, request, GroupType.STREAMS, topics=wanted, owned=owned)

    def _epoch_beat(
        self,
        dissection: Dissection,
        request: Any,
        group_type: GroupType,
        *,
        topics: frozenset[str] | None,
        owned: Partitions | None,
    ) -> EpochBeat:
        exchange = dissection.exchange
        answer = self._answer(dissection)
        error = None if answer is None else _error(answer.error_code)
        assigned = None
        if answer is not None and group_type is GroupType.STREAMS:
            assigned = _tasks(answer.active_tasks)
        elif answer is not None and answer.assignment is not None:
            assigned = self._by_id(answer.assignment.topic_partitions)
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
        )

    def _by_id(self, topics: Iterable[Any] | None) -> Partitions | None:
        """Return partitions with the names of their topics, or ids where no name is known."""
        if topics is None:
            return None
        named = [(uuid_text(each.topic_id), each.partitions) for each in topics]
        return frozenset(
            (self._topic_name(topic) or topic, number)
            for topic, numbers in named
            for number in numbers
        )

    def _found(self, dissection: Dissection, request: Any) -> Iterator[Event]:
        exchange = dissection.exchange
        answer, took_ns = self._answer(dissection), exchange.latency_ns
        if answer is None or took_ns is None or request.key_type != _GROUP_KEY_TYPE:
            return
        answers = answer.coordinators or [answer]
        for key, each in zip(request.coordinator_keys or [request.key], answers, strict=False):
            if each.error_code == 0:
                client = _client(exchange.connection, exchange.client_id)
                evidence = _evidence(exchange.response)
                yield CoordinatorFound(exchange.end_ns, key, evidence, client, took_ns)

    def _metadata(self, dissection: Dissection, _: Any) -> Iterator[Event]:
        answer = self._answer(dissection)
        for topic in answer.topics if answer is not None else ():
            if topic.error_code or not topic.name:
                continue
            before = self._partition_counts.get(topic.name)
            after = self._partition_counts[topic.name] = len(topic.partitions)
            if before is not None and before != after:
                exchange = dissection.exchange
                evidence = _evidence(exchange.response)
                yield PartitionsSeen(exchange.end_ns, "", evidence, topic.name, before, after)

    def _fetch(self, dissection: Dissection, _: Any) -> Iterator[Event]:
        exchange = dissection.exchange
        client = _client(exchange.connection, exchange.client_id)
        at_ns = _asked_ns(dissection)
        awaited = self._awaited_fetches.get((client.client_id, client.host))
        while awaited and awaited[0][1] <= at_ns:
            group, _ = awaited.pop(0)
            yield FetchBegan(at_ns, group, _evidence(exchange.request), client)


_KEPT_OF_A_ROW: Final = 2
_Reader = Callable[[CaptureEvents, Dissection, Any], Iterator[Event]]
_READERS: Final[dict[int, _Reader]] = {
    api_keys.JOIN_GROUP: CaptureEvents._join,  # noqa: SLF001 - a table of its own methods
    api_keys.SYNC_GROUP: CaptureEvents._sync,  # noqa: SLF001 - as above
    api_keys.HEARTBEAT: CaptureEvents._heartbeat,  # noqa: SLF001 - as above
    api_keys.OFFSET_COMMIT: CaptureEvents._commit,  # noqa: SLF001 - as above
    api_keys.LEAVE_GROUP: CaptureEvents._leave,  # noqa: SLF001 - as above
    api_keys.CONSUMER_GROUP_HEARTBEAT: CaptureEvents._consumer_beat,  # noqa: SLF001 - as above
    api_keys.SHARE_GROUP_HEARTBEAT: CaptureEvents._share_beat,  # noqa: SLF001 - as above
    api_keys.STREAMS_GROUP_HEARTBEAT: CaptureEvents._streams_beat,  # noqa: SLF001 - as above
    api_keys.FIND_COORDINATOR: CaptureEvents._found,  # noqa: SLF001 - as above
    api_keys.METADATA: CaptureEvents._metadata,  # noqa: SLF001 - as above
    api_keys.FETCH: CaptureEvents._fetch,  # noqa: SLF001 - as above
}
_OF_GROUPS: Final = _READERS.keys() - {
    api_keys.FIND_COORDINATOR,
    api_keys.METADATA,
    api_keys.FETCH,
    api_keys.OFFSET_COMMIT,
}


def _says_the_same(known: Event, event: Event) -> bool:
    """Return whether a heartbeat repeats another one of its member, later."""
    if isinstance(known, Beat) and isinstance(event, Beat):
        return (
            known.at_ns <= event.at_ns
            and known.error is event.error is None
            and (known.generation, known.is_answered) == (event.generation, event.is_answered)
        )
    if isinstance(known, EpochBeat) and isinstance(event, EpochBeat):
        same = known.at_ns <= event.at_ns and known.error is event.error is None
        quiet = event.topics is None and event.assigned is None and event.owned is None
        return same and quiet and (known.sent_epoch == known.epoch == event.epoch)
    return False


def _client(connection: Connection, client_id: str | None) -> Client:
    software = " ".join(connection.client_software) if connection.client_software else None
    host = connection.client.rpartition(":")[0].strip("[]")
    return Client(client_id, host, software, connection.connection_id)


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
