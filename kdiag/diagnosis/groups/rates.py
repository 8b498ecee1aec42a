"""How fast groups read, from two looks at them: will they ever be through?

    look 1   committed 100   end 500         lag 400
    look 2   committed 300   end 550         lag 250     10 s later
             reads 20/s      written 5/s     through in 250 / (20 - 5) = 16.7 s

Retention moves the start of a log; where it comes nearer to the commit, it will delete what was not
read.
"""

from collections.abc import Sequence
from typing import Final

import msgspec

from kdiag.clock import NS_PER_S
from kdiag.diagnosis.check.report import listed
from kdiag.diagnosis.groups.model import Group, GroupsReport, PartitionLag

_PREPARING: Final = "PreparingRebalance"
_COMPLETING: Final = "CompletingRebalance"

_Pairs = list[tuple[PartitionLag, PartitionLag]]
"""Each partition at the first look and at the second."""


class GroupRates(msgspec.Struct, kw_only=True):
    """How fast a group reads; None where that is not known.

    Attributes:
        consumed_per_s: the offsets committed in a second, of all partitions.
        produced_per_s: the offsets written in a second.
        left_s: when it will have read all, at this rate; None if it never will.
        lost_s: when retention will delete records that it has not read, at this rate.
        stuck: why the group does not get on; None if it does.
    """

    consumed_per_s: float | None = None
    produced_per_s: float | None = None
    left_s: float | None = None
    lost_s: float | None = None
    stuck: str | None = None


def rates_between(before: GroupsReport, after: GroupsReport) -> dict[str, GroupRates]:
    """Return the rates of the groups that both looks have."""
    span_s = (after.at_ns - before.at_ns) / NS_PER_S
    known = {each.group: each for each in before.groups}
    return {
        each.group: _rates(known[each.group], each, span_s)
        for each in after.groups
        if each.group in known and span_s > 0
    }


def _rates(before: Group, after: Group, span_s: float) -> GroupRates:
    places = {(each.topic, each.partition): each for each in before.partitions}
    pairs = [
        (places[each.topic, each.partition], each)
        for each in after.partitions
        if (each.topic, each.partition) in places
    ]
    consumed, produced = _moved(pairs, "committed"), _moved(pairs, "end")
    is_whole = before.lag_amount.is_whole and after.lag_amount.is_whole
    if not is_whole or consumed is None or produced is None:
        return GroupRates(stuck=_stuck_rebalancing(before, after))
    return GroupRates(
        consumed_per_s=round(consumed / span_s, 1),
        produced_per_s=round(produced / span_s, 1),
        left_s=_left_s(after.lag, (consumed - produced) / span_s),
        lost_s=min(filter(None, (_lost_s(*pair, span_s) for pair in pairs)), default=None),
        stuck=_stuck_rebalancing(before, after) or _stuck_reading(after, pairs),
    )


def _moved(pairs: _Pairs, name: str) -> int | None:
    """Return by how much an offset moved, of all partitions where both looks know it."""
    known = [(getattr(old, name), getattr(new, name)) for old, new in pairs]
    moves = [max(0, new - old) for old, new in known if old is not None and new is not None]
    return sum(moves) if moves else None


def _left_s(lag: int | None, per_s: float) -> float | None:
    if not lag:
        return 0.0 if lag == 0 else None
    return round(lag / per_s, 1) if per_s > 0 else None


def _lost_s(before: PartitionLag, after: PartitionLag, span_s: float) -> float | None:
    """Return when the start of a log overtakes the commit, as they move now."""
    offsets = (before.start, after.start, before.committed, after.committed)
    if None in offsets or not after.lag:
        return None
    start, now_start, committed, now_committed = (each or 0 for each in offsets)
    nearer_per_s = ((now_start - start) - (now_committed - committed)) / span_s
    return round((now_committed - now_start) / nearer_per_s, 1) if nearer_per_s > 0 else None


def _stuck_rebalancing(before: Group, after: Group) -> str | None:
    """Return the state of a group that was rebalancing in the same epoch at both looks."""
    if not before.is_rebalancing or (before.state, before.epoch) != (after.state, after.epoch):
        return None
    return f"it stays in {after.state}{_awaited(before, after)}"


def _awaited(before: Group, after: Group) -> str:
    """Return what a group waits for in its state, if that is known."""
    were_there = {each.member_id for each in before.members or ()}
    stayed = [each for each in after.members or () if each.member_id in were_there]
    if after.state == _PREPARING and stayed:
        return f", until these have joined again, or are given up: {listed(stayed)}"
    if after.state == _COMPLETING and stayed:
        return f", until one of these, its leader, has sent the assignment: {listed(stayed)}"
    late = [each for each in stayed if not each.is_reconciled]
    return f", until these own what they are to own: {listed(late)}" if late else ""


def _stuck_reading(after: Group, pairs: _Pairs) -> str | None:
    """Return what is not read on though records wait and a member owns it.

    A member that commits other partitions lives and polls: then it is the partition. One that
    commits nothing while others do is at fault itself.
    """
    still = [
        new
        for old, new in pairs
        if old.lag
        and new.lag
        and new.member_id is not None
        and (old.member_id, old.committed) == (new.member_id, new.committed)
    ]
    if not still:
        return None
    moving = {new.member_id for old, new in pairs if old.committed != new.committed} - {None}
    if not moving:
        return f"nothing was committed, and {_most_behind(still)} has records to read"
    at_partition = [each for each in still if each.member_id in moving]
    if at_partition:
        first = max(at_partition, key=lambda each: each.lag or 0)
        return (
            f"{_most_behind(at_partition)} stayed at offset {first.committed}, while its member "
            f"{after.member(first.member_id)} committed other partitions: it paused this one, or "
            "fails at one record"
        )
    first = max(still, key=lambda each: each.lag or 0)
    return (
        f"member {after.member(first.member_id)} committed nothing, and {_most_behind(still)} has "
        "records to read, while other members read on"
    )


def _most_behind(partitions: Sequence[PartitionLag]) -> str:
    """Return the partition with the most lag, and how many others there are."""
    first = max(partitions, key=lambda each: each.lag or 0)
    others = f" and {len(partitions) - 1} more" if len(partitions) > 1 else ""
    return f"{first}{others}"
