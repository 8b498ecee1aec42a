"""Histories of the same groups from several sources become one, and contradictions are told."""

from collections.abc import Iterable, Sequence

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
    CauseKind.MEMBER_REJOINED: CauseKind.MEMBER_JOINED,
    CauseKind.SUBSCRIPTION_CHANGED: CauseKind.MEMBER_REJOINED,
    CauseKind.ASSIGNOR_CHANGED: CauseKind.MEMBER_REJOINED,
    CauseKind.PARTITIONS_CHANGED: CauseKind.MEMBER_REJOINED,
    CauseKind.COORDINATOR_MOVED: CauseKind.MEMBER_REJOINED,
}
"""What one source sees more closely, and what another calls it: that is no contradiction."""


def join_histories(
    histories: Iterable[GroupHistory],
) -> tuple[list[GroupHistory], list[str]]:
    """Return one history for each group, by name, and what sources contradict each other in."""
    joined: dict[tuple[str, str, str], GroupHistory] = {}
    contradictions: list[str] = []
    histories = list(histories)
    for history in histories:
        key = (history.group, history.type, _cluster_of(history, histories))
        known = joined.get(key)
        if known is None:
            joined[key] = history
        else:
            joined[key] = _joined(known, history, contradictions)
    return [joined[key] for key in sorted(joined)], contradictions


def _cluster_of(history: GroupHistory, others: Iterable[GroupHistory]) -> str:
    """Return the cluster of a history; a source that knows none may be of the only one."""
    alike = {each.cluster for each in others if each.group == history.group} - {None}
    only = next(iter(alike), None) if len(alike) == 1 else None
    return history.cluster or only or ""


def _joined(one: GroupHistory, other: GroupHistory, contradictions: list[str]) -> GroupHistory:
    rebalances = _by_life(one.rebalances)
    for key, each in _by_life(other.rebalances).items():
        known = rebalances.get(key)
        if known is None:
            rebalances[key] = each
        else:
            if _contradict(known, each):
                contradictions.append(
                    f"group {one.group}, generation {known.generation}: the {one.source} says "
                    f"{_told(known.cause)}, the {other.source} {_told(each.cause)}"
                )
            rebalances[key] = _merged(known, each)
    return GroupHistory(
        group=one.group,
        type=one.type,
        protocol_type=one.protocol_type or other.protocol_type,
        source=", ".join(dict.fromkeys([*one.source.split(", "), other.source])),
        rebalances=[rebalances[key] for key in sorted(rebalances)],
        members={**other.members, **one.members},
        refusals=one.refusals if one.refusals != Refusals() else other.refusals,
        cluster=one.cluster or other.cluster,
        coordinator=one.coordinator or other.coordinator,
    )


def _by_life(rebalances: Sequence[Rebalance]) -> dict[tuple[int, int], Rebalance]:
    """Return rebalances by the life of the group, counted back from its last, and generation.

    A group that was removed and is there again counts its generations from the first.
    """
    found: dict[tuple[int, int], Rebalance] = {}
    life, later = 0, None
    for each in reversed(rebalances):
        if later is not None and each.generation >= later:
            life -= 1
        later = each.generation
        found[life, each.generation] = each
    return found


def _contradict(one: Rebalance, other: Rebalance) -> bool:
    """Return whether each source names a first cause of which the other says nothing.

    Where a source counted the generation on, or is not sure of more than its member, it may be of
    another generation. All members rejoin in every rebalance: one source may see that first, and
    another one what else happened then.
    """
    causes = (*one.causes, *other.causes)
    is_open = CauseKind.UNKNOWN in {each.cause for each in causes}
    if is_open or not (one.is_told and other.is_told):
        return False
    first, second = one.cause, other.cause
    is_sure = {first.confidence, second.confidence} == {Confidence.CERTAIN}
    is_rejoin = CauseKind.MEMBER_REJOINED in {first.cause, second.cause}
    if first.member_id != second.member_id and (is_rejoin or not is_sure):
        return False
    is_known = any(_is_same(first, each) for each in other.causes)
    return not is_known and not any(_is_same(second, each) for each in one.causes)


def _is_same(one: RebalanceCause, other: RebalanceCause) -> bool:
    """Return whether two sources tell the same, though one may see it more closely."""
    members = {one.member_id, other.member_id} - {None}
    is_alike = one.cause is other.cause or _refines(one, other) or _refines(other, one)
    return is_alike and len(members) <= 1


def _told(cause: RebalanceCause) -> str:
    named = f" ({cause.member_id})" if cause.member_id else ""
    return f"{cause.cause}{named}"


def refines(cause: RebalanceCause, other: RebalanceCause) -> bool:
    """Return whether a cause is what another one says of its member, seen more closely."""
    return _refines(cause, other) and cause.member_id == other.member_id


def _refines(cause: RebalanceCause, other: RebalanceCause) -> bool:
    return _REFINES.get(cause.cause) is other.cause


def _merged(one: Rebalance, other: Rebalance) -> Rebalance:
    """Return what both tell: the surer causes, and the phases of whichever saw them."""
    starts = [each for each in (one.started_ns, other.started_ns) if each is not None]
    ends = [each for each in (one.ended_ns, other.ended_ns) if each is not None]
    return Rebalance(
        generation=one.generation,
        previous=one.previous if one.previous is not None else other.previous,
        causes=_merged_causes(one, other),
        started_ns=min(starts, default=None),
        ended_ns=max(ends, default=None),
        phases=one.phases or other.phases,
        member_count=one.member_count if one.member_count is not None else other.member_count,
        moved=one.moved or other.moved,
        is_told=one.is_told or other.is_told,
    )


def _merged_causes(one: Rebalance, other: Rebalance) -> list[RebalanceCause]:
    """Return each cause once; what is unknown to one source gives way to what another tells.

    Of a generation that one source counted on, only what the other one tells as well is kept.
    """
    if not one.is_told and other.is_told:
        one, other = other, one
    causes = list(one.causes)
    for each in other.causes:
        place = next((at for at, known in enumerate(causes) if _may_be(known, each)), None)
        if place is not None:
            causes[place] = _surer(causes[place], each)
        elif other.is_told or not one.is_told:
            causes.append(each)
    known = [each for each in causes if each.cause is not CauseKind.UNKNOWN or each.member_id]
    return known or causes[:1]


def _may_be(one: RebalanceCause, other: RebalanceCause) -> bool:
    """Return whether a cause says what another one says, or leaves it open for that member."""
    is_open = CauseKind.UNKNOWN in {one.cause, other.cause}
    return _is_same(one, other) or (is_open and one.member_id == other.member_id)


def _surer(one: RebalanceCause, other: RebalanceCause) -> RebalanceCause:
    """Return the surer of two causes, or the closer one, with the evidence of both.

    Who the member is, is known from whichever source saw it.
    """
    best = one
    is_better = _RANKS.index(other.confidence) > _RANKS.index(one.confidence)
    if _refines(other, one) or (is_better and not _refines(one, other)):
        best = other
    rest = other if best is one else one
    return replace(
        best,
        member_id=best.member_id or rest.member_id,
        instance_id=best.instance_id or rest.instance_id,
        client_id=best.client_id or rest.client_id,
        client_host=best.client_host or rest.client_host,
        software=best.software or rest.software,
        reason=best.reason or rest.reason,
        evidence=(*best.evidence, *rest.evidence),
    )


_RANKS = (Confidence.UNKNOWN, Confidence.LIKELY, Confidence.CERTAIN)
