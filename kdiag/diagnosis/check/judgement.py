"""The judgement of a check: its facts become rows, stage by stage, and findings."""

from collections.abc import Iterator

from kdiag.diagnosis.check.acls import judge_rights
from kdiag.diagnosis.check.cluster import judge_partitions, judge_quorum
from kdiag.diagnosis.check.connections import judge_servers
from kdiag.diagnosis.check.coordinator import judge_coordinator
from kdiag.diagnosis.check.exposure import judge_exposure
from kdiag.diagnosis.check.facts import CheckFacts
from kdiag.diagnosis.check.listeners import judge_listeners
from kdiag.diagnosis.check.report import (
    NOT_REACHED,
    CheckPart,
    CheckRow,
    CheckStage,
    CheckStatus,
    joined,
)


def judge(facts: CheckFacts) -> CheckPart:
    """Return the report of a check; stages that were not reached are rows too, as skipped."""
    parts = [judge_servers(facts)]
    if facts.metadata is not None and not facts.is_quick:
        parts += _of_cluster(facts)
    parts.append(judge_exposure(facts))
    whole = joined(parts)
    whole.rows += _skipped(whole, facts)
    return whole


def _of_cluster(facts: CheckFacts) -> Iterator[CheckPart]:
    """Judge the stages of a cluster that answers."""
    yield judge_quorum(facts)
    yield judge_listeners(facts)
    yield judge_rights(facts)
    yield judge_partitions(facts)
    yield judge_coordinator(facts)


def _skipped(whole: CheckPart, facts: CheckFacts) -> list[CheckRow]:
    """Return a row for each stage that was not reached."""
    reported = {row.stage for row in whole.rows}
    absent = set() if facts.has_tls else {CheckStage.TLS}
    if facts.login is None:
        absent.add(CheckStage.SASL)
    if facts.is_quick:
        absent |= {
            CheckStage.LISTENERS,
            CheckStage.ACLS,
            CheckStage.PARTITIONS,
            CheckStage.COORDINATOR,
        }
    missing = [stage for stage in CheckStage if stage not in reported | absent]
    return [
        CheckRow(stage=stage, status=CheckStatus.SKIPPED, detail=NOT_REACHED) for stage in missing
    ]
