"""The changes between two reports on a coordinator, in words."""

from collections.abc import Callable, Iterator
from typing import Final

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
        yield f"broker {after.coordinator.node_id} cannot be reached: {after.why_unreachable}"
    elif before.coordinator is not None:
        yield f"broker {after.coordinator.node_id} can be reached"


def _agreement(before: CoordinatorReport, after: CoordinatorReport) -> Iterator[str]:
    if before.agreement and not after.agreement:
        yield "the brokers disagree"
    elif after.agreement and not before.agreement:
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
    for node_id, failure in new.items():
        if failure is not None and old.get(node_id) is None:
            yield f"broker {node_id} does not answer: {failure}"
        elif failure is None and old.get(node_id) is not None:
            yield f"broker {node_id} answers again"
    for node_id in old.keys() - new.keys():
        yield f"broker {node_id} has left the cluster"
    for node_id in new.keys() - old.keys():
        yield f"broker {node_id} has joined the cluster"


def _group(before: CoordinatorReport, after: CoordinatorReport) -> Iterator[str]:
    if after.group == before.group or after.coordinator is None:
        return  # the state is not known while there is no coordinator
    if after.group is None:
        yield "the group is gone"
    else:
        yield f"{after.group.type} group is {after.group.state or 'there'}"


_RULES: Final[tuple[Callable[[CoordinatorReport, CoordinatorReport], Iterator[str]], ...]] = (
    _coordinator,
    _reach,
    _agreement,
    _partition,
    _silence,
    _group,
)
