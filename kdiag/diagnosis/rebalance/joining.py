"""Histories of the same groups from several sources become one, and contradictions are told."""

from collections.abc import Iterable

from msgspec.structs import replace

from kdiag.diagnosis.rebalance.model import (
    CauseKind,
    Confidence,
    GroupHistory,
    Rebalance,
    RebalanceCause,
    Refusals,
)

_REFINES = {
    CauseKind.POLL_TIMEOUT: CauseKind.MEMBER_LEFT,
    CauseKind.MEMBER_RESTARTED: CauseKind.MEMBER_JOINED,
    CauseKind.PARTITIONS_CHANGED: CauseKind.MEMBER_REJOINED,
    CauseKind.COORDINATOR_MOVED: CauseKind.MEMBER_REJOINED,
}
"""What one source sees more closely, and what another calls it: that is no contradiction."""


def join_histories(
    histories: Iterable[GroupHistory],
) -> tuple[list[GroupHistory], list[str]]:
    """Return one history for each group, by name, and what sources contradict each other in."""
    joined: dict[tuple[str, str], GroupHistory] = {}
    contradictions: list[str] = []
    for history in histories:
        key = (history.group, history.type)
        known = joined.get(key)
        if known is None:
            joined[key] = history
        else:
            joined[key] = _joined(known, history, contradictions)
    return [joined[key] for key in sorted(joined)], contradictions


def _joined(one: GroupHistory, other: GroupHistory, contradictions: list[str]) -> GroupHistory:
    rebalances = {each.generation: each for each in one.rebalances}
    for each in other.rebalances:
        known = rebalances.get(each.generation)
        if known is None:
            rebalances[each.generation] = each
        else:
            _note_contradiction(one, other, known, each, contradictions)
            rebalances[each.generation] = _merged(known, each)
    return GroupHistory(
        group=one.group,
        type=one.type,
        protocol_type=one.protocol_type or other.protocol_type,
        source=", ".join(dict.fromkeys([*one.source.split(", "), other.source])),
        rebalances=[rebalances[number] for number in sorted(rebalances)],
        members={**other.members, **one.members},
        refusals=one.refusals if one.refusals != Refusals() else other.refusals,
    )


def _note_contradiction(
    one: GroupHistory,
    other: GroupHistory,
    known: Rebalance,
    each: Rebalance,
    contradictions: list[str],
) -> None:
    first, second = known.cause, each.cause
    if CauseKind.UNKNOWN in {first.cause, second.cause}:
        return
    is_same = first.cause is second.cause or refines(first, second) or refines(second, first)
    members = {first.member_id, second.member_id} - {None}
    if not is_same or len(members) > 1:
        contradictions.append(
            f"group {one.group}, generation {known.generation}: the {one.source} says "
            f"{_told(first)}, the {other.source} {_told(second)}"
        )


def _told(cause: RebalanceCause) -> str:
    named = f" ({cause.member_id})" if cause.member_id else ""
    return f"{cause.cause}{named}"


def refines(cause: RebalanceCause, other: RebalanceCause) -> bool:
    """Return whether a cause is what another one says, seen more closely."""
    return _REFINES.get(cause.cause) is other.cause and cause.member_id == other.member_id


def _merged(one: Rebalance, other: Rebalance) -> Rebalance:
    """Return what both tell: the surer cause, and the phases of whichever saw them."""
    causes = [_surer(one.cause, other.cause), *one.causes[1:]]
    told = {(each.cause, each.member_id) for each in causes}
    causes += [each for each in other.causes[1:] if (each.cause, each.member_id) not in told]
    starts = [each for each in (one.started_ns, other.started_ns) if each is not None]
    ends = [each for each in (one.ended_ns, other.ended_ns) if each is not None]
    return Rebalance(
        generation=one.generation,
        previous=one.previous if one.previous is not None else other.previous,
        causes=causes,
        started_ns=min(starts, default=None),
        ended_ns=max(ends, default=None),
        phases=one.phases or other.phases,
        member_count=one.member_count if one.member_count is not None else other.member_count,
        moved=one.moved or other.moved,
    )


def _surer(one: RebalanceCause, other: RebalanceCause) -> RebalanceCause:
    """Return the surer of two causes, or the closer one, with the evidence of both.

    Who the member is, is known from whichever source saw it.
    """
    best = one
    is_better = _RANKS.index(other.confidence) > _RANKS.index(one.confidence)
    if refines(other, one) or (is_better and not refines(one, other)):
        best = other
    rest = other if best is one else one
    if rest.member_id != best.member_id:
        return best
    return replace(
        best,
        instance_id=best.instance_id or rest.instance_id,
        client_id=best.client_id or rest.client_id,
        client_host=best.client_host or rest.client_host,
        software=best.software or rest.software,
        reason=best.reason or rest.reason,
        evidence=(*best.evidence, *rest.evidence),
    )


_RANKS = (Confidence.UNKNOWN, Confidence.LIKELY, Confidence.CERTAIN)
