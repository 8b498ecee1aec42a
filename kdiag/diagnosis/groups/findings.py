"""Finds what is wrong with groups, from one look at them.

One look cannot tell a group that is stuck from one that is about to go on: it says what is so now.
"""

from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from typing import Final

from kdiag.clock import NS_PER_MS
from kdiag.diagnosis.check.report import listed
from kdiag.diagnosis.groups.model import (
    EMPTY,
    NO_PARTITION,
    STABLE,
    Group,
    GroupsReport,
    PartitionLag,
    as_set,
)
from kdiag.diagnosis.groups.pending import find_pending
from kdiag.diagnosis.groups.subscriptions import find_in_subscriptions
from kdiag.findings.finding import Finding, found

_SHARE: Final = "share"
_SHOWN: Final = 5
_MOST_SHARE: Final = 0.9
_LEAST_LAG: Final = 1_000
_MS_PER_HOUR: Final = 3_600_000
_SOON_MS: Final = 24 * _MS_PER_HOUR
_LEAST_PARTITIONS: Final = 3


def find_all(report: GroupsReport) -> list[Finding]:
    """Return the findings of all groups, those of each together."""
    findings = find_missing(report)
    shown = {each.group for each in report.groups}
    findings += [find_pending(each) for each in report.pending if each.group in shown]
    for group in report.groups:
        findings += find(group)
        findings += _expiring(group, report)
    return findings


def find_missing(report: GroupsReport) -> list[Finding]:
    """Return what is not there, or may be missing: brokers that did not answer, absent groups."""
    silent = [found("KD3413", node_id=node, why=why) for node, why in report.failures.items()]
    absent = [
        found("KD3401", group=each, similar=_similar(each, report.names)) for each in report.absent
    ]
    return silent + absent


def find(group: Group) -> Iterator[Finding]:
    """Yield what is wrong with a group."""
    yield from _wrong_commits(group)
    yield from _held_back(group)
    if group.members is None:
        return
    if not group.members:
        if group.lag and group.state == EMPTY:
            lag = group.lag_amount
            yield found("KD3406", group=group.group, lag=lag.value if lag.is_whole else str(lag))
        return
    if group.is_rebalancing:
        yield found("KD3411", group=group.group, state=group.state)
    yield from _unreconciled(group)
    if group.state == STABLE and group.type != _SHARE:
        yield from _unowned(group)
        yield from find_in_subscriptions(group)
        yield from _never_committed(group)
        yield from _one_partition(group)


def above_bar(group: Group, bar: str, *, lag: int | None, lag_ms: float | None) -> Finding | None:
    """Return the finding of a group that is too far behind; None if it is not.

    Args:
        group: as it is.
        bar: the most that is allowed, as it was given.
        lag: the most records; None if that is not what counts.
        lag_ms: the greatest age of the next record.
    """
    partitions = [each for each in group.partitions if each.lag]
    if lag is not None and (group.lag or 0) > lag:
        worst = max(partitions, key=lambda each: each.lag or 0)
        told = f"{group.lag_amount} records"
    elif lag_ms is not None and (group.lag_ms or 0) > lag_ms:
        worst = max(partitions, key=lambda each: each.lag_ms or 0)
        told = f"{'' if group.age_amount.is_whole else '>='}{(group.lag_ms or 0) / 1000:.1f} s"
    else:
        return None
    return found(
        "KD3412",
        group=group.group,
        lag=told,
        bar=bar,
        partition=str(worst),
        owner=_owner(group, worst),
    )


def _expiring(group: Group, report: GroupsReport) -> Iterator[Finding]:
    """Yield that the offsets of a group without members are about to expire."""
    if group.state != EMPTY or report.retention_ms is None:
        return
    now_ms = report.at_ns // NS_PER_MS
    ends = [
        (each.committed_ms + report.retention_ms - now_ms, each)
        for each in group.partitions
        if each.committed_ms is not None
    ]
    soon = [(left_ms, each) for left_ms, each in ends if left_ms < _SOON_MS]
    if soon:
        first_ms = min(left_ms for left_ms, _ in soon)
        yield found(
            "KD3416",
            group=group.group,
            hours=max(0, round(first_ms / _MS_PER_HOUR)),
            partitions=listed([each for _, each in soon]),
            retention_hours=report.retention_ms // _MS_PER_HOUR,
        )


def _wrong_commits(group: Group) -> Iterator[Finding]:
    """Yield commits that no consumer can go on from."""
    gone = [
        each
        for each in group.partitions
        if each.error == NO_PARTITION and each.committed is not None
    ]
    if gone:
        yield found("KD3407", group=group.group, count=len(gone), partitions=listed(gone))
    for each in group.partitions:
        if each.committed is None or each.start is None or each.end is None:
            continue
        facts = {
            "group": group.group,
            "topic": each.topic,
            "partition": str(each),
            "committed": each.committed,
        }
        if each.committed < each.start and group.type != _SHARE:
            count = each.start - each.committed
            yield found("KD3402", **facts, start=each.start, count=count)
        elif each.committed > each.end:
            yield found("KD3403", **facts, end=each.end)
        elif each.epoch_end is not None and each.epoch_end < each.committed:
            ended = f"ended at offset {each.epoch_end}"
            why = "is not in the log" if each.epoch_end < 0 else ended
            yield found("KD3423", **facts, epoch=each.committed_epoch, why=why)


def _held_back(group: Group) -> Iterator[Finding]:
    """Yield partitions that are read up to an open transaction."""
    for each in group.partitions:
        if each.stable_end is None or each.end is None or each.committed is None:
            continue
        if each.stable_end < each.end and each.committed <= each.stable_end and not each.lag:
            yield found(
                "KD3408",
                group=group.group,
                topic=each.topic,
                number=each.partition,
                partition=str(each),
                held=each.end - each.stable_end,
                stable_end=each.stable_end,
                lag=each.lag,
            )


def _unreconciled(group: Group) -> Iterator[Finding]:
    members = [each for each in group.members or () if not each.is_reconciled]
    if members:
        yield found("KD3409", group=group.group, count=len(members), members=listed(members))


def _unowned(group: Group) -> Iterator[Finding]:
    """Yield the partitions of subscribed topics that nobody owns, or is to own.

    Only where all assignments can be read.
    """
    members = group.members or ()
    if any(each.assignment is None or each.subscribed is None for each in members):
        return
    plans = [each for one in members for each in (one.assignment, one.target) if each is not None]
    owned = {one for each in plans for one in as_set(each)}
    wanted = {topic for each in members for topic in each.subscribed or ()}
    unowned = [
        each
        for each in group.partitions
        if each.topic in wanted and each.error is None and (each.topic, each.partition) not in owned
    ]
    if unowned:
        yield found("KD3404", group=group.group, count=len(unowned), partitions=listed(unowned))


def _never_committed(group: Group) -> Iterator[Finding]:
    owned = [
        each
        for each in group.partitions
        if each.member_id is not None and each.start is not None and (each.end or 0) > each.start
    ]
    if owned and all(each.committed is None for each in group.partitions):
        yield found("KD3410", group=group.group, count=len(owned))


def _one_partition(group: Group) -> Iterator[Finding]:
    """Yield the partition with nearly all of a large lag; one that is not known may have more."""
    lag = group.lag or 0
    if (
        not group.lag_amount.is_whole
        or lag < _LEAST_LAG
        or len(group.partitions) < _LEAST_PARTITIONS
    ):
        return
    worst = max(group.partitions, key=lambda each: each.lag or 0)
    if (worst.lag or 0) >= _MOST_SHARE * lag:
        yield found(
            "KD3414",
            group=group.group,
            topic=worst.topic,
            number=worst.partition,
            partition=str(worst),
            share=round(100 * (worst.lag or 0) / lag),
            lag=lag,
            owner=_owner(group, worst),
        )


def _owner(group: Group, partition: PartitionLag) -> str:
    member = group.member(partition.member_id)
    return "" if member is None else f", of {member}"


def _similar(name: str, names: Sequence[str]) -> str:
    near = get_close_matches(name, names, _SHOWN)
    return f", such as {', '.join(near)}" if near else ""
