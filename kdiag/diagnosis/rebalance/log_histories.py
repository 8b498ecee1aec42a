"""Lines of brokers' logs become the histories of groups.

The coordinator says itself why it rebalances a group, so causes are `certain`, but for those that
it does not name.
"""

from collections.abc import Iterable
from typing import Final

from msgspec.structs import replace

from kdiag.diagnosis.rebalance import reasons
from kdiag.diagnosis.rebalance.log_lines import Line, LogLine
from kdiag.diagnosis.rebalance.model import (
    CauseKind,
    Confidence,
    GroupHistory,
    GroupMember,
    GroupType,
    Rebalance,
    RebalanceCause,
)

SOURCE: Final = "log"


def histories_of_log(lines: Iterable[LogLine]) -> list[GroupHistory]:
    """Return the histories of all groups that some lines tell of, by name.

    Args:
        lines: of any number of logs, in any order; a line that is there twice counts once.
    """
    groups: dict[str, _LoggedGroup] = {}
    seen: tuple[int, set[tuple[Line, str, str]]] = (0, set())
    for line in sorted(lines, key=lambda each: (each.at_ns, each.evidence.file, each.evidence.at)):
        if line.at_ns != seen[0]:
            seen = (line.at_ns, set())
        said = (line.kind, line.group, repr(line.fields))
        if said in seen[1]:
            continue
        seen[1].add(said)
        if line.group not in groups:
            groups[line.group] = _LoggedGroup(line.group)
        groups[line.group].take(line)
    return [groups[name].finish() for name in sorted(groups)]


class _LoggedGroup:
    """One group; takes the lines about it in the order of time."""

    def __init__(self, group: str) -> None:
        self._history = GroupHistory(group=group, type=GroupType.CLASSIC, source=SOURCE)
        self._waiting: list[RebalanceCause] = []
        self._hash: LogLine | None = None
        self._open: Rebalance | None = None
        self._reasons: dict[str, str] = {}

    def take(self, line: LogLine) -> None:
        """Take the next line."""
        _TAKERS[line.kind](self, line)

    def finish(self) -> GroupHistory:
        """Return the history, once all lines were taken."""
        for cause in self._waiting:
            last = self._last_generation
            if last is not None:
                self._add(last + 1, [_of_some_epoch(cause)], cause.at_ns).is_told = False
        self._waiting = []
        return self._history

    @property
    def _last_generation(self) -> int | None:
        rebalances = self._history.rebalances
        return rebalances[-1].generation if rebalances else None

    def _preparing(self, line: LogLine) -> None:
        previous = int(line.fields["generation"])
        trigger = reasons.trigger_of_broker(line.fields["reason"])
        reason = trigger.reason or self._reasons.pop(trigger.member_id or "", None)
        kind = trigger.cause
        if kind is CauseKind.MEMBER_LEFT:
            kind = reasons.cause_of_client(reason) or kind
        is_known = kind is not CauseKind.UNKNOWN
        cause = RebalanceCause(
            cause=kind,
            confidence=Confidence.CERTAIN if is_known else Confidence.UNKNOWN,
            at_ns=line.at_ns,
            member_id=trigger.member_id,
            instance_id=trigger.instance_id,
            reason=reason,
            note=None if is_known else "this reason of the broker is not known",
            evidence=(line.evidence,),
        )
        self._note_member(line, trigger.member_id)
        self._open = self._add(previous + 1, [cause], line.at_ns, previous=previous)

    def _stabilized(self, line: LogLine) -> None:
        rebalance = self._of(line)
        count = line.fields.get("count")
        rebalance.member_count = None if count is None else int(count)
        rebalance.ended_ns = line.at_ns

    def _assigned(self, line: LogLine) -> None:
        self._note_member(line, line.fields.get("member"))
        self._of(line).ended_ns = line.at_ns

    def _empty(self, line: LogLine) -> None:
        rebalance = self._of(line)
        rebalance.ended_ns = line.at_ns
        rebalance.member_count = 0
        rebalance.causes.append(
            RebalanceCause(
                cause=CauseKind.GROUP_EMPTIED,
                confidence=Confidence.CERTAIN,
                at_ns=line.at_ns,
                evidence=(line.evidence,),
            )
        )

    def _failed(self, line: LogLine) -> None:
        """Note a member that fails while the group rebalances already."""
        self._note_member(line, line.fields["member"])
        rebalance = self._open
        if rebalance is not None and rebalance.ended_ns is None:
            rebalance.causes.append(self._cause(line, CauseKind.MEMBER_FAILED))

    def _left(self, line: LogLine) -> None:
        member, reason = line.fields["member"], line.fields.get("reason")
        self._note_member(line, member)
        if reason and reason not in _NOT_GIVEN:
            self._reasons[member] = reason
        for rebalance in self._history.rebalances[-1:]:
            for place, cause in enumerate(rebalance.causes):
                if cause.member_id == member and cause.reason is None and reason:
                    kind = reasons.cause_of_client(reason) or cause.cause
                    known = None if reason in _NOT_GIVEN else reason
                    rebalance.causes[place] = replace(cause, cause=kind, reason=known)

    def _epoch_joined(self, line: LogLine) -> None:
        self._wait(line, CauseKind.MEMBER_JOINED)

    def _epoch_replaced(self, line: LogLine) -> None:
        self._wait(line, CauseKind.STATIC_MEMBER_RETURNED)

    def _epoch_left(self, line: LogLine) -> None:
        self._wait(line, CauseKind.MEMBER_LEFT)

    def _epoch_fenced(self, line: LogLine) -> None:
        self._wait(line, CauseKind.MEMBER_FAILED, line.fields.get("reason"))

    def _epoch_subscribed(self, line: LogLine) -> None:
        """A member that joins tells its topics as well: that is no cause of its own."""
        if all(each.member_id != line.fields["member"] for each in self._waiting):
            self._wait(line, CauseKind.SUBSCRIPTION_CHANGED)

    def _wait(self, line: LogLine, kind: CauseKind, reason: str | None = None) -> None:
        named = line.fields.get("type")
        if named:
            self._history.type = GroupType(named)
        self._note_member(line, line.fields.get("member"))
        self._waiting.append(self._cause(line, kind, reason))

    def _epoch_hashed(self, line: LogLine) -> None:
        self._hash = line

    def _epoch_bumped(self, line: LogLine) -> None:
        if line.fields.get("type"):
            self._history.type = GroupType.STREAMS
        elif self._history.type is GroupType.CLASSIC:
            self._history.type = GroupType.CONSUMER
        causes, self._waiting = self._waiting, []
        if not causes and self._hash is not None:
            note = "the coordinator computed another hash of the topics' metadata"
            cause = self._cause(self._hash, CauseKind.PARTITIONS_CHANGED)
            causes = [replace(cause, confidence=Confidence.LIKELY, note=note)]
        self._hash = None
        self._begin(int(line.fields["generation"]), causes, line.at_ns)

    def _epoch_assigned(self, line: LogLine) -> None:
        """Some epochs are told with their assignment alone, as those after a crash are."""
        if self._history.type is GroupType.CLASSIC:
            self._history.type = GroupType.CONSUMER
        epoch, last = int(line.fields["generation"]), self._last_generation
        if last is None or epoch > last:
            causes, self._waiting = self._waiting, []
            self._begin(epoch, causes, line.at_ns)

    def _begin(self, epoch: int, causes: list[RebalanceCause], at_ns: int) -> None:
        """Begin an epoch, and those before it that no line told of: each cause made one."""
        last = self._last_generation
        untold = 0 if last is None else epoch - last - 1
        if untold and len(causes) == untold + 1:
            for number, cause in enumerate(causes[:-1], epoch - untold):
                self._add(number, [_of_some_epoch(cause)], cause.at_ns, previous=number - 1)
            causes = causes[-1:]
        elif untold:
            causes = [_of_some_epoch(each) for each in causes]
        self._open = self._add(epoch, causes, at_ns, previous=self._last_generation)

    def _epoch_settled(self, line: LogLine) -> None:
        self._note_member(line, line.fields.get("member"))
        rebalance = self._open
        is_same = rebalance is not None and rebalance.generation == int(line.fields["generation"])
        if rebalance is not None and is_same and line.fields["state"] == "STABLE":
            rebalance.ended_ns = line.at_ns

    def _of(self, line: LogLine) -> Rebalance:
        """Return the rebalance that a line is about, which may have begun before the log."""
        generation = int(line.fields["generation"])
        for rebalance in reversed(self._history.rebalances[-_RECENT:]):
            if rebalance.generation == generation:
                return rebalance
        return self._add(generation, [], line.at_ns, is_late=True)

    def _add(
        self,
        generation: int,
        causes: list[RebalanceCause],
        at_ns: int,
        *,
        previous: int | None = None,
        is_late: bool = False,
    ) -> Rebalance:
        if not causes:
            note = "it began before the log" if is_late else "the log names no cause"
            causes = [
                RebalanceCause(
                    cause=CauseKind.UNKNOWN, confidence=Confidence.UNKNOWN, at_ns=at_ns, note=note
                )
            ]
        rebalance = Rebalance(
            generation=generation,
            previous=previous,
            causes=causes,
            started_ns=None if is_late else min(each.at_ns for each in causes),
            phases={},
        )
        self._history.rebalances.append(rebalance)
        return rebalance

    def _cause(self, line: LogLine, kind: CauseKind, reason: str | None = None) -> RebalanceCause:
        return RebalanceCause(
            cause=kind,
            confidence=Confidence.CERTAIN,
            at_ns=line.at_ns,
            member_id=line.fields.get("member"),
            instance_id=line.fields.get("instance"),
            reason=reason,
            evidence=(line.evidence,),
        )

    def _note_member(self, line: LogLine, member_id: str | None) -> None:
        if member_id is None:
            return
        known = self._history.members.get(member_id)
        if known is None:
            instance = line.fields.get("instance")
            known = self._history.members[member_id] = GroupMember(
                member_id=member_id,
                instance_id=instance,
                first_ns=line.at_ns,
                last_ns=line.at_ns,
            )
        known.last_ns = max(known.last_ns, line.at_ns)


def _of_some_epoch(cause: RebalanceCause) -> RebalanceCause:
    note = "the log does not tell the epoch that it made"
    return replace(cause, confidence=Confidence.LIKELY, note=note)


_RECENT: Final = 50
_NOT_GIVEN: Final = frozenset({"not provided", "null"})
_TAKERS: Final = {
    Line.PREPARING: _LoggedGroup._preparing,  # noqa: SLF001 - a table of its own methods
    Line.STABILIZED: _LoggedGroup._stabilized,  # noqa: SLF001 - as above
    Line.ASSIGNED: _LoggedGroup._assigned,  # noqa: SLF001 - as above
    Line.EMPTY: _LoggedGroup._empty,  # noqa: SLF001 - as above
    Line.FAILED: _LoggedGroup._failed,  # noqa: SLF001 - as above
    Line.LEFT: _LoggedGroup._left,  # noqa: SLF001 - as above
    Line.EPOCH_JOINED: _LoggedGroup._epoch_joined,  # noqa: SLF001 - as above
    Line.EPOCH_REPLACED: _LoggedGroup._epoch_replaced,  # noqa: SLF001 - as above
    Line.EPOCH_LEFT: _LoggedGroup._epoch_left,  # noqa: SLF001 - as above
    Line.EPOCH_FENCED: _LoggedGroup._epoch_fenced,  # noqa: SLF001 - as above
    Line.EPOCH_SUBSCRIBED: _LoggedGroup._epoch_subscribed,  # noqa: SLF001 - as above
    Line.EPOCH_HASHED: _LoggedGroup._epoch_hashed,  # noqa: SLF001 - as above
    Line.EPOCH_BUMPED: _LoggedGroup._epoch_bumped,  # noqa: SLF001 - as above
    Line.EPOCH_ASSIGNED: _LoggedGroup._epoch_assigned,  # noqa: SLF001 - as above
    Line.EPOCH_SETTLED: _LoggedGroup._epoch_settled,  # noqa: SLF001 - as above
}
