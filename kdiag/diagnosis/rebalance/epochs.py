"""The state machine of consumer, share and streams groups: heartbeats become rebalances.

The coordinator raises the epoch of the group for each thing that changes it (KIP-848, KIP-932,
KIP-1071), and members are told the epoch when they have what it gives them. So an epoch is known as
soon as the first member is told it; those between that nobody was told are listed, too.
"""

from typing import Final, NamedTuple

import msgspec

from kdiag.clock import NS_PER_S
from kdiag.diagnosis.rebalance.events import (
    Beat,
    CoordinatorFound,
    EpochBeat,
    Event,
    FetchBegan,
    FetchesPaused,
    PartitionsSeen,
)
from kdiag.diagnosis.rebalance.model import (
    CauseKind,
    Confidence,
    GroupHistory,
    GroupMember,
    GroupType,
    Phases,
    Rebalance,
    RebalanceCause,
    less_sure,
)
from kdiag.diagnosis.rebalance.moves import moved_between

_JOINS, _LEAVES = 0, -1
_FIRST_EPOCHS: Final = 2
"""A group begins with epoch 1, or 2 where its first member also sets its topics' metadata."""

_COMES: Final = frozenset({CauseKind.MEMBER_JOINED, CauseKind.STATIC_MEMBER_RETURNED})
_PASSED: Final = "not all epochs were told, so it may be the cause of another of them"
_NOTHING_SEEN: Final = "no cause was seen"
_SILENT: Final = 2.5
"""Heartbeats: one that leaves unseen is missed by the others for two of them at most."""

_FENCED: Final = frozenset({"FENCED_MEMBER_EPOCH", "UNKNOWN_MEMBER_ID"})
_MOST_UNSEEN: Final = 50


class _Untold(NamedTuple):
    """A cause whose epoch was not told yet.

    Attributes:
        cause: what happened.
        answered: the epoch that who came was told in answer; None for other causes.
    """

    cause: RebalanceCause
    answered: int | None


_UNSEEN_TOPICS: Final = (
    "it told its topics, as members do when they have others; those before were not seen"
)


class _Wanted(msgspec.Struct):
    """What a member said or was answered last.

    Attributes:
        topics: what it subscribed to; None if that was not seen.
        assignor: that it asked for; None if it asked for none.
        interval_ns: between its heartbeats; 0 if that was not seen.
    """

    topics: frozenset[str] | None = None
    assignor: str | None = None
    interval_ns: int = 0


class EpochGroup:
    """One consumer, share or streams group; takes its events in the order of time.

    Attributes:
        history: its rebalances so far; whole after `finish`.
    """

    def __init__(self, group: str, kind: GroupType, source: str) -> None:
        self.history = GroupHistory(group=group, type=kind, source=source)
        self._epoch: int | None = None
        self._waiting: list[_Untold] = []
        self._present: dict[str, str | None] = {}
        self._wanted: dict[str, _Wanted] = {}
        self._told: dict[str, int] = {}
        self._up_to_date: set[str] = set()
        self._shares: dict[str, frozenset[tuple[str, int]]] = {}
        self._former: dict[str, frozenset[tuple[str, int]]] = {}
        self._given_up: dict[str, frozenset[tuple[str, int]]] = {}
        self._is_complete = False

    def take(self, event: Event) -> None:
        """Take the next event."""
        match event:
            case EpochBeat():
                self._beat(event)
            case PartitionsSeen() if self._is_wanted(event.topic):
                self._partitions_seen(event)
            case PartitionsSeen() | CoordinatorFound() | FetchBegan() | FetchesPaused() | Beat():
                pass  # they tell nothing of epochs
            case _:
                raise TypeError(event)

    def _is_wanted(self, topic: str) -> bool:
        return any(topic in (each.topics or ()) for each in self._wanted.values())

    def _partitions_seen(self, event: PartitionsSeen) -> None:
        """Note new partitions, which the coordinator may have seen long before a client asked."""
        cause = RebalanceCause(
            cause=CauseKind.PARTITIONS_CHANGED,
            confidence=Confidence.LIKELY,
            at_ns=event.at_ns,
            note=f"{event.topic} has {event.after} partitions, before {event.before}",
            evidence=(event.evidence,),
        )
        last = self.history.rebalances[-1:]
        if last and last[0].cause.note == _NOTHING_SEEN:
            last[0].causes = [cause]
        else:
            self._waiting.append(_Untold(cause, None))

    def finish(self) -> GroupHistory:
        """Return the history, once all events were taken.

        What waits has raised the epoch, but nobody was told.
        """
        for cause, answered in sorted(self._waiting, key=lambda each: each.cause.at_ns):
            is_told = answered is not None or cause.cause is CauseKind.PARTITIONS_CHANGED
            if self._epoch is not None and not is_told:
                note = cause.note or "nobody was told the epoch that it made"
                self._add(self._epoch + 1, [less_sure(cause, note)], cause.at_ns)
                self.history.rebalances[-1].is_told = False
                self._epoch += 1
        self._waiting = []
        return self.history

    def _beat(self, event: EpochBeat) -> None:
        self._note_member(event)
        if event.error is not None:
            self._refused(event, event.error)
            return
        if event.sent_epoch == _JOINS:
            self._joins(event)
        elif event.sent_epoch == _LEAVES:
            self._leaves(event)
        elif event.sent_epoch > 0:
            self._goes_on(event)
        wanted = self._wanted.setdefault(event.member_id, _Wanted())
        wanted.topics = wanted.topics if event.topics is None else event.topics
        wanted.assignor = event.assignor or wanted.assignor
        wanted.interval_ns = event.interval_ns or wanted.interval_ns
        if event.epoch is not None and event.epoch >= 0:
            self._told_epoch(event, event.epoch)

    def _note_member(self, event: EpochBeat) -> None:
        client = event.client
        info = self.history.members.get(event.member_id)
        if info is None:
            info = self.history.members[event.member_id] = GroupMember(
                member_id=event.member_id,
                instance_id=event.instance_id,
                client_id=client.client_id,
                client_host=client.host,
                software=client.software,
                first_ns=event.sent_ns,
                last_ns=event.at_ns,
            )
        info.port = client.port or info.port
        if event.error is None:
            info.last_ns = max(info.last_ns, event.at_ns)
        info.software = info.software or client.software

    def _refused(self, event: EpochBeat, error: str) -> None:
        """A member that is fenced or unknown was removed before."""
        self.history.refusals.note_lost_coordinator(error, event.at_ns)
        if error not in _FENCED:
            return
        info = self.history.members[event.member_id]
        if event.member_id in self._present:
            note = f"the coordinator answered {error}: it had removed the member"
            cause = self._failed(event.member_id, event.sent_ns, note)
            lost = self._unexplained(info.last_ns)
            if lost is None:
                self._waiting.append(_Untold(cause, None))
            else:
                lost.causes = [cause]
            self._remove(event.member_id)
        if event.member_id not in self._present and info.last_ns < event.sent_ns:
            info.back_ns = info.back_ns or event.sent_ns

    def _failed(self, member_id: str, at_ns: int, note: str) -> RebalanceCause:
        info = self.history.members[member_id]
        cause = info.cause(CauseKind.MEMBER_FAILED, Confidence.LIKELY, at_ns, note)
        return msgspec.structs.replace(cause, silent_ns=info.last_ns)

    def _unexplained(self, since_ns: int) -> Rebalance | None:
        """Return the first rebalance after a time of which no cause was seen."""
        later = (each for each in self.history.rebalances if (each.started_ns or 0) > since_ns)
        return next((each for each in later if each.cause.note == _NOTHING_SEEN), None)

    def _remove(self, member_id: str) -> None:
        """Take out a member that the coordinator has removed."""
        self._present.pop(member_id, None)
        self._former.setdefault(member_id, self._shares.pop(member_id, frozenset()))
        self._told.pop(member_id, None)
        self._up_to_date.discard(member_id)

    def _judge_silent(self, event: EpochBeat) -> None:
        """Find who had the partitions that a member gets, and has not said a word since.

        The coordinator hands over a partition once its owner has given it up, or was removed. Of
        share groups several members have each.
        """
        if not event.assigned or self.history.type is GroupType.SHARE:
            return
        failed: list[RebalanceCause] = []
        for member_id in [each for each in self._present if each != event.member_id]:
            info, interval_ns = self.history.members[member_id], self._wanted[member_id].interval_ns
            silent_ns = event.at_ns - info.last_ns
            if not interval_ns or silent_ns <= _SILENT * interval_ns:
                continue
            lost = self._unexplained(info.last_ns)
            is_taken = not self._shares.get(member_id, frozenset()).isdisjoint(event.assigned)
            if is_taken and (lost is not None or failed):
                note = (
                    f"silent for {silent_ns / NS_PER_S:.1f} s, with heartbeats every "
                    f"{interval_ns / NS_PER_S:g} s, while others got its partitions"
                )
                if lost is not None:
                    failed = lost.causes = []
                failed.append(self._failed(member_id, event.at_ns, note))
                self._remove(member_id)
        self._judge_new_topics(event, event.assigned)

    def _judge_new_topics(self, event: EpochBeat, assigned: frozenset[tuple[str, int]]) -> None:
        """Find topics that no member had before: made anew, they match what members want."""
        lost = self._unexplained(0)
        shares = (*self._shares.values(), *self._former.values())
        known = {topic for share in shares for topic, _ in share}
        new = sorted({topic for topic, _ in assigned} - known)
        is_open = lost is not None and lost.generation == self._epoch
        if lost is not None and is_open and known and new:
            note = f"topic {', '.join(new)} is assigned for the first time"
            lost.causes = [
                RebalanceCause(
                    cause=CauseKind.PARTITIONS_CHANGED,
                    confidence=Confidence.LIKELY,
                    at_ns=event.at_ns,
                    note=note,
                    evidence=(event.evidence,),
                )
            ]

    def _joins(self, event: EpochBeat) -> None:
        is_answered = event.epoch is not None
        sure = Confidence.CERTAIN if is_answered else Confidence.LIKELY
        owner = self._owner(event.instance_id)
        if owner is not None and owner != event.member_id:
            self._present.pop(owner)
            self._wait(event, CauseKind.STATIC_MEMBER_RETURNED, sure, None)
        elif event.member_id in self._present:
            self._wait(event, CauseKind.MEMBER_REJOINED, Confidence.LIKELY, "it began anew")
        else:
            self._wait(event, CauseKind.MEMBER_JOINED, sure, None)
        self._present[event.member_id] = event.instance_id

    def _owner(self, instance_id: str | None) -> str | None:
        """Return the member that is in the group with an instance id."""
        if instance_id is None:
            return None
        return next((each for each, name in self._present.items() if name == instance_id), None)

    def _leaves(self, event: EpochBeat) -> None:
        sure = Confidence.CERTAIN if event.epoch is not None else Confidence.LIKELY
        self._wait(event, CauseKind.MEMBER_LEFT, sure, None)
        self._present.pop(event.member_id, None)
        self._given_up[event.member_id] = self._shares.pop(event.member_id, frozenset())
        self._told.pop(event.member_id, None)
        self._up_to_date.discard(event.member_id)

    def _goes_on(self, event: EpochBeat) -> None:
        wanted = self._wanted.get(event.member_id, _Wanted())
        known = wanted.topics
        if event.topics is not None and known != event.topics:
            sure = Confidence.LIKELY if known is None else Confidence.CERTAIN
            note = _UNSEEN_TOPICS if known is None else None
            self._wait(event, CauseKind.SUBSCRIPTION_CHANGED, sure, note)
        former = wanted.assignor
        if former and event.assignor and former != event.assignor:
            self._wait(event, CauseKind.ASSIGNOR_CHANGED, Confidence.CERTAIN, None)
        self._present.setdefault(event.member_id, event.instance_id)

    def _told_epoch(self, event: EpochBeat, epoch: int) -> None:
        """A member was told an epoch: it has what that gives it."""
        if self._epoch is None:
            self._told_first(event, epoch)
        elif epoch > self._epoch:
            self._begin(epoch, event.at_ns)
        self._judge_silent(event)
        info = self.history.members[event.member_id]
        if not info.generations or info.generations[-1] != epoch:
            info.generations.append(epoch)
        if event.assigned is not None:
            known = self._shares.get(event.member_id, frozenset())
            self._former.setdefault(event.member_id, known)
            self._shares[event.member_id] = event.assigned
        if self._told.get(event.member_id) != epoch or event.assigned is not None:
            self._told[event.member_id] = epoch
            if epoch == self._epoch:
                self._up_to_date.add(event.member_id)
            self._note_phase(event, epoch)

    def _told_first(self, event: EpochBeat, epoch: int) -> None:
        """Somebody was told an epoch for the first time: the group began then, or was there.

        A streams group waits for more members before it gives out tasks: its first member is then
        told the epoch before the one that its coming makes (KIP-1071,
        `group.streams.initial.rebalance.delay.ms`).
        """
        is_start = event.sent_epoch == _JOINS and epoch <= _FIRST_EPOCHS
        waits = self.history.type is GroupType.STREAMS and not event.assigned
        self._is_complete = is_start
        if event.sent_epoch > 0 or (waits and is_start):
            self._epoch = epoch
        else:
            if waits:
                self._waiting.clear()  # it may be of the next epoch as well
            self._begin(epoch, event.at_ns)

    def _note_phase(self, event: EpochBeat, epoch: int) -> None:
        rebalance = next(
            (each for each in reversed(self.history.rebalances) if each.generation == epoch), None
        )
        if rebalance is None:
            return
        client = event.client
        known = rebalance.phases.get(event.member_id)
        if known is None:
            rebalance.phases[event.member_id] = Phases(
                member_id=event.member_id,
                client_id=client.client_id,
                client_host=client.host,
                asked_ns=event.sent_ns,
                joined_ns=event.at_ns,
                synced_ns=event.at_ns,
            )
        else:
            known.synced_ns = event.at_ns
        rebalance.ended_ns = event.at_ns
        is_whole = self._is_complete and len(self._told) == len(self._shares)
        if is_whole and epoch == self._epoch and len(self._up_to_date) == len(self._told):
            rebalance.moved = moved_between(self._shares | self._former, self._shares)
            rebalance.member_count = len(self._told)

    def _begin(self, epoch: int, at_ns: int) -> None:
        """List the epochs up to one that a member was told, with the causes that wait."""
        previous = self._epoch
        waiting = sorted(self._waiting, key=lambda each: each.cause.at_ns)
        self._waiting = []
        self._former, self._given_up = self._given_up, {}
        self._up_to_date.clear()
        is_far = previous is not None and epoch - previous > _MOST_UNSEEN
        first = epoch if previous is None or is_far else previous + 1
        for number, causes in self._placed(waiting, range(first, epoch + 1)).items():
            self._is_complete = self._is_complete and bool(causes) and not is_far
            self._add(number, causes, at_ns)
            self._epoch = number

    def _placed(self, waiting: list[_Untold], epochs: range) -> dict[int, list[RebalanceCause]]:
        """Return the causes of each epoch.

        Who joins is told the epoch which that makes. Of the others each made one, in order; that
        is sure only if no epoch and no cause is left over, and the group was seen from its start.
        """
        placed: dict[int, list[RebalanceCause]] = {number: [] for number in epochs}
        rest = []
        for cause, answered in waiting:
            is_own = cause.cause in _COMES and answered in placed
            if answered is not None and is_own:
                placed[answered].append(cause)
            else:
                rest.append(cause)
        free = [number for number in epochs if not placed[number]]
        if len(rest) > len(free):  # new partitions may have made an epoch before
            rest.sort(key=lambda cause: cause.cause is CauseKind.PARTITIONS_CHANGED)
        is_sure = self._is_complete and len(free) == len(rest)
        for place, cause in enumerate(rest):
            number = free[min(place, len(free) - 1)] if free else epochs[-1]
            placed[number].append(cause if is_sure else less_sure(cause, cause.note or _PASSED))
        return placed

    def _add(self, epoch: int, causes: list[RebalanceCause], at_ns: int) -> None:
        if not causes:
            causes = [
                RebalanceCause(
                    cause=CauseKind.UNKNOWN,
                    confidence=Confidence.UNKNOWN,
                    at_ns=at_ns,
                    note=_NOTHING_SEEN,
                )
            ]
        self.history.rebalances.append(
            Rebalance(
                generation=epoch,
                previous=self._epoch,
                causes=causes,
                started_ns=causes[0].at_ns,
                phases={},
            )
        )

    def _wait(
        self, event: EpochBeat, kind: CauseKind, confidence: Confidence, note: str | None
    ) -> None:
        client = event.client
        cause = RebalanceCause(
            cause=kind,
            confidence=confidence,
            at_ns=event.sent_ns,
            member_id=event.member_id,
            instance_id=event.instance_id,
            client_id=client.client_id,
            client_host=client.host,
            software=client.software,
            note=note,
            evidence=(event.evidence,),
        )
        self._waiting.append(_Untold(cause, event.epoch if kind in _COMES else None))
