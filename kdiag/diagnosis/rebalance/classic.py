"""The state machine of classic groups: what members asked and were told becomes rebalances.

    LeaveGroup m2                        a cause waits
    Heartbeat m1 REBALANCE_IN_PROGRESS   m1 is told to join again: its JoinGroup is no cause
    JoinGroup m1 → generation 7          the rebalance that made 7 takes the causes that wait
    SyncGroup m1 → assignment            its end

Who is gone without a word is told from the lists of members that leaders get, and from how long it
was silent; that is `likely`. Only what was said in bytes is `certain`.
"""

from typing import Final

from kdiag.diagnosis.rebalance import reasons
from kdiag.diagnosis.rebalance.events import (
    Beat,
    Client,
    CoordinatorFound,
    Event,
    FetchBegan,
    FetchesPaused,
    JoinAnswered,
    JoinAsked,
    Leaving,
    PartitionsSeen,
    Subscription,
    SyncAnswered,
    SyncAsked,
)
from kdiag.diagnosis.rebalance.model import (
    FENCED,
    UNKNOWN,
    CauseKind,
    Confidence,
    EvidencePlace,
    GroupHistory,
    GroupType,
    Phases,
    Rebalance,
    RebalanceCause,
    less_sure,
    unseen_rebalances,
)
from kdiag.diagnosis.rebalance.moves import Assignments, moved_between
from kdiag.diagnosis.rebalance.roster import Member, Roster, Summons

_TO_JOIN_AGAIN: Final = "REBALANCE_IN_PROGRESS"
_UNASKED: Final = "nobody told it to, and nobody had come or gone"
_KNEW_NONE: Final = "no partition was assigned before: its topics were not known yet"
_SKIPPED: Final = "generations between are missing, so it may be the cause of another one"


class ClassicGroup:
    """One classic group; takes its events in the order of time.

    Attributes:
        history: its rebalances so far; whole after `finish`.
    """

    def __init__(self, group: str, source: str) -> None:
        self.history = GroupHistory(group=group, type=GroupType.CLASSIC, source=source)
        self._generation: int | None = None
        self._roster = Roster(self.history.members)
        self._waiting: list[RebalanceCause] = []
        self._first_sign_ns: int | None = None
        self._open: Rebalance | None = None
        self._assigned: Assignments | None = None
        self._is_compared = False
        self._found: dict[tuple[str | None, str | None], int] = {}
        self._grown: dict[str, PartitionsSeen] = {}
        self._lost_coordinator: str | None = None
        self._unanswered: dict[EvidencePlace, list[RebalanceCause]] = {}

    def take(self, event: Event) -> None:
        """Take the next event."""
        match event:
            case JoinAsked():
                self._join_asked(event)
            case JoinAnswered():
                self._join_answered(event)
            case SyncAsked():
                self._sync_asked(event)
            case SyncAnswered():
                self._sync_answered(event)
            case Beat():
                self._beat(event)
            case Leaving():
                self._leaving(event)
            case _:
                self._seen_beside(event)

    def _seen_beside(self, event: Event) -> None:
        """Take what says nothing of the membership by itself."""
        match event:
            case CoordinatorFound():
                self._found[event.client.client_id, event.client.host] = event.took_ns
            case FetchBegan():
                self._fetched(event.client, event.at_ns)
            case FetchesPaused():
                self._roster.note_pause(event)
            case PartitionsSeen():
                self._grown[event.topic] = event
            case _:
                raise TypeError(event)

    def finish(self) -> GroupHistory:
        """Return the history, once all events were taken."""
        self._close()
        return self.history

    def _join_asked(self, event: JoinAsked) -> None:
        self.history.protocol_type = event.protocol_type or self.history.protocol_type
        self._unanswered[event.evidence] = []
        if not event.member_id:
            self._judge_leave_again(event.client)
            return  # its answer tells who it is
        is_new = self._roster.is_given(event.member_id)
        member = self._roster.seen(event.member_id, event.client, event.at_ns)
        member.info.instance_id = event.instance_id or member.info.instance_id
        member.asks(event.at_ns)
        if is_new:
            self._joined(event, event.member_id, Confidence.CERTAIN)
        elif self._roster.is_present(event.member_id):
            self._joined_again(event, member)
        elif self._roster.is_complete:
            self._joined(event, event.member_id, Confidence.LIKELY)
        member.wants(event, self._generation)

    def _joined(self, event: JoinAsked, member_id: str, confidence: Confidence) -> None:
        """Note that a member came new."""
        replaced = self._roster.former(event.instance_id, member_id)
        kind = CauseKind.STATIC_MEMBER_RETURNED if replaced else CauseKind.MEMBER_JOINED
        note = None
        survivor = None if replaced else self._roster.survivor(event)
        former = self._roster.predecessor(event.client, member_id)
        if survivor is not None:
            kind = CauseKind.MEMBER_REJOINED
            note = f"the process of {survivor.info.member_id}, which was removed, lives and is back"
        elif not replaced and not event.instance_id and former is not None:
            kind, confidence = CauseKind.MEMBER_RESTARTED, Confidence.LIKELY
            note = f"{former} had its client id and host, and was gone without leaving"
        self._wait(event, kind, confidence, member_id=member_id, note=note)

    def _joined_again(self, event: JoinAsked, member: Member) -> None:
        """Note why a member that is in the group joins again, unless it was told to."""
        kind, confidence, note = self._why_again(event, member)
        if kind is not None:
            self._wait(event, kind, confidence, member_id=event.member_id, note=note)

    def _why_again(
        self, event: JoinAsked, member: Member
    ) -> tuple[CauseKind | None, Confidence, str | None]:
        """Return the cause, how sure it is, and why; None where the member was told to join."""
        changed = _changed(member.subscription, event.subscription)
        if changed is not None:
            is_direct = member.joined_generation == self._generation
            return changed, Confidence.CERTAIN if is_direct else Confidence.LIKELY, None
        said = reasons.cause_of_client(event.reason)
        if said is not None:
            return said, Confidence.CERTAIN, None
        follows = event.reason is not None and reasons.FOLLOWS.search(event.reason)
        if follows or self._waiting or self._first_sign_ns is not None:
            return None, Confidence.UNKNOWN, None
        return self._guess_why(event)

    def _guess_why(self, event: JoinAsked) -> tuple[CauseKind, Confidence, str]:
        """Return what may have made a member join again that says nothing."""
        topics = event.subscription.topics
        if topics and self._assigned is not None and not any(self._assigned.values()):
            return CauseKind.PARTITIONS_CHANGED, Confidence.LIKELY, _KNEW_NONE
        for topic, change in self._grown.items():
            if topics is None or topic in topics:
                note = f"{topic} has {change.after} partitions, before {change.before}"
                return CauseKind.PARTITIONS_CHANGED, Confidence.LIKELY, note
        if self._lost_coordinator is not None:
            note = f"{self._lost_coordinator} was answered before"
            return CauseKind.COORDINATOR_MOVED, Confidence.LIKELY, note
        return CauseKind.MEMBER_REJOINED, Confidence.LIKELY, _UNASKED

    def _join_answered(self, event: JoinAnswered) -> None:
        asked = event.asked
        made = self._unanswered.pop(asked.evidence, [])
        if event.error == "MEMBER_ID_REQUIRED":
            self._roster.give(event.member_id)
        elif event.error is not None:
            self._note_error(event, event.error)
        else:
            self._put_right(made, event.generation)
            member = self._roster.seen(event.member_id, asked.client, event.at_ns)
            member.info.instance_id = asked.instance_id or member.info.instance_id
            is_replacement = not asked.member_id and self._replaces_static(event)
            if is_replacement and event.generation == self._generation:
                member.wants(asked, event.generation)
            else:
                self._entered(event, member)

    def _entered(self, event: JoinAnswered, member: Member) -> None:
        """A member was told its generation, which may be the first sign of that."""
        if self._generation is not None and event.generation < self._generation:
            return
        asked = event.asked
        is_new = not asked.member_id and not self._may_have_been_there(event)
        if is_new:
            self._joined(asked, event.member_id, Confidence.CERTAIN)
        if self._generation is None or event.generation > self._generation:
            self._begin(event.generation, event.at_ns)
        elif is_new:
            came = [self._waiting.pop()]
            if self._open is not None:
                self._tell_late(self._open, came)
        member.wants(asked, event.generation)
        member.in_generation(event.generation)
        self._roster.add(event.member_id, asked.instance_id)
        if self._open is not None:
            self._note_join(self._open, event, member)
            if event.members is not None:
                self._compare(self._open, event.members, event.at_ns)

    def _put_right(self, made: list[RebalanceCause], generation: int) -> None:
        """Give what a join caused to the generation that its answer names.

        The answer to a member that asks again may be the generation that is there: it made none.
        """
        if generation == self._generation:
            unmade = [each for each in made if each.confidence is not Confidence.CERTAIN]
            self._waiting = [each for each in self._waiting if each not in unmade]
        evidence = {each.evidence for each in made}
        for rebalance in self.history.rebalances[-2:]:
            known = [each for each in rebalance.causes if each.evidence in evidence]
            if not known or rebalance.generation >= generation:
                continue
            rebalance.causes = [each for each in rebalance.causes if each not in known]
            if self._open is rebalance or self._open is None:
                self._waiting += made
            else:
                self._tell_late(self._open, made)
                rebalance.causes = rebalance.causes or [_nothing_seen(rebalance)]

    def _tell_late(self, rebalance: Rebalance, causes: list[RebalanceCause]) -> None:
        """Give a rebalance what an answer to a member says, which came behind others'.

        It takes the place of what was concluded of that member.
        """
        members = {each.member_id for each in causes}
        others = [each for each in rebalance.causes if each.member_id not in members]
        rebalance.causes = sorted([*others, *causes], key=lambda each: each.at_ns)
        first_ns = min(each.at_ns for each in causes)
        rebalance.started_ns = min(rebalance.started_ns or first_ns, first_ns)

    def _may_have_been_there(self, event: JoinAnswered) -> bool:
        """Return whether a static member may come back to a place that was not seen.

        That makes no generation, so its coming is no cause of the one that it is told.
        """
        is_told_first = self._generation is None or event.generation == self._generation
        return (
            event.asked.instance_id is not None
            and event.generation > 1
            and is_told_first
            and not self._roster.is_complete
        )

    def _replaces_static(self, event: JoinAnswered) -> bool:
        instance = event.asked.instance_id
        former = self._roster.former(instance, event.member_id)
        if instance is None or former is None:
            return False
        if event.generation == self._generation:
            self._roster.replace(former, event.member_id, instance)
        return True

    def _note_join(self, rebalance: Rebalance, event: JoinAnswered, member: Member) -> None:
        """Note how a member came to join; one that is in the generation may ask once more."""
        client, summons = event.asked.client, member.summons
        member.summons = Summons()
        if event.member_id in rebalance.phases:
            return
        rebalance.phases[event.member_id] = Phases(
            member_id=event.member_id,
            client_id=client.client_id,
            client_host=client.host,
            find_coordinator_ns=self._found.pop((client.client_id, client.host), None),
            asked_ns=summons.asked_ns or event.asked.at_ns,
            joined_ns=event.at_ns,
            told_ns=None if summons.is_held_up else summons.told_ns,
            beat_gap_ns=summons.beat_gap_ns,
        )

    def _compare(self, rebalance: Rebalance, members: dict[str, str | None], at_ns: int) -> None:
        """Compare the members of a new generation with those before: who came, who is gone."""
        rebalance.member_count = len(members)
        before = self._roster.complete_before
        since_ns = rebalance.started_ns or at_ns
        told = [  # who asked to join and is gone all the same did not make it rebalance
            each for each in rebalance.causes if each.note != _UNASKED or each.member_id in members
        ]
        if len(told) < len(rebalance.causes):
            rebalance.causes, since_ns = told, at_ns
        named = {each.member_id for each in rebalance.causes}
        if before is not None and rebalance.previous == rebalance.generation - 1:
            self._is_compared = True
            returned = set(members.values()) - {None}
            for member_id in members.keys() - before.keys() - named:
                note = (
                    f"it is not among the {len(before)} members of generation {rebalance.previous}"
                )
                rebalance.causes.append(
                    self._roster.inferred(CauseKind.MEMBER_JOINED, member_id, since_ns, note)
                )
            for member_id in before.keys() - members.keys() - named:
                if before[member_id] not in returned:
                    rebalance.causes.append(self._roster.gone(member_id, since_ns))
        self._roster.settle(members)
        rebalance.causes.sort(key=lambda cause: cause.at_ns)

    def _sync_asked(self, event: SyncAsked) -> None:
        self._heard(event.member_id, event.client, event.at_ns, event.generation)
        if event.assignments is None or self._open is None:
            return
        if self._open.generation == event.generation:
            if self._assigned is not None:
                self._open.moved = moved_between(self._assigned, event.assignments)
            self._assigned = event.assignments

    def _sync_answered(self, event: SyncAnswered) -> None:
        member = self._heard(event.member_id, event.client, event.at_ns, event.generation)
        if event.error is not None:
            self._note_error(event, event.error)
            return
        member.assigned_ns = event.at_ns
        rebalance = self._open
        if rebalance is None or rebalance.generation != event.generation:
            return
        phases = rebalance.phases.get(event.member_id)
        if not rebalance.phases or (phases is not None and phases.synced_ns is None):
            rebalance.ended_ns = max(rebalance.ended_ns or 0, event.at_ns)
        if phases is not None and phases.synced_ns is None:
            phases.synced_ns = event.at_ns

    def _beat(self, event: Beat) -> None:
        if event.error in {None, _TO_JOIN_AGAIN}:
            member = self._heard(event.member_id, event.client, event.at_ns, event.generation)
            member.info.instance_id = event.instance_id or member.info.instance_id
            member.beats(event)
        if event.error is not None:
            self._note_error(event, event.error)
            return
        phases = self._phases_of(event.member_id, event.generation)
        if event.is_heartbeat and phases and phases.synced_ns and phases.first_heartbeat_ns is None:
            phases.first_heartbeat_ns = event.at_ns

    def _phases_of(self, member_id: str, generation: int) -> Phases | None:
        rebalance = self._open
        if rebalance is None or rebalance.generation != generation:
            return None
        return rebalance.phases.get(member_id)

    def _heard(self, member_id: str, client: Client, at_ns: int, generation: int) -> Member:
        """Note a sign of life, and the generation that it tells."""
        member = self._roster.seen(member_id, client, at_ns)
        if self._generation is None:
            self._generation = generation
        elif generation > self._generation:
            self._begin(generation, at_ns)
        if generation == self._generation:
            member.in_generation(generation)
            self._roster.add(member_id, member.info.instance_id)
        return member

    def _note_error(self, event: Beat | SyncAnswered | JoinAnswered, error: str) -> None:
        if self.history.refusals.note_lost_coordinator(error, event.at_ns):
            self._lost_coordinator = error
            asked_by = event.asked.member_id if isinstance(event, JoinAnswered) else event.member_id
            held_up = self._roster.member(asked_by)
            if held_up is not None:
                held_up.summons.is_held_up = True
            return
        self._count_refusal(event, error)
        if error == _TO_JOIN_AGAIN and self._first_sign_ns is None:
            self._first_sign_ns = event.at_ns

    def _count_refusal(self, event: Beat | SyncAnswered | JoinAnswered, error: str) -> None:
        refusals = self.history.refusals
        if isinstance(event, JoinAnswered):
            asked = event.asked
            place = (asked.client.client_id, asked.client.host)
            wanted = asked.subscription.assignors
            refusals.note_join(error, wanted, asked.session_timeout_ns, place)
            who = (asked.member_id, asked.client, event.at_ns)
        else:
            at_ns = event.asked_ns if isinstance(event, Beat) else 0
            who = (event.member_id, event.client, at_ns or event.at_ns)
        if isinstance(event, Beat) and not event.is_heartbeat:
            refusals.note_commit(error)
        member = self._roster.member(event.member_id)
        if error == UNKNOWN:
            member = self._roster.refused(*who)
        elif error == FENCED and isinstance(event, Beat) and event.instance_id is not None:
            member = self._roster.seen(event.member_id, event.client, event.at_ns)
            member.info.instance_id = event.instance_id
        if member is not None:
            refusals.note_member(error, member.info, event.at_ns)

    def _leaving(self, event: Leaving) -> None:
        if event.refusal is not None:
            if event.refusal == UNKNOWN:
                self._roster.refused(event.member_id, event.client, event.at_ns)
            return
        member_id = event.member_id or self._roster.id_of_instance(event.instance_id or "") or ""
        member = self._roster.leaves(member_id, event)
        said = reasons.cause_of_client(event.reason)
        sure = Confidence.CERTAIN if event.is_confirmed else Confidence.LIKELY
        is_poll = said is CauseKind.POLL_TIMEOUT
        kind = CauseKind.POLL_TIMEOUT if is_poll else CauseKind.MEMBER_LEFT
        cause = RebalanceCause(
            cause=kind,
            confidence=sure,
            at_ns=event.at_ns,
            member_id=member_id or None,
            instance_id=event.instance_id or (member.info.instance_id if member else None),
            client_id=member.info.client_id if member else event.client.client_id,
            client_host=member.info.client_host if member else event.client.host,
            software=member.info.software if member else event.client.software,
            reason=event.reason,
            evidence=(event.evidence,),
        )
        if event.is_confirmed and self._open and self._is_missed(self._open, member_id):
            self._tell_late(self._open, [cause])
        else:
            self._waiting.append(cause)
        if self._generation is not None and self._roster.is_empty:
            self._empty(event)

    @staticmethod
    def _is_missed(rebalance: Rebalance, member_id: str) -> bool:
        """Return whether a generation lacks a member of which nobody has said why."""
        return any(
            each.cause in _GONE_IN_SILENCE and each.member_id == member_id
            for each in rebalance.causes
        )

    def _empty(self, event: Leaving) -> None:
        """The last member left: the coordinator makes a generation that nobody is told."""
        assert self._generation is not None
        note = "all members that its leader was told have left"
        self._wait(event, CauseKind.GROUP_EMPTIED, Confidence.LIKELY, member_id=None, note=note)
        self._begin(self._generation + 1, event.at_ns)
        assert self._open is not None
        self._open.ended_ns = event.at_ns
        self._open.member_count = 0
        self._open.is_told = False
        self._roster.settle({})
        self._assigned = None

    def _judge_leave_again(self, client: Client) -> None:
        """A client that joins anew on the connection on which it left did not end.

        Clients without KIP-800 leave without a reason where their program does not poll in time.
        """
        causes = [*self._waiting, *(self._open.causes if self._open else ())]
        left = self._roster.left_on(client, {each.member_id for each in causes})
        if left is None or left.assigned_ns is None or not left.rebalance_timeout_ns:
            return
        for known in (self._waiting, self._open.causes if self._open else []):
            for place, cause in enumerate(known):
                if cause.member_id == left.info.member_id and left.may_not_have_polled(cause):
                    known[place] = left.as_poll_timeout(cause)

    def _fetched(self, client: Client, at_ns: int) -> None:
        if self._open is None:
            return
        same = [
            each
            for each in self._open.phases.values()
            if (each.client_id, each.client_host) == (client.client_id, client.host)
        ]
        if len(same) == 1 and same[0].first_fetch_ns is None and same[0].synced_ns is not None:
            same[0].first_fetch_ns = at_ns

    def _wait(
        self,
        event: JoinAsked | Leaving,
        kind: CauseKind,
        confidence: Confidence,
        *,
        member_id: str | None,
        note: str | None,
    ) -> None:
        """Keep a cause for the rebalance that comes of it."""
        client = event.client if member_id is not None else Client(None, None, None)
        cause = RebalanceCause(
            cause=kind,
            confidence=confidence,
            at_ns=event.at_ns,
            member_id=member_id,
            instance_id=event.instance_id if member_id is not None else None,
            client_id=client.client_id,
            client_host=client.host,
            software=client.software,
            reason=event.reason if member_id is not None else None,
            note=note,
            evidence=(event.evidence,),
        )
        self._waiting.append(cause)
        if event.evidence in self._unanswered:
            self._unanswered[event.evidence].append(cause)

    def _begin(self, generation: int, at_ns: int) -> None:
        """Begin the rebalance that makes a generation, with the causes that wait."""
        self._close()
        previous = self._generation
        self._list_unseen(previous, generation, at_ns)
        causes = sorted(self._waiting, key=lambda cause: cause.at_ns)
        signs = [cause.at_ns for cause in causes if cause.at_ns <= at_ns]
        if self._first_sign_ns is not None:
            signs.append(self._first_sign_ns)
        self._open = Rebalance(
            generation=generation,
            previous=previous,
            causes=causes,
            started_ns=min(signs, default=None),
            phases={},
        )
        self.history.rebalances.append(self._open)
        self._generation = generation
        self._roster.turn()
        self._is_compared = False
        self._waiting, self._first_sign_ns, self._lost_coordinator = [], None, None
        self._grown.clear()

    def _list_unseen(self, previous: int | None, generation: int, at_ns: int) -> None:
        """List the generations of which nothing was seen; what waits belongs to some of them."""
        if previous is None or generation == previous + 1:
            return
        unseen = range(previous + 1, generation)
        note = "nobody was seen to join this generation"
        self.history.rebalances += unseen_rebalances(unseen, at_ns, note)
        self._waiting = [less_sure(cause, _SKIPPED) for cause in self._waiting]
        self._assigned = None
        self._roster.forget()

    def _close(self) -> None:
        """End the open rebalance: nothing more is known of its causes."""
        rebalance, self._open = self._open, None
        if rebalance is None:
            return
        rebalance.causes = self._settled(rebalance)
        rebalance.causes = rebalance.causes or [_nothing_seen(rebalance)]

    def _settled(self, rebalance: Rebalance) -> list[RebalanceCause]:
        """Return the causes of a rebalance of which nothing more will be seen.

        A join whose answer was not seen may belong to another generation. That a member joined
        again unasked says little if the members are not known, or others had come or gone before.
        Where they only came or went after it, they joined a rebalance that was there.
        """
        settled = []
        for cause in rebalance.causes:
            if cause.note == _UNASKED:
                others = (each for each in rebalance.causes if each is not cause)
                if not self._is_compared or any(each.at_ns <= cause.at_ns for each in others):
                    continue
            is_open = any(each in self._unanswered for each in cause.evidence)
            note = "the answer to its JoinGroup was not seen"
            settled.append(less_sure(cause, note) if is_open else cause)
        return settled


_GONE_IN_SILENCE: Final = {CauseKind.UNKNOWN, CauseKind.MEMBER_FAILED}


def _nothing_seen(rebalance: Rebalance) -> RebalanceCause:
    is_first = rebalance.previous is None
    note = "it began before the capture" if is_first else "no cause was seen"
    at_ns = min(
        (each.joined_ns for each in rebalance.phases.values() if each.joined_ns),
        default=rebalance.started_ns or 0,
    )
    return RebalanceCause(
        cause=CauseKind.UNKNOWN, confidence=Confidence.UNKNOWN, at_ns=at_ns, note=note
    )


def _changed(before: Subscription | None, now: Subscription) -> CauseKind | None:
    """Return what a member wants otherwise than before; None if nothing, or that is not known."""
    if before is None:
        return None
    if None not in {before.topics, now.topics} and before.topics != now.topics:
        return CauseKind.SUBSCRIPTION_CHANGED
    return CauseKind.ASSIGNOR_CHANGED if before.assignors != now.assignors else None
