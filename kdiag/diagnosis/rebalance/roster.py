"""Who is in a group: its members as they are seen, and the lists that its leader is told."""

from typing import Final

import msgspec

from kdiag.clock import NS_PER_S
from kdiag.diagnosis.rebalance.events import (
    Beat,
    Client,
    FetchesPaused,
    JoinAsked,
    Leaving,
    Subscription,
)
from kdiag.diagnosis.rebalance.model import (
    CauseKind,
    Confidence,
    EvidencePlace,
    GroupMember,
    RebalanceCause,
)

Place = tuple[str | None, str | None]
"""A client id and a host: what a program keeps when it is restarted."""


_PROMPT_NS: Final = NS_PER_S // 10
"""Heartbeats are answered at once; a later answer is a wait for the broker, not for the member."""

_NEARLY: Final = 0.9
"""Of a session timeout: packets are seen a little later than the broker counts from."""


class Summons(msgspec.Struct):
    """How a member comes to join again.

    Attributes:
        told_ns: when it sent the heartbeat whose answer had it join; None unless one did.
        beat_gap_ns: how long before that one it had sent the last one.
        asked_ns: when it first asked to join; None until then.
        is_held_up: whether brokers did not coordinate the group when it asked.
    """

    told_ns: int | None = None
    beat_gap_ns: int | None = None
    asked_ns: int | None = None
    is_held_up: bool = False


class Member:
    """What is known of one member.

    Attributes:
        info: what is told of it.
        subscription: what it last asked for; None if that was not seen.
        joined_generation: the generation in which it asked for that.
        session_timeout_ns, rebalance_timeout_ns: what it asked for; 0 if that was not seen.
        last_heard_ns: its last sign of life.
        assigned_ns: when it last got its assignment.
        evidence: where its last heartbeat is.
        left: how it left; None unless it did.
        connections: those that it used.
        beat_ns: when it sent its last heartbeat that was answered well; None before one.
        summons: how it comes to join the next generation.
    """

    def __init__(self, info: GroupMember) -> None:
        self.info = info
        self.subscription: Subscription | None = None
        self.joined_generation: int | None = None
        self.session_timeout_ns = 0
        self.rebalance_timeout_ns = 0
        self.last_heard_ns = info.first_ns
        self.assigned_ns: int | None = None
        self.evidence: EvidencePlace | None = None
        self.left: Leaving | None = None
        self.connections: set[str] = set()
        self.beat_ns: int | None = None
        self.summons = Summons()

    def beats(self, event: Beat) -> None:
        """Note a heartbeat that went well, or that had it join again."""
        self.evidence = event.evidence
        is_prompt = event.at_ns - event.asked_ns < _PROMPT_NS
        sent_ns = event.asked_ns if is_prompt else event.at_ns
        if event.error is None:
            self.beat_ns = sent_ns if event.is_heartbeat else self.beat_ns
        elif self.summons.told_ns is None:
            is_known = event.is_heartbeat and event.asked_ns and self.beat_ns is not None
            gap_ns = event.asked_ns - (self.beat_ns or 0) if is_known else None
            self.summons = Summons(sent_ns, gap_ns)

    def asks(self, at_ns: int) -> None:
        """Note that it asks to join."""
        if self.summons.asked_ns is None:
            self.summons.asked_ns = at_ns

    def wants(self, asked: JoinAsked, generation: int | None) -> None:
        """Note what it asks for, and in which generation."""
        self.subscription = asked.subscription
        self.joined_generation = generation
        self.session_timeout_ns = self.info.session_timeout_ns = asked.session_timeout_ns
        self.rebalance_timeout_ns = asked.rebalance_timeout_ns

    def lives(self, client: Client, at_ns: int) -> None:
        """Note a sign of life of its process after it was removed."""
        self.info.back_ns = min(self.info.back_ns or at_ns, at_ns)
        if client.connection is not None:
            self.connections.add(client.connection)

    def may_not_have_polled(self, cause: RebalanceCause) -> bool:
        """Return whether it left without a reason after its program could have polled in time."""
        since_ns = cause.at_ns - (self.assigned_ns or cause.at_ns)
        is_silent = cause.cause is CauseKind.MEMBER_LEFT and cause.reason is None
        return is_silent and since_ns >= self.rebalance_timeout_ns

    def as_poll_timeout(self, cause: RebalanceCause) -> RebalanceCause:
        """Return that it left as its program did not poll."""
        limit_s = self.rebalance_timeout_ns / NS_PER_S
        note = (
            "it left without a reason, kept its connection and joined again; its "
            f"max.poll.interval.ms of {limit_s:g} s had passed since its assignment"
        )
        kind = CauseKind.POLL_TIMEOUT
        return msgspec.structs.replace(cause, cause=kind, confidence=Confidence.LIKELY, note=note)

    def in_generation(self, generation: int) -> None:
        """Note that it is in a generation."""
        if not self.info.generations or self.info.generations[-1] != generation:
            self.info.generations.append(generation)


class Roster:
    """The members of a group: those present, and whether they are known to be all.

    Attributes:
        complete_before: instance ids by id of all members of the generation before; None where
            that is not known.
        is_complete: whether those present are all.
    """

    def __init__(self, infos: dict[str, GroupMember]) -> None:
        """Begin with nobody.

        Args:
            infos: receives what is told of each member.
        """
        self.complete_before: dict[str, str | None] | None = None
        self.is_complete = False
        self._infos = infos
        self._members: dict[str, Member] = {}
        self._present: dict[str, str | None] = {}
        self._given: set[str] = set()
        self._gone: dict[Place, list[str]] = {}
        self._pauses: dict[Place, list[FetchesPaused]] = {}

    def member(self, member_id: str) -> Member | None:
        """Return a member that was seen itself; None if only others told of it."""
        return self._members.get(member_id)

    def seen(self, member_id: str, client: Client, at_ns: int) -> Member:
        """Note a sign of life of a member and return it."""
        member = self._members.get(member_id)
        if member is None:
            info = GroupMember(
                member_id=member_id,
                client_id=client.client_id,
                client_host=client.host,
                software=client.software,
                first_ns=at_ns,
                last_ns=at_ns,
            )
            member = self._members[member_id] = Member(info)
            self._infos[member_id] = info
        info = member.info
        info.software = info.software or client.software
        member.last_heard_ns = info.last_ns = max(at_ns, info.last_ns)
        info.port = client.port or info.port
        if client.connection is not None:
            member.connections.add(client.connection)
        return member

    def give(self, member_id: str) -> None:
        """Note an id that the coordinator gave to a new member (KIP-394)."""
        self._given.add(member_id)

    def is_given(self, member_id: str) -> bool:
        """Return whether an id was given and not used yet, which makes it used."""
        is_new = member_id in self._given
        self._given.discard(member_id)
        return is_new

    def is_present(self, member_id: str) -> bool:
        """Return whether a member is in the group."""
        return member_id in self._present

    @property
    def is_empty(self) -> bool:
        """Return whether all members were known, and all have left."""
        return self.is_complete and not self._present

    def add(self, member_id: str, instance_id: str | None) -> None:
        """Note that a member is in the group: its id is used."""
        self._present[member_id] = instance_id
        self._given.discard(member_id)

    def replace(self, former: str, member_id: str, instance_id: str) -> None:
        """Note that a static member came back under another id."""
        self._present.pop(former, None)
        self._present[member_id] = instance_id

    def id_of_instance(self, instance_id: str) -> str | None:
        """Return the id of a static member that is in the group."""
        found = (each for each, name in self._present.items() if name and name == instance_id)
        return next(found, None)

    def former(self, instance_id: str | None, member_id: str) -> str | None:
        """Return the other id of a static member that comes back under a new one."""
        known = self.id_of_instance(instance_id) if instance_id else None
        return known if known != member_id else None

    def leaves(self, member_id: str, event: Leaving) -> Member | None:
        """Note that a member left; return it if it was seen itself."""
        self._present.pop(member_id, None)
        member = self._members.get(member_id)
        if member is not None:
            member.left = event
            self._forgive(member_id)
            member.info.last_ns = max(member.info.last_ns, event.at_ns)
            if event.client.connection is not None:
                member.connections.add(event.client.connection)
        return member

    def left_on(self, client: Client, member_ids: set[str | None]) -> Member | None:
        """Return which of some members left on a connection, without a reason."""
        for member_id in member_ids:
            member = self._members.get(member_id or "")
            if member is None or member.left is None or member.left.reason is not None:
                continue
            if client.connection is not None and client.connection in member.connections:
                return member
        return None

    def predecessor(self, client: Client, member_id: str) -> str | None:
        """Return the id of a member of the same client and host that is gone without leaving.

        Where others of them are there, that client and host are those of several programs.
        """
        place = client.client_id, client.host
        known = [each for each in self._gone.get(place, ()) if each != member_id]
        others = (self._members.get(each) for each in self._present if each != member_id)
        is_shared = any(each is not None and _place_of(each) == place for each in others)
        return known[0] if known and not is_shared else None

    def refused(self, member_id: str, client: Client, at_ns: int) -> Member | None:
        """Return which member is answered that it is none any more; its process lives.

        A client may have dropped its id by then (librdkafka does when its own timer of the session
        has run out): its connection says who it was, or its place if one alone is gone from there.
        """
        member = self._members.get(member_id)
        if member is None and not member_id:
            found = self._gone.get((client.client_id, client.host), ())
            only = self._members.get(found[0]) if len(found) == 1 else None
            member = self._gone_from(client) or only
        if member is not None:
            member.lives(client, at_ns)
        return member

    def survivor(self, event: JoinAsked) -> Member | None:
        """Return the member that was removed and is the process that joins anew, if it is one.

        It uses a connection of that member, or one on which it was answered that it is none.
        """
        member = self._gone_from(event.client)
        if member is not None:
            member.lives(event.client, event.at_ns)
            self._forgive(member.info.member_id)
        return member

    def _gone_from(self, client: Client) -> Member | None:
        for member_id in (each for found in self._gone.values() for each in found):
            member = self._members[member_id]
            if client.connection is not None and client.connection in member.connections:
                return member
        return None

    def _forgive(self, member_id: str) -> None:
        """Take a member off those that are gone without leaving."""
        found = self._gone.get(_place_of(self._members[member_id]), [])
        if member_id in found:
            found.remove(member_id)

    def gone(self, member_id: str, since_ns: int) -> RebalanceCause:
        """Return what became of a member that is in the list no more, and said nothing."""
        member = self._members.get(member_id)
        if member is None or not member.session_timeout_ns:
            note = "it is gone; whether it left or failed was not seen"
            return self.inferred(CauseKind.UNKNOWN, member_id, since_ns, note)
        expiry_ns = member.last_heard_ns + member.session_timeout_ns
        silent_ns = since_ns - member.last_heard_ns
        timeout_s = member.session_timeout_ns / NS_PER_S
        if silent_ns >= member.session_timeout_ns * _NEARLY:
            silent = f"silent for {silent_ns / NS_PER_S:.1f} s"
            note = f"{silent}, with a session timeout of {timeout_s:g} s"
            at_ns = min(expiry_ns, since_ns)
            cause = self.inferred(CauseKind.MEMBER_FAILED, member_id, at_ns, note)
            return msgspec.structs.replace(cause, silent_ns=self._silent_ns(member, since_ns))
        note = "it did not join again, and is gone; whether it left or failed was not seen"
        return self.inferred(CauseKind.UNKNOWN, member_id, since_ns, note)

    def note_pause(self, event: FetchesPaused) -> None:
        """Note that a connection of some client stopped to fetch."""
        self._pauses.setdefault((event.client.client_id, event.client.host), []).append(event)

    def _silent_ns(self, member: Member, until_ns: int) -> int:
        """Return the last sign of life of a member: its fetches may go on behind its heartbeats.

        Several programs may share a client id and a host: those that live go on fetching.
        """
        ended = (
            each.at_ns
            for each in self._pauses.get(_place_of(member), ())
            if each.at_ns < until_ns <= (each.until_ns or until_ns)
        )
        return max(member.last_heard_ns, *ended, 0)

    def inferred(self, kind: CauseKind, member_id: str, at_ns: int, note: str) -> RebalanceCause:
        """Return a cause that the lists of members show, and no request."""
        is_open = kind is CauseKind.UNKNOWN
        member = self._members.get(member_id)
        info = GroupMember(member_id=member_id, first_ns=at_ns, last_ns=at_ns)
        info = info if member is None else member.info
        sure = Confidence.UNKNOWN if is_open else Confidence.LIKELY
        cause = info.cause(kind, sure, at_ns, note)
        if member is None or member.evidence is None:
            return cause
        return msgspec.structs.replace(cause, evidence=(member.evidence,))

    def turn(self) -> None:
        """Begin a generation: those present, if they are all, are those before it."""
        self.complete_before = dict(self._present) if self.is_complete else None

    def settle(self, members: dict[str, str | None]) -> None:
        """Take the whole list of the members of a generation."""
        for member_id in self._present.keys() - members.keys():
            member = self._members.get(member_id)
            if member is not None and member.left is None:
                self._gone.setdefault(_place_of(member), []).append(member_id)
        self._present = dict(members)
        self.is_complete = True

    def forget(self) -> None:
        """Forget who is all in the group, as generations were not seen."""
        self.is_complete = False
        self.complete_before = None


def _place_of(member: Member) -> Place:
    return member.info.client_id, member.info.client_host
