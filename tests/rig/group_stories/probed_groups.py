"""Groups that were probed, as `kdiag rebalance probe` shows them."""

from typing import Final

from kdiag.clock import NS_PER_MS
from kdiag.diagnosis.rebalance.model import (
    CauseKind,
    Confidence,
    GroupType,
    Phases,
    Rebalance,
    RebalanceCause,
)
from kdiag.probe.rebalance.drill import ProbeStep
from kdiag.probe.rebalance.ownership import OwnerGap
from kdiag.probe.rebalance.plan import MemberTimes, ProbeVariant, RebalancePlan
from kdiag.probe.rebalance.steps import StepResult
from kdiag_cli.commands.rebalance.probe.document import ProbedGroup

MS: Final = NS_PER_MS
BEGAN_NS: Final = 1_800_000_000_000 * MS
"""When the member crashed; the group was formed a minute before."""


def failed_member() -> StepResult:
    """Return a crash after which two of six partitions have no owner for seven seconds."""
    step = ProbeStep(CauseKind.MEMBER_FAILED, "probe-5", BEGAN_NS, BEGAN_NS + 9_000 * MS, 6)
    end_ns = BEGAN_NS + 7_000 * MS
    phases = Phases(
        member_id="kdiag-probe-1-abc",
        client_id="kdiag-probe-1",
        find_coordinator_ns=3 * MS,
        asked_ns=end_ns - 500 * MS,
        joined_ns=end_ns - 100 * MS,
        synced_ns=end_ns,
        first_heartbeat_ns=end_ns + 2_000 * MS,
        first_fetch_ns=end_ns + 40 * MS,
    )
    cause = RebalanceCause(
        cause=CauseKind.MEMBER_FAILED, confidence=Confidence.LIKELY, at_ns=BEGAN_NS
    )
    return StepResult(
        step=step,
        noticed_ns=BEGAN_NS + 6_500 * MS,
        settled_ns=end_ns,
        session_ns=5_000 * MS,
        gaps=[
            OwnerGap(4, "probe-5", "probe-1", BEGAN_NS, end_ns, end_ns + 50 * MS),
            OwnerGap(5, "probe-5", None, BEGAN_NS + 8_000 * MS, None),
        ],
        moved_count=2,
        first_reads={"probe-1": end_ns + 50 * MS},
        rebalances=[Rebalance(generation=7, causes=[cause], phases={"m": phases}, ended_ns=end_ns)],
    )


def formed_group() -> StepResult:
    """Return the step in which a group is formed."""
    began_ns = BEGAN_NS - 60_000 * MS
    return StepResult(
        step=ProbeStep(None, None, began_ns, BEGAN_NS, 6),
        noticed_ns=None,
        settled_ns=began_ns + 300 * MS,
        session_ns=0,
        gaps=[],
        moved_count=6,
        first_reads={},
        rebalances=[],
    )


def probed_group(assignor: str = "range", protocol: GroupType = GroupType.CLASSIC) -> ProbedGroup:
    """Return a group of four members in which one has crashed."""
    times = MemberTimes(6_000 * MS, 2_000 * MS, 1_000 * MS)
    plan = RebalancePlan(ProbeVariant(protocol, assignor), times, 4, 6)
    return ProbedGroup("_kdiag_probe_1", plan, [formed_group(), failed_member()])
