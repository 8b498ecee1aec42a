"""What a probe has measured, in the shape that `--output json` promises (`kdiag help output`)."""

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from kdiag.probe.rebalance.ownership import OwnerGap
from kdiag.probe.rebalance.plan import RebalancePlan
from kdiag.probe.rebalance.steps import StepResult
from kdiag_cli.commands.rebalance.document import iso_text, rebalance_document
from kdiag_cli.output.result import milliseconds

FORMED: Final = "group_formed"
"""The cause of the first step, in which all members join."""


class ProbedGroup(NamedTuple):
    """One group that was probed.

    Attributes:
        name: its name.
        plan: what was to be done.
        steps: what was done, and what it has shown.
    """

    name: str
    plan: RebalancePlan
    steps: Sequence[StepResult]


def probe_document(group: ProbedGroup) -> dict[str, Any]:
    """Return a group with its steps."""
    plan = group.plan
    return {
        "group": group.name,
        "protocol": plan.variant.protocol,
        "assignor": plan.variant.assignor,
        "rebalance_protocol": plan.variant.rebalance_protocol,
        "static": plan.is_static,
        "members": plan.member_count,
        "partitions": plan.partition_count,
        "session_timeout_ms": milliseconds(plan.times.session_timeout_ns),
        "heartbeat_interval_ms": milliseconds(plan.times.heartbeat_interval_ns),
        "metadata_max_age_ms": milliseconds(plan.times.metadata_max_age_ns),
        "steps": [_step(plan, each) for each in group.steps],
    }


def _step(plan: RebalancePlan, result: StepResult) -> dict[str, Any]:
    step, unowned_ns = result.step, result.unowned_ns
    return {
        "cause": step.cause or FORMED,
        "member": step.member,
        "began": iso_text(step.began_ns),
        "waits_for": plan.waits_for(step.cause),
        "noticed_ms": _since(step.began_ns, result.noticed_ns),
        "session_ms": milliseconds(result.session_ns),
        "settled_ms": milliseconds(result.took_ns),
        "partitions": step.partition_count,
        "moved": result.moved_count,
        "unowned": len(unowned_ns),
        "longest_unowned_ms": milliseconds(max(unowned_ns, default=0)),
        "total_unowned_ms": milliseconds(sum(unowned_ns)),
        "longest_unread_ms": milliseconds(result.unread_ns),
        "gaps": [_gap(each, step.ended_ns) for each in result.gaps],
        "first_reads": [
            {"member": name, "read_ms": _since(step.began_ns, at_ns)}
            for name, at_ns in sorted(result.first_reads.items())
        ],
        "rebalances": [rebalance_document(each) for each in result.rebalances],
    }


def _gap(gap: OwnerGap, until_ns: int) -> dict[str, Any]:
    return {
        "partition": gap.partition,
        "from": gap.former or None,
        "to": gap.next,
        "began": iso_text(gap.began_ns),
        "unowned_ms": milliseconds(gap.unowned_ns(until_ns)),
        "unread_ms": _since(gap.began_ns, gap.read_ns),
    }


def _since(began_ns: int, at_ns: int | None) -> float | None:
    return None if at_ns is None else milliseconds(at_ns - began_ns)
