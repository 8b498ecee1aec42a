"""The changes between two reports on a coordinator, in words."""

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from msgspec import structs

from kdiag.diagnosis.coordinator import CoordinatorReport


def changes(before: CoordinatorReport, after: CoordinatorReport) -> list[str]:
    """Return the changes, the most important first; empty if nothing changed."""
    return [text for rule in _RULES for text in rule(before, after)]


def _coordinator(before: CoordinatorReport, after: CoordinatorReport) -> Iterator[str]:
    old, new = before.coordinator, after.coordinator
    if new is None and (old is not None or before.error != after.error):
        yield f"no coordinator: {after.error or 'no broker answered'}"
    elif new is not None and (old is None or old.node_id != new.node_id):
        was = "" if old is None else f", was broker {old.node_id}"
        yield f"coordinator is broker {new.node_id} at {new}{was}"


def _reach(before: CoordinatorReport, after: CoordinatorReport) -> Iterator[str]:
    if after.coordinator is None or after.reachable == before.reachable:
        return
    if not after.reachable:
        yield f"broker {after.coordinator.node_id} cannot be used: {after.why_unreachable}"
    elif before.coordinator is not None and before.coordinator.node_id == after.coordinator.node_id:
        yield f"broker {after.coordinator.node_id} can be used"


def _agreement(before: CoordinatorReport, after: CoordinatorReport) -> Iterator[str]:
    if before.agreement and not after.agreement:
        yield "the brokers disagree"
    elif after.agreement and not before.agreement and len(after.silent) < len(after.answers):
        yield "the brokers agree"


def _partition(before: CoordinatorReport, after: CoordinatorReport) -> Iterator[str]:
    old, new = before.partition, after.partition
    if new is None or old is None:
        if new is not None:
            yield f"kept in {new.topic}[{new.partition}]"
        return
    where = f"{new.topic}[{new.partition}]"
    if new.leader != old.leader:
        yield f"{where} has no leader" if new.leader is None else f"{where} led by {new.leader}"
    if sorted(new.isr) != sorted(old.isr):
        yield f"{where} in sync on {', '.join(map(str, new.isr)) or 'nobody'}"


def _silence(before: CoordinatorReport, after: CoordinatorReport) -> Iterator[str]:
    old = {each.node_id: each.failure for each in before.answers}
    new = {each.node_id: each.failure for each in after.answers}
    told = {after.coordinator.node_id} if after.coordinator and any(_reach(before, after)) else ()
    failed: dict[str, list[int]] = {}
    back = []
    for node_id, failure in new.items():
        if node_id in told:
            continue
        if failure is not None and old.get(node_id) is None:
            failed.setdefault(failure, []).append(node_id)
        elif failure is None and old.get(node_id) is not None:
            back.append(node_id)
    for failure, nodes in failed.items():
        yield f"{_brokers(nodes)} {'does' if len(nodes) == 1 else 'do'} not answer: {failure}"
    if back:
        yield f"{_brokers(back)} answer{'s' if len(back) == 1 else ''} again"
    if after.partition is None:
        return  # nobody tells who is in the cluster
    for node_id in old.keys() - new.keys():
        yield f"broker {node_id} has left the cluster"
    for node_id in new.keys() - old.keys():
        yield f"broker {node_id} has joined the cluster"


def _brokers(nodes: Sequence[int]) -> str:
    """Return brokers in words: `broker 2`, `brokers 1 and 3`, `brokers 1, 2 and 3`."""
    if len(nodes) == 1:
        return f"broker {nodes[0]}"
    return f"brokers {', '.join(map(str, nodes[:-1]))} and {nodes[-1]}"


def _group(before: CoordinatorReport, after: CoordinatorReport) -> Iterator[str]:
    if after.coordinator is None or not after.is_group_known:
        return  # the state is not known then
    if after.group == before.group and before.is_group_known:
        return
    if after.group is None and before.group is None:
        yield "there is no such group"
    elif after.group is None:
        yield "the group is gone"
    else:
        yield f"{after.group.type} group is {after.group.state or 'there'}"


def known_after(before: CoordinatorReport | None, after: CoordinatorReport) -> CoordinatorReport:
    """Return a report with what the one before knew, where it does not know better.

    What a look could not find out has not changed by that.
    """
    if before is None:
        return after
    if after.partition is None:
        there = {each.node_id for each in after.answers}
        left = [each for each in before.answers if each.node_id not in there]
        after = structs.replace(after, partition=before.partition, answers=[*after.answers, *left])
    if not after.is_group_known:
        known = before.is_group_known
        after = structs.replace(after, group=before.group, is_group_known=known)
    return after


_RULES: Final[tuple[Callable[[CoordinatorReport, CoordinatorReport], Iterator[str]], ...]] = (
    _coordinator,
    _reach,
    _agreement,
    _partition,
    _silence,
    _group,
)
