"""The last stage of a check: the coordinator of a group, and its health."""

from kdiag.diagnosis.check.facts import CheckFacts
from kdiag.diagnosis.check.report import CheckPart, CheckRow, CheckStage, CheckStatus, status_of
from kdiag.diagnosis.coordinator import (
    NOT_AUTHORIZED,
    CoordinatorFacts,
    CoordinatorReport,
    find,
    report_on,
)


def judge_coordinator(facts: CheckFacts) -> CheckPart:
    """Return a row for the coordinator.

    Without a group from the user, kdiag asks for its own; a lack of rights is then ignored.
    """
    if facts.coordinator is None:
        failure = facts.failures.get("coordinator")
        why = failure or "no group has been used yet; -g asks for one"
        row = CheckRow(stage=CheckStage.COORDINATOR, status=CheckStatus.SKIPPED, detail=why)
        return CheckPart(rows=[row], is_partial=failure is not None)
    ((key, _),) = facts.coordinator.answers.items()
    report = report_on(key, facts.coordinator)
    is_own = facts.group is None
    is_denied = report.error in NOT_AUTHORIZED
    findings = [] if is_own and is_denied else find([report], facts.coordinator)
    row = CheckRow(
        stage=CheckStage.COORDINATOR,
        status=CheckStatus.INFO if is_own and is_denied else status_of(findings),
        target="a group of kdiag's own" if is_own else f"group {key}",
        took_ns=facts.took_ns.get("coordinator"),
        detail=_detail(report, facts.coordinator),
        facts={
            "key": key,
            "node_id": None if report.coordinator is None else report.coordinator.node_id,
            "error": report.error,
        },
    )
    names = [] if is_own or report.error is None else [report.error]
    return CheckPart(rows=[row], findings=findings, error_names=names)


def _detail(report: CoordinatorReport, facts: CoordinatorFacts) -> str:
    """Return one line: the broker, the partition, the group."""
    if report.coordinator is None:
        return report.error or "no broker answered"
    known = facts.brokers.get(report.coordinator.node_id, report.coordinator)
    detail = f"broker {known.node_id} at {known}"
    if report.partition is not None:
        detail += f", by {report.partition.topic}[{report.partition.partition}]"
    if report.group is not None:
        detail += f"; {report.group.type} group, {report.group.state or 'state unknown'}"
    return detail
