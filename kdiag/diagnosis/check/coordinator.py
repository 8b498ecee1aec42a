"""The last stage of a check: the coordinator of a group, and its health."""

from kdiag.diagnosis.check.disks import failed_dirs
from kdiag.diagnosis.check.facts import CheckFacts
from kdiag.diagnosis.check.report import CheckPart, CheckRow, CheckStage, CheckStatus, status_of
from kdiag.diagnosis.coordinator import (
    NOT_AUTHORIZED,
    CoordinatorFacts,
    CoordinatorReport,
    find,
    report_on,
)
from kdiag.exchange.line.phrase import count
from kdiag.findings.finding import Finding, found


def judge_coordinator(facts: CheckFacts) -> CheckPart:
    """Return a row for the coordinator of each group.

    Without a group from the user, kdiag asks for its own; a lack of rights is then ignored.
    """
    if facts.coordinator is None:
        failure = facts.failures.get("coordinator")
        why = failure or "no group has been used yet; -g asks for one"
        row = CheckRow(stage=CheckStage.COORDINATOR, status=CheckStatus.SKIPPED, detail=why)
        return CheckPart(rows=[row], is_partial=failure is not None)
    reports = [report_on(key, facts.coordinator) for key in facts.coordinator.answers]
    is_own = not facts.groups
    is_denied = all(each.error in NOT_AUTHORIZED for each in reports)
    failed = failed_dirs(facts.log_dirs)
    findings = [] if is_own and is_denied else find(reports, facts.coordinator, failed)
    findings += filter(None, (_of_session(each, facts) for each in facts.groups))
    rows = [_row(each, facts, facts.coordinator, is_own=is_own) for each in reports]
    names = [each.error for each in reports if each.error is not None and not is_own]
    return CheckPart(rows=rows, findings=findings, error_names=names)


def _of_session(group: str, facts: CheckFacts) -> Finding | None:
    """Return that a group would refuse a member of this configuration; None if it would not.

    Groups of the consumer protocol have session timeouts of their own.
    """
    limits, session_ms = facts.session_limits.get(group), facts.session_timeout_ms
    known = facts.coordinator.groups.get(group) if facts.coordinator is not None else None
    is_classic = known is None or known.type == "classic"
    if limits is None or session_ms is None or not is_classic:
        return None
    if limits.min_ms <= session_ms <= limits.max_ms:
        return None
    return found("KD3011", group=group, session_ms=session_ms, **limits._asdict())


def _row(
    report: CoordinatorReport, facts: CheckFacts, known: CoordinatorFacts, *, is_own: bool
) -> CheckRow:
    """Return the row of one group."""
    key, is_denied = report.key, report.error in NOT_AUTHORIZED
    status = status_of(find([report], known))
    is_absent = report.group is None and report.is_group_known and report.coordinator is not None
    if (is_own and is_denied) or (not is_own and is_absent and status is CheckStatus.OK):
        status = CheckStatus.INFO
    member_count = facts.group_members.get(key)
    detail = _detail(report, known)
    if member_count is not None:
        detail += f", {count(member_count, 'member')}"
    if is_absent and not is_own:
        detail += "; there is no such group"
    return CheckRow(
        stage=CheckStage.COORDINATOR,
        status=status,
        target="a group of kdiag's own" if is_own else f"group {key}",
        took_ns=facts.took_ns.get("coordinator"),
        detail=detail,
        facts={
            "key": key,
            "node_id": None if report.coordinator is None else report.coordinator.node_id,
            "error": report.error,
            "members": member_count,
        },
    )


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
