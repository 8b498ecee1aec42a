"""What members of a group want, against what there is to get: who gets nothing, and why.

    orders 3 partitions   m-1 m-2 m-3 m-4   four members share three partitions: one has none
    a, b   1 partition    m-1 m-2           the range assignor begins each topic with m-1
    ordres                m-5               its topic does not exist

Only what members of a stable group told their coordinator counts: what a coordinator refused (no
assignor in common, a session timeout outside its limits) is in no description of a group.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

from kdiag.diagnosis.check.report import listed
from kdiag.diagnosis.groups.model import NO_PARTITION, DescribedMember, Group, as_set
from kdiag.findings.finding import Finding, found

_CLASSIC: Final = "classic"
_RANGE: Final = "range"


def find_in_subscriptions(group: Group) -> Iterator[Finding]:
    """Yield what is wrong with the subscriptions of a stable group."""
    yield from _idle_members(group)
    yield from _absent_topics(group)
    yield from _strangers(group)
    yield from _classic_members(group)


def _idle_members(group: Group) -> Iterator[Finding]:
    members = group.members or ()
    idle = [each for each in members if each.assignment is not None and not as_set(each.assignment)]
    if idle:
        yield found(
            "KD3405",
            group=group.group,
            count=len(idle),
            total=len(members),
            members=listed(idle),
            why=listed(list(dict.fromkeys(_why_idle(group, each) for each in idle))),
        )


def _why_idle(group: Group, member: DescribedMember) -> str:
    """Return why a member has no partitions, as far as the description of its group tells."""
    if member.target and as_set(member.target):
        return "others have not given up yet what is meant for it"
    wanted = set(member.subscribed or ())
    if not wanted:
        return _why_nothing_wanted(member)
    counts = Counter(
        each.topic
        for each in group.partitions
        if each.topic in wanted and each.error != NO_PARTITION
    )
    if not counts:
        return f"there is no partition of {listed(sorted(wanted))}"
    rivals = sum(not wanted.isdisjoint(each.subscribed or ()) for each in group.members or ())
    total, largest = counts.total(), max(counts.values())
    if rivals > total:
        return f"{rivals} members share {total} partitions"
    if group.assignor == _RANGE and rivals > largest:
        return (
            f"the range assignor begins each topic with the same members, and no topic has more "
            f"than {largest} partitions for {rivals} of them"
        )
    return f"the assignor{'' if group.assignor is None else f' {group.assignor}'} gave it none"


def _why_nothing_wanted(member: DescribedMember) -> str:
    if member.pattern is not None:
        return f"no topic was given for its pattern {member.pattern}"
    if member.subscribed is None:
        return "it does not tell its topics"
    return "it subscribes to no topic, or its pattern matches none"


def _absent_topics(group: Group) -> Iterator[Finding]:
    """Yield the topics that members want and that do not exist."""
    absent = [name for name, error in group.topic_errors.items() if error == NO_PARTITION]
    if absent:
        members = [
            each
            for each in group.members or ()
            if not set(absent).isdisjoint(each.subscribed or ())
        ]
        yield found("KD3417", group=group.group, topics=listed(absent), members=listed(members))


def _strangers(group: Group) -> Iterator[Finding]:
    """Yield that members fall into parts without a topic in common."""
    members = group.members or ()
    if not all(each.subscribed for each in members) or any(each.pattern for each in members):
        return
    parts: list[set[str]] = []
    for each in members:
        topics = set(each.subscribed or ())
        touched = [part for part in parts if not part.isdisjoint(topics)]
        parts = [part for part in parts if part.isdisjoint(topics)]
        parts.append(topics.union(*touched))
    if len(parts) > 1:
        told = "; ".join(_part(part, members) for part in sorted(parts, key=min))
        yield found("KD3418", group=group.group, count=len(parts), parts=told)


def _part(topics: set[str], members: Sequence[DescribedMember]) -> str:
    of_part = [each for each in members if not topics.isdisjoint(each.subscribed or ())]
    return f"{listed(sorted(topics))} of {listed(of_part)}"


def _classic_members(group: Group) -> Iterator[Finding]:
    """Yield the members that speak the old protocol in a group of the new one."""
    members = group.members or ()
    classic = [each for each in members if each.protocol == _CLASSIC]
    if classic:
        yield found(
            "KD3419",
            group=group.group,
            count=len(classic),
            total=len(members),
            members=listed(classic),
        )
